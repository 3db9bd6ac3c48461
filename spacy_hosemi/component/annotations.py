"""Writes predictions into documents: the only place that sets `doc.ents`.

Entities are written as attributes of tokens, without a `Span` for each of them: that,
and Doc.set_ents, takes about half as long again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import Any, cast

import numpy as np
from spacy.attrs import (  # type: ignore[import-not-found]
    ENT_IOB,
    ENT_TYPE,
    SENT_START,
)
from spacy.tokens import Doc, SpanGroup
from spacy.tokens import Span as DocSpan
from thinc.types import Ints2d

from ..features.doc_batch import DocBatch
from ..features.instances import sentence_starts
from ..labels.inventory import Span
from ..labels.partial import PartialLabels
from ..prediction.decoder import Prediction
from ..prediction.existing_entities import (
    is_blocked,
    preset_entities,
)
from ..prediction.memo import MEMO
from ..prediction.posterior import StoredPosterior
from ..prediction.records import (
    MARK,
    NAME,
    Record,
    entities_by_origin,
    find_records,
    text_length,
)
from ..prediction.span_table import SpanTable, TableSpans
from .token_labels import describe, describe_table

# The attributes in the columns that `descriptions` makes.
ATTRIBUTES = [ENT_IOB, ENT_TYPE]

# What is read of each token, as `describe` takes it. `Doc.to_array` takes numbers, too,
# but a third more time for them.
_READ: Any = ("ENT_IOB", "SENT_START", "LENGTH", "SPACY")

# The number of each label that was written: to ask whether a vocabulary has it takes a
# tenth of the time of adding it again.
_NUMBERS: dict[str, int] = {}

# Attributes of tokens, keys of spans, number of characters; whether there are entities
# and sentence starts. See `describe`.
Description = tuple[Ints2d, list[str], int, bool, bool]


def write_predictions(
    docs: Sequence[Doc],
    predictions: Sequence[Prediction],
    name: str,
    spans_key: str | None,
    record: dict[str, Any],
) -> None:
    """Write entities beside the preset ones, the record, and the span group.

    docs (Sequence[Doc]): Documents.
    predictions (Sequence[Prediction]): Of each document.
    name (str), spans_key (Optional[str]): Of the component.
    record (Dict[str, Any]): What the records of all these documents have.
    RAISES (IndexError): A span is not within its document.
    """
    described = descriptions(docs, [prediction.spans for prediction in predictions])
    for doc, prediction, of_doc in zip(docs, predictions, described):
        columns, keys, n_characters, has_ents, has_sents = of_doc
        spans, scores = prediction.spans, prediction.scores
        new = dict(record)
        # A hook may give sentences to a document without sentence starts.
        has_sents = has_sents or "sents" in doc.user_hooks
        new["given"] = _given(doc, name, has_ents, has_sents)
        if has_ents:
            _add_entities(doc, [DocSpan(doc, *span) for span in spans], name)
        else:
            doc.from_array(ATTRIBUTES, columns)
        new["spans"] = (
            dict.fromkeys(keys) if scores is None else dict(zip(keys, scores))
        )
        new["whole"] = prediction.whole
        if prediction.paths:
            new["paths"] = dict(zip(keys, prediction.paths))
        _leave_record(doc, name, new, n_characters)
        if spans_key is not None:
            doc.spans[spans_key] = _span_group(doc, prediction, spans_key)
    _remember(docs, predictions, name)


def write_table(
    docs: DocBatch, table: SpanTable, name: str, record: dict[str, Any]
) -> None:
    """`write_predictions` of documents without entities and sentence starts.

    docs (DocBatch): Documents, as they were read for the prediction.
    table (SpanTable): What is predicted in each.
    name (str): Of the component.
    record (Dict[str, Any]): What the records of all these documents have.
    RAISES (IndexError): Tokens were merged or split since.
    """
    names, first, spans = table.labels, docs.borders, table.spans.tolist()
    strings = docs[0].vocab.strings
    numbers = {y: _number(names[y], strings) for y in {span[2] for span in spans}}
    args = first, table.n_spans.tolist(), spans, names, numbers
    columns, of_docs, n_characters = describe_table(docs.tokens, *args)
    scores = None if table.confidence is None else iter(table.confidence.tolist())
    wholes = repeat(None) if table.whole is None else table.whole.tolist()
    for doc, (i, j), keys, n_chars, whole in zip(
        docs, pairwise(first), of_docs, n_characters, wholes
    ):
        if len(doc) != j - i:
            raise IndexError(f"{j - i} tokens were read, there are {len(doc)}")
        given: dict[str, Any] = {"tokens": j - i}
        if j - i < 2 or "sents" in doc.user_hooks:  # it has sentences, see `Doc`
            given["sents"] = sentence_starts(doc).tolist()
        if i < j:
            doc.from_array(ATTRIBUTES, columns[i:j])
        else:
            doc.set_ents([])
        new = {
            **record,
            "given": given,
            "spans": dict.fromkeys(keys) if scores is None else dict(zip(keys, scores)),
            "whole": whole,
        }
        _leave_record(doc, name, new, n_chars)
    if scores is None:
        MEMO.store(name, docs, table.posteriors, TableSpans(table))
    else:
        MEMO.drop(name, docs)


def _number(label: str, strings: Any) -> int:
    """RETURNS (int): Of a label, which is among the strings now."""
    number = _NUMBERS.get(label)
    if number is None or number not in strings:
        number = _NUMBERS[label] = strings.add(label)
    return number


def _leave_record(doc: Doc, name: str, record: Record, n_characters: int) -> None:
    """Replace the records of one component; the new one stands last."""
    data: dict[Any, Any] = doc.user_data
    if data:
        for *_, by_name in find_records(doc):
            by_name.pop(name, None)
    key = MARK, NAME, 0, n_characters
    latest = data.pop(key, {})
    latest[name] = record
    data[key] = latest


def _remember(
    docs: Sequence[Doc], predictions: Sequence[Prediction], name: str
) -> None:
    """Keep what gives the probabilities that are not known yet."""
    posteriors = [prediction.posterior for prediction in predictions]
    if posteriors and (first := posteriors[0]) is not None:
        decoder = first.decoder
        if all([x is not None and x.decoder is decoder for x in posteriors]):
            spans = [prediction.spans for prediction in predictions]
            MEMO.store(name, docs, cast(list[StoredPosterior], posteriors), spans)
            return
    known: list[Doc] = []
    left: dict[Any, list[tuple[Doc, StoredPosterior, Sequence[Span]]]] = {}
    for doc, prediction in zip(docs, predictions):
        posterior = prediction.posterior
        if posterior is None:
            known.append(doc)
        else:
            of_decoder = left.setdefault(posterior.decoder, [])
            of_decoder.append((doc, posterior, prediction.spans))
    if known:
        MEMO.drop(name, known)
    for some in left.values():
        MEMO.store(name, *zip(*some))


def descriptions(
    docs: Sequence[Doc], spans: Sequence[Sequence[Span]]
) -> list[Description]:
    """What is written of the entities of documents, and what is known of the documents.

    docs (Sequence[Doc]): Of n tokens each.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Of each document; no two overlap.
    RETURNS (List[Description]): Of each document.
    RAISES (IndexError): A span is not within its document, because tokens were merged
        since.
    """
    labels = {label for of_doc in spans for _, _, label in of_doc}
    vocabs = {doc.vocab for doc in docs}
    ids = {x: {label: x.strings.add(label) for label in labels} for x in vocabs}
    return [
        describe(some, ids[doc.vocab], doc.to_array(_READ))
        for doc, some in zip(docs, spans)
    ]


def remove_excluded(doc: Doc, corrections: PartialLabels) -> None:
    """Remove existing entities that a user has excluded."""
    wrong = [x for x in doc.ents if corrections.excludes((x.start, x.end, x.label_))]
    doc.set_ents([], outside=wrong, default="unmodified")


def before_prediction(doc: Doc, name: str, given: dict[str, Any] | None) -> Doc | None:
    """A document as it was before its prediction.

    doc (Doc): The document now.
    name (str): Of the component.
    given (Optional[Dict[str, Any]]): From the record.
    RETURNS (Optional[Doc]): With the sentence starts and entities of then; None if it
        has other tokens now.
    """
    if given is None:
        return doc
    if given["tokens"] != len(doc):
        return None
    has_ents, has_sents = map(doc.has_annotation, (ENT_IOB, SENT_START))
    if _as_lists(given) == _given(doc, name, has_ents, has_sents):
        return doc
    found = copy_tokens(doc, given.get("sents"))
    preset = [DocSpan(found, *span) for span in given.get("preset", ())]
    ents = [span for span in preset if span.label]
    found.set_ents(ents, blocked=[span for span in preset if not span.label])
    return found


def is_predicted(doc: Doc, name: str) -> bool:
    """Whether a component has predicted a document, with the tokens that it has now."""
    records = [x.by_name[name] for x in find_records(doc) if name in x.by_name]
    return any(x.get("given", {}).get("tokens", len(doc)) == len(doc) for x in records)


def as_predicted(doc: Doc, name: str) -> tuple[Doc, list[Span]]:
    """A document as a component has met it, if it still has all entities of the
    component; else as it is.

    doc (Doc): The document now.
    name (str): Of the component.
    RETURNS (Tuple[Doc, List[Tuple[int, int, str]]]): With the sentence starts and
        entities of then; the entities that came later.
    """
    runs = [x for x in find_records(doc) if name in x.by_name] if doc.user_data else []
    if not runs or runs[-1].start != 0 or runs[-1].end != text_length(doc):
        return doc, []
    record = runs[-1].by_name[name]
    before = before_prediction(doc, name, record.get("given"))
    if before is None or before is doc:
        return doc, []
    own, others = entities_by_origin(doc, name)
    if len(own) != len(record["spans"]):
        return doc, []
    preset = {(x.start, x.end, x.label_) for x in before.ents}
    return before, [span for span in others if span not in preset]


def _given(doc: Doc, name: str, has_ents: bool, has_sents: bool) -> dict[str, Any]:
    """What limits a prediction, so that its confidences can be computed later.

    doc (Doc): n tokens, before the component writes its entities.
    name (str): Of the component.
    has_ents, has_sents (bool): Whether entities and sentence starts are set, see
        `Doc.has_annotation`.
    RETURNS (Dict[str, Any]): Plain values: "tokens", n; where they are set, "sents",
        the tokens that begin sentences, and "preset", [start, end, label] of preset
        entities and, with an empty label, of blocked tokens.
    """
    given: dict[str, Any] = {"tokens": len(doc)}
    if has_sents:
        given["sents"] = sentence_starts(doc).tolist()
    if has_ents:
        ents = [[*span] for span in entities_by_origin(doc, name)[1]]
        blocked = np.flatnonzero(is_blocked(doc)).tolist()
        if preset := ents + [[i, i + 1, ""] for i in blocked]:
            given["preset"] = preset
    return given


def copy_tokens(doc: Doc, starts: Sequence[int] | None) -> Doc:
    """A document with the same tokens and attributes that features read, and without
    entities. Heads and span groups, which a user's function may read, are not copied.

    doc (Doc): n tokens.
    starts (Optional[Sequence[int]]): Tokens with which sentences begin; None: not set.
    RETURNS (Doc): Has the same `user_data`.
    """
    marked = None if starts is None else {0, *starts}
    found = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        user_data=doc.user_data,
        sent_starts=None if marked is None else [i in marked for i in range(len(doc))],
    )
    for token, of_doc in zip(found, doc):
        for name in ("norm_", "lemma_", "pos_", "tag_", "dep_"):
            setattr(token, name, getattr(of_doc, name))
        if of_doc.has_morph():  # none is not the same as an empty one
            token.morph = of_doc.morph
    found.tensor = doc.tensor
    return found


def _as_lists(value: Any) -> Any:
    """Of lists DocBin makes tuples."""
    if isinstance(value, dict):
        return {key: _as_lists(one) for key, one in value.items()}
    return [*map(_as_lists, value)] if isinstance(value, (list, tuple)) else value


def _add_entities(doc: Doc, ents: list[DocSpan], name: str) -> None:
    """Write entities beside the preset ones and blocked tokens; no token is missing
    afterwards."""
    is_taken = np.zeros(len(doc), bool)
    for ent in ents:
        is_taken[ent.start : ent.end] = True
    others = [
        ent
        for ent in preset_entities(doc, name)
        if not is_taken[ent.start : ent.end].any()
    ]
    free = np.flatnonzero(is_blocked(doc) & ~is_taken).tolist()
    doc.set_ents([*others, *ents], blocked=[doc[i : i + 1] for i in free])


def _span_group(doc: Doc, prediction: Prediction, key: str) -> SpanGroup:
    listed = prediction.listed
    if listed is None:
        listed = list(zip(prediction.spans, prediction.scores or ()))
    spans = [DocSpan(doc, *span) for span, _ in listed]
    group = SpanGroup(doc, name=key, spans=spans)
    group.attrs["scores"] = np.array([p for _, p in listed], "f")
    return group
