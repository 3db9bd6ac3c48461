"""The posterior over the leaves of a label tree, decoded level by level.

It is the distribution at the last level, over all segmentations that consist of
candidates. With threshold 0 these are all segmentations; otherwise a segmentation with
a pruned candidate has probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..core.algorithms.lattice import Lattice
from ..core.algorithms.lattice_graph import StateTable
from ..core.algorithms.marginals import check_segment
from ..errors import Errors
from ..features.instances import Instance
from ..labels.inventory import OUTSIDE, Segment, Span
from ..labels.partial import PartialLabels
from ..prediction.posterior import Option, Path
from .coarse_to_fine import ScoredLevel
from .tree import LabelTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

# Two sums of the same numbers may differ by this share.
_ROUNDING = 1e-9

# For a lattice whose segmentations differ in the places of spans alone.
_TABLE = StateTable(PatternAutomaton([OUTSIDE, "span"], []))
_NO_WEIGHTS = np.zeros(0)

# Dinkelbach's method ends when no ratio grows by more than this.
_GROWTH = 1e-12


@dataclass(frozen=True)
class LeafPosterior:
    """See `InstancePosterior`.

    instance (Instance): The document or sentence.
    solved (ScoredLevel): The last level, of several instances.
    index (int): The place of this instance among them.
    tree (LabelTree): Of the labels.
    existing (Optional[PartialLabels]): What other components have written there.
    """

    instance: Instance
    solved: ScoredLevel
    index: int
    tree: LabelTree
    existing: PartialLabels | None = None

    @cached_property
    def segments(self) -> dict[Segment, float]:
        """The probability of each candidate: start and end in tokens of the document,
        node (-1: outside)."""
        found = self.solved.candidates
        here = slice(found.first[self.index], found.first[self.index + 1])
        columns = (found.start, found.end, found.node, self.solved.found[0])
        rows = zip(*(column[here].tolist() for column in columns))
        low = self.instance.start
        return {(i + low, j + low, v): min(p, 1.0) for i, j, v, p in rows}

    @property
    def log_z(self) -> float:
        """Log of the summed exponentiated scores of all segmentations."""
        return float(self.solved.log_z[self.index])

    def most_probable(self, k: int) -> list[Option]:
        found, names = self.solved.candidates, self.tree.names
        first, segments = int(found.first[self.index]), [*self.segments]
        answers = []
        args = found.score, found.node + 1, k
        for path, score in self.solved.lattice.kbest(self.index, *args):
            here = (segments[x - first] for x in path)
            spans = tuple((i, j, names[v]) for i, j, v in here if v >= 0)
            answers.append((score - self.log_z, spans))
        return answers

    def entropy(self) -> float:
        return float(self.solved.entropies[self.index])

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """See `InstancePosterior`; spans have leaves for labels."""
        return [
            ((i, j, self.tree.names[v]), prob)
            for (i, j, v), prob in self.segments.items()
            if v >= 0 and prob >= p * (1.0 - _ROUNDING)
        ]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """See `InstancePosterior`; an inner node has the summed probability of the
        leaves below it."""
        nodes = ((i, j, self.tree.node_of(name)) for i, j, name in spans)
        return [0.0 if v is None else self._at_node(i, j, v) for i, j, v in nodes]

    def path(self, span: Span) -> Path:
        """RETURNS (Path): The names above a span with a leaf."""
        start, end, label = span
        ways = self.tree.path(self.tree.leaf[label])
        return [(name, self._at_node(start, end, node)) for name, node in ways]

    def _at_node(self, start: int, end: int, node: int) -> float:
        at = self.tree.at_level(int(self.tree.level[node]))
        same = (
            prob
            for (i, j, v), prob in self.segments.items()
            if (i, j) == (start, end) and v >= 0 and at[v] == node
        )
        return min(math.fsum(same), 1.0)


class LeafMarginals:
    """Probabilities of all segments of one document, with leaves for labels.

    parts (Sequence[LeafPosterior]): The instances, from left to right.
    labels (Sequence[str]): L - 1 leaves; label 0 is outside.
    n_tokens (int): n.

    log_z (float): Of the last level.
    tokens (float64 [n, L]): Probability of each label at each token.
    """

    def __init__(
        self, parts: Sequence[LeafPosterior], labels: Sequence[str], n_tokens: int
    ) -> None:
        self.log_z = math.fsum(part.log_z for part in parts)
        self.tokens = np.zeros((n_tokens, len(labels) + 1))
        self._segments: dict[Segment, float] = {}
        index = {label: y for y, label in enumerate(labels, start=1)}
        for part in parts:
            for (start, end, v), prob in part.segments.items():
                y = 0 if v < 0 else index[part.tree.names[v]]
                self._segments[start, end, y] = prob
                self.tokens[start:end, y] += prob

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment.

        start, end (int): Tokens, half-open.
        label (int): Its index.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS024 offsets; HS021 label.
        """
        check_segment(start, end, label, *self.tokens.shape)
        return self._segments.get((start, end, label), 0.0)

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability.

        p (float): Least probability, above 0.
        RETURNS (List[Tuple[int, int, int, float]]): start, end, label index,
            probability; sorted.
        RAISES (ValueError): HS022 if p is not above 0 and at most 1.
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(Errors.HS022.format(found=p))
        least = p * (1.0 - _ROUNDING)
        return sorted((*x, q) for x, q in self._segments.items() if q >= least)


def mbr_spans(solved: ScoredLevel, expected_f1: float | None) -> Ints:
    """The spans of each document with the highest expected F1 (minimum Bayes risk), as
    `core.mbr` finds them, at the last level:

        max over s of  sum over spans of s of (2 P(span) - expected_f1)

    Outside adds nothing, and is possible at the tokens of `ScoredLevel.is_open`.

    solved (ScoredLevel): The last level, with K candidates.
    expected_f1 (Optional[float]): Of all documents together, 0 to 1; None: of each
        document alone, found by Dinkelbach's method.
    RETURNS (int32 [S]): The chosen candidates, document by document, from left to
        right.
    """
    gains = _Gains(solved)
    if expected_f1 is not None:
        return gains.best(np.full(gains.n_docs, expected_f1))
    ratio = gains.f1(solved.best_spans)
    while True:
        best = gains.best(ratio)
        reached = gains.f1(best)
        if (reached <= ratio + _GROWTH).all():
            return best
        ratio = np.maximum(reached, ratio)


class _Gains:
    """The gain of each span, 2 P(span) - ratio, and the spans with the largest sum."""

    def __init__(self, solved: ScoredLevel) -> None:
        found, self._prob = solved.candidates, solved.found[0]
        self.n_docs, self._sizes = len(found.sizes), found.sizes
        self._doc, self._node = found.doc, found.node
        self._start, self._end = found.start, found.end
        is_span, is_possible = found.node >= 0, self._prob > 0.0
        self._spans = np.flatnonzero(is_span & is_possible)
        self._n_expected = self._sums(self._spans)
        offset = found.offset
        first, last = found.start + offset, found.end + offset
        covered = self._covered(first, last, ~is_span & is_possible)
        self._is_open = covered if solved.is_open is None else solved.is_open
        closed = np.concatenate([[0], np.cumsum(~self._is_open)])
        self._is_needed = (closed[last] > closed[first])[self._spans]

    def _covered(self, first: Ints, last: Ints, some: Bools) -> Bools:
        """Whether some candidates cover each token [n] of all documents."""
        n = int(self._sizes.sum()) + 1
        opened = np.bincount(first[some], minlength=n)
        ended = np.bincount(last[some], minlength=n)
        return np.cumsum(opened - ended)[:-1] > 0

    def _sums(self, spans: NDArray[np.intp] | Ints) -> Floats:
        """The expected number of correct spans among these, by document [N]."""
        doc, prob = self._doc[spans], self._prob[spans]
        sums = np.bincount(doc, weights=prob, minlength=self.n_docs)
        return sums.astype(np.float64)

    def f1(self, spans: Ints) -> Floats:
        """RETURNS (float64 [N]): An approximation of the expected F1 of some spans: the
        ratio of expected values, by document."""
        sizes = np.bincount(self._doc[spans], minlength=self.n_docs) + self._n_expected
        return 2.0 * self._sums(spans) / np.where(sizes > 0.0, sizes, 1.0)

    def best(self, ratio: Floats) -> Ints:
        """RETURNS (int32 [S]): The spans with the largest sum of gains.

        ratio (float64 [N]): Subtracted for each span, by document.
        """
        gain = 2.0 * self._prob[self._spans] - ratio[self._doc[self._spans]]
        # Spans without gain are needed over tokens that cannot be outside.
        some = (gain > 0.0) | self._is_needed
        spans, gain = self._spans[some], gain[some]
        token = np.flatnonzero(self._is_open)
        doc = np.repeat(np.arange(self.n_docs), self._sizes)[token]
        token -= (np.cumsum(self._sizes) - self._sizes)[doc]
        doc = np.concatenate([doc, self._doc[spans]])
        start = np.concatenate([token, self._start[spans]]).astype(np.int32)
        end = np.concatenate([token + 1, self._end[spans]]).astype(np.int32)
        of = np.concatenate([np.full(len(token), -1), spans])
        at = np.lexsort((start, end, doc))
        of, score = of[at], np.concatenate([np.zeros(len(token)), gain])[at]
        first = np.searchsorted(doc[at], np.arange(self.n_docs + 1)).astype(np.int32)
        label = (of >= 0).astype(np.int32)
        places = first, self._sizes, start[at], end[at], label
        lattice = Lattice(_TABLE, _NO_WEIGHTS, *places)
        order = np.where(of < 0, 0, self._node[of] + 1).astype(np.int32)
        best = of[lattice.solve(score, order)[1]]
        return best[best >= 0].astype(np.int32)
