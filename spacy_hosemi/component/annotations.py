"""Writes predictions into documents: the only place that sets `doc.ents`.

Entities are written as attributes of tokens, without a `Span` for each of them: that,
and Doc.set_ents, takes about half as long again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc, SpanGroup
from spacy.tokens import Span as DocSpan

from ..features.instances import Instances
from ..labels.partial import PartialLabels
from ..prediction.existing_entities import is_blocked, limits_of, preset_entities
from ..prediction.posterior_cache import CACHE, COMPONENTS
from ..prediction.predictions import Prediction, Predictions
from ..prediction.records import MARK, NAME, find_records
from .prediction_warnings import LAST
from .token_labels import describe

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF

# The attributes in the columns that `describe` makes.
ATTRIBUTES = [ENT_IOB, ENT_TYPE]

# The number of each label that was written: to ask whether a vocabulary has it takes a
# tenth of the time of adding it again.
_NUMBERS: dict[str, int] = {}


def write(pipe: HighOrderSemiCRF, docs: Instances, predictions: Predictions) -> None:
    """Writes what a component has predicted."""
    if COMPONENTS.setdefault(pipe.record_id, pipe) is not pipe:  # a copy
        pipe.record_id = uuid4().hex
        COMPONENTS[pipe.record_id] = pipe
    counts = pipe.prediction_warnings
    if counts.n_docs < LAST and pipe.facts is not None:
        counts.n_docs += len(docs)
        counts.n_tokens += len(docs.orths)
        if counts.n_taken or any(docs.has_ents):
            counts.existing_entities(docs, pipe.name, pipe.schema, pipe.facts)
    batch = predictions.batch
    decoder: Any = pipe.decoder if batch is None else batch.source
    record = {"component": pipe.record_id, "state": decoder.options.number}
    write_predictions(docs, predictions, pipe.name, pipe.settings.spans_key, record)


def write_predictions(
    docs: Instances,
    predictions: Predictions,
    name: str,
    spans_key: str | None,
    record: dict[str, Any],
) -> None:
    """Writes entities beside the preset ones, the record of the component of this name,
    and the span group; record: what the records of all these documents have. Raises
    IndexError if a span is not within its document, or tokens were merged or split
    since the documents were read."""
    labels, first, spans = predictions.labels, docs.borders, predictions.spans.tolist()
    strings: Any = docs[0].vocab.strings
    numbers: Any = {y: _NUMBERS.get(labels[y]) for _, _, y in spans}
    for y, number in numbers.items():
        if number is None or number not in strings:
            numbers[y] = _NUMBERS[labels[y]] = strings.add(labels[y])
    confidence = predictions.confidence
    scores = [] if confidence is None else confidence.tolist()
    args = first, predictions.n_spans.tolist(), spans, labels, numbers, scores
    columns, n_characters, scores_of_docs = describe(docs.tokens, *args)
    for k, (doc, by_key) in enumerate(zip(docs, scores_of_docs)):
        i, j = first[k], first[k + 1]
        if len(doc) != j - i:
            raise IndexError(f"{j - i} tokens were read, there are {len(doc)}")
        # A hook may give sentences to a document without sentence starts.
        has_sents = j - i < 2 or "sents" in doc.user_hooks
        has_sents = has_sents or (docs.has_limits[k] and doc.has_annotation(SENT_START))
        limits: dict[str, Any] = {"tokens": j - i}
        if docs.has_ents[k] or has_sents:
            limits = limits_of(doc, name, docs.has_ents[k], has_sents)
        if docs.has_ents[k] or i == j:
            ents = [DocSpan(doc, *span) for span in predictions.spans_of(k)]
            _add_entities(doc, ents, name)
        else:
            doc.from_array(ATTRIBUTES, columns[i:j])
        new = {**record, "given": limits, "spans": by_key}
        new["whole"] = predictions.whole[k]
        if predictions.paths is not None and by_key:
            new["paths"] = dict(zip(by_key, predictions.paths[k]))
        data: dict[Any, Any] = doc.user_data
        for *_, by_name in find_records(doc) if data else ():
            by_name.pop(name, None)
        key = MARK, NAME, 0, n_characters[k]
        latest = data.pop(key, {})
        data[key] = {**latest, name: new}  # stands last
        if spans_key is not None:
            doc.spans[spans_key] = _span_group(doc, predictions[k], spans_key)
    CACHE.store(name, docs, predictions)


def remove_excluded(doc: Doc, corrections: PartialLabels) -> None:
    """Removes existing entities that a user has excluded."""
    excluded = [x for x in doc.ents if corrections.excludes((x.start, x.end, x.label_))]
    doc.set_ents([], outside=excluded, default="unmodified")


def _add_entities(doc: Doc, ents: list[DocSpan], name: str) -> None:
    """Writes entities beside the preset ones and blocked tokens; afterwards no token
    is without annotation."""
    is_taken = np.zeros(len(doc), bool)
    for ent in ents:
        is_taken[ent.start : ent.end] = True
    preset = preset_entities(doc, name)
    preset = [x for x in preset if not is_taken[x.start : x.end].any()]
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
