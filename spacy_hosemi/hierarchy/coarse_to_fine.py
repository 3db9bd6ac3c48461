"""Coarse to fine over a label tree (after Deschacht and Moens 2006).

A candidate is a segment with a node of the tree. The candidates of a level are the
children of those candidates of the level above that are probable enough. At each level
the distribution over all segmentations that consist of candidates is exact:

    score(segment, node) = score(segment, parent of node)
                           + sum of weight[row, node] over the active features

so the score of a label is the sum over the nodes from the top to the label; the nodes
at the top have the scores of the component. With threshold 0 nothing is pruned, and the
last level is the distribution over all segmentations into leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..core.algorithms.lattice import Lattice
from ..labels.inventory import Span
from ..model.active_features import Rows
from ..model.kernels.node_scores import ChildRows
from .candidates import Candidates, PartialNodes
from .level_state import LevelState
from .tree import LabelTree

# A span with its leaf, and the names from the top to the leaf with their probabilities.
SpanPath = tuple[Span, list[tuple[str, float]]]

# In training, candidates that agree with the gold are pruned below this probability.
TINY = 1e-12


def role_ranges(start: Any, end: Any) -> dict[str, tuple[Any, Any]]:
    """Returns by role where the tokens it reads of segments start and end (ints or
    [K])."""
    return {
        "inside": (start, end),
        "start": (start, start + 1),
        "end": (end - 1, end),
        "within": (start + 1, end),
    }


def children_of(
    candidates: Candidates, rows: Rows, weights: LevelState, level: int
) -> tuple[Candidates, list[ChildRows]]:
    """Returns the children of candidates of the level above, and by role the features
    of these documents that they read."""
    tree, pairs = weights.tree, weights.pairs[level - 2]
    children, at = candidates.children(tree)  # at: the first child of each
    inner = np.flatnonzero(tree.n_children(candidates.node))
    offset = candidates.offset[inner]
    start, end = candidates.start[inner] + offset, candidates.end[inner] + offset
    ranges = role_ranges(start, end)
    columns = [(*ranges[role], *of_role) for role, of_role in rows.tokens.items()]
    if len(rows.segments.row):
        columns.append(_of_segments(rows, start, end))
    of_segments = candidates.node[inner], at[inner]
    of_tree = tree.first_child, pairs.first, pairs.columns
    return children, [
        ChildRows(begin, stop, *of_segments, *of_role, *of_tree)
        for begin, stop, *of_role in columns
    ]


def _of_segments(
    rows: Rows, start: Ints, end: Ints
) -> tuple[Ints, Ints, Ints, Ints, Floats | None]:
    """Returns features of segments, as if each stood at a token of its own."""
    segments, first = rows.segments, rows.first
    offset, n = first[:-1].repeat(np.diff(segments.first)), int(first[-1]) + 1
    keys = (segments.start + offset) * np.int64(n) + segments.end + offset
    order = np.argsort(keys, kind="stable")
    wanted = start.astype(np.int64) * n + end
    begin = np.searchsorted(keys[order], wanted).astype(np.int32)
    stop = np.searchsorted(keys[order], wanted, side="right").astype(np.int32)
    row, strength = segments.row[order], segments.strength[order]
    return begin, stop, np.arange(len(row) + 1, dtype=np.int32), row, strength


@dataclass(frozen=True)
class ScoredLevel:
    """Holds one scored level: a distribution over segmentations into its candidates."""

    candidates: Candidates
    pattern: Floats
    lattice: Lattice
    # Tokens of all documents that may be outside [n], though no candidate there is;
    # None: those that a candidate has outside.
    is_open: Bools | None = None

    @cached_property
    def solution(self) -> tuple[Floats, Ints]:
        """Returns the probability of each candidate [K], and the candidates of the best
        segmentation of each document."""
        order = self.candidates.node + 1
        prob, best, _ = self.lattice.solve(self.candidates.score, order)
        return prob, best

    @property
    def best_spans(self) -> Ints:
        """Returns the candidates that are spans of documents' best segmentations."""
        best = self.solution[1]
        return best[self.candidates.node[best] >= 0]

    @cached_property
    def log_z(self) -> Floats:
        """Returns the log partition of each document [N]."""
        log_z: Floats = self.lattice.sums(self.candidates.score)[0]
        return log_z

    @cached_property
    def entropies(self) -> Floats:
        """Returns the entropy of each document [N], in nats."""
        return self.lattice.entropies(self.candidates.score)

    def pruned(self, threshold: float, agreed: Bools | None = None) -> Candidates:
        """Returns the candidates whose children are the next level: the best
        segmentation, those of at least this probability, and the same among those that
        agree with the gold [K]."""
        prob, best = self.solution
        keep = prob >= threshold
        keep[best] = True
        if agreed is not None:
            score = np.where(agreed, self.candidates.score, -np.inf)
            order = self.candidates.node + 1
            of_gold, best_of_gold, _ = self.lattice.solve(score, order)
            keep |= of_gold >= max(threshold, TINY)
            keep[best_of_gold] = True
        return self.candidates.those(keep)


def score_level(
    weights: LevelState,
    level: int,
    candidates: Candidates,
    rows: Sequence[ChildRows],
    pattern: Floats,
    scale: float = 1.0,
) -> ScoredLevel:
    """Adds to candidates, which have the scores of all levels above, those of the
    weights of their level, from 2, multiplied by `scale`, 1 / temperature. `rows` are
    the features that they read, `pattern` the weights of label patterns above."""
    pattern = weights.weights_at(level, pattern, scale)
    score = candidates.score.copy()
    for of_role in rows:
        of_role.gather(weights.matrix[level - 2], score, scale)
    scored = replace(candidates, score=score)
    here = weights.levels[level - 2]
    places = scored.first, scored.sizes, scored.start, scored.end
    lattice = Lattice(here.steps, pattern, *places, here.symbol[scored.node])
    return ScoredLevel(scored, pattern, lattice)


def descend(
    weights: LevelState,
    candidates: Candidates,
    pattern: Floats,
    rows: Rows,
    annotation: PartialNodes,
    threshold: float,
    scale: float = 1.0,
) -> ScoredLevel:
    """Refines candidates at the top, with its weights of label patterns, to leaves that
    agree with the annotation; `scale` is 1 / temperature. Returns the last level."""
    for level in range(2, weights.tree.n_levels + 1):
        children, read = children_of(candidates, rows, weights, level)
        if annotation:
            agrees = annotation.agrees(children, weights.tree)
            # Not removed, so that the places of all children stay the same.
            score = np.where(agrees, children.score, -np.inf)
            children = replace(children, score=score)
        solved = score_level(weights, level, children, read, pattern, scale)
        if level == weights.tree.n_levels:
            return solved
        candidates, pattern = solved.pruned(threshold), solved.pattern
    raise AssertionError("a label tree of one level is no hierarchy")


def paths(solved: ScoredLevel, spans: Ints, tree: LabelTree) -> list[list[SpanPath]]:
    """Returns, by document, some candidates of the last level as spans with leaves,
    each with the names from the top to the leaf, and with the probability of a span at
    these tokens with a label below the name."""
    prob, _ = solved.solution
    totals = _totals(solved.candidates, prob, spans, tree).tolist()
    by_doc: list[list[SpanPath]] = [[] for _ in solved.candidates.sizes]
    columns = "doc", "start", "end", "node"
    rows = (getattr(solved.candidates, name)[spans].tolist() for name in columns)
    for d, start, end, v, of_level in zip(*rows, totals):
        names = tree.levels_of(v)
        path = [(name, of_level[level - 1]) for name, level in names]
        by_doc[d].append(((start, end, names[-1][0]), path))
    return by_doc


def _totals(
    candidates: Candidates, prob: Floats, spans: Ints, tree: LabelTree
) -> Floats:
    """Returns the summed probability of tokens and node at each level, [S, levels]."""
    doc, start, end = candidates.doc, candidates.start, candidates.end
    # Candidates with the same tokens are adjacent, and so are those below one node.
    is_new = np.ones(len(prob), bool)
    is_new[1:] = (doc[1:] != doc[:-1]) | (start[1:] != start[:-1])
    is_new[1:] |= end[1:] != end[:-1]
    place = np.cumsum(is_new)
    is_wanted = np.zeros(len(prob) + 1, bool)
    is_wanted[place[spans]] = True
    chosen = np.flatnonzero(is_wanted[place])
    of_span = np.searchsorted(chosen, spans)
    is_new, prob, node = is_new[chosen], prob[chosen], candidates.node[chosen]
    totals = np.zeros((len(spans), tree.n_levels))
    for level in range(1, tree.n_levels + 1):
        at = np.where(node < 0, -1, tree.at_level(level)[node])
        group = np.cumsum(is_new[1:] | (at[1:] != at[:-1]))
        group = np.concatenate([[0], group])[: len(at)]
        totals[:, level - 1] = np.bincount(group, weights=prob)[group[of_span]]
    return np.minimum(totals, 1.0)
