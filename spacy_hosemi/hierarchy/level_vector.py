"""The weights of one level of a label tree as one vector, and its online steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from thinc.api import Optimizer

from ..model.weights.online import SparseAdagrad, step_shares
from ..model.weights.pairs import WeightPairs
from ..model.weights.vector import row_values
from ..model.weights.weights import Weights

if TYPE_CHECKING:
    from .weights import LevelWeights

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class OneLevel:
    """The weights of one level as a vector: of nodes, then of its own patterns.

    weights (LevelWeights): The weights of all levels.
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
        if not weights.state.levels[self.index].is_own:
            self._learnt = np.zeros(0, bool)

    @property
    def _pattern(self) -> Floats:
        return self._weights.state.pattern[self.index]

    @property
    def pairs(self) -> WeightPairs:
        """For each feature the nodes in which it has a weight."""
        return self._weights.state.pairs[self.index]

    def part(self, matrix: Floats, pattern: Floats) -> Floats:
        """RETURNS (float64 [N]): One vector of values of nodes and of patterns."""
        return np.concatenate([matrix, self.learnt(pattern)])

    def learnt(self, pattern: Floats) -> Floats:
        """RETURNS (float64): The values of trained patterns, from the values of all."""
        return pattern[: len(self._learnt)][self._learnt]

    def vector(self) -> Floats:
        """RETURNS (float64 [N]): A new array."""
        return self.part(self._weights.state.matrix[self.index], self._pattern)

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverse of `vector`; copy False: the weights of nodes are a view of it."""
        split = len(self.pairs.columns)
        matrix, pattern = vector[:split], self._pattern
        if len(vector) > split:
            pattern = pattern.copy()
            pattern[self._learnt] = vector[split:]
        matrix = matrix.copy() if copy else matrix
        state = self._weights.state
        self._weights.state = state.with_level(self.index, matrix, pattern)

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        of_row = row_values(self.top.state, values)
        return self._by_weight(of_row, values["pattern"])

    def step_l2(self, n_docs: int) -> Floats:
        """RETURNS (float64 [N]): l2 for a step on some documents, see `step_shares`."""
        state, l2 = self.top.state, self.top.l2
        of_row, of_rest = step_shares(state, n_docs)
        return self._by_weight(row_values(state, l2) * of_row, l2["pattern"] * of_rest)

    def _by_weight(self, of_row: Floats, of_pattern: float) -> Floats:
        of_pair = of_row.repeat(self.pairs.sizes)
        patterns = np.full(len(self._pattern), of_pattern)
        return self._l2_scale * self.part(of_pair, patterns)

    def slots(self, rows: Ints) -> Ints:
        """RETURNS (int32): Indices of the weights of some features and of patterns."""
        n_pairs = len(self.pairs.columns)
        n_all = n_pairs + int(self._learnt.sum())
        of_patterns = np.arange(n_pairs, n_all, dtype=np.int32)
        return np.concatenate([self.pairs.slots(rows), of_patterns])

    def round(self) -> None:
        """Round all weights to single precision, as a saved model has them."""
        self._weights.state = self._weights.state.rounded()

    def pruned_size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): The size of all levels."""
        return self._weights.state.size()


class LevelSteps:
    """Online training of one level.

    level (OneLevel): Its weights, which change in place until they are published.
    """

    def __init__(self, level: OneLevel) -> None:
        self._level = level
        self._adagrad = SparseAdagrad(level.vector()[:, None])
        self._n_docs = 0
        self._write()

    @property
    def gradient(self) -> Floats:
        """The array that gradients are added to, in the order of `OneLevel.vector`."""
        return self._adagrad.gradient[:, 0]

    def touch(self, rows: Ints, n_docs: int) -> None:
        """Note the features that are active in some documents."""
        self._adagrad.touched.append(self._level.slots(rows))
        self._n_docs += n_docs

    def insert(self, at: NDArray[np.intp]) -> None:
        """Insert weights of 0 before some indices, for pairs that were added."""
        self._adagrad.insert(at)
        self._write()

    def finish_update(self, optimizer: Optimizer) -> None:
        """One step on the weights of all features noted since the last call."""
        if self._n_docs:
            rate = self._level.top.learn_rate_scale * float(optimizer.learn_rate)
            self._adagrad.step(self._level.step_l2(self._n_docs), rate)
            self._n_docs = 0
            self._write()

    def publish(self) -> None:
        """Make the weights read-only: the next step copies them."""
        self._adagrad.weights.setflags(write=False)

    def use_averages(self) -> None:
        """Replace the weights of the level by their averages."""
        self._level.set_vector(self._adagrad.averages()[:, 0])

    def _write(self) -> None:
        self._level.set_vector(self._adagrad.weights[:, 0], copy=False)
