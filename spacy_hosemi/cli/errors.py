"""python -m spacy hosemi errors: what a pipeline gets wrong, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import spacy
from spacy.training import Corpus

from ..component.judging import DocumentResult
from ..explain.mistakes import KINDS, Mistakes, find_mistakes, most_frequent, seen_in
from ..explain.page import mistakes_page
from . import hosemi_cli
from . import options as shared
from .common import print_json, print_table, read_answers, reading
from .options import corpus_argument, corpus_option, option
from .streams import check_outputs, clean, fail, say, shortened, write_text

# The longest text of a span that is shown.
SHOWN = 40


@hosemi_cli.command("errors", no_args_is_help=True)
def errors_cli(
    model: shared.Model,
    data: Path = corpus_argument(
        "GOLD",
        ".spacy file that the pipeline was not trained on; - reads one from standard "
        "input.",
    ),
    train: Path | None = corpus_option(
        "--train FILE",
        ".spacy file that it was trained on: says how it does on words and lengths of "
        "spans that training has not shown.",
    ),
    n_examples: int | None = option(
        "--examples N 0..",
        "Mistakes to show of each kind.",
        show_default="5, in a page 50",
    ),
    html: str | None = option(
        "--html FILE",
        "Write a page to look at instead, with the text around each mistake; - for "
        "standard output.",
    ),
    overwrite: shared.Overwrite = False,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Show what a pipeline gets wrong: how often by kind and label, with examples, the
    most confident ones first; which labels it takes for others; on which texts.

    Any pipeline will do that sets doc.ents; confidences are those of hosemi. Spans are
    compared by characters. Gold and predicted spans that overlap are one mistake, so a
    span that is too long is not missed and spurious as well. The kind says what is
    wrong with the borders; the label is that of the gold.

    \b
    Examples:
      python -m spacy hosemi errors model/model-last dev.spacy --train train.spacy
      python -m spacy hosemi errors model/model-last dev.spacy --examples 20
      python -m spacy hosemi errors model/model-last dev.spacy --html errors.html
      python -m spacy hosemi errors model/model-last dev.spacy --json
    """
    if html is not None and as_json:
        fail("--html and --json are given", "Expected at most one of them.")
    check_outputs({"GOLD": data, "--train": train}, {"--html": html}, overwrite)
    seen = None
    if train is not None:
        with reading(train):
            seen = seen_in(Corpus(train)(spacy.blank("xx")))
    answers = read_answers(model, data, has_confidence=True)
    if not any(answer.gold or answer.predicted for answer in answers):
        found = f"Its {len(answers):,} annotated documents have no spans"
        title = f"There is nothing to look at in {str(data)!r}"
        fail(title, f"{found}, and none is predicted.")
    mistakes = find_mistakes(answers, seen)
    n, p = mistakes.n_documents, (mistakes.n_exact + 2) / (mistakes.n_documents + 4)
    around = 1.96 * (p * (1 - p) / (n + 4)) ** 0.5  # Agresti and Coull
    if around > 0.1:
        low, high = (100 * min(max(x, 0), 1) for x in (p - around, p + around))
        say(
            f"Note: {n:,} documents are few: of others like these {low:.0f} to "
            f"{high:.0f} % of the records may be exact"
        )
    if html is not None:
        n = 50 if n_examples is None else n_examples
        title = f"Mistakes of {model}"
        page = mistakes_page(mistakes, answers, n_examples=n, title=title)
        write_text(page, html, overwrite)
    elif as_json:
        by_kind = {kind: dict(counts) for kind, counts in mistakes.by_kind().items()}
        print_json({"model": model, "by_kind": by_kind, "found": mistakes})
    else:
        _print(mistakes, answers, 5 if n_examples is None else n_examples)


def _print(
    mistakes: Mistakes, answers: Sequence[DocumentResult], n_examples: int
) -> None:
    print(
        f"{mistakes.n_gold:,} spans in gold, {mistakes.n_found:,} predicted, "
        f"{mistakes.n_right:,} right; {mistakes.n_exact:,} of "
        f"{mistakes.n_documents:,} records exact"
    )
    counts = mistakes.by_kind()
    rows: list[tuple[Any, ...]] = [
        (kind, n.total(), most_frequent(n), KINDS[kind]) for kind, n in counts.items()
    ]
    rows.sort(key=lambda row: -counts[row[0]].total())
    print_table("by kind", ("kind", "n", "labels", "meaning"), rows, "lrll")
    confusion = {y: Counter(others) for y, others in mistakes.confusion.items()}
    by_total = sorted(confusion.items(), key=lambda pair: -pair[1].total())
    rows = [(label, most_frequent(others)) for label, others in by_total]
    print_table("taken for another", ("gold", "predicted"), rows, "ll")
    shares = [x for x in mistakes.shares if x.n]
    rows = [(x.name, x.n, f"{100 * x.n_right / x.n:.1f}") for x in shares]
    print_table("by text", ("of", "n", "% right"), rows, "lrr")
    for kind in [row for row in KINDS if row in counts] if n_examples else ():
        of_kind = [x for x in mistakes.mistakes if x.kind == kind]
        rows = []
        for x in of_kind[:n_examples]:
            spans = [
                f"{clean(label)}: {shortened(text, SHOWN)}"
                for (_, _, label), text in zip((*x.gold, *x.found), x.texts)
            ]
            n, p = len(x.gold), "" if x.confidence is None else f"{x.confidence:.3f}"
            sides = " | ".join(spans[:n]), " | ".join(spans[n:])
            rows.append((answers[x.document].number, *sides, p))
        header = ("document", "gold", "predicted", "confidence")
        print_table(f"{kind}: {len(of_kind):,}", header, rows, "rllr")
