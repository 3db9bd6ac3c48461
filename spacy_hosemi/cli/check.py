"""python -m spacy hosemi check: what a corpus says before anything is trained on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..formats.tokenizers import blank_pipeline
from ..inspection.corpus import CorpusPart, read_part
from ..inspection.costs import Cost, Range, used
from ..inspection.findings import count
from ..inspection.pipelines import pipeline_of_config
from ..inspection.report import PartReport, Report, inspect
from . import hosemi_cli
from . import options as shared
from .common import print_json, print_table
from .options import argument, option
from .streams import DONE, FAULTY, as_file, clean, fail


@hosemi_cli.command("check", no_args_is_help=True)
def check_cli(
    corpus: str = argument(
        "CORPUS",
        "Documents to train on: a .spacy file, a folder of them, or what convert "
        "reads; -: standard input.",
    ),
    dev: str | None = option("--dev CORPUS", "Documents to judge by.", None),
    config: shared.Config = None,
    encoding: shared.Encoding = None,
    quick: bool = option("--quick", "Do not estimate what training takes.", False),
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Look at a corpus before training, in seconds: labels and their order,
    contradictions, duplicates, borders, odd texts, the config that fits, the time and
    memory that training takes, and which words have a vector.

    Texts that need another option of convert are to be converted first.

    Faults are what is wrong in the data; remarks are what you should know. Exit code: 0
    no faults, 1 faults, 2 could not run.

    \b
    Examples:
      python -m spacy hosemi check train.spacy --dev dev.spacy
      python -m spacy hosemi check export.jsonl --config my.cfg --json
    """
    if corpus == "-" and dev == "-":
        fail("Both corpora are standard input", "Expected a path for one of them.")
    blank = blank_pipeline(config)
    nlp = None if config is None else pipeline_of_config(config)
    before = None if quick else used()
    parts = [
        None if path is None else _read(path, blank, encoding) for path in (corpus, dev)
    ]
    train = parts[0]
    assert train is not None
    report = inspect(train, parts[1], nlp, before)
    if as_json:
        print_json(as_dict(report))
    else:
        _print(report, config)
    raise SystemExit(FAULTY if report.has_faults else DONE)


def _read(path: str, nlp: Language, encoding: str | None) -> CorpusPart:
    """Returns documents; "-" is copied to a file whose suffix says what it is."""
    if path != "-":
        return read_part(path, nlp, encoding=encoding)
    copy = as_file(Path(path), ".txt")
    with copy.open("rb") as file:
        is_binary = file.read(1) == b"\x78"  # zlib, as DocBin writes it
    if is_binary:
        copy = copy.rename(copy.with_suffix(".spacy"))
    return read_part(str(copy), nlp, path, encoding)


def as_dict(report: Report) -> dict[str, Any]:
    """Returns a report as JSON has it."""
    bits: dict[str, Any] | None = None
    if (order := report.order) is not None:
        bits = {"bits": order.entropy, "error": order.error}
        bits |= {"order": order.order, "told": order.told}
    return {
        "train": report.train,
        "dev": report.dev,
        "labels": report.labels,
        "order": bits,
        "profile": report.profile,
        "config": report.fit,
        "cost": report.cost or report.no_cost or None,
    }


def _print(report: Report, config: Path | None) -> None:
    for part in (report.train, report.dev):
        if part is not None:
            _print_part(part)
    rows: list[tuple[Any, ...]] = [
        (
            *(x.label, x.n, "-" if x.n_dev is None else x.n_dev),
            *(f"{100 * x.share:.1f}", x.n_docs, x.median, x.most_95, x.most),
            " | ".join(text[:18] for text in x.examples[:2]),
        )
        for x in report.labels
    ]
    header = ("label", "spans", "dev", "%", "docs", "tokens: half", "95 %", "all")
    print_table("Labels", (*header, "examples"), rows, "lrrrrrrrl")
    if (order := report.order) is not None:
        rows = []
        for k, (bits, error) in enumerate(zip(order.entropy, order.error)):
            gain = "" if k == 0 else f"{order.entropy[k - 1] - bits:+.3f} ± {error:.3f}"
            rows.append((k, f"{bits:.3f}", gain))
        title = "Entropy of a label by the labels before it"
        print_table(title, ("labels before", "bits", "gain"), rows, "rrr")
    if (fit := report.fit) is not None:
        print(f"\nThe config that fits: hosemi init --for {fit.kind}")
        for reason in fit.reasons:
            print(f"    {clean(reason)}")
    if report.cost is not None:
        _print_cost(report.cost, config)
    elif report.no_cost:
        print(f"\nWhat training takes cannot be told: {clean(report.no_cost)}")


def _print_part(part: PartReport) -> None:
    print(
        f"{clean(part.path)}: {count(part.n_documents, 'document')}, "
        f"{count(part.n_tokens, 'token')}, {count(part.n_spans, 'span')}"
    )
    for finding in sorted(part.findings, key=lambda x: not x.is_fault):
        title = "fault" if finding.is_fault else "remark"
        print(f"\n{title}: {clean(finding.text)} [{finding.name}]")
        for example in finding.examples:
            print(f"    {clean(example)}")
    if not part.findings:
        print("nothing to remark")
    print()


def _print_cost(cost: Cost, config: Path | None) -> None:
    whose = "that config" if config is None else clean(str(config))
    print(f"\nTraining with {whose} takes about")
    print(f"    {_shown(cost.seconds, _seconds)} of one CPU")
    print(f"    {_shown(cost.megabytes, _megabytes)} of memory")
    print(
        f"    for {cost.n_features:,} features, {cost.n_weights:,} weights, "
        f"{cost.n_evaluations:,} evaluations"
    )
    if cost.vector_megabytes:
        of_these = _seconds(cost.vector_seconds), _megabytes(cost.vector_megabytes)
        print(f"    of these {' and '.join(of_these)} for vectors")
    if cost.is_limited:
        print(
            "    rare features get no weights: there would be too many. This is rough"
        )


def _shown(values: Range, form: Callable[[float], str]) -> str:
    return f"{form(values.about)} ({form(values.low)} to {form(values.high)})"


def _seconds(x: float) -> str:
    if x < 120:
        return f"{x:.0f} s"
    return f"{x / 60:.0f} min" if x < 7200 else f"{x / 3600:.1f} h"


def _megabytes(x: float) -> str:
    return f"{x:,.0f} MB" if x < 10_000 else f"{x / 1000:,.0f} GB"
