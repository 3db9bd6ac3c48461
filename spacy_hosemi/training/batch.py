"""All training documents at once: their summed loss, its gradient, all weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton, Potentials
from ..errors import Errors
from ..labels.gold import Gold
from ..model.active_features import Rows, join_rows, read_docs
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.potentials import (
    add_cell_gradient,
    add_entry_gradient,
    add_gradient,
    add_scores,
    join_scores,
    role_gradient,
    score_rows,
)
from ..model.weights.shim import Weights
from ..model.weights.vector import (
    empty_gradient,
    of_long_patterns,
    write_dense_gradient,
)
from .objectives import Objective
from .progress import watched

Floats = NDArray[np.float64]


class Trained(Protocol):
    """Weights as one vector."""

    def vector(self) -> Floats: ...

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None: ...

    def vector_values(self, values: Mapping[str, float]) -> Floats: ...

    def round(self) -> None: ...

    def pruned_size(self) -> dict[str, float]: ...


class Trainable(Protocol):
    """What can be minimised: a `Batch`, or one level of a label tree."""

    @property
    def weights(self) -> Trained: ...

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]: ...

    def value_and_gradient(self) -> tuple[float, Floats]: ...


class Batch:
    """A corpus with its features read: value and gradient for any weights.

    weights (Weights): Where the vector of weights is written to.
    automaton (PatternAutomaton): Of the component.
    objective (Callable): Loss of one document.
    docs (Sequence[Doc]): Documents.
    golds (Sequence[Gold]): What is known of each.
    has_levels (bool): Whether the same fit trains levels of a tree below, after it.
    """

    def __init__(
        self,
        weights: Weights,
        automaton: PatternAutomaton,
        objective: Objective,
        docs: Sequence[Doc],
        golds: Sequence[Gold],
        has_levels: bool = False,
    ) -> None:
        self.weights = weights
        self.has_levels = has_levels
        self._automaton = automaton
        self.objective = objective
        self._golds = golds
        self._sizes = [len(doc) for doc in docs]
        self._borders = [0, *np.cumsum(self._sizes).tolist()]
        shown = watched(docs, "Reading features")
        state = weights.state
        by_doc = [read_docs(state, [doc], is_train=True) for doc in shown]
        self._segments = [rows.segments for rows in by_doc]
        self._rows = {
            role: join_rows([rows.tokens[role] for rows in by_doc])
            for role in state.extractor.features.scored_roles
        }
        self._places = [rows.places for rows in by_doc]

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._sizes)

    def rows(self, k: int) -> Rows:
        """RETURNS (Rows): The known features of one document: views."""
        at = slice(self._borders[k], self._borders[k + 1] + 1)
        tokens = {
            role: part._replace(first=part.first[at])
            for role, part in self._rows.items()
        }
        return Rows(tokens, self._segments[k], self._places[k])

    def loss(self, k: int, rows: Rows) -> tuple[float, Potentials]:
        """RETURNS (Tuple[float, Potentials]): Loss of one document, with these rows, at
        the present weights; its derivatives by the potentials."""
        potentials = score_rows(self.weights.state, rows, self._sizes[k])
        return self.objective(self._automaton, potentials, self._golds[k])

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """How each weight may change.

        nonnegative (bool): Those of label patterns of three or more names must be 0 or
            more, see `of_long_patterns`.
        RETURNS (uint8 [N]): FREE or NONNEGATIVE; in the order of Weights.vector().
        """
        is_long = of_long_patterns(self.weights.state, self._automaton)
        return np.where(
            is_long & nonnegative, Freedom.NONNEGATIVE, Freedom.FREE
        ).astype(np.uint8)

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Summed loss at the present weights.

        RETURNS (Tuple[float, float64 [N]]): In nats; in the order of Weights.vector().
            Documents are summed in their order, so the result is always the same.
        """
        state = self.weights.state
        shape = sum(self._sizes), len(state.tail)
        scores = {role: np.zeros(shape) for role in self._rows}
        for role, rows in self._rows.items():
            add_scores(state, rows, scores[role])
        pattern = np.zeros(len(state.pattern))
        length = np.zeros(state.length.shape)
        total = 0.0
        at = 0
        vector, d_matrix = empty_gradient(state)
        for size, gold, segments, places in zip(
            self._sizes, self._golds, self._segments, self._places
        ):
            piece = {role: s[at : at + size] for role, s in scores.items()}
            potentials = join_scores(state, piece, segments, places)
            loss, gradient = self.objective(self._automaton, potentials, gold)
            total += loss
            for role in piece:  # the scores have been read: their place is free
                piece[role][:] = role_gradient(gradient, role)
            pattern += gradient.pattern
            length += gradient.length
            add_cell_gradient(state, segments, gradient.cells, d_matrix)
            add_entry_gradient(state, places, gradient.entries, d_matrix)
            at += size
        for role, rows in self._rows.items():
            add_gradient(state, rows, scores[role], d_matrix)
        write_dense_gradient(state, vector, pattern, length)
        return total, vector


def check_batch(batch: Batch, name: str) -> None:
    """RAISES (ValueError): HS118 a fit that cannot train the levels of a tree."""
    if batch.has_levels:
        raise ValueError(
            Errors.HS118.format(
                expected="the fit spacy_hosemi.lbfgs.v1", found=f"it is {name}"
            )
        )
