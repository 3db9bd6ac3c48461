"""Writes predictions into documents: the only place that sets `doc.ents`.

Entities are written as attributes of tokens, without a `Span` for each of them: that,
and Doc.set_ents, takes about half as long again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from spacy.attrs import (  # type: ignore[import-not-found]
    ENT_IOB,
    ENT_TYPE,
    SENT_START,
)
from spacy.tokens import Doc, SpanGroup
from spacy.tokens import Span as DocSpan

from ..features.doc_batch import DocBatch
from ..features.instances import sentence_starts
from ..labels.inventory import Span
from ..labels.partial import PartialLabels
from ..prediction.existing_entities import is_blocked, preset_entities
from ..prediction.posterior_cache import CACHE
from ..prediction.predictions import Prediction, Predictions
from ..prediction.records import (
    MARK,
    NAME,
    Record,
    entities_by_origin,
    find_records,
    text_length,
)
from ..values import as_lists
from .token_labels import describe

# The attributes in the columns that `describe` makes.
ATTRIBUTES = [ENT_IOB, ENT_TYPE]

# The number of each label that was written: to ask whether a vocabulary has it takes a
# tenth of the time of adding it again.
_NUMBERS: dict[str, int] = {}


def write_predictions(
    docs: DocBatch,
    predictions: Predictions,
    name: str,
    spans_key: str | None,
    record: dict[str, Any],
) -> None:
    """Writes entities beside the preset ones, the record of the component of this name,
    and the span group. Raises IndexError if a span is not within its document, or
    tokens were merged or split since the documents were read.

    record (Dict[str, Any]): What the records of all these documents have.
    """
    labels, first, spans = predictions.labels, docs.borders, predictions.spans.tolist()
    strings = docs[0].vocab.strings
    numbers = {y: _number(labels[y], strings) for y in {span[2] for span in spans}}
    args = first, predictions.n_spans.tolist(), spans, labels, numbers
    columns, keys_of_docs, n_characters = describe(docs.tokens, *args)
    confidence, at = predictions.confidence, 0
    scores = None if confidence is None else confidence.tolist()
    for k, (doc, (i, j), keys) in enumerate(zip(docs, pairwise(first), keys_of_docs)):
        if len(doc) != j - i:
            raise IndexError(f"{j - i} tokens were read, there are {len(doc)}")
        # A hook may give sentences to a document without sentence starts.
        has_sents = j - i < 2 or "sents" in doc.user_hooks
        has_sents = has_sents or (docs.has_limits[k] and doc.has_annotation(SENT_START))
        limits = _limits(doc, name, docs.has_ents[k], has_sents)
        if docs.has_ents[k] or i == j:
            ents = [DocSpan(doc, *span) for span in predictions.spans_of(k)]
            _add_entities(doc, ents, name)
        else:
            doc.from_array(ATTRIBUTES, columns[i:j])
        of_spans = repeat(None) if scores is None else scores[at : at + len(keys)]
        at += len(keys)
        new = {
            **record,
            "given": limits,
            "spans": dict(zip(keys, of_spans)),
            "whole": predictions.whole[k],
        }
        if predictions.paths is not None and keys:
            new["paths"] = dict(zip(keys, predictions.paths[k]))
        _leave_record(doc, name, new, n_characters[k])
        if spans_key is not None:
            doc.spans[spans_key] = _span_group(doc, predictions[k], spans_key)
    CACHE.store(name, docs, predictions)


def _number(label: str, strings: Any) -> int:
    """Returns the number of a label, which is among the strings from then on."""
    number = _NUMBERS.get(label)
    if number is None or number not in strings:
        number = _NUMBERS[label] = strings.add(label)
    return number


def _leave_record(doc: Doc, name: str, record: Record, n_characters: int) -> None:
    """Replaces the records of one component; the new one stands last."""
    data: dict[Any, Any] = doc.user_data
    if data:
        for *_, by_name in find_records(doc):
            by_name.pop(name, None)
    key = MARK, NAME, 0, n_characters
    latest = data.pop(key, {})
    latest[name] = record
    data[key] = latest


def remove_excluded(doc: Doc, corrections: PartialLabels) -> None:
    """Removes existing entities that a user has excluded."""
    excluded = [x for x in doc.ents if corrections.excludes((x.start, x.end, x.label_))]
    doc.set_ents([], outside=excluded, default="unmodified")


def before_prediction(doc: Doc, name: str, limits: dict[str, Any] | None) -> Doc | None:
    """Returns a document as it was before its prediction, with the sentence starts and
    entities of then; None if it has other tokens now. limits: what the record of the
    component of this name has under "given"."""
    if limits is None:
        return doc
    if limits["tokens"] != len(doc):
        return None
    has_ents, has_sents = map(doc.has_annotation, (ENT_IOB, SENT_START))
    # DocBin makes tuples of lists.
    if as_lists(limits) == _limits(doc, name, has_ents, has_sents):
        return doc
    before = copy_tokens(doc, limits.get("sents"))
    preset = [DocSpan(before, *span) for span in limits.get("preset", ())]
    ents = [span for span in preset if span.label]
    before.set_ents(ents, blocked=[span for span in preset if not span.label])
    return before


def is_predicted(doc: Doc, name: str) -> bool:
    """Returns whether a component has predicted a document of the present tokens."""
    records = [x.by_name[name] for x in find_records(doc) if name in x.by_name]
    return any(x.get("given", {}).get("tokens", len(doc)) == len(doc) for x in records)


def as_predicted(doc: Doc, name: str) -> tuple[Doc, list[Span]]:
    """Returns a document with the sentence starts and entities that it had when a
    component met it, if it still has all entities of the component, else as it is; and
    the entities that came later."""
    runs = [x for x in find_records(doc) if name in x.by_name] if doc.user_data else []
    if not runs or runs[-1].start != 0 or runs[-1].end != text_length(doc):
        return doc, []
    record = runs[-1].by_name[name]
    before = before_prediction(doc, name, record.get("given"))
    if before is None or before is doc:
        return doc, []
    predicted, rest = entities_by_origin(doc, name)
    if len(predicted) != len(record["spans"]):
        return doc, []
    preset = {(x.start, x.end, x.label_) for x in before.ents}
    return before, [span for span in rest if span not in preset]


def _limits(doc: Doc, name: str, has_ents: bool, has_sents: bool) -> dict[str, Any]:
    """Returns what limits a prediction, as plain values: "tokens", their number; where
    they are set, "sents", the tokens that begin sentences, and "preset", [start, end,
    label] of preset entities and, with an empty label, of blocked tokens."""
    limits: dict[str, Any] = {"tokens": len(doc)}
    if has_sents:
        limits["sents"] = sentence_starts(doc).tolist()
    if has_ents:
        ents = [[*span] for span in entities_by_origin(doc, name)[1]]
        blocked = np.flatnonzero(is_blocked(doc)).tolist()
        if preset := ents + [[i, i + 1, ""] for i in blocked]:
            limits["preset"] = preset
    return limits


def copy_tokens(doc: Doc, starts: Sequence[int] | None) -> Doc:
    """Returns a document with the same tokens, `user_data` and attributes that features
    read, without entities. Heads and span groups, which a user's function may read, are
    not copied. starts: tokens with which sentences begin; None: not set."""
    marked = None if starts is None else {0, *starts}
    copied = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        user_data=doc.user_data,
        sent_starts=None if marked is None else [i in marked for i in range(len(doc))],
    )
    for token, original in zip(copied, doc):
        for name in ("norm_", "lemma_", "pos_", "tag_", "dep_"):
            setattr(token, name, getattr(original, name))
        if original.has_morph():  # none is not the same as an empty one
            token.morph = original.morph
    copied.tensor = doc.tensor
    return copied


def _add_entities(doc: Doc, ents: list[DocSpan], name: str) -> None:
    """Writes entities beside the preset ones and blocked tokens; afterwards no token
    is without annotation."""
    is_taken = np.zeros(len(doc), bool)
    for ent in ents:
        is_taken[ent.start : ent.end] = True
    preset = [
        ent
        for ent in preset_entities(doc, name)
        if not is_taken[ent.start : ent.end].any()
    ]
    free = np.flatnonzero(is_blocked(doc) & ~is_taken).tolist()
    doc.set_ents([*preset, *ents], blocked=[doc[i : i + 1] for i in free])


def _span_group(doc: Doc, prediction: Prediction, key: str) -> SpanGroup:
    """Returns the spans to list, or else the entities, with their probabilities."""
    scored = prediction.listed
    if scored is None:
        scored = list(zip(prediction.spans, prediction.scores or ()))
    spans = [DocSpan(doc, *span) for span, _ in scored]
    group = SpanGroup(doc, name=key, spans=spans)
    group.attrs["scores"] = np.array([p for _, p in scored], "f")
    return group
