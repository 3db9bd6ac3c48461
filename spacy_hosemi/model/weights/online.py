"""Online training: sparse AdaGrad steps on a `WeightState`, and averages of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core import Potentials
from ..active_features import Rows
from .adagrad import SparseAdagrad
from .families import families_of
from .names import Names
from .pairs import Counts
from .potentials import add_gradients
from .state import Floats, Keys, WeightState, n_whole_rows
from .vector import by_slot, dense, dense_values, is_learnt, row_values, with_dense


class OnlineSteps:
    """The gradient of a batch, and what the optimizer remembers of earlier ones.

    A step changes the matrix of weights in place, unless it is read-only, because a
    prediction has seen it: then a copy.

    state (WeightState): The one to begin with. All methods want the present one, whose
        matrix must be this one's or the last result's.
    """

    def __init__(self, state: WeightState) -> None:
        self._matrix = SparseAdagrad(state.matrix)
        self._dense = SparseAdagrad(dense(state)[:, None])
        self._learnt = np.flatnonzero(is_learnt(state)).astype(np.int32)
        self._n_docs = 0

    def accumulate(
        self, state: WeightState, rows: Rows, gradients: Sequence[Potentials]
    ) -> None:
        """Add the gradient of concatenated documents.

        rows (Rows): Their active features.
        gradients (Sequence[Potentials]): Derivatives by the potentials of each.
        """
        add_gradients(state, rows, gradients, self._matrix.gradient)
        for active in rows.active:
            slots = active if state.pairs is None else state.pairs.slots(active)
            self._matrix.touched.append(slots)
        learnt = self._learnt
        for gradient in gradients:
            d_dense = np.concatenate([gradient.pattern, gradient.length.ravel()])
            self._dense.gradient[learnt, 0] += d_dense[learnt]
        self._dense.touched.append(learnt)
        self._n_docs += len(gradients)

    def step(
        self, state: WeightState, l2: Mapping[str, float], rate: float
    ) -> WeightState:
        """One step on all weights that documents have read since the last step.

        l2 (Dict[str, float]): By family.
        rate (float): Learning rate.
        """
        if not self._n_docs:
            return state
        of_row, of_rest = step_shares(state, self._n_docs)
        l2_of_matrix = by_slot(state, row_values(state, l2) * of_row)
        l2_of_rest = dense_values(state, l2) * of_rest
        self._matrix.step(l2_of_matrix, rate)
        self._dense.step(l2_of_rest, rate)
        self._n_docs = 0
        of_features = self._matrix.weights
        state = replace(state, of_features=of_features, is_trained=True)
        return with_dense(state, self._dense.weights[:, 0])

    def averaged(self, state: WeightState) -> WeightState:
        """RETURNS (WeightState): With the averages of all steps."""
        state = replace(state, of_features=self._matrix.averages().copy())
        return with_dense(state, self._dense.averages()[:, 0])

    def add_features(
        self, state: WeightState, keys: Keys, names: list[str], counts: Counts
    ) -> WeightState:
        """Weights of 0 for more features, which come last.

        keys (uint64 [K]): Not known yet; none is a transition.
        names (List[str]): "role:TEMPLATE=value" of each.
        counts (int64 [K]): Documents in which each occurs.
        """
        n_labels, n_new, pairs = len(state.tail), len(names), state.pairs
        family = np.concatenate([state.family, families_of(names)])
        if pairs is not None:
            pairs = pairs.with_rows(n_new, n_labels)
            n_new *= n_labels
        table, all_names = state.table, state.names
        if not state.family.flags.writeable:  # predictions may read these
            table, all_names = table.copy(), Names([*all_names])
        table.extend(keys)
        all_names.extend(names)
        return replace(
            state,
            table=table,
            names=all_names,
            family=family,
            counts=np.concatenate([state.counts, counts]),
            pairs=pairs,
            n_whole=n_whole_rows(pairs, n_labels, family),
            of_features=self._matrix.grow(n_new),
        )


def step_shares(state: WeightState, n_docs: int) -> tuple[Floats, float]:
    """The share of l2 that counts in a step on some documents.

    In one pass over the training data the l2 of the objective counts once for each
    feature: it is shared by the documents in which the feature occurs.

    RETURNS (Tuple[float64 [R], float]): For each feature; for patterns and lengths.
    """
    of_row = np.minimum(n_docs / np.maximum(state.counts, 1), 1.0)
    return of_row, min(n_docs / state.n_docs, 1.0)
