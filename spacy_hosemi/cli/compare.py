"""python -m spacy hosemi compare: whether one pipeline is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from ..component.judging import DocumentResult
from ..explain.comparing import Comparison, Difference, compare_results
from . import hosemi_cli
from . import options as shared
from .common import print_json, print_table, read_answers
from .options import argument, corpus_argument, option
from .streams import failing, shortened


@hosemi_cli.command("compare", no_args_is_help=True)
def compare_cli(
    first: str = argument("FIRST", "Folder or package name of a trained pipeline."),
    second: str = argument("SECOND", "Another, perhaps a better one."),
    data: Path = corpus_argument(
        "GOLD",
        ".spacy file that neither was trained on; - reads one from standard input.",
    ),
    n_draws: int = option("--draws N 100..1000000", "Draws of the bootstrap.", 10_000),
    n_examples: int = option("--examples N 0..", "Changes to show of each kind.", 10),
    seed: int = option("--seed N 0..4294967295", "Seed of the draws.", 0),
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Say whether one pipeline finds more than another, or whether it is chance; show what
    became right, and what became wrong.

    Any pipeline will do that sets doc.ents. Spans are compared by characters, so they
    may have different tokenizers. F1 is that of exact spans with exact labels; an exact
    record has all of its spans and no other ones. Documents are drawn with replacement,
    the same for both, again and again (paired bootstrap): 95 % of the differences lie
    between the two numbers shown. If 0 lies between them, it may be chance.

    \b
    Examples:
      python -m spacy hosemi compare old/model-last new/model-last dev.spacy
      python -m spacy hosemi compare ner/model-best hosemi/model-last test.spacy --json
    """
    answers = read_answers(first, data), read_answers(second, data)
    with failing(f"Cannot compare on {str(data)!r}"):
        comparison = compare_results(*answers, n_draws, seed)
    if as_json:
        print_json({"first": first, "second": second, "comparison": comparison})
    else:
        _print(comparison, answers[0], n_examples)


def _print(
    comparison: Comparison, answers: Sequence[DocumentResult], n_examples: int
) -> None:
    n = comparison.n_documents
    print(f"{n:,} document{'s' * (n != 1)}, {comparison.n_spans:,} spans")
    rows = [("F1 of spans", *_cells(comparison.f1))]
    if comparison.records is not None:
        name = f"exact records of {comparison.n_records:,}"
        rows.append((name, *_cells(comparison.records)))
    header = ("%", "first", "second", "difference", "95 % of draws", "p")
    print_table("in all", header, rows, "lrrrrr")
    labels: list[tuple[Any, ...]] = [
        (label, comparison.n_of_label[label], *_cells(difference))
        for label, difference in comparison.labels.items()
    ]
    labels.sort(key=lambda row: -abs(float(row[4])))
    print_table("F1 by label", ("%", "spans", *header[1:]), labels, "lrrrrrr")
    for title, changes, wrong in (
        ("became right", comparison.better, "was wrong, is gone"),
        ("became wrong", comparison.worse, "is wrong, is new"),
    ):
        cells = [
            (answers[x.document].number, x.label)
            + (shortened(x.text, 50), "" if x.is_gold else wrong)
            for x in changes[:n_examples]
        ]
        if n_examples:
            columns = ("document", "label", "span", "")
            print_table(f"{title}: {len(changes):,}", columns, cells, "rlll")
    print(f"\nThe difference of F1 {_verdict(comparison.f1)}.")
    if comparison.records is not None:
        print(f"The difference of exact records {_verdict(comparison.records)}.")


def _verdict(difference: Difference) -> str:
    if difference.low <= 0.0 <= difference.high:
        return "may be chance: 0 is among 95 % of the draws"
    side = "above" if difference.low > 0.0 else "below"
    return f"is hardly chance: 95 % of the draws are {side} 0"


def _cells(difference: Difference) -> tuple[str, ...]:
    a, b, low, high = (100 * x for x in astuple(difference)[:4])
    span = f"{low:+.2f} to {high:+.2f}"
    return f"{a:.2f}", f"{b:.2f}", f"{b - a:+.2f}", span, f"{difference.p:.4f}"
