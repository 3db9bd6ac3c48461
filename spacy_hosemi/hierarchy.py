"""Coarse to fine over a label tree (after Deschacht and Moens 2006).

The segments of each level are those of the level above that are probable enough, each
with every child of its node for a label; and the distribution over what they can make
is computed anew, exactly:

    score(segment, node) = score(segment, parent of node)
                           + sum of weight[row, node] over the rows that it reads

so the score of a label is the sum over the nodes on its way from the top, whose scores
are those of the component. With threshold 0 nothing is left out, and the last level is
the distribution over all segmentations with leaves for labels.

Training goes level by level, too: the weights of a level are fitted to the likelihood
of the gold among what the levels above have left, whose weights stay as they are. The
gold is always left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidates, Known
from .core.children import ChildRows
from .core.lattice import Lattice
from .core.rows import Freedom
from .errors import Errors
from .fit import join_rows
from .levels import LevelWeights, role_ranges
from .model import Rows, Weights
from .thresholds import check_share

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

# Less probable than this a segment is no part of what may be the gold.
TINY = 1e-12


@dataclass(frozen=True)
class Hierarchy:
    """Settings, see `make_hierarchy`."""

    separator: str | None
    threshold: float
    l2_growth: float


def make_hierarchy(
    separator: str | None = "/", threshold: float = 0.001, l2_growth: float = 1.0
) -> Hierarchy:
    """Registered as "spacy_hosemi.hierarchy.v1" in `misc`.

    separator (Optional[str]): What parts the names of a label that is a path from the
        top, such as "Person/Artist"; None: [initialize.components] has a hierarchy,
        such as spacy_hosemi.read_label_tree.v1.
    threshold (float): Segments less probable than this are not refined; those of the
        best segmentation always are. 0: all are, which is exact and slow; 1: only
        those.
    l2_growth (float): The l2 of the fit is multiplied by this on each level below the
        top.
    RETURNS (Hierarchy): For the key "hierarchy" of the component.
    RAISES (ValueError): HS043 a number out of range; HS118 separator.
    """
    check_share("hierarchy.threshold", threshold)
    if not l2_growth >= 0.0:
        raise ValueError(
            Errors.HS043.format(
                name="hierarchy.l2_growth", found=l2_growth, expected=">= 0"
            )
        )
    if separator == "":
        raise ValueError(
            Errors.HS118.format(expected="a separator or null", found="it is empty")
        )
    return Hierarchy(separator, threshold, l2_growth)


class Readings:
    """The features of documents, as the nodes of a tree read them.

    rows (Sequence[Rows]): Of each document.
    """

    def __init__(self, rows: Sequence[Rows]) -> None:
        roles = dict.fromkeys(chain.from_iterable(x.tokens for x in rows))
        self._rows = {role: join_rows([x.tokens[role] for x in rows]) for role in roles}
        self._segments = [x.segments for x in rows]

    def of_children(
        self, candidates: Candidates, weights: LevelWeights, level: int
    ) -> list[ChildRows]:
        """What the children of candidates read, role by role.

        candidates (Candidates): Of the level above.
        """
        tree, pairs = weights.tree, weights.pairs[level - 2]
        counts = tree.n_children(candidates.node)
        inner = np.flatnonzero(counts)
        at = np.concatenate([[0], np.cumsum(counts[inner])]).astype(np.intp)
        offset = candidates.offset[inner]
        start, end = candidates.start[inner] + offset, candidates.end[inner] + offset
        ranges = role_ranges(start, end)
        found = [(*ranges[role], *rows) for role, rows in self._rows.items()]
        if any(len(x.row) for x in self._segments):
            found.append(self._of_units(candidates.sizes, start, end))
        nodes = candidates.node[inner]
        return [
            ChildRows(
                begin,
                stop,
                nodes,
                at,
                first,
                row,
                strength,
                tree.first_child,
                pairs.first,
                pairs.columns,
            )
            for begin, stop, first, row, strength in found
        ]

    def _of_units(
        self, sizes: Ints, start: Ints, end: Ints
    ) -> tuple[Ints, Ints, Ints, Ints, Floats | None]:
        """Features of segments as units, sorted by segment: which of them each segment
        reads, and the rows, one for each."""
        offsets = np.cumsum(sizes) - sizes
        n = int(sizes.sum()) + 1
        keys = np.concatenate(
            [
                (x.start + o).astype(np.int64) * n + x.end + o
                for x, o in zip(self._segments, offsets)
            ]
        )
        order = np.argsort(keys, kind="stable")
        asked = start.astype(np.int64) * n + end
        begin = np.searchsorted(keys[order], asked).astype(np.int32)
        stop = np.searchsorted(keys[order], asked, side="right").astype(np.int32)
        row = np.concatenate([x.row for x in self._segments])[order]
        strength = np.concatenate([x.strength for x in self._segments])[order]
        return begin, stop, np.arange(len(row) + 1, dtype=np.int32), row, strength


@dataclass(frozen=True)
class Step:
    """One level before its scores are added.

    level (int): From 2.
    candidates (Candidates): With the scores of all levels above.
    is_child (bool [K]): Which of them are nodes of this level.
    rows (List[ChildRows]): What those read.
    pattern (float64): Weights of label patterns of the level above.
    """

    level: int
    candidates: Candidates
    is_child: Bools
    rows: list[ChildRows]
    pattern: Floats

    def solved(self, weights: LevelWeights, scale: float = 1.0) -> Solved:
        """All segmentations that the candidates can make.

        weights (LevelWeights): Those of this level are added.
        scale (float): Multiplies them: 1 / temperature.
        """
        pattern = weights.weights_at(self.level, self.pattern, scale)
        added = np.zeros(int(self.is_child.sum()))
        for rows in self.rows:
            rows.gather(weights.matrix[self.level - 2], added)
        score = self.candidates.score.copy()
        score[self.is_child] += scale * added
        found = replace(self.candidates, score=score)
        here = weights.levels[self.level - 2]
        lattice = Lattice(
            here.steps,
            pattern,
            found.first,
            found.sizes,
            found.start,
            found.end,
            here.symbol[found.node],
        )
        return Solved(found, pattern, lattice)


@dataclass(frozen=True)
class Solved:
    """One level with its scores, and all segmentations of its candidates."""

    candidates: Candidates
    pattern: Floats
    lattice: Lattice

    @cached_property
    def found(self) -> tuple[Floats, Ints]:
        """RETURNS (Tuple[float64 [K], int32]): The probability of each candidate, and
        the candidates of the best segmentation of each document."""
        order = self.candidates.node + 1
        prob, best, _ = self.lattice.solve(self.candidates.score, order)
        return prob, best

    def pruned(self, threshold: float, agreed: Bools | None = None) -> Candidates:
        """What is refined on the next level.

        threshold (float): Least probability; the best segmentation stays as a whole.
        agreed (Optional[bool [K]]): Those that agree with the gold: what is probable
            among them stays, too.
        """
        prob, best = self.found
        keep = prob >= threshold
        keep[best] = True
        if agreed is not None:
            of_gold = self.lattice.sums(self.candidates.score, agreed.view(np.uint8))[1]
            keep |= of_gold >= max(threshold, TINY)
        return self.candidates.those(keep)


def make_step(
    weights: LevelWeights,
    level: int,
    candidates: Candidates,
    pattern: Floats,
    readings: Readings,
) -> Step:
    """The children of candidates of the level above."""
    rows = readings.of_children(candidates, weights, level)
    return Step(level, *candidates.children(weights.tree), rows, pattern)


# prediction


def descend(
    weights: LevelWeights,
    candidates: Candidates,
    pattern: Floats,
    readings: Readings,
    known: Known,
    threshold: float,
    scale: float = 1.0,
) -> Solved:
    """From the top to the leaves.

    weights (LevelWeights): Of the levels below the top.
    candidates (Candidates): Of the top.
    pattern (float64): Its weights of label patterns.
    readings (Readings): The features of the same documents.
    known (Known): Spans to which the candidates are held.
    threshold (float): See `make_hierarchy`.
    scale (float): 1 / temperature.
    RETURNS (Solved): Of the last level.
    """
    for level in range(2, weights.tree.n_levels + 1):
        step = make_step(weights, level, candidates, pattern, readings)
        if known:
            step = _held(step, known, weights)
        solved = step.solved(weights, scale)
        if level == weights.tree.n_levels:
            return solved
        candidates, pattern = solved.pruned(threshold), solved.pattern
    raise AssertionError("a label tree of one level is no hierarchy")


def _held(step: Step, known: Known, weights: LevelWeights) -> Step:
    """Without what known spans speak against; the rows of children still count all."""
    agrees = known.agrees(step.candidates, weights.tree)
    score = np.where(agrees, step.candidates.score, -np.inf)
    return replace(step, candidates=replace(step.candidates, score=score))


def paths(solved: Solved, weights: LevelWeights) -> list[list[FoundSpan]]:
    """The best spans of each document, and how sure each level of them is.

    RETURNS (List[List[FoundSpan]]): From left to right, without outside.
    """
    tree, candidates = weights.tree, solved.candidates
    prob, best = solved.found
    n = int(candidates.sizes.max(initial=0)) + 1
    place = candidates.doc.astype(np.int64) * n + candidates.start
    place = place * n + candidates.end
    by_level = {}
    spans = best[candidates.node[best] >= 0]
    for level in range(1, tree.n_levels + 1):
        node = np.where(candidates.node < 0, -1, tree.at_level(level)[candidates.node])
        key = place * (len(tree.names) + 1) + node + 1
        _, inverse = np.unique(key, return_inverse=True)
        total = np.bincount(inverse, weights=prob)[inverse[spans]]
        by_level[level] = np.minimum(total, 1.0).tolist()
    found: list[list[FoundSpan]] = [[] for _ in candidates.sizes]
    for k, (c, d) in enumerate(zip(spans.tolist(), candidates.doc[spans].tolist())):
        v = int(candidates.node[c])
        path = [(x, by_level[int(tree.level[u])][k]) for x, u in tree.path(v)]
        at = int(candidates.start[c]), int(candidates.end[c])
        found[d].append(FoundSpan(*at, tree.names[v], path))
    return found


@dataclass(frozen=True)
class FoundSpan:
    """A predicted span.

    start, end (int): Tokens, half-open.
    label (str): The leaf.
    path (List[Tuple[str, float]]): Names from the top to it, and the probability of
        exactly this span with a label below each; see `LabelTree.path`.
    """

    start: int
    end: int
    label: str
    path: list[tuple[str, float]]


# training


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
        d_children = (prob - gold_prob)[self._step.is_child]
        d_matrix = np.zeros(len(self._levels.matrix[self._step.level - 2]))
        for rows in self._step.rows:
            rows.scatter(d_children, d_matrix)
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
