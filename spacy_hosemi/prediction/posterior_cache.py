"""What the last prediction of each document has left, for its confidences.

It is held outside the documents, and as long as they live. Its arrays take a limited
amount of memory: those of the oldest predictions go first. What is gone is computed
again, with the labels and weights of that prediction.

Documents that were predicted together share arrays, so these stay until the last of
them is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from weakref import ref

from spacy.tokens import Doc

from ..labels.inventory import Span
from .batch import Batch
from .posterior import Posterior
from .predictions import Predictions

# Of all documents and components together: 64 MB hold about 10,000 documents of 25
# tokens with 10 labels.
MAX_BYTES = 64 * 2**20


class _Stored:
    """Predictions, whose batch is dropped when there is too much memory.

    posterior (Callable): Makes the posterior of a document again.
    """

    def __init__(self, predictions: Predictions, batch: Batch) -> None:
        self.predictions = predictions
        self.posterior: Callable[[Doc], Posterior] = batch.source.posterior


class PosteriorCache:
    """Predictions by component name and document; any number of threads may use it.

    max_bytes (int): At most this much memory for arrays.

    n_bytes (int): What they take now.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        # For each document what was stored, and its place there.
        self._by_name: dict[str, dict[ref[Doc], tuple[_Stored, int]]] = {}
        # The memory of batches with arrays, the oldest first.
        self._sizes: dict[ref[_Stored], int] = {}
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
        stored = _Stored(predictions, batch)
        entries = self._by_name.setdefault(name, {})
        # The entry of a document goes with it, and the batch with its last entry.
        remove = entries.pop
        for k, doc in enumerate(docs):
            entries[ref(doc, remove)] = stored, k
        with self._lock:
            self._sizes[ref(stored, self._subtract)] = n_bytes
            self.n_bytes += n_bytes
            while self.n_bytes > self.max_bytes:
                oldest = next(iter(self._sizes))
                self._subtract(oldest)
                if (dropped := oldest()) is not None:
                    dropped.predictions.batch = None

    def drop(self, name: str, docs: Iterable[Doc]) -> None:
        """Forgets the predictions of a component for documents, if there are any."""
        if entries := self._by_name.get(name):
            for doc in docs:
                entries.pop(ref(doc), None)

    def read(
        self, name: str, doc: Doc, as_predicted: Callable[[], Doc | None]
    ) -> tuple[Sequence[Span], Posterior] | None:
        """Returns the predicted spans of a document and its posterior; None if there is
        no prediction, or no way to compute the posterior again.

        as_predicted (Callable): Gives the document as it was before prediction, or None
            if it has other tokens; it is called if the arrays were dropped.
        """
        entry = self._by_name.get(name, {}).get(ref(doc))
        if entry is None:
            return None
        stored, k = entry
        predictions = stored.predictions
        if (batch := predictions.batch) is not None:
            posterior = Posterior.of(batch, predictions.places[k])
            return predictions.spans_of(k), posterior
        before = as_predicted()
        if before is None:
            return None
        return predictions.spans_of(k), stored.posterior(before)

    def _subtract(self, stored: ref[_Stored]) -> None:
        """The arrays of a batch are gone."""
        with self._lock:
            self.n_bytes -= self._sizes.pop(stored, 0)


# Of this process.
CACHE = PosteriorCache()
