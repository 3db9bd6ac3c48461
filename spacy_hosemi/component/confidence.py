"""`span._.confidence`: the posterior probability of exactly that span.

A probability that was not computed with the prediction is computed when it is read, and
then stored in the record: from what the prediction left, see `Memo`; for a copy of the
document by the component, if that still has the labels and weights it predicted with.
In a document that was saved before anybody asked there is none.
"""

from __future__ import annotations

from typing import Any

from spacy.tokens import Doc, Span

from ..prediction.memo import MEMO
from ..prediction.records import (
    Reader,
    Record,
    components,
    find_span,
)
from .annotations import before_prediction


def register_extension() -> None:
    """Register `span._.confidence` and `label_path`, never over a user's own."""
    reader = Reader(_compute)
    getters = {"confidence": reader.confidence, "label_path": reader.label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)


def _compute(doc: Doc, name: str, record: Record) -> None:
    """Store the probabilities that a record lacks."""
    given = record.get("given")
    left = MEMO.read(name, doc, lambda: before_prediction(doc, name, given))
    if left is not None and len(left[0]) == len(record["spans"]):
        MEMO.drop(name, doc)
        _store(record, list(record["spans"]), left[1])
        return
    component = components.get(record["component"])
    before = None if component is None else before_prediction(doc, name, given)
    if component is None or before is None:
        return
    posterior = component.posterior_of(before, record.get("state"))
    if posterior is not None:
        spans = {key: find_span(before, key) for key in record["spans"]}
        known = {key: span for key, span in spans.items() if span}
        _store(record, list(known), posterior.paths([*known.values()]))


def _store(record: Record, keys: list[str], paths: list[Any]) -> None:
    for key, path in zip(keys, paths):
        if path is not None:
            record["spans"][key] = path[-1][1]
            if "paths" in record:
                record["paths"][key] = path
