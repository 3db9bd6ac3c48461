"""What the last prediction of each document has left, for its confidences.

It is held outside the documents, and as long as they live. Its arrays take a limited
amount of memory: those of the oldest predictions go first. What is gone is computed
again, with the labels and weights of that prediction.

Documents that were predicted together share arrays, so these stay until the last of
them is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from threading import RLock
from typing import cast
from weakref import ref

from spacy.tokens import Doc

from ..features.instances import Instance, TokenKind
from ..labels.inventory import Span
from ..labels.whitespace import whitespace
from .posterior import BatchPosteriors, StoredPosterior
from .problem import LazyProblem, Problem

# Of all documents and components together: 64 MB hold about 10,000 documents of 25
# tokens with 10 labels.
MAX_BYTES = 64 * 2**20


class _Batch:
    """What documents that were predicted together have left.

    posteriors (Optional[Sequence[StoredPosterior]]): Of each document; None once the
        arrays are dropped.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Predicted in each document.
    recompute (Sequence[Callable]): What makes the posterior of each document again.
    """

    def __init__(
        self,
        posteriors: Sequence[StoredPosterior],
        spans: Sequence[Sequence[Span]],
        recompute: Sequence[Callable[[Doc], StoredPosterior]],
    ) -> None:
        self.posteriors: Sequence[StoredPosterior] | None = posteriors
        self.spans, self.recompute = spans, recompute


# The batch of a document, and its place there.
_Entry = tuple[_Batch, int]


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
        posteriors: Sequence[StoredPosterior],
        spans: Sequence[Sequence[Span]],
    ) -> None:
        """Replace the predictions of a component for documents.

        name (str): Of the component.
        docs (Sequence[Doc]): One or more, which were predicted together.
        posteriors (Sequence[StoredPosterior]): Of each, by one decoder; those of a
            class differ in their arrays alone. They are detached from the documents.
        spans (Sequence[Sequence[Tuple[int, int, str]]]): Predicted in each.
        """
        if isinstance(posteriors, BatchPosteriors):
            n_bytes = posteriors.detach()
            batch = _Batch(posteriors, spans, posteriors.recompute())
        else:
            has_tags = posteriors[0].decoder.inventory.on_tokens
            n_bytes = sum(
                [x.n_bytes + _detach(x.problems, has_tags) for x in posteriors]
            )
            makes = {type(x): x.recompute() for x in posteriors}
            batch = _Batch(posteriors, spans, [makes[type(x)] for x in posteriors])
        entries = self._by_name.setdefault(name, {})
        # The entry of a document goes with it, and the batch with its last entry.
        remove = entries.pop
        for place, doc in enumerate(docs):
            entries[ref(doc, remove)] = batch, place
        with self._lock:
            self._sizes[ref(batch, self._subtract)] = n_bytes
            self.n_bytes += n_bytes
            while self.n_bytes > self.max_bytes:
                oldest = next(iter(self._sizes))
                self._subtract(oldest)
                if (dropped := oldest()) is not None:
                    dropped.posteriors = None

    def drop(self, name: str, docs: Iterable[Doc]) -> None:
        """Forget the predictions of a component for documents, if there are any."""
        if entries := self._by_name.get(name):
            for doc in docs:
                entries.pop(ref(doc), None)

    def read(
        self, name: str, doc: Doc, as_predicted: Callable[[], Doc | None]
    ) -> tuple[Sequence[Span], StoredPosterior] | None:
        """The predicted spans of a document and what gives their probabilities.

        name (str), doc (Doc): The component and the document.
        as_predicted (Callable): Gives the document as it was before prediction, or None
            if it has other tokens; it is asked if the arrays were dropped.
        RETURNS (Optional[Tuple[Sequence[Span], StoredPosterior]]): None if there is no
            prediction, or no way to compute it again.
        """
        entry = self._by_name.get(name, {}).get(ref(doc))
        if entry is None:
            return None
        batch, place = entry
        if (posteriors := batch.posteriors) is not None:
            return batch.spans[place], posteriors[place]
        before = as_predicted()
        if before is None:
            return None
        return batch.spans[place], batch.recompute[place](before)

    def _subtract(self, batch: ref[_Batch]) -> None:
        """The arrays of a batch are gone."""
        with self._lock:
            self.n_bytes -= self._sizes.pop(batch, 0)


class _Tokens:
    """What confidences of tags need of tokens: how many there are, and which are
    whitespace."""

    __slots__ = "_n", "_spaces"

    def __init__(self, n: int, spaces: Container[int]) -> None:
        self._n, self._spaces = n, spaces

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i: int) -> TokenKind:
        return TokenKind(i in self._spaces)


def _detach(problems: Sequence[Problem], has_tags: bool) -> int:
    """Let go of a document. RETURNS (int): The memory of its problems."""
    if isinstance(problems, LazyProblem):
        problems.problems.detach()
        return problems.n_bytes
    return sum([_detach_one(problem, has_tags) for problem in problems])


def _detach_one(problem: Problem, has_tags: bool) -> int:
    """Let go of its document. RETURNS (int): The memory of scores and constraints."""
    instance, scores, limits = problem.instance, problem.potentials, problem.constraints
    n_tokens = len(instance.tokens)
    left: range | _Tokens = range(n_tokens)
    if has_tags:
        spaces = whitespace(instance.tokens)
        left = _Tokens(n_tokens, () if spaces is None else {*spaces.tolist()})
    problem.instance = Instance(cast(Doc, left), instance.start)
    # Start and end have the shape of inside.
    n_bytes = 3 * scores.inside.nbytes + scores.cells.nbytes
    more = [scores.entries]
    if limits is not None:
        more += [limits.allowed, limits.boundary]
    return n_bytes + sum([array.nbytes for array in more if array is not None])


# Of this process.
MEMO = Memo()
