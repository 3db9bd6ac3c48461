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
    table, (prob, _) = solved.candidates, solved.solution
    doc_of, sizes, offset = table.doc, table.sizes, table.offset
    n_docs, n = len(sizes), int(sizes.sum()) + 1
    is_span, is_possible = table.node >= 0, prob > 0.0
    possible = np.flatnonzero(is_span & is_possible)
    first_token, stop = table.start + offset, table.end + offset
    is_open = solved.is_open
    if is_open is None:  # tokens that a candidate without a label covers
        some = ~is_span & is_possible
        opened = np.bincount(first_token[some], minlength=n)
        is_open = np.cumsum(opened - np.bincount(stop[some], minlength=n))[:-1] > 0
    closed = np.concatenate([[0], np.cumsum(~is_open)])
    # Spans over tokens that cannot be outside are needed even without gain.
    is_needed = (closed[stop] > closed[first_token])[possible]

    def expected(spans: Places | Ints) -> Floats:
        """Returns the expected number of correct spans among these, by document [N]."""
        sums = np.bincount(doc_of[spans], weights=prob[spans], minlength=n_docs)
        return sums.astype(np.float64)

    n_expected = expected(possible)

    def f1(spans: Ints) -> Floats:
        """Returns the ratio of expected values of F1 of some spans, by document [N]."""
        sums = np.bincount(doc_of[spans], minlength=n_docs) + n_expected
        return 2.0 * expected(spans) / np.where(sums > 0.0, sums, 1.0)

    def best_of(ratio: Floats) -> Ints:
        """Returns the spans with the largest gains, given each document's ratio [N]."""
        gain = 2.0 * prob[possible] - ratio[doc_of[possible]]
        some = (gain > 0.0) | is_needed
        spans, gain = possible[some], gain[some]
        token = np.flatnonzero(is_open)
        doc = np.repeat(np.arange(n_docs), sizes)[token]
        token -= (np.cumsum(sizes) - sizes)[doc]
        doc = np.concatenate([doc, doc_of[spans]])
        start = np.concatenate([token, table.start[spans]]).astype(np.int32)
        end = np.concatenate([token + 1, table.end[spans]]).astype(np.int32)
        of = np.concatenate([np.full(len(token), -1), spans])
        at = np.lexsort((start, end, doc))
        of, score = of[at], np.concatenate([np.zeros(len(token)), gain])[at]
        first = np.searchsorted(doc[at], np.arange(n_docs + 1)).astype(np.int32)
        places = first, sizes, start[at], end[at], (of >= 0).astype(np.int32)
        lattice = Lattice(_TABLE, _NO_WEIGHTS, *places)
        order = np.where(of < 0, 0, table.node[of] + 1).astype(np.int32)
        best = of[lattice.solve(score, order)[1]]
        return best[best >= 0].astype(np.int32)

    if expected_f1 is not None:
        return best_of(np.full(n_docs, expected_f1))
    ratio = f1(solved.best_spans)
    while True:
        best = best_of(ratio)
        reached = f1(best)
        if (reached <= ratio + _GROWTH).all():
            return best
        ratio = np.maximum(reached, ratio)


# From the last level and expected_f1 to the candidates that are predicted.
LEVEL_DECODINGS: dict[str, Callable[[ScoredLevel, float | None], Ints]] = {
    "viterbi": lambda solved, expected_f1: solved.best_spans,
    "mbr": mbr_spans,
}
