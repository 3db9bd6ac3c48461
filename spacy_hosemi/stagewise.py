"""Training of a label tree, level by level (after Deschacht and Moens 2006).

The weights of a level are fitted to the likelihood of the gold among what the levels
above have left, whose weights stay as they are:

    loss = sum over documents of log Z(what is left) - log Z(what agrees with the gold)

The gold is always left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidates, Known
from .core.rows import Freedom
from .hierarchy import Hierarchy, Readings, Step, make_step
from .levels import LevelWeights
from .model import Weights

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class LevelBatch:
    """One level of a corpus: value and gradient for any weights of that level.

    step (Step): Its candidates.
    agreed (bool [K]): Those that agree with the gold.
    level_weights (LevelWeights): Where weights are written to.
    top (Weights): The component's own, which know the family of each feature.
    l2_scale (float): Multiplies l2.
    """

    def __init__(
        self,
        step: Step,
        agreed: Bools,
        level_weights: LevelWeights,
        top: Weights,
        l2_scale: float,
    ) -> None:
        self._step = step
        self._agreed = agreed.view(np.uint8)
        self._levels = level_weights
        self.weights = OneLevel(level_weights, top, step.level, l2_scale)

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """RETURNS (uint8 [N]): All weights are free."""
        return np.full(len(self.weights.vector()), Freedom.FREE, np.uint8)

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Summed loss at the present weights: log Z of all, less that of what agrees.

        RETURNS (Tuple[float, float64 [N]]): In nats; in the order of `weights.vector`.
        """
        solved = self._step.solved(self._levels)
        score, lattice = solved.candidates.score, solved.lattice
        log_z, prob, *counts = lattice.sums(score)
        gold_z, gold_prob, *gold_counts = lattice.sums(score, self._agreed)
        d_matrix = np.zeros(len(self._levels.matrix[self._step.level - 2]))
        for rows in self._step.rows:
            rows.scatter(prob - gold_prob, d_matrix)
        differences = (x - y for x, y in zip(counts, gold_counts))
        d_pattern = lattice.steps.counts(*differences)
        return float((log_z - gold_z).sum()), self.weights.part(d_matrix, d_pattern)


class OneLevel:
    """The weights of one level as a vector: of nodes, then of its own patterns."""

    def __init__(
        self, weights: LevelWeights, top: Weights, level: int, l2_scale: float
    ) -> None:
        self._weights, self._top, self._index = weights, top, level - 2
        self._l2_scale = l2_scale
        self._learnt = np.isfinite(self._pattern)
        if not weights.levels[self._index].is_own:
            self._learnt = np.zeros(0, bool)

    @property
    def _pattern(self) -> Floats:
        return self._weights.pattern[self._index]

    def part(self, matrix: Floats, pattern: Floats) -> Floats:
        """RETURNS (float64 [N]): What of these belongs to the vector."""
        n = len(self._learnt)
        return np.concatenate([matrix, pattern[:n][self._learnt]])

    def vector(self) -> Floats:
        """RETURNS (float64 [N])"""
        return self.part(self._weights.matrix[self._index], self._pattern)

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverse of `vector`."""
        split = len(self._weights.matrix[self._index])
        matrix = vector[:split]
        self._weights.matrix[self._index] = matrix.copy() if copy else matrix
        if len(vector) > split:
            self._pattern[self._learnt] = vector[split:]

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        of_row = self._top.row_values(values)
        of_pair = of_row.repeat(self._weights.pairs[self._index].sizes)
        of_pattern = np.full(len(self._pattern), values["pattern"])
        return self._l2_scale * self.part(of_pair, of_pattern)

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        self._weights.round()

    def pruned_size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): Of all levels."""
        return self._weights.size()


def fit_levels(
    fit: Callable[[LevelBatch], None],
    weights: LevelWeights,
    top: Weights,
    candidates: Candidates,
    pattern: Floats,
    readings: Readings,
    known: Known,
    settings: Hierarchy,
) -> None:
    """Train level by level.

    fit (Callable): Such as spacy_hosemi.lbfgs.v1.
    weights (LevelWeights): With pairs and patterns, which get weights.
    top (Weights): The component's own, trained.
    candidates (Candidates): Of the top, the gold among them.
    pattern (float64): The top's weights of label patterns.
    readings (Readings): The features of the same documents.
    known (Known): The gold.
    settings (Hierarchy): Of the component.
    """
    for level in range(2, weights.tree.n_levels + 1):
        step = make_step(weights, level, candidates, pattern, readings)
        agreed = known.agrees(step.candidates, weights.tree)
        growth = settings.l2_growth ** (level - 1)
        fit(LevelBatch(step, agreed, weights, top, growth))
        solved = step.solved(weights)
        candidates = solved.pruned(settings.threshold, agreed)
        pattern = solved.pattern
