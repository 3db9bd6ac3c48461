"""The rules of decoding at the last level of a label tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats, Ints, Places
from ..core import PatternAutomaton
from ..core.algorithms.lattice import Lattice
from ..core.algorithms.lattice_graph import StateTable
from ..labels.inventory import OUTSIDE
from .coarse_to_fine import ScoredLevel

# For a lattice whose segmentations differ in the places of spans alone.
_TABLE = StateTable(PatternAutomaton([OUTSIDE, "span"], []))
_NO_WEIGHTS = np.zeros(0)

# Dinkelbach's method ends when no ratio grows by more than this.
_GROWTH = 1e-12


def mbr_spans(solved: ScoredLevel, expected_f1: float | None) -> Ints:
    """Returns the spans of each document with the highest expected F1 (minimum Bayes
    risk), as `core.mbr` finds them, among the candidates of the last level, from left
    to right, int32 [S]:

        max over s of  sum over spans of s of (2 P(span) - expected_f1)

    Outside adds nothing, and is possible at the tokens of `ScoredLevel.is_open`. If
    expected_f1 is None, Dinkelbach's method finds that of each document.
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
    """Finds the spans with the largest sum of gains, 2 P(span) - ratio."""

    def __init__(self, solved: ScoredLevel) -> None:
        table, self._prob = solved.candidates, solved.solution[0]
        self.n_docs, self._sizes = len(table.sizes), table.sizes
        self._doc, self._node = table.doc, table.node
        self._start, self._end = table.start, table.end
        is_span, is_possible = table.node >= 0, self._prob > 0.0
        self._spans = np.flatnonzero(is_span & is_possible)
        self._n_expected = self._sums(self._spans)
        offset = table.offset
        first, last = table.start + offset, table.end + offset
        # Tokens that a candidate without a label covers.
        n, some = int(self._sizes.sum()) + 1, ~is_span & is_possible
        opened = np.bincount(first[some], minlength=n)
        covered = np.cumsum(opened - np.bincount(last[some], minlength=n))[:-1] > 0
        self._is_open = covered if solved.is_open is None else solved.is_open
        closed = np.concatenate([[0], np.cumsum(~self._is_open)])
        self._is_needed = (closed[last] > closed[first])[self._spans]

    def _sums(self, spans: Places | Ints) -> Floats:
        """Returns the expected number of correct spans among these, by document [N]."""
        doc, prob = self._doc[spans], self._prob[spans]
        sums = np.bincount(doc, weights=prob, minlength=self.n_docs)
        return sums.astype(np.float64)

    def f1(self, spans: Ints) -> Floats:
        """Returns an approximation of the expected F1 of some spans, by document [N]:
        the ratio of expected values."""
        sizes = np.bincount(self._doc[spans], minlength=self.n_docs) + self._n_expected
        return 2.0 * self._sums(spans) / np.where(sizes > 0.0, sizes, 1.0)

    def best(self, ratio: Floats) -> Ints:
        """Returns the spans with the largest gains, given each document's ratio [N]."""
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


# From the last level and expected_f1 to the candidates that are predicted.
LEVEL_DECODINGS: dict[str, Callable[[ScoredLevel, float | None], Ints]] = {
    "viterbi": lambda solved, expected_f1: solved.best_spans,
    "mbr": mbr_spans,
}
