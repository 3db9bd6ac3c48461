"""python -m spacy hosemi compare: whether one pipeline is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    AsJson,
    CodePath,
    check_corpus,
    hosemi_cli,
    print_json,
    print_table,
    read_answers,
)
from .streams import clean, fail

if TYPE_CHECKING:
    from ..component.judging import DocumentResult
    from ..explain.comparing import Change, Comparison, Difference


@hosemi_cli.command("compare", no_args_is_help=True)
def compare_cli(
    first: Annotated[
        str,
        typer.Argument(
            metavar="FIRST", help="Folder or package name of a trained pipeline."
        ),
    ],
    second: Annotated[
        str, typer.Argument(metavar="SECOND", help="Another, perhaps a better one.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="GOLD",
            help=".spacy file that neither was trained on; - reads one from standard "
            "input.",
        ),
    ],
    n_draws: Annotated[
        int,
        typer.Option("--draws", min=100, metavar="N", help="Draws of the bootstrap."),
    ] = 10_000,
    n_examples: Annotated[
        int,
        typer.Option(
            "--examples", min=0, metavar="N", help="Changes to show of each kind."
        ),
    ] = 10,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Of the draws.")
    ] = 0,
    as_json: AsJson = False,
    code_path: CodePath = None,
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
    from ..explain.comparing import compare_answers

    data = check_corpus(data, "GOLD")
    answers = read_answers(first, data), read_answers(second, data)
    try:
        found = compare_answers(*answers, n_draws, seed)
    except ValueError as e:
        fail(f"Cannot compare on {str(data)!r}", str(e))
    if as_json:
        print_json({"first": first, "second": second, "comparison": found})
    else:
        _print(found, answers[0], n_examples)


def _print(
    found: Comparison, answers: Sequence[DocumentResult], n_examples: int
) -> None:
    n = found.n_documents
    print(f"{n:,} document{'s' * (n != 1)}, {found.n_spans:,} spans")
    rows = [("F1 of spans", *_cells(found.f1))]
    if found.records is not None:
        name = f"exact records of {found.n_records:,}"
        rows.append((name, *_cells(found.records)))
    header = ("%", "first", "second", "difference", "95 % of draws", "p")
    print_table("in all", header, rows, "lrrrrr")
    of_labels = [
        (label, f"{found.n_of_label[label]:,}", *_cells(one))
        for label, one in found.labels.items()
    ]
    of_labels.sort(key=lambda row: -abs(float(row[4])))
    print_table("F1 by label", ("%", "spans", *header[1:]), of_labels, "lrrrrrr")
    for title, changes, wrong in (
        ("became right", found.better, "was wrong, is gone"),
        ("became wrong", found.worse, "is wrong, is new"),
    ):
        shown = [
            (answers[change.document].number, *_row(change, wrong))
            for change in changes[:n_examples]
        ]
        if n_examples:
            columns = ("document", "label", "span", "")
            print_table(f"{title}: {len(changes):,}", columns, shown, "rlll")
    print()
    for name, one in (("F1", found.f1), ("exact records", found.records)):
        if one is not None:
            print(f"The difference of {name} {_verdict(one)}.")


def _verdict(one: Difference) -> str:
    if one.low <= 0.0 <= one.high:
        return "may be chance: 0 is among 95 % of the draws"
    side = "above" if one.low > 0.0 else "below"
    return f"is hardly chance: 95 % of the draws are {side} 0"


def _cells(one: Difference) -> tuple[str, ...]:
    a, b, low, high = (100 * x for x in (one.first, one.second, one.low, one.high))
    span = f"{low:+.2f} to {high:+.2f}"
    return f"{a:.2f}", f"{b:.2f}", f"{b - a:+.2f}", span, f"{one.p:.4f}"


def _row(change: Change, wrong: str) -> tuple[Any, ...]:
    text = clean(change.text)
    shown = text if len(text) <= 50 else f"{text[:47]}..."
    kind = "" if change.is_gold else wrong
    return change.label, shown, kind
