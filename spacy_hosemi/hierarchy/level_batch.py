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

from ..arrays import Floats, Ints
from ..model.active_features import Rows
from ..model.kernels.node_scores import ChildRows
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.weights import Weights
from ..training.checkpoint import digest, of_documents
from ..training.training_set import Watch
from .candidates import Candidates, PartialNodes
from .coarse_to_fine import ScoredLevel, children_of, score_level
from .hierarchy import Hierarchy
from .level_weights import LevelVector, LevelWeights


class LevelBatch:
    """Gives the loss of one level (from 2) on a corpus, and its gradient by the weights
    of the level: for K candidates, with the scores of all levels above, the features
    that they read by role, and the weights of label patterns above [M]. `agreed` says
    which agree with the gold [K]."""

    def __init__(
        self,
        candidates: Candidates,
        rows: list[ChildRows],
        pattern: Floats,
        weights: LevelVector,
        gold: PartialNodes,
    ) -> None:
        self.weights, self._gold = weights, gold
        self._candidates, self._rows, self._pattern = candidates, rows, pattern
        tree, self.level = weights.levels.state.tree, weights.index + 2
        self.agreed = gold.agrees(candidates, tree)
        self.watch: Watch | None = None
        self.is_last = self.level == tree.n_levels

    def scored(self) -> ScoredLevel:
        """Returns the level with the scores of its present weights."""
        unscored = self._candidates, self._rows, self._pattern
        return score_level(self.weights.levels.state, self.level, *unscored)

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """Returns that all weights are free [N]."""
        return np.full(len(self.weights.vector()), Freedom.FREE, np.uint8)

    def identity(self) -> dict[str, str]:
        """Returns what `TrainingSet.identity` does."""
        pairs, state = self.weights.pairs, self.weights.levels.state
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
        scored = self.scored()
        score, lattice = scored.candidates.score, scored.lattice
        log_z, prob, *counts = lattice.sums(score)
        agreed = self.agreed.view(np.uint8)
        gold_z, gold_prob, *gold_counts = lattice.sums(score, agreed)
        split, d_score = len(self.weights.pairs.columns), prob - gold_prob
        for rows in self._rows:
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
    rows: Rows,
    gold: PartialNodes,
    settings: Hierarchy,
) -> None:
    """Trains all levels below the top one after the other by `visit`, such as
    spacy_hosemi.lbfgs.v1. The candidates at the top have the gold among them, `pattern`
    are the top's weights of label patterns."""
    for level in range(2, weights.state.tree.n_levels + 1):
        children, read = children_of(candidates, rows, weights.state, level)
        vector = weights.level(level, top, settings.l2_growth ** (level - 1))
        batch = LevelBatch(children, read, pattern, vector, gold)
        visit(batch)
        if not batch.is_last:
            scored = batch.scored()
            candidates = scored.pruned(settings.threshold, batch.agreed)
            pattern = scored.pattern
