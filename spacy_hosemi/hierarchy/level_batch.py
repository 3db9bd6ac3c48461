"""One level of a label tree as a batch to fit, and all levels one after the other.

The weights of a level are fitted to the likelihood of the gold among the candidates
that the levels above have left; the weights of those levels do not change:

    loss = sum over documents of log Z(candidates) - log Z(those that agree with gold)

Candidates that agree with the gold are never pruned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..model.kernels.sparse_steps import Freedom
from ..model.weights.weights import Weights
from ..training.checkpoint import digest, of_documents
from ..training.training_set import Watch
from .candidates import Candidates, PartialNodes
from .coarse_to_fine import Readings, Step, make_step
from .hierarchy import Hierarchy
from .level_weights import LevelWeights

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]


class LevelBatch:
    """The loss of one level on a corpus, and its gradient by the weights of the level.

    step (Step): The level, from 2, with its K candidates.
    agreed (bool [K]): Whether each agrees with the gold.
    weights (LevelVector): The weights of the level.
    gold (PartialNodes): Of the corpus.

    watch (Optional[Callable]): See `TrainingSet`.
    is_last (bool): Whether there is no level below it.
    """

    def __init__(
        self,
        step: Step,
        agreed: Bools,
        level_weights: LevelWeights,
        top: Weights,
        l2_scale: float,
        gold: PartialNodes,
    ) -> None:
        self._step, self._gold, self.level = step, gold, step.level
        self._agreed = agreed.view(np.uint8)
        self.watch: Watch | None = None
        self.is_last = step.level == level_weights.state.tree.n_levels
        self._levels = level_weights
        self.weights = level_weights.level(step.level, top, l2_scale)

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """Returns that all weights are free [N]."""
        return np.full(len(self.weights.vector()), Freedom.FREE, np.uint8)

    def identity(self) -> dict[str, str]:
        """Returns what `TrainingSet.identity` does."""
        pairs, state = self.weights.pairs, self._levels.state
        patterns = state.patterns[self.weights.index]
        return {
            "labels": ", ".join(state.tree.names),
            "features": f"{len(pairs.sizes)} ({digest(pairs.first, pairs.columns)})",
            "label patterns": f"{len(patterns)} ({digest(repr(patterns))})",
            "annotation": of_documents(self._gold.content()),
            "weights": f"{len(self.weights.vector())}",
        }

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Returns the summed loss at the present weights, in nats, and its gradient in
        the order of `weights.vector`."""
        gradient = np.zeros(len(self.weights.vector()))
        return self.add_gradient(gradient), gradient

    def add_gradient(self, gradient: Floats) -> float:
        """Adds the gradient of the summed loss; returns the loss."""
        solved = self._step.solved(self._levels.state)
        score, lattice = solved.candidates.score, solved.lattice
        log_z, prob, *counts = lattice.sums(score)
        gold_z, gold_prob, *gold_counts = lattice.sums(score, self._agreed)
        split, d_score = len(self.weights.pairs.columns), prob - gold_prob
        for rows in self._step.rows:
            rows.scatter(d_score, gradient[:split])
        differences = (x - y for x, y in zip(counts, gold_counts))
        d_pattern = lattice.table.counts(*differences)
        gradient[split:] += self.weights.learnt(d_pattern)
        return float((log_z - gold_z).sum())

    def accumulate(self, active: Ints, n_docs: int) -> float:
        """Adds the gradient for the next step of online training, given the features
        that are active in the documents; returns the loss."""
        self.weights.touch(active, n_docs)
        return self.add_gradient(self.weights.gradient)


def train_levels(
    visit: Callable[[LevelBatch], None],
    weights: LevelWeights,
    top: Weights,
    candidates: Candidates,
    pattern: Floats,
    readings: Readings,
    gold: PartialNodes,
    settings: Hierarchy,
) -> None:
    """Trains all levels below the top: `visit` one after the other, such as by
    spacy_hosemi.lbfgs.v1. The candidates at the top have the gold among them, `pattern`
    are the top's weights of label patterns."""
    tree = weights.state.tree
    for level in range(2, tree.n_levels + 1):
        step = make_step(weights.state, level, candidates, pattern, readings)
        agreed = gold.agrees(step.candidates, tree)
        growth = settings.l2_growth ** (level - 1)
        visit(LevelBatch(step, agreed, weights, top, growth, gold))
        if level < tree.n_levels:
            solved = step.solved(weights.state)
            candidates = solved.pruned(settings.threshold, agreed)
            pattern = solved.pattern
