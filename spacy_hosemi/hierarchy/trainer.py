"""Training of a label tree, level by level (after Deschacht and Moens 2006).

The weights of a level are fitted to the likelihood of the gold among the candidates
that the levels above have left; the weights of these levels stay as they are:

    loss = sum over documents of log Z(candidates) - log Z(those that agree with gold)

Candidates that agree with the gold are never pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton, Potentials, viterbi
from ..errors import Errors
from ..labels.gold import Gold
from ..labels.partial import PartialLabels
from ..model.active_features import Rows, read_docs
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.pairs import Pairs
from ..model.weights.potentials import score_rows
from ..model.weights.shim import Weights
from ..training.progress import watched
from .candidates import Candidates, Known, Place, top_candidates
from .coarse_to_fine import Readings, Step, make_step
from .hierarchy import Hierarchy
from .level_vector import OneLevel
from .mining import mine_levels, mine_nodes
from .projection import TreeProjection
from .weights import LevelWeights, empty_levels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]

_NO_ROWS = np.zeros(0, np.int32)


class LevelTrainer:
    """Trains the levels below the top of a label tree; the component's own weights are
    those of the top.

    settings (Hierarchy): Of the component.
    projection (TreeProjection): Of a tree of two levels or more.
    weights (LevelWeights): Of the levels below the top.
    """

    def __init__(
        self, settings: Hierarchy, projection: TreeProjection, weights: LevelWeights
    ) -> None:
        self._settings = settings
        self._projection = projection
        self._tree = projection.tree
        self.weights = weights

    def allocate(
        self,
        top: Weights,
        docs: Sequence[Doc],
        annotations: Sequence[PartialLabels],
        golds: Sequence[Gold],
        outside: str,
        **settings: Any,
    ) -> None:
        """Zero weights for the features and label patterns of training data.

        top (Weights): The component's own.
        docs (Sequence[Doc]), annotations (Sequence[PartialLabels]), golds
            (Sequence[Gold]):
            Instances, their labels, and those projected to the top.
        outside (str), **settings: See `mine_levels`.
        """
        known = [
            (len(doc), spans)
            for doc, spans, gold in zip(docs, self._places(annotations), golds)
            if gold.segments is not None
        ]
        pairs = self._pairs(top, docs, annotations)
        patterns = mine_levels(self._tree, known, outside, **settings)
        self.weights.replace(empty_levels(pairs, patterns))
        self.weights.mined.update(_keys(top, docs, annotations))

    def grow(
        self, top: Weights, docs: Sequence[Doc], annotations: Sequence[PartialLabels]
    ) -> None:
        """Weights of 0 for pairs of a feature and a node that an update brings: of new
        documents, of known ones with other spans, and of features that had no weights
        when the document came before."""
        if not top.state.grows:
            return
        mined, keys = self.weights.mined, _keys(top, docs, annotations)
        new = [k for k, key in enumerate(keys) if key not in mined]
        if new:
            args = [docs[k] for k in new], [annotations[k] for k in new]
            self.weights.add_pairs(self._pairs(top, *args))
        mined.update(keys)

    def fit(
        self,
        fit: Callable[[Any], None],
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[PartialLabels],
        golds: Sequence[Gold],
    ) -> None:
        """Train all levels below the top; the weights of the top stay as they are.

        fit (Callable): Trains one `LevelBatch`, such as spacy_hosemi.lbfgs.v1.
        """
        given = _informative(docs, annotations, golds)
        rows = [read_docs(top.state, [docs[k]], is_train=True) for k in given]

        def score(k: int) -> Potentials:
            return score_rows(top.state, rows[k], len(docs[given[k]]))

        known = [(annotations[k], golds[k]) for k in given]
        self._train(fit, top, automaton, rows, known, score)

    def accumulate(
        self,
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[PartialLabels],
        golds: Sequence[Gold],
        potentials: Sequence[Potentials],
    ) -> float:
        """Add the gradient of all levels below the top, for the next step.

        potentials (Sequence[Potentials]): Of the top, of each document.
        RETURNS (float): The summed loss of these levels, in nats.
        """
        given = _informative(docs, annotations, golds)
        rows = [read_docs(top.state, [docs[k]], is_train=True) for k in given]
        active = [_NO_ROWS, *(part for x in rows for part in x.active)]
        touched = np.unique(np.concatenate(active))
        loss = 0.0

        def visit(batch: LevelBatch) -> None:
            nonlocal loss
            loss += batch.accumulate(touched, len(given))

        known = [(annotations[k], golds[k]) for k in given]
        scores = [potentials[k] for k in given]
        self._train(visit, top, automaton, rows, known, scores.__getitem__)
        return loss

    def check_prunable(self) -> None:
        """RAISES (ValueError): HS118 rows of the top are those of the levels."""
        if self.weights.state.pairs:
            expected, found = "all features of the top", "this is prune"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))

    def _train(
        self,
        visit: Callable[[Any], None],
        top: Weights,
        automaton: PatternAutomaton,
        rows: Sequence[Rows],
        known: Sequence[tuple[PartialLabels, Gold]],
        score: Callable[[int], Potentials],
    ) -> None:
        """Visit all levels below the top.

        rows (Sequence[Rows]), known (Sequence[Tuple[PartialLabels, Gold]]): Of
            documents.
        score (Callable): Gives the potentials of the document of this index.
        """
        # Never pruned: the gold, or the best segmentation that agrees with it.
        always = [
            [(i, j, y) for i, j, y in gold.segments]
            if gold.segments is not None
            else viterbi(automaton, score(k), gold.constraints)[0]
            for k, (_, gold) in enumerate(known)
        ]
        annotations = [annotation for annotation, _ in known]
        of_gold = Known(
            self._places(annotations),
            [x.unknown() for x in annotations],
            [self._projection.excluded(x.excluded) for x in annotations],
        )
        candidates = top_candidates(
            automaton,
            (score(k) for k in range(len(rows))),
            repeat(None),
            always,
            self._settings.threshold,
        )
        args = candidates, top.state.pattern, Readings(rows), of_gold, self._settings
        train_levels(visit, self.weights, top, *args)

    def _pairs(
        self, top: Weights, docs: Sequence[Doc], annotations: Sequence[PartialLabels]
    ) -> list[Pairs]:
        shown = watched(docs, "Reading features")
        rows = [read_docs(top.state, [doc], is_train=True) for doc in shown]
        n_known = sum(len(x.columns) for x in self.weights.state.pairs)
        args = self._tree, len(top.state.table), n_known
        return mine_nodes(rows, self._places(annotations), *args)

    def _places(self, annotations: Iterable[PartialLabels]) -> list[list[Place]]:
        return [self._projection.places(x.required) for x in annotations]


class LevelBatch:
    """One level of a corpus: value and gradient at any weights of that level.

    step (Step): Its K candidates.
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
        """As `add_gradient`, for the next step of online training.

        active (int32): Rows of the features that are active in the documents.
        n_docs (int): The number of documents.
        """
        steps = self._levels.steps(self.weights)
        steps.touch(active, n_docs)
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

    visit (Callable): Trains one level, such as spacy_hosemi.lbfgs.v1.
    weights (LevelWeights): With pairs and patterns; changed in place.
    top (Weights): The component's own; not changed.
    candidates (Candidates): Of the top, the gold among them.
    pattern (float64): The top's weights of label patterns.
    readings (Readings): The features of the same documents.
    known (Known): The gold.
    settings (Hierarchy): Of the component.
    """
    tree = weights.state.tree
    for level in range(2, tree.n_levels + 1):
        step = make_step(weights.state, level, candidates, pattern, readings)
        agreed = known.agrees(step.candidates, tree)
        growth = settings.l2_growth ** (level - 1)
        visit(LevelBatch(step, agreed, weights, top, growth))
        if level < tree.n_levels:
            solved = step.solved(weights.state)
            candidates = solved.pruned(settings.threshold, agreed)
            pattern = solved.pattern


def _keys(
    top: Weights, docs: Sequence[Doc], annotations: Sequence[PartialLabels]
) -> list[int]:
    """RETURNS (List[int]): For each document a hash of its words, its spans and the
    number of features that have weights."""
    size = len(top.state.table)
    return [
        hash((size, doc.to_array("ORTH").tobytes(), *known.required))
        for doc, known in zip(docs, annotations)
    ]


def _informative(
    docs: Sequence[Doc], annotations: Sequence[PartialLabels], golds: Sequence[Gold]
) -> list[int]:
    """RETURNS (List[int]): Documents with annotation."""
    return [
        k
        for k, (doc, known, gold) in enumerate(zip(docs, annotations, golds))
        if (gold.n_known or known.excluded) and len(doc)
    ]
