"""Keeps what predictions have left, from which confidences are computed when they are
read.

It is held outside the documents, and as long as they live. Its arrays take a limited
amount of memory: those of the oldest predictions go first. What is gone is computed
again, with the labels and weights of that prediction.

Documents that were predicted together share arrays, so these stay until the last of
them is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

from spacy.tokens import Doc, Span

from ..labels.inventory import Span as SpanTriple
from .existing_entities import before_prediction
from .posterior import Posterior
from .predictions import Predictions
from .records import Record, confidence, find_span, label_path, record_confidence

if TYPE_CHECKING:
    from .flat_decoder import FlatDecoder

# For all documents and components together: 64 MB hold about 10,000 documents of 25
# tokens with 10 labels.
MAX_BYTES = 64 * 2**20


class PosteriorCache:
    """Keeps predictions by component name and document, whose arrays take `n_bytes` of
    at most `max_bytes`; any number of threads may use it."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        # For each document its predictions, its place there, and their decoder.
        self._by_name: dict[str, dict[ref[Doc], tuple[Predictions, int, FlatDecoder]]]
        self._by_name = {}
        # The memory of those with arrays, the oldest first.
        self._sizes: dict[ref[Predictions], int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return sum(map(len, self._by_name.values()))

    def store(self, name: str, docs: Sequence[Doc], predictions: Predictions) -> None:
        """Replaces the predictions of a component for documents, or drops them if all
        probabilities are known. Their batch is detached from the documents."""
        if (batch := predictions.batch) is None:
            self.drop(name, docs)
            return
        n_bytes = batch.detach()
        entries = self._by_name.setdefault(name, {})
        # The entry of a document goes with it, and the batch with its last entry.
        remove = entries.pop
        for k, doc in enumerate(docs):
            entries[ref(doc, remove)] = predictions, k, batch.source
        with self._lock:
            self._sizes[ref(predictions, self._subtract)] = n_bytes
            self.n_bytes += n_bytes
            while self.n_bytes > self.max_bytes:
                oldest = next(iter(self._sizes))
                self._subtract(oldest)
                if (dropped := oldest()) is not None:
                    dropped.batch = None

    def drop(self, name: str, docs: Iterable[Doc]) -> None:
        """Forgets the predictions of a component for documents, if there are any."""
        if entries := self._by_name.get(name):
            for doc in docs:
                entries.pop(ref(doc), None)

    def read(
        self, name: str, doc: Doc, limits: dict[str, Any] | None
    ) -> tuple[Sequence[SpanTriple], Posterior] | None:
        """Returns the predicted spans of a document and its posterior, which is
        computed again if the arrays were dropped; None if there is no prediction, or
        the document has other tokens now. For `limits` see `before_prediction`."""
        entry = self._by_name.get(name, {}).get(ref(doc))
        if entry is None:
            return None
        predictions, k, source = entry
        spans = predictions.spans_of(k)
        if (posterior := predictions.posterior(k)) is not None:
            return spans, posterior
        before = before_prediction(doc, name, limits)
        return None if before is None else (spans, source.posterior(before))

    def _subtract(self, predictions: ref[Predictions]) -> None:
        """Counts the arrays of a batch as gone."""
        with self._lock:
            self.n_bytes -= self._sizes.pop(predictions, 0)


# Of this process.
CACHE = PosteriorCache()

# Components, by the id that records have.
COMPONENTS: WeakValueDictionary[str, Any] = WeakValueDictionary()


def _complete(doc: Doc, name: str, record: Record, *, whole: bool) -> None:
    """Stores the probability of each span, or that of the whole segmentation, in the
    record of a component, if it lacks that and it can be computed."""
    if whole and record.get("whole") is not None:
        return
    if (source := _posterior(doc, name, record)) is None:
        return
    spans, posterior = source
    if whole:
        record["whole"] = posterior.whole(sorted(spans.values()))
    else:
        for key, path in zip(spans, posterior.paths([*spans.values()])):
            if path is not None:
                record["spans"][key] = path[-1][1]
                if "paths" in record:
                    record["paths"][key] = path
    if record.get("whole") is not None and None not in record["spans"].values():
        CACHE.drop(name, [doc])


def _posterior(
    doc: Doc, name: str, record: Record
) -> tuple[dict[str, SpanTriple], Posterior] | None:
    """Returns the spans of a record by key, and the posterior of their document: from
    the cache, or for a copy of the document from the component, if that still has the
    labels and weights it predicted with; else None."""
    limits, keys = record.get("given"), list(record["spans"])
    cached = CACHE.read(name, doc, limits)
    if cached is not None and len(cached[0]) == len(keys):
        return dict(zip(keys, cached[0])), cached[1]
    component = COMPONENTS.get(record["component"])
    before = None if component is None else before_prediction(doc, name, limits)
    if component is None or before is None:
        return None
    posterior = component.posterior_of(before, record.get("state"))
    if posterior is None:
        return None
    spans = {key: find_span(before, key) for key in keys}
    return {key: span for key, span in spans.items() if span}, posterior


_COMPLETE_SPANS, _COMPLETE_WHOLE = (partial(_complete, whole=x) for x in (False, True))
_GETTERS: Any = (
    (Span, "confidence", partial(confidence, _COMPLETE_SPANS)),
    (Span, "label_path", partial(label_path, _COMPLETE_SPANS)),
    (Doc, "record_confidence", partial(record_confidence, _COMPLETE_WHOLE)),
)


def register_extensions() -> None:
    """Registers the attributes of spans and documents that read records, never over a
    user's own."""
    for owner, name, getter in _GETTERS:
        if not owner.has_extension(name):
            owner.set_extension(name, getter=getter)
