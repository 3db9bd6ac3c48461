"""Training of a label tree, level by level (after Deschacht and Moens 2006).

The weights of a level are fitted to the likelihood of the gold among what the levels
above have left, whose weights stay as they are:

    loss = sum over documents of log Z(what is left) - log Z(what agrees with the gold)

The gold is always left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..labels.gold import Gold
from ..labels.partial import Annotation
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.shim import Weights
from .candidates import Candidates, Known
from .coarse_to_fine import (
    Hierarchy,
    Readings,
    Step,
    make_step,
)
from .level_vector import OneLevel
from .weights import LevelWeights

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]


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
        gradient = np.zeros(len(self.weights.vector()))
        return self.add_gradient(gradient), gradient

    def add_gradient(self, gradient: Floats) -> float:
        """RETURNS (float): The summed loss; its gradient is added.

        gradient (float64 [N]): In the order of `weights.vector`.
        """
        solved = self._step.solved(self._levels)
        score, lattice = solved.candidates.score, solved.lattice
        log_z, prob, *counts = lattice.sums(score)
        gold_z, gold_prob, *gold_counts = lattice.sums(score, self._agreed)
        split, d_score = len(self.weights.pairs.columns), prob - gold_prob
        for rows in self._step.rows:
            rows.scatter(d_score, gradient[:split])
        differences = (x - y for x, y in zip(counts, gold_counts))
        d_pattern = lattice.steps.counts(*differences)
        gradient[split:] += self.weights.learnt(d_pattern)
        return float((log_z - gold_z).sum())

    def accumulate(self, fired: Ints, n_docs: int) -> float:
        """As `add_gradient`, for the next step of online training.

        fired (int32): Rows that the documents read.
        n_docs (int): How many these are.
        """
        steps = self._levels.steps(self.weights)
        steps.touch(fired, n_docs)
        return self.add_gradient(steps.gradient)


def train_levels(
    visit: Callable[[LevelBatch], None],
    weights: LevelWeights,
    top: Weights,
    candidates: Candidates,
    pattern: Floats,
    readings: Readings,
    known: Known,
    settings: Hierarchy,
) -> None:
    """Train level by level.

    visit (Callable): What trains a level, such as spacy_hosemi.lbfgs.v1.
    weights (LevelWeights): With pairs and patterns, which get weights.
    top (Weights): The component's own, which stay as they are.
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
        visit(LevelBatch(step, agreed, weights, top, growth))
        if level < weights.tree.n_levels:
            solved = step.solved(weights)
            candidates = solved.pruned(settings.threshold, agreed)
            pattern = solved.pattern


_NO_ROWS = np.zeros(0, np.int32)


def _keys(
    top: Weights, docs: Sequence[Doc], annotations: Sequence[Annotation]
) -> list[int]:
    """Of documents with these spans, and with as many features as there are."""
    size = len(top.table)
    return [
        hash((size, doc.to_array("ORTH").tobytes(), *known.spans))
        for doc, known in zip(docs, annotations)
    ]


def _given(
    docs: Sequence[Doc], annotations: Sequence[Annotation], golds: Sequence[Gold]
) -> list[int]:
    """Which documents say anything."""
    return [
        k
        for k, (doc, known, gold) in enumerate(zip(docs, annotations, golds))
        if (gold.n_known or known.incorrect) and len(doc)
    ]
