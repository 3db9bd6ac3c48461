"""All training documents at once: their summed loss, its gradient, all weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton, Potentials
from ..core.parallel.team import ALONE, Team, team_of
from ..errors import Errors
from ..labels.gold import Gold
from ..model.active_features import PlaceRows, RoleRows, Rows, SegmentRows, read_docs
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.potentials import score_rows
from ..model.weights.vector import (
    empty_gradient,
    of_long_patterns,
    write_dense_gradient,
)
from ..model.weights.weights import Weights
from .checkpoint import digest, of_documents
from .encoded_docs import EncodedDocs
from .objectives import Objective
from .progress import watched
from .row_store import RowStore, SegmentStore

Floats = NDArray[np.float64]

# Called with the current weights every few iterations; returns values for the log.
Watch = Callable[[Any], dict[str, Any]]


class Trained(Protocol):
    """Weights as one vector."""

    def vector(self) -> Floats: ...

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None: ...

    def vector_values(self, values: Mapping[str, float]) -> Floats: ...

    def round(self) -> None: ...

    def pruned_size(self) -> dict[str, float]: ...


class Trainable(Protocol):
    """What can be minimised: a `TrainingSet`, level 1, or a lower level of a tree."""

    level: int
    watch: Watch | None

    @property
    def weights(self) -> Trained: ...

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]: ...

    def value_and_gradient(self) -> tuple[float, Floats]: ...

    def identity(self) -> dict[str, str]: ...


# A fit, and the documents to use.
Levels = Callable[[Callable[[Any], Any], Sequence[int]], AbstractContextManager[None]]


class TrainingSet:
    """A corpus with its features read: value and gradient for any weights.

    weights (Weights): Where the vector of weights is written to.
    objective (Callable): Loss of one document.
    golds (Sequence[Gold]): What is known of each document.
    levels (Optional[Levels]): What fits the levels of a tree below, if there are some.

    watch (Optional[Callable]): Called by a fit with a log or patience, such as for
        scores on other documents.
    team (Team): Threads that share the work; the same bits for any number.
    """

    level = 1

    def __init__(
        self,
        weights: Weights,
        automaton: PatternAutomaton,
        objective: Objective,
        docs: Sequence[Doc],
        golds: Sequence[Gold],
        levels: Levels | None = None,
    ) -> None:
        self.weights = weights
        self.watch: Watch | None = None
        self.team = ALONE
        self._levels = levels
        self._chosen: Sequence[int] = range(len(docs))
        state = weights.state
        stores = {role: RowStore() for role in state.extractor.features.scored_roles}
        segments: list[SegmentRows] = []
        places: list[PlaceRows] = []
        for doc in watched(docs, "Reading features"):
            rows = read_docs(state, [doc], is_train=True)
            for role, store in stores.items():
                store.append(rows.tokens[role])
            segments.append(rows.segments)
            places.append(rows.places)
        self.docs = EncodedDocs(
            automaton,
            objective,
            golds,
            [len(doc) for doc in docs],
            {role: store.joined() for role, store in stores.items()},
            SegmentStore(segments),
            places,
            len(state.tail),
        )

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.docs)

    @property
    def is_last(self) -> bool:
        """Whether there is no level of a tree below it, which the same fit trains."""
        return self._levels is None

    def with_levels(self, fit: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """Returns a context in which the levels below, if there are any, have weights
        that are fitted to the same documents; outside of it they have none."""
        if self._levels is None:
            return nullcontext()
        return self._levels(fit, self._chosen)

    def rows(self, k: int) -> Rows:
        """Returns the known features of one document, as views."""
        return self.docs.rows(k)

    def part(self, chosen: Sequence[int]) -> TrainingSet:
        """Returns some of the documents, and the same weights."""
        part = copy(self)
        part._chosen = [self._chosen[k] for k in chosen]
        part.docs = self.docs.part(chosen)
        return part

    @property
    def objective(self) -> Objective:
        """Returns the loss of one document, a function."""
        return self.docs.objective

    def loss(self, k: int, rows: Rows) -> tuple[float, Potentials]:
        """Returns the loss of one document, with these rows, at the present weights,
        and its derivatives by the potentials."""
        docs = self.docs
        potentials = score_rows(self.weights.state, rows, docs.sizes[k])
        return docs.objective(docs.automaton, potentials, docs.golds[k])

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """Returns how each weight of the vector may change, uint8 [N]: NONNEGATIVE, if
        that is wanted, for label patterns of three or more names, else FREE."""
        is_long = of_long_patterns(self.weights.state, self.docs.automaton)
        return np.where(
            is_long & nonnegative, Freedom.NONNEGATIVE, Freedom.FREE
        ).astype(np.uint8)

    def identity(self) -> dict[str, str]:
        """Returns what tells whether weights mean the same, and were fitted to the
        same: labels, features, label patterns and annotation."""
        state, automaton = self.weights.state, self.docs.automaton
        keys = [state.table.keys]
        if state.pairs is not None:
            keys += [state.pairs.first, state.pairs.columns]
        patterns = [*automaton.patterns, *automaton.observed]
        of_patterns = digest(repr(patterns), repr(state.length.shape))
        return {
            "labels": ", ".join(automaton.labels),
            "features": f"{len(state.names)} ({digest(*keys)})",
            "label patterns": f"{len(patterns)} ({of_patterns})",
            "annotation": of_documents(gold.content() for gold in self.docs.golds),
            "weights": f"{len(self.weights.vector())}",
        }

    def extreme(self) -> str:
        """Returns the feature with the largest value in a document, as part of a
        message; if all values are 1, that with the largest weight; or nothing."""
        largest, text = 1.0, ""
        names, matrix = self.weights.state.names, self.weights.state.matrix
        all_rows: Iterable[RoleRows | SegmentRows]
        docs = self.docs
        all_rows = chain(docs.tokens.values(), [docs.segments.rows])
        for rows in all_rows:
            if rows.strength is not None and len(rows.strength):
                values = np.nan_to_num(np.abs(rows.strength), nan=np.inf, posinf=np.inf)
                k = int(values.argmax())
                if values[k] > largest:
                    shown = f"the value {rows.strength[k]:g} in a document"
                    largest, text = values[k], f"{names[rows.row[k]]!r} has {shown}"
        if not text and matrix.size:
            k = int(np.nan_to_num(np.abs(matrix.ravel()), nan=np.inf).argmax())
            pairs, row = self.weights.state.pairs, k // matrix.shape[1]
            if pairs is not None:
                row = int(np.searchsorted(pairs.first, row, side="right")) - 1
            text = f"{names[row]!r} has the weight {matrix.ravel()[k]:g}"
        return f" The feature {text}, the largest of all." if text else ""

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Returns the summed loss at the present weights in nats, and its gradient,
        float64 [N]. Documents are summed in their order, always to the same bits."""
        state, docs = self.weights.state, self.docs
        pattern = np.zeros(len(state.pattern))
        length = np.zeros(state.length.shape)
        vector, d_matrix = empty_gradient(state)
        losses = docs.add_gradient(state, d_matrix, pattern, length, self.team)
        write_dense_gradient(state, vector, pattern, length)
        # rounded at each document
        return float(np.cumsum(losses)[-1]) if len(losses) else 0.0, vector


@contextmanager
def sharing(batch: Trainable, threads: int) -> Iterator[Team]:
    """Lets threads share the evaluations of a batch, to the same bits."""
    with team_of(threads) as team:
        if not isinstance(batch, TrainingSet):
            yield team
            return
        batch.team = team
        try:
            yield team
        finally:
            batch.team = ALONE


def check_finite(batch: Trainable, value: float, steps: int) -> None:
    """Raises ValueError HS057 if the loss after `steps` steps is not a number."""
    if not np.isfinite(value):
        raise ValueError(_not_a_number(batch, value, steps))


@contextmanager
def naming_features(batch: Trainable, steps: int) -> Iterator[None]:
    """Raises ValueError HS057, which names a feature, if inference refuses scores that
    are too large or not a number."""
    try:
        yield
    except ValueError as e:
        if not str(e).startswith(("[HS011]", "[HS124]")):
            raise
        raise ValueError(_not_a_number(batch, np.nan, steps)) from e


def _not_a_number(batch: Trainable, value: float, steps: int) -> str:
    extreme = batch.extreme() if isinstance(batch, TrainingSet) else ""
    return Errors.HS057.format(found=value, steps=steps, extreme=extreme)
