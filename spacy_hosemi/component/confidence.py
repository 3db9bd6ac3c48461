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
    Record,
    components,
    covers,
    find_records,
    find_span,
    span_key,
)
from .annotations import before_prediction


def get_confidence(span: Span) -> float | None:
    """Posterior of a predicted span; None for any other, and where it was not computed
    before the document was saved.

    If two components predicted it, that of the one that ran last.

    span (Span): With its label.
    RETURNS (Optional[float]): In [0, 1].
    """
    key, record = _read(span)
    found: float | None = None if record is None else record["spans"][key]
    return found


def get_label_path(span: Span) -> list[tuple[str, float | None]] | None:
    """The names from the top of the label tree to the label, and the posterior of
    exactly this span with a label below each; None for a span that was not predicted.

    span (Span): With its label.
    RETURNS (Optional[List[Tuple[str, float]]]): Of labels without a tree the label
        alone. Where min_confidence ended the path earlier, the rest of it comes too. A
        label that has others below it comes twice: with all of them, and as itself.
    """
    key, record = _read(span)
    if record is None:
        return None
    path = record.get("paths", {}).get(key, [(span.label_, record["spans"][key])])
    return [(name, p) for name, p in path]


def register_extension() -> None:
    """Register `span._.confidence` and `label_path`, never over a user's own."""
    getters = {"confidence": get_confidence, "label_path": get_label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)


def _read(span: Span) -> tuple[str, Record | None]:
    """The key of a span, and the latest record that has it, with its probability if
    there is a way to compute that."""
    for found in reversed(find_records(span.doc)):
        key = span_key(span, found.start)
        for name, record in reversed(found.by_name.items()):
            if key in record["spans"]:
                if record["spans"][key] is None and covers(span.doc, found):
                    _compute(span.doc, name, record)
                return key, record
    return "", None


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
