"""python -m spacy hosemi suspicious: gold that is probably wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import (
    AsJson,
    CodePath,
    Encoding,
    Overwrite,
    hosemi_cli,
    import_code,
    open_training,
    print_json,
    print_table,
    save_docs,
)
from .streams import check_file, clean, fail, say, with_progress

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.training import Example

    from ..explain.suspicions import Suspicion

# The longest text of spans that is shown.
SHOWN = 50


@hosemi_cli.command("suspicious", no_args_is_help=True)
def suspicious_cli(
    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="Documents with gold: a .spacy file, a folder of them, or what "
            "convert reads.",
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Config to train with. Default: what init writes for such texts.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option("--top", "-n", min=1, metavar="N", help="Records to show."),
    ] = 50,
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            min=2,
            metavar="K",
            help="Parts; each is judged by a model of the others.",
        ),
    ] = 5,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds",
            min=1,
            metavar="N",
            help="Divide the documents N times, each time otherwise, and take the mean "
            "of the evidence: a little better, and N times as long.",
        ),
    ] = 1,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="KEY",
            help="Documents with the same value under this key of doc.user_data are in "
            "one part. Those with the same words always are.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the shown records to a .spacy file, the most suspicious one "
            "first, with the gold that they have.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    encoding: Encoding = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Find gold that is probably wrong, to look at it again: the records first that have
    one place where a model of other records is surest that it is wrong.

    Evidence is the log of the odds that exactly one place of the record is wrong: above
    0 that is more probable than that the record is right. The kind says what is wrong
    then: a border, a label, a span that is missing, or one too many.

    \b
    Examples:
      python -m spacy hosemi suspicious train.spacy
      python -m spacy hosemi suspicious export.jsonl --config my.cfg --rounds 3
      python -m spacy hosemi suspicious train.spacy -n 100 -o look.spacy
    """
    from ..component.folds import folds_of
    from ..explain.suspicions import find_suspicions
    from ..inspection.corpus import as_examples, trainable
    from ..labels.alignment import is_complete

    import_code(code_path)
    if output is not None:
        check_file(output, overwrite)
    part, _, _, nlp, pipe = open_training(train, config, encoding)
    examples = as_examples(part.docs, nlp)
    whole = [doc for doc, x in zip(part.docs, examples) if is_complete(x)]
    docs = trainable(whole, nlp)
    if left_out := len(part.docs) - len(docs):
        say(
            f"Left out: {left_out:,} of {len(part.docs):,} documents, which are empty, "
            "have tokens without annotation, or spans that tokens cannot reach"
        )
    keys = _keys(as_examples(docs, nlp), group)
    if (n := len({*keys})) < folds:
        what = "different documents" if group is None else "groups"
        fail(f"There are {n:,} {what}", f"Expected at least --folds {folds}.")
    if not any(doc.ents for doc in docs):
        fail("No document has a span", "Expected gold with some.")
    divisions = [folds_of(keys, folds, seed) for seed in range(rounds)]
    progress = partial(with_progress, total=folds, unit=" folds")
    found = find_suspicions(nlp, pipe.name, docs, divisions, progress)[:top]
    if output is not None:
        save_docs([docs[x.document] for x in found], output, overwrite)
    places = dict(zip(map(id, part.docs), part.places))
    names = [places[id(docs[x.document])] for x in found]
    if as_json:
        rows = [
            {"place": name, "text": docs[x.document].text, "found": x}
            for name, x in zip(names, found)
        ]
        print_json({"component": pipe.name, "n_documents": len(docs), "records": rows})
    else:
        _print(names, docs, found)


def _keys(examples: Sequence[Example], group: str | None) -> list[Hashable]:
    """What documents of one part have in common; exit if it is not known of all."""
    from ..component.folds import words_of
    from ..labels.alignment import group_of

    if group is None:
        return [words_of(x.predicted) for x in examples]
    found: list[Hashable] = [group_of(x, group) for x in examples]
    if None in found:
        fail(
            f"{found.count(None):,} of {len(found):,} documents have no {group!r} in "
            "user_data",
            "Expected it in all, as --group asks for it.",
        )
    return found


def _print(
    names: Sequence[str], docs: Sequence[Doc], found: Sequence[Suspicion]
) -> None:
    rows = []
    for name, one in zip(names, found):
        text = docs[one.document].text
        sides = [_spans(text, spans) for spans in (one.gold, one.instead)]
        rows.append((name, f"{one.evidence:.1f}", one.kind or "-", *sides))
    header = ("record", "evidence", "wrong", "gold", "more probable")
    print_table(f"{len(found):,} of {len(docs):,} records", header, rows, "lrlll")
    counts = Counter(one.kind for one in found if one.evidence > 0)
    told = ", ".join(f"{kind} {n:,}" for kind, n in counts.most_common())
    print(f"\nEvidence above 0: {counts.total():,}{f' ({told})' if told else ''}")


def _spans(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    shown = clean(" | ".join(f"{y}: {text[i:j]}" for i, j, y in spans)) or "no span"
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
