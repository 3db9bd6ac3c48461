"""What the last prediction of each document has left, for its confidences.

It is held outside the documents, and as long as they live. Its arrays take a limited
amount of memory: those of the oldest predictions go first. What is gone is computed
again, with the labels and weights of that prediction.

Documents that were predicted together share arrays, so these stay until the last of
them is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, NamedTuple, Protocol
from weakref import ref

from spacy.tokens import Doc

from ..labels.inventory import Span

# Of all documents and components together: 64 MB hold about 10,000 documents of 25
# tokens with 10 labels.
MAX_BYTES = 64 * 2**20


class Remembered(Protocol):
    """What a prediction leaves, see `FlatPosterior`."""

    def detach(self) -> None:
        """Let go of the document."""
        ...

    def n_bytes(self) -> int:
        """RETURNS (int): The memory of its arrays."""
        ...

    def without_arrays(self) -> Remembered:
        """RETURNS (Remembered): The same, but it has to be computed again."""
        ...

    def again(self, doc: Doc) -> Remembered:
        """RETURNS (Remembered): The same, computed again; doc is as it was before
        prediction."""
        ...

    def paths(self, spans: Sequence[Span]) -> list[Any]:
        """See `Posterior`."""
        ...


class _Batch:
    """What documents that were predicted together have left.

    posteriors (Optional[Sequence[Remembered]]): Of each document; None once the arrays
        are dropped.
    bare (Remembered): One of them without arrays: what differs between them.
    """

    def __init__(self, posteriors: Sequence[Remembered]) -> None:
        self.posteriors: Sequence[Remembered] | None = posteriors
        self.bare = posteriors[0].without_arrays()


class _Entry(NamedTuple):
    batch: _Batch
    place: int
    spans: Sequence[Span]


class Memo:
    """Predictions by component name and document; any number of threads may use it.

    max_bytes (int): At most this much memory for arrays.

    n_bytes (int): What they take now.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self._by_name: dict[str, dict[ref[Doc], _Entry]] = {}
        # The memory of batches with arrays, the oldest first.
        self._sizes: dict[ref[_Batch], int] = {}
        self._lock = RLock()

    def __len__(self) -> int:
        return sum(map(len, self._by_name.values()))

    def store(
        self,
        name: str,
        docs: Sequence[Doc],
        posteriors: Sequence[Remembered],
        spans: Sequence[Sequence[Span]],
    ) -> None:
        """Replace the predictions of a component for documents.

        name (str): Of the component.
        docs (Sequence[Doc]): One or more, which were predicted together.
        posteriors (Sequence[Remembered]): Of each; they differ in their arrays alone.
        spans (Sequence[Sequence[Tuple[int, int, str]]]): Predicted in each.
        """
        n_bytes = 0
        for posterior in posteriors:
            posterior.detach()
            n_bytes += posterior.n_bytes()
        batch = _Batch(posteriors)
        entries = self._by_name.setdefault(name, {})
        # The entry of a document goes with it, and the batch with its last entry.
        remove = entries.pop
        for place, (doc, some) in enumerate(zip(docs, spans)):
            entries[ref(doc, remove)] = _Entry(batch, place, some)
        with self._lock:
            self._sizes[ref(batch, self._subtract)] = n_bytes
            self.n_bytes += n_bytes
            while self.n_bytes > self.max_bytes:
                oldest = next(iter(self._sizes))
                self._subtract(oldest)
                if (dropped := oldest()) is not None:
                    dropped.posteriors = None

    def drop(self, name: str, doc: Doc) -> None:
        """Forget the prediction of a component for a document, if there is one."""
        if entries := self._by_name.get(name):
            entries.pop(ref(doc), None)

    def read(
        self, name: str, doc: Doc, as_predicted: Callable[[], Doc | None]
    ) -> tuple[Sequence[Span], list[Any]] | None:
        """The predicted spans of a document and their probabilities.

        name (str), doc (Doc): The component and the document.
        as_predicted (Callable): Gives the document as it was before prediction, or None
            if it has other tokens; it is asked if the arrays were dropped.
        RETURNS (Optional[Tuple[Sequence[Span], List]]): Spans, and see
            `Posterior.paths`; None if there is no prediction, or no way to compute it
            again.
        """
        entry = self._by_name.get(name, {}).get(ref(doc))
        if entry is None:
            return None
        if (posteriors := entry.batch.posteriors) is not None:
            return entry.spans, posteriors[entry.place].paths(entry.spans)
        before = as_predicted()
        if before is None:
            return None
        return entry.spans, entry.batch.bare.again(before).paths(entry.spans)

    def _subtract(self, batch: ref[_Batch]) -> None:
        """The arrays of a batch are gone."""
        with self._lock:
            self.n_bytes -= self._sizes.pop(batch, 0)


# Of this process.
MEMO = Memo()
