"""python -m spacy hosemi guarantee: which answers need no eye."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..component.fingerprint import fingerprint
from ..explain.error_bounds import (
    ErrorBound,
    check_results,
    guarantee_records,
    guarantee_spans,
    without_copies,
)
from ..explain.guarantees import Chosen
from . import hosemi_cli
from . import options as shared
from .common import (
    labels_of,
    load_component,
    print_json,
    print_table,
    read_answers,
    save_pipeline,
)
from .options import corpus_argument, folder_option, option
from .streams import fail, failing, say


@hosemi_cli.command("guarantee", no_args_is_help=True)
def guarantee_cli(
    model: shared.Model,
    data: Path = corpus_argument(
        "DEV",
        ".spacy file of documents that neither training nor calibration has seen; - "
        "reads one from standard input.",
    ),
    record_error: float | None = option(
        "--record-error SHARE 0..1",
        "At most this share of the accepted records is wrong.",
    ),
    span_error: float | None = option(
        "--span-error SHARE 0..1", "At most this share of the accepted spans is wrong."
    ),
    delta: float = option(
        "--delta P 0..1",
        "The probability that the promise is not kept, because DEV was lucky.",
        0.05,
    ),
    per_label: bool = option(
        "--per-label",
        "Keep --span-error for each label, with a threshold of its own.",
        False,
    ),
    group: str | None = option(
        "--group KEY",
        "Documents of one source, which have the same value under this key of "
        "doc.user_data, count as one.",
    ),
    output: Path | None = folder_option(
        "Save the pipeline with the threshold, for `hosemi parse`; with --overwrite "
        "DIR may be MODEL."
    ),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Choose the probability above which answers need no eye, with a bound on how many of
    them are wrong.

    A record is wrong if any of its spans is wrong or missing; of spans only those that
    were found can be wrong. With probability 1 - delta the bound holds for all
    documents like those of DEV, whatever the model: errors are counted, and the
    probabilities of the model only say in which order. With few documents, or an
    uncertain model, no threshold can be shown to keep the promise; --record-error 0.01
    needs 299 accepted records without an error.

    \b
    Examples:
      python -m spacy hosemi guarantee model/model-last new.spacy --record-error 0.01
      python -m spacy hosemi guarantee m new.spacy --record-error 0.05 -o m -f
      python -m spacy hosemi guarantee m new.spacy --span-error 0.02 --per-label
    """
    options = {"--record-error": record_error, "--span-error": span_error}
    shares = [(name, x) for name, x in options.items() if x is not None]
    if len(shares) != 1:
        title = "Expected one of --record-error and --span-error"
        fail(title, "Say which share of wrong answers you can bear, such as 0.01.")
    for name, value in (*shares, ("--delta", delta)):
        if not 0.0 < value < 1.0:
            fail(f"{name} is {value:g}", "Expected a share above 0 and below 1.")
    bound = ErrorBound(shares[0][1], delta)
    if per_label and span_error is None:
        fail("--per-label goes with --span-error", "A record has no label.")
    nlp, pipe = load_component(model, component, output)
    with_copies = read_answers(nlp, data, has_confidence=True, group=group)
    answers = without_copies(with_copies)
    if (facts := pipe.facts) is not None:  # `parse` judges them so, too
        for k, x in enumerate(answers):
            if facts.is_unusual([label for *_, label in x.predicted], x.text):
                nothing = dict.fromkeys(x.confidence, 0.0)
                answers[k] = replace(x, confidence=nothing, record_confidence=0.0)
    if n := len(with_copies) - len(answers):
        say(f"Left out: {n:,} of {len(with_copies):,} documents, copies of others")
    seen = pipe.training_texts
    if seen is None:
        say("Note: this model does not know its training texts; DEV may have them.")
    is_of_training = None if seen is None else seen.has
    digest = fingerprint(pipe)
    with failing(f"Cannot promise anything by {str(data)!r}"):
        names = labels_of(nlp, pipe)
        unknown = {y for x in answers for *_, y in x.gold}.difference(names)
        if unknown:
            wrong = "records with it" if span_error is None else "spans in its place"
            names_of_gold = ", ".join(sorted(unknown))
            say(f"Note: the pipeline has no {names_of_gold}: {wrong} are wrong")
        answers = check_results(answers, names, is_of_training, bound, group)
        if span_error is None:
            guarantee, of_records = guarantee_records(answers, bound, digest)
            thresholds = {"": of_records}
        else:
            labels = names if per_label else None
            guarantee, thresholds = guarantee_spans(answers, bound, digest, labels)
    if output is not None:
        pipe.guarantee = guarantee
        save_pipeline(nlp, output)
    if as_json:
        report = {"guarantee": guarantee.to_cfg(), "found": thresholds}
        print_json({"component": pipe.name, "n_documents": len(answers), **report})
    else:
        what = "records" if guarantee.is_of_records else "spans"
        _print(what, thresholds, bound, len(answers))


def _print(what: str, thresholds: dict[str, Chosen], bound: ErrorBound, n: int) -> None:
    rows: list[tuple[Any, ...]] = []
    for label, chosen in thresholds.items():
        if chosen.n_tested:
            threshold = chosen.threshold
            text = "none" if threshold is None else f"{threshold:.6g}"
            share = f"{100 * chosen.n_accepted / chosen.n_tested:.1f}"
            counts = chosen.n_tested, chosen.n_accepted, share, chosen.n_wrong
            rows.append((label or "all", text, *counts))
    if all(x.n_accepted == x.n_tested for x in thresholds.values()):
        say(f"Note: all {what} are accepted; a bound below {bound.error:g} tells more")
    header = ("label", "threshold", what, "accepted", "%", "wrong")
    print(f"{n:,} documents")
    print_table(f"{what} that need no eye", header, rows, "llrrrr")
    print(
        f"With probability {1 - bound.delta:g} at most {100 * bound.error:g} % of "
        f"the {what} {'' if '' in thresholds else 'of each label '}are wrong that are "
        "accepted in documents like these."
    )
