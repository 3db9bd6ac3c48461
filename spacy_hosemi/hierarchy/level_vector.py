"""The weights of one level of a label tree as one vector, and its online steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from thinc.api import Optimizer

from ..model.weights.adagrad import SparseAdagrad
from ..model.weights.pairs import Pairs
from ..model.weights.shim import Weights

if TYPE_CHECKING:
    from .weights import LevelWeights

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class OneLevel:
    """The weights of one level as a vector: of nodes, then of its own patterns.

    weights (LevelWeights): Where they are.
    top (Weights): The component's own, which know the family of each feature.
    level (int): From 2.
    l2_scale (float): Multiplies l2.
    """

    def __init__(
        self, weights: LevelWeights, top: Weights, level: int, l2_scale: float
    ) -> None:
        self._weights, self.top, self.index = weights, top, level - 2
        self._l2_scale = l2_scale
        self._learnt = np.isfinite(self._pattern)
        if not weights.levels[self.index].is_own:
            self._learnt = np.zeros(0, bool)

    @property
    def _pattern(self) -> Floats:
        return self._weights.pattern[self.index]

    @property
    def pairs(self) -> Pairs:
        """For each row the nodes in which it has a weight."""
        return self._weights.pairs[self.index]

    def part(self, matrix: Floats, pattern: Floats) -> Floats:
        """RETURNS (float64 [N]): What of these belongs to the vector."""
        return np.concatenate([matrix, self.learnt(pattern)])

    def learnt(self, pattern: Floats) -> Floats:
        """RETURNS (float64): What is learnt of values of all patterns."""
        return pattern[: len(self._learnt)][self._learnt]

    def vector(self) -> Floats:
        """RETURNS (float64 [N])"""
        return self.part(self._weights.matrix[self.index], self._pattern)

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverse of `vector`."""
        self._weights.version = object()
        split = len(self.pairs.columns)
        matrix = vector[:split]
        self._weights.matrix[self.index] = matrix.copy() if copy else matrix
        if len(vector) > split:
            self._pattern[self._learnt] = vector[split:]

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        return self._by_weight(self.top.row_values(values), values["pattern"])

    def step_l2(self, n_docs: int) -> Floats:
        """RETURNS (float64 [N]): l2 of a step on so many documents."""
        of_row, of_rest = self.top.step_shares(n_docs)
        return self._by_weight(
            self.top.row_values(self.top.l2) * of_row, self.top.l2["pattern"] * of_rest
        )

    def _by_weight(self, of_row: Floats, of_pattern: float) -> Floats:
        of_pair = of_row.repeat(self.pairs.sizes)
        patterns = np.full(len(self._pattern), of_pattern)
        return self._l2_scale * self.part(of_pair, patterns)

    def slots(self, rows: Ints) -> Ints:
        """RETURNS (int32): Places of the weights of these rows, and of patterns."""
        n_pairs = len(self.pairs.columns)
        n_all = n_pairs + int(self._learnt.sum())
        of_patterns = np.arange(n_pairs, n_all, dtype=np.int32)
        return np.concatenate([self.pairs.slots(rows), of_patterns])

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        self._weights.round()

    def pruned_size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): Of all levels."""
        return self._weights.size()


class LevelSteps:
    """Online training of one level.

    level (OneLevel): Its weights, which change in place.

    gradient (float64 [N]): Where it is added to.
    """

    def __init__(self, level: OneLevel) -> None:
        self._level = level
        self._adagrad = SparseAdagrad(level.vector()[:, None])
        self._n_docs = 0
        self.use(averages=False)

    @property
    def gradient(self) -> Floats:
        """RETURNS (float64 [N]): In the order of `OneLevel.vector`."""
        return self._adagrad.gradient[:, 0]

    def touch(self, rows: Ints, n_docs: int) -> None:
        """Note what so many documents have read: these rows."""
        self._adagrad.touched.append(self._level.slots(rows))
        self._n_docs += n_docs

    def insert(self, at: NDArray[np.intp]) -> None:
        """More weights of 0, before these places; their pairs are there already."""
        self._adagrad.insert(at)
        self.use(averages=False)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Step on all that was touched since the last call."""
        if self._n_docs:
            rate = self._level.top.learn_rate_scale * float(optimizer.learn_rate)
            self._adagrad.step(self._level.step_l2(self._n_docs), rate)
            self._n_docs = 0
            self.use(averages=False)

    def use(self, averages: bool) -> None:
        """Let the level have the weights as they are, or their averages."""
        found = self._adagrad.averages() if averages else self._adagrad.weights
        self._level.set_vector(found[:, 0], copy=False)
