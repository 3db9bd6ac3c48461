"""python -m spacy hosemi suspicious: gold that is probably wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import partial

from spacy.tokens import Doc
from spacy.training import Example

from ..component.extraction import word_tokens
from ..component.folds import folds_of, words_of
from ..explain.label_errors import LabelError, find_label_errors
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation
from ..formats.writers import WriterOptions
from ..inspection.corpus import as_examples, trainable
from ..labels.alignment import Characters, group_of, is_complete
from . import hosemi_cli
from . import options as shared
from .common import open_training, print_json, print_table, write_chosen
from .options import SPACY, check_task_format, option
from .streams import check_outputs, fail, say, shortened, with_progress

# The longest text of spans that is shown.
SHOWN = 50


@hosemi_cli.command("suspicious", no_args_is_help=True)
def suspicious_cli(
    train: shared.TrainingCorpus,
    config: shared.Config = None,
    top: int = option("--top -n N 1..", "Records to show.", 50),
    folds: int = option(
        "--folds K 2..1000", "Parts; each is judged by a model of the others.", 5
    ),
    rounds: int = option(
        "--rounds N 1..100",
        "Divide the documents N times, each time otherwise, and take the mean of the "
        "evidence: a little better, and N times as long.",
        1,
    ),
    group: str | None = option(
        "--group KEY",
        "Documents with the same value under this key of doc.user_data are in one "
        "part. Those with the same words always are.",
    ),
    output: str | None = option(
        "--output -o FILE",
        "Write the shown records to a file, the most suspicious one first, with the "
        "gold that they have.",
    ),
    form: shared.TaskFormat = SPACY,
    overwrite: shared.Overwrite = False,
    encoding: shared.Encoding = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Find gold that is probably wrong, to look at it again: the records first that have
    one place where a model of other records is surest that it is wrong.

    Evidence is the log of the odds that exactly one place of the record is wrong: above
    0 that is more probable than that the record is right. The kind says what is wrong
    then: a border, a label, a span that is missing, or one too many. Tasks for a tool
    show what is more probable, the evidence and the kind beside the gold.

    \b
    Examples:
      python -m spacy hosemi suspicious train.spacy
      python -m spacy hosemi suspicious export.jsonl --config my.cfg --rounds 3
      python -m spacy hosemi suspicious train.spacy -n 100 -o look.spacy
      python -m spacy hosemi suspicious train.spacy -o look.json -F label-studio
    """
    check_task_format(form, output, "--output")
    check_outputs({"TRAIN": train}, {"--output": output}, overwrite)
    part, nlp, pipe, _ = open_training(train, config, encoding, group)
    examples = as_examples(part.docs, nlp)
    complete = [doc for doc, x in zip(part.docs, examples) if is_complete(x)]
    docs = trainable(complete, nlp)
    if left_out := len(part.docs) - len(docs):
        say(
            f"Left out: {left_out:,} of {len(part.docs):,} documents, which are empty, "
            "have tokens without annotation, or spans that tokens cannot reach"
        )
    keys = _keys(as_examples(docs, nlp), group)
    if (n := len({*keys})) < folds:
        what = "different documents" if group is None else "groups"
        expected = f"Expected {folds} or more for --folds {folds}: give fewer folds."
        fail(f"Number of {what}: {n:,}", expected)
    if not any(doc.ents for doc in docs):
        fail("No document has a span", "Expected gold with some.")
    divisions = [folds_of(keys, folds, seed) for seed in range(rounds)]
    progress = partial(with_progress, total=folds, unit=" folds")
    errors = find_label_errors(nlp, pipe.name, docs, divisions, progress)
    n_above = sum(x.evidence > 0 for x in errors)
    if n_above > len(docs) / 5:  # more than gold has wrong
        say(
            f"Note: {n_above:,} of {len(docs):,} records have evidence above 0: models "
            "of so few are often wrong themselves. Look at the first ones alone"
        )
    shown = errors[:top]
    places = dict(zip(map(id, part.docs), part.places))
    names = [places[id(docs[x.document])] for x in shown]
    if output is not None:
        options = WriterOptions("gold", alternative="more probable")
        records = _records(names, docs, shown)
        chosen = [docs[x.document] for x in shown]
        write_chosen(chosen, records, form, output, overwrite, options)
    if as_json:
        rows = [
            {"place": name, "text": docs[x.document].text, "found": x}
            for name, x in zip(names, shown)
        ]
        print_json({"component": pipe.name, "n_documents": len(docs), "records": rows})
    else:
        cells = []
        for name, x in zip(names, shown):
            text = docs[x.document].text
            sides = [_spans(text, spans) for spans in (x.gold, x.instead)]
            cells.append((name, f"{x.evidence:.1f}", x.kind or "-", *sides))
        header = ("record", "evidence", "wrong", "gold", "more probable")
        print_table(f"{len(shown):,} of {len(docs):,} records", header, cells, "lrlll")
        _print_counts(errors)


def _keys(examples: Sequence[Example], group: str | None) -> list[Hashable]:
    """Returns what documents of one part share; exits if a document has no group."""
    if group is None:
        return [words_of(x.predicted) for x in examples]
    groups: list[Hashable] = [group_of(x, group) for x in examples]
    if None in groups:
        found = f"{groups.count(None):,} of {len(groups):,} documents"
        remedy = f"`hosemi convert --group {group}` keeps what texts have there"
        fail(f"{found} have no {group!r} in user_data", f"Expected it: {remedy}.")
    return groups


def _records(
    names: Sequence[str], docs: Sequence[Doc], errors: Sequence[LabelError]
) -> Iterator[ExtractedRecord]:
    """Yields records with their gold, and what is more probable as an alternative."""
    for name, x in zip(names, errors):
        doc = docs[x.document]
        gold = [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        instead = sorted({*gold} - {*x.gold} | {*x.instead})
        best = Segmentation(_fields(doc.text, gold), math.exp(x.log_probability))
        alternatives = []
        if instead != gold:
            alternatives = [Segmentation(_fields(doc.text, instead), None)]
        # Infinity is no JSON.
        evidence = round(x.evidence, 2) if math.isfinite(x.evidence) else None
        notes = {"place": name, "evidence": evidence, "kind": x.kind}
        tokens = word_tokens(doc)
        yield ExtractedRecord(0, doc.text, best, alternatives, tokens, notes=notes)


def _fields(text: str, spans: Sequence[Characters]) -> list[ExtractedField]:
    return [ExtractedField(i, j, y, text[i:j], None) for i, j, y in spans]


def _print_counts(errors: Sequence[LabelError]) -> None:
    """Counts all records, shown or not."""
    counts = Counter(x.kind or "no single change" for x in errors if x.evidence > 0)
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in counts.most_common())
    print(f"\nEvidence above 0: {counts.total():,}{f' ({kinds})' if kinds else ''}")


def _spans(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    texts = " | ".join(f"{y}: {text[i:j]}" for i, j, y in spans)
    return shortened(texts, SHOWN) or "no span"
