"""What to answer of a label tree, if not the most probable segmentation: minimum Bayes
risk, as `core.mbr`, over the last level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..core.algorithms.lattice import Lattice
from ..core.algorithms.lattice_graph import StateTable
from ..labels.inventory import OUTSIDE
from .coarse_to_fine import Solved

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

# What tells segmentations apart here: nothing but where spans are.
_TABLE = StateTable(PatternAutomaton([OUTSIDE, "span"], []))
_NO_WEIGHTS = np.zeros(0)

# A ratio that differs by less has not grown.
_ROUNDING = 1e-12


def mbr_spans(solved: Solved, expected_f1: float | None) -> Ints:
    """Of each document the spans with the highest expected F1, see `core.mbr`.

        max_s  sum over spans of s of (2 P(span) - expected_f1)

    Outside costs nothing, and is possible where `Solved.is_open` says so.

    solved (Solved): Of the last level; K candidates.
    expected_f1 (Optional[float]): Of all documents together, 0 to 1; None: of each
        document alone, found by Dinkelbach's method.
    RETURNS (int32 [S]): Which candidates, document by document, from left to right.
    """
    gains = _Gains(solved)
    if expected_f1 is not None:
        return gains.best(np.full(gains.n_docs, expected_f1))
    ratio = gains.f1(solved.best_spans)
    while True:
        best = gains.best(ratio)
        reached = gains.f1(best)
        if (reached <= ratio + _ROUNDING).all():
            return best
        ratio = np.maximum(reached, ratio)


class _Gains:
    """What spans gain, and the best of them."""

    def __init__(self, solved: Solved) -> None:
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
        """RETURNS (bool [n]): Which tokens of all documents are in one of some."""
        n = int(self._sizes.sum()) + 1
        opened = np.bincount(first[some], minlength=n)
        ended = np.bincount(last[some], minlength=n)
        return np.cumsum(opened - ended)[:-1] > 0

    def _sums(self, spans: NDArray[np.intp] | Ints) -> Floats:
        """RETURNS (float64 [N]): How many are expected to be right, by document."""
        doc, prob = self._doc[spans], self._prob[spans]
        sums = np.bincount(doc, weights=prob, minlength=self.n_docs)
        return sums.astype(np.float64)

    def f1(self, spans: Ints) -> Floats:
        """RETURNS (float64 [N]): About the F1 that is expected of some spans."""
        sizes = np.bincount(self._doc[spans], minlength=self.n_docs) + self._n_expected
        return 2.0 * self._sums(spans) / np.where(sizes > 0.0, sizes, 1.0)

    def best(self, ratio: Floats) -> Ints:
        """The spans that gain most together.

        ratio (float64 [N]): What a span costs in each document.
        RETURNS (int32 [S]): Which candidates.
        """
        gain = 2.0 * self._prob[self._spans] - ratio[self._doc[self._spans]]
        # Others may have to be where nothing can be outside.
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
