"""Online training: sparse AdaGrad steps on a `WeightState`, and averages of them.

A step costs time for active features only. Dense Adam on a million rows of 24 columns
takes 120-160 ms a step; this takes about 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Counts, Floats, Keys, Places
from ...core import Potentials
from ..active_features import Rows
from ..kernels.sparse_steps import adagrad_rows, average_rows
from .packing import Names
from .penalty_groups import penalty_groups_of
from .potentials import add_gradients
from .state import WeightState, n_whole_rows
from .vector import by_slot, dense, dense_values, is_learnt, row_values, with_dense

# As Thinc's update_averages: decay after t updates is (1 + t) / (10 + t), at most this.
MAX_DECAY = 0.9999

_OF_ROWS = ("weights", "gradient", "_squares", "_averages", "_last")


class SparseAdagrad:
    """Makes AdaGrad steps on the rows of a matrix [R, L], with exponential averages
    updated lazily. Weights change in place, unless they are read-only, because a
    prediction has seen them: then a copy; sums of squared gradients begin with
    `squares` [R, L]."""

    def __init__(self, weights: Floats, squares: Floats) -> None:
        self.gradient = np.zeros_like(weights)
        self.touched: list[NDArray[np.int32]] = []
        self.weights = weights
        self._squares = squares
        self._averages = np.zeros_like(weights)
        self._last = np.zeros(len(weights))
        self._log_decay = 0.0
        self._n_updates = 0
        # What the arrays of `_OF_ROWS` are the first rows of, once there were more.
        self._room: dict[str, Floats] = {}

    def step(self, l2: Floats, rate: float) -> None:
        """Applies the gradient of the rows touched since the last step, and clears it;
        l2 [R] is the weight of the squared norm of each row for one step."""
        if not self.touched:
            return
        self._make_writeable()
        rows = np.unique(np.concatenate(self.touched))
        self.touched.clear()
        average_rows(rows, self.weights, self._averages, self._last, self._log_decay)
        adagrad_rows(rows, self.weights, self.gradient, self._squares, l2, rate)
        self._n_updates += 1
        decay = (1.0 + self._n_updates) / (10.0 + self._n_updates)
        self._log_decay += float(np.log(min(decay, MAX_DECAY)))

    def _make_writeable(self) -> None:
        if not self.weights.flags.writeable:
            # As large as the array before, whose end has room for more rows.
            room = np.zeros(self._room.get("weights", self.weights).shape)
            room[: len(self.weights)] = self.weights
            self.weights = room[: len(self.weights)]
            self._room["weights"] = room

    def grow(self, n_rows: int) -> Floats:
        """Appends rows of zeros, which count as 0 in the averages of earlier steps.
        Returns the weights in their new place.

        The arrays double their capacity when they are full: appending a few rows at a
        time copies each row a constant number of times.
        """
        self._make_writeable()
        n_old = len(self.weights)
        for name in _OF_ROWS:
            array = getattr(self, name)
            room = self._room.get(name, array)
            if len(room) < n_old + n_rows:
                room = np.zeros((2 * n_old + n_rows, *array.shape[1:]))
                room[:n_old] = array
                self._room[name] = room
            setattr(self, name, room[: n_old + n_rows])
        return self.weights

    def insert(self, at: Places) -> None:
        """Inserts rows of zeros, as `grow` does, before these of the present ones."""
        for name in _OF_ROWS:
            setattr(self, name, np.insert(getattr(self, name), at, 0.0, axis=0))
        self._room.clear()
        # Those that the next step is on have moved, too.
        self.touched = [
            (rows + np.searchsorted(at, rows, side="right")).astype(np.int32)
            for rows in self.touched
        ]

    def averages(self) -> Floats:
        """Returns the averages of all rows, brought up to date, [R, L]."""
        rows = np.arange(len(self.weights), dtype=np.int32)
        average_rows(rows, self.weights, self._averages, self._last, self._log_decay)
        return self._averages


class OnlineSteps:
    """The gradient of a batch, and what the optimizer remembers of earlier ones.

    All methods are called with the present state, whose matrix is that of the first
    one or of the last result.
    """

    def __init__(self, state: WeightState) -> None:
        squares, of_dense = first_squares(state)
        self._matrix = SparseAdagrad(state.matrix, squares)
        self._dense = SparseAdagrad(dense(state)[:, None], of_dense[:, None])
        self._learnt = np.flatnonzero(is_learnt(state)).astype(np.int32)
        self._n_docs = 0

    def accumulate(
        self, state: WeightState, rows: Rows, gradients: Sequence[Potentials]
    ) -> None:
        """Adds the gradient of concatenated documents, given their active features, and
        the derivatives by the potentials of each."""
        add_gradients(state, rows, gradients, self._matrix.gradient)
        active = np.concatenate(rows.active)
        self._matrix.touched.append(state.matrix_rows(active))
        learnt = self._learnt
        for gradient in gradients:
            d_dense = np.concatenate([gradient.pattern, gradient.length.ravel()])
            self._dense.gradient[learnt, 0] += d_dense[learnt]
        self._dense.touched.append(learnt)
        self._n_docs += len(gradients)

    def step(
        self, state: WeightState, l2: Mapping[str, float], rate: float
    ) -> WeightState:
        """Returns the state after one step on all weights that documents have read
        since the last step; l2 is by penalty group."""
        if not self._n_docs:
            return state
        of_row, of_rest = step_shares(state, self._n_docs)
        l2_of_rows = by_slot(state, row_values(state, l2) * of_row)
        l2_of_rest = dense_values(state, l2) * of_rest
        self._matrix.step(l2_of_rows, rate)
        self._dense.step(l2_of_rest, rate)
        self._n_docs = 0
        of_features = self._matrix.weights
        state = replace(state, of_features=of_features, is_trained=True)
        return with_dense(state, self._dense.weights[:, 0])

    def averaged(self, state: WeightState) -> WeightState:
        """Returns the state with the averages of all steps."""
        state = replace(state, of_features=self._matrix.averages().copy())
        return with_dense(state, self._dense.averages()[:, 0])

    def add_features(
        self, state: WeightState, keys: Keys, names: list[str], counts: Counts
    ) -> WeightState:
        """Returns the state with weights of 0 for K more features, which come last and
        are no transitions; `counts` says in how many documents each occurs."""
        n_labels, n_new, pairs = len(state.tail), len(names), state.pairs
        group = np.concatenate([state.group, penalty_groups_of(names)])
        if pairs is not None:
            pairs = pairs.with_rows(n_new, n_labels)
            n_new *= n_labels
        table, all_names = state.table, state.names
        if not state.group.flags.writeable:  # predictions may read these
            table, all_names = table.copy(), Names([*all_names])
        table.extend(keys)
        all_names.extend(names)
        return replace(
            state,
            table=table,
            names=all_names,
            group=group,
            counts=np.concatenate([state.counts, counts]),
            pairs=pairs,
            n_whole=n_whole_rows(pairs, n_labels, group),
            of_features=self._matrix.grow(n_new),
        )


def first_squares(state: WeightState) -> tuple[Floats, Floats]:
    """Returns what the sums of squared gradients begin with: those of `matrix` [R, L],
    and of patterns and lengths [M + L * D].

    A document that has a feature adds the square of a count less its probability p: in
    the mean p (1 - p), at most 1/4. So weights of a fit or a file begin at a quarter of
    their documents, as if they had been trained online: else the first step would move
    each by the whole rate, whatever its gradient. Weights that were never trained begin
    at 0, those of labels that were added since included.
    """
    matrix, n_labels = state.matrix, len(state.tail)
    squares = np.zeros_like(matrix)
    of_dense = np.zeros(len(state.pattern) + state.length.size)
    if not state.is_trained:
        return squares, of_dense
    row, column, slot = state.slots(np.arange(len(state.counts), dtype=np.int32))
    n_new = _n_untrained_labels(row, column, matrix.ravel()[slot], n_labels)
    is_new = (column >= n_labels - n_new) & (column < n_labels)
    squares.ravel()[slot] = np.where(is_new, 0, state.counts[row] / 4)
    of_dense[:] = state.n_docs / 4
    if n_new:  # see `edits.add_labels`
        lowest = state.pattern.min(initial=0.0, where=np.isfinite(state.pattern))
        last = np.flatnonzero(np.isfinite(state.pattern) & (state.pattern > lowest))
        of_dense[last.max(initial=-1) + 1 : len(state.pattern)] = 0.0
        of_dense[of_dense.size - n_new * state.length.shape[1] :] = 0.0
    return squares, of_dense


def _n_untrained_labels(
    row: NDArray[Any], column: NDArray[Any], weights: Floats, n_labels: int
) -> int:
    """Returns how many of the last labels have the least weight of each row, as those
    that `edits.add_labels` adds."""
    least = np.zeros(row.max(initial=-1) + 1)
    np.minimum.at(least, row, weights)
    n_greater = np.bincount(column[weights > least[row]], minlength=n_labels)
    trained = np.flatnonzero(n_greater[:n_labels])
    return n_labels - 1 - int(trained.max(initial=-1)) if len(trained) else 0


def step_shares(state: WeightState, n_docs: int) -> tuple[Floats, float]:
    """Returns the share of l2 that counts in a step on some documents: of each feature
    [R], and of patterns and lengths.

    In one pass over the training data the l2 of the objective counts once for each
    feature: it is shared by the documents in which the feature occurs.
    """
    of_row = np.minimum(n_docs / np.maximum(state.counts, 1), 1.0)
    return of_row, min(n_docs / state.n_docs, 1.0)
