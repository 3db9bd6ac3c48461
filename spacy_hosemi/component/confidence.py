"""`span._.confidence`: the posterior probability of exactly that span;
`doc._.record_confidence`: that of the whole segmentation.

A probability that was not computed with the prediction is computed when it is read, and
then stored in the record: from what the prediction left, see `PosteriorCache`; for a
copy of the document by the component, if that still has the labels and weights it
predicted with. In a document that was saved before anybody asked there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from spacy.tokens import Doc, Span

from ..labels.inventory import Span as SpanTriple
from ..prediction.posterior import AnyPosterior, Path
from ..prediction.posterior_cache import CACHE
from ..prediction.records import (
    Record,
    TextRecords,
    find_records,
    find_span,
    span_key,
    text_length,
)
from .annotations import before_prediction

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


# Components by the id that records have.
components: WeakValueDictionary[str, HighOrderSemiCRF] = WeakValueDictionary()


def register_extension() -> None:
    """Registers `span._.confidence`, `span._.label_path` and `doc._.record_confidence`,
    never over a user's own."""
    getters: Any = (Span, confidence), (Span, label_path), (Doc, record_confidence)
    for owner, getter in getters:
        if not owner.has_extension(getter.__name__):
            owner.set_extension(getter.__name__, getter=getter)


def confidence(span: Span) -> float | None:
    """RETURNS (Optional[float]): Posterior of a predicted span, in [0, 1]; None for any
    other, and where it was not computed before the document was saved. If two
    components predicted it, that of the one that ran last."""
    key, record = _read(span)
    probability: float | None = None if record is None else record["spans"][key]
    return probability


def label_path(span: Span) -> list[tuple[str, float | None]] | None:
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


def record_confidence(doc: Doc) -> float | None:
    """The probability of the whole segmentation that a component predicted: exactly its
    spans, beside the entities that were there before.

    Of several components, and of documents that were joined, the product. None where no
    component predicted all of the text, where its entities are no longer those that it
    predicted, and where it was not computed before the document was saved.

    doc (Doc): With its entities.
    RETURNS (Optional[float]): In [0, 1].
    """
    runs = find_records(doc) if doc.user_data else []
    if not runs or not _is_covered(doc, runs):
        return None
    shown = {span_key(ent) for ent in doc.ents}
    total = 1.0
    for run in runs:
        for name, record in run.by_name.items():
            if run.start == 0 and run.end == text_length(doc):
                _compute_whole(doc, name, record)
            whole = record.get("whole")
            if whole is None or not _moved(record["spans"], run.start) <= shown:
                return None
            total *= whole
    return total


def _read(span: Span) -> tuple[str, Record | None]:
    """Returns the key of a span, and the latest record that has it; "" and None if no
    record does. Computes its confidence, if nobody has."""
    for run in reversed(find_records(span.doc)):
        key = span_key(span, run.start)
        for name, record in reversed(run.by_name.items()):
            if key in record["spans"]:
                if record["spans"][key] is None and run.start == 0:
                    if run.end == text_length(span.doc):  # the whole
                        _compute_spans(span.doc, name, record)
                return key, record
    return "", None


def _compute_spans(doc: Doc, name: str, record: Record) -> None:
    """Stores each span's probability, if known, in the record."""
    if (source := _posterior(doc, name, record)) is None:
        return
    spans, posterior = source
    paths: list[Path | None] = posterior.paths([*spans.values()])
    for key, path in zip(spans, paths):
        if path is not None:
            record["spans"][key] = path[-1][1]
            if "paths" in record:
                record["paths"][key] = path
    _forget(doc, name, record)


def _compute_whole(doc: Doc, name: str, record: Record) -> None:
    """Stores the probability of the whole segmentation, if a record lacks it."""
    if record.get("whole") is not None:
        return
    if (source := _posterior(doc, name, record)) is not None:
        spans, posterior = source
        record["whole"] = posterior.whole(sorted(spans.values()))
        _forget(doc, name, record)


def _posterior(
    doc: Doc, name: str, record: Record
) -> tuple[dict[str, SpanTriple], AnyPosterior] | None:
    """Returns the spans of a record by key, and what gives their probabilities; None if
    nothing does."""
    limits, keys = record.get("given"), list(record["spans"])
    cached = CACHE.read(name, doc, lambda: before_prediction(doc, name, limits))
    if cached is not None and len(cached[0]) == len(keys):
        return dict(zip(keys, cached[0])), cached[1]
    component = components.get(record["component"])
    before = None if component is None else before_prediction(doc, name, limits)
    if component is None or before is None:
        return None
    posterior = component.posterior_of(before, record.get("state"))
    if posterior is None:
        return None
    spans = {key: find_span(before, key) for key in keys}
    return {key: span for key, span in spans.items() if span}, posterior


def _forget(doc: Doc, name: str, record: Record) -> None:
    """Drops what a prediction left, once all probabilities are stored."""
    if record.get("whole") is not None and None not in record["spans"].values():
        CACHE.drop(name, [doc])


def _is_covered(doc: Doc, runs: Sequence[TextRecords]) -> bool:
    """Returns whether the records are about all of the text but whitespace."""
    at = 0
    for start, end in sorted((run.start, run.end) for run in runs):
        if doc.text[at:start].strip():
            return False
        at = end
    return not doc.text[at:].strip()


def _moved(keys: Iterable[str], by: int) -> set[str]:
    """Returns keys of spans whose text begins this many characters later."""
    parts = (key.split(":", 2) for key in keys)
    return {f"{int(i) + by}:{int(j) + by}:{label}" for i, j, label in parts}
