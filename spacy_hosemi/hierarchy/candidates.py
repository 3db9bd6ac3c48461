"""Candidates: segments with a tree node that are not pruned at a level of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Ints, Places
from ..core import Constraints, PatternAutomaton, Potentials
from ..core.algorithms.segment_probabilities import probable_segments
from ..labels.inventory import Segment
from .tree import LabelTree

Place = tuple[int, int, int]  # start, end, node of a label tree

# The number of documents whose potentials are in memory at the same time.
PORTION = 128


@dataclass(frozen=True)
class Candidates:
    """Has K candidates of N documents at one level, document by document, sorted by
    end; start and end are tokens of the document, half-open."""

    first: Ints  # [N + 1]: those of document d are first[d] to first[d + 1] - 1
    sizes: Ints  # [N]: the number of tokens of each document
    start: Ints  # [K]
    end: Ints  # [K]
    node: Ints  # [K]: of the label tree; -1: outside
    score: Floats  # [K]: without the weights of label patterns

    @property
    def doc(self) -> Ints:
        """Returns the document of each candidate, int32 [K]."""
        docs = np.arange(len(self.sizes), dtype=np.int32)
        return np.repeat(docs, np.diff(self.first))

    @property
    def offset(self) -> Ints:
        """Returns where each candidate's document begins in all tokens, int32 [K]."""
        return (np.cumsum(self.sizes) - self.sizes).astype(np.int32)[self.doc]

    def those(self, is_kept: Bools) -> Candidates:
        """Returns the candidates with True."""
        places = np.flatnonzero(is_kept)
        first = np.searchsorted(places, self.first).astype(np.int32)
        start, end, node = self.start[places], self.end[places], self.node[places]
        return Candidates(first, self.sizes, start, end, node, self.score[places])

    def children(self, tree: LabelTree) -> tuple[Candidates, Places]:
        """Replaces each candidate by one for each child of its node; leaves and outside
        stay. Returns them, and the place of the first child of each candidate [K]."""
        counts = tree.n_children(self.node)
        copies = np.maximum(counts, 1)
        total = np.concatenate([[0], np.cumsum(copies)])
        of = np.repeat(np.arange(len(copies)), copies)
        lowest = np.where(counts > 0, tree.first_child[self.node], self.node)
        node = ((lowest - total[:-1])[of] + np.arange(total[-1])).astype(np.int32)
        first = total[self.first].astype(np.int32)
        places = self.start[of], self.end[of], node
        return Candidates(first, self.sizes, *places, self.score[of]), total[:-1]


@dataclass(frozen=True)
class PartialNodes:
    """Has required and excluded spans; an inner node stands for all leaves below it."""

    spans: list[list[Place]]  # required, by document
    # Tokens with no known label, bool [n]; None: those that no required span covers.
    is_open: list[Bools] | None
    wrong: list[list[Place]]  # excluded, by document

    def __bool__(self) -> bool:
        return self.is_open is not None or any(self.spans) or any(self.wrong)

    def content(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yields what is known of each document, as arrays."""
        for d, spans in enumerate(self.spans):
            wrong = self.wrong[d] if self.wrong else []
            places = [np.array(x, np.int64) for x in (spans, wrong)]
            yield (*places, *([] if self.is_open is None else [self.is_open[d]]))

    def agrees(self, candidates: Candidates, tree: LabelTree) -> Bools:
        """Returns whether each candidate contradicts nothing that is known [K]: it has
        the tokens of a required span and one of the two nodes is above the other or the
        same, or nothing is known of its tokens; and it is not excluded."""
        sizes = candidates.sizes
        offsets = np.cumsum(sizes) - sizes
        n = int(sizes.sum())
        stop, right = np.full(n + 1, -1), np.full(n + 1, -1, np.int32)
        is_taken, is_known = np.zeros(n, bool), np.zeros(n, bool)
        for d, (offset, spans) in enumerate(zip(offsets, self.spans)):
            if self.is_open is not None:
                is_known[offset : offset + sizes[d]] = ~self.is_open[d]
            for i, j, v in spans:
                stop[offset + i], right[offset + i] = offset + j, v
                is_taken[offset + i : offset + j] = True
                is_known[offset + i : offset + j] = True
        start = candidates.start + candidates.offset
        end = candidates.end + candidates.offset
        n_taken = np.concatenate([[0], np.cumsum(is_taken)])
        n_known = np.concatenate([[0], np.cumsum(is_known)])
        is_outside = candidates.node < 0
        blocked = n_known[end] - n_known[start]
        blocked[is_outside] = (n_taken[end] - n_taken[start])[is_outside]
        agrees = blocked == 0
        same = ~is_outside & (stop[start] == end)
        agrees[same] = tree.share_way(candidates.node[same], right[start[same]])
        columns = candidates.start, candidates.end, candidates.node
        places = np.stack(columns, axis=1)
        for d, wrong in enumerate(self.wrong):
            here = slice(candidates.first[d], candidates.first[d + 1])
            for place in wrong:
                agrees[here] &= (places[here] != place).any(axis=1)
        return agrees


def top_candidates(
    automaton: PatternAutomaton,
    potentials: Iterable[Potentials],
    constraints: Iterable[Constraints | None],
    never_pruned: Iterable[Sequence[Segment]],
    threshold: float,
) -> Candidates:
    """Returns the candidates of the first level: segments of at least this probability;
    with threshold 0 all that are possible. Label 0 of the automaton is outside, then
    come the nodes at the top. A segmentation of each document is never pruned. PORTION
    documents are read at a time, because their potentials may be large."""
    waiting = zip(potentials, never_pruned, constraints)
    sizes: list[int] = []
    parts = [(np.zeros(0, np.int32), np.zeros((0, 3), np.int32), np.zeros(0))]
    while portion := [*islice(waiting, PORTION)]:
        scored, paths, limits = map(list, zip(*portion))
        sizes += [len(x.inside) for x in scored]
        args = automaton, scored, paths, limits, threshold
        first, segments, scores = probable_segments(*args)
        parts.append((np.diff(first), segments, scores))
    counts, segments, scores = map(np.concatenate, zip(*parts))
    start, end, label = np.ascontiguousarray(segments.T)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    n_tokens = np.array(sizes, np.int32)
    return Candidates(first, n_tokens, start, end, label - 1, scores)
