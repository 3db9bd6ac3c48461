"""Minimum Bayes risk: the segmentation with the highest expected number of correct
spans, or expected F1, instead of the most probable one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter

import numpy as np

from ..arguments import check_number, check_word
from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import CELLS, ROLES, Constraints, Potentials, check_potentials
from .marginals import Marginals, marginal_steps, marginals
from .segment_probabilities import decision_steps
from .viterbi import viterbi

Segments = list[tuple[int, int, int]]
Probabilities = dict[tuple[int, int, int], float]  # of spans

OBJECTIVES = ("spans", "f1")

# Leave out segments that are less probable. All of them together are worth less than a
# span in a million.
LEAST = 1e-7

# Without an expected F1, first try to reach one above twice this number: then only
# spans of at least this probability can pay.
_FIRST = 0.05

# No two spans that are more probable overlap: sums of up to `LARGEST_SUM` are rounded
# by up to 1e-4, and so are probabilities.
_LIKELY = 0.5 + 1e-4

# What a span without a gain of its own costs: more than all gains of a document.
_COST = 1e6


def mbr(
    automaton: PatternAutomaton,
    potentials: Potentials,
    objective: str = "spans",
    constraints: Constraints | None = None,
    *,
    expected_f1: float | None = None,
) -> Segments:
    """The segmentation from which most is expected, instead of the most probable one.

    With P(i, j, y) the probability of a span (a segment with a label but outside), and
    s any segmentation that is possible:

        "spans"   max_s  sum of P over the spans of s            (expected correct ones)
        "f1"      max_s  2 sum of P / (spans of s + E[spans])    (about expected F1)

    The ratio is maximised by Dinkelbach's method (1967): while it grows, maximise the
    numerator minus the present ratio times the denominator. So a span pays if its
    probability is above half of the F1 that is reached. Where F1 counts the spans of
    many documents together, that is one number for all of them: `expected_f1`, with
    which one maximisation suffices.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    objective (str): "spans" or "f1".
    constraints (Optional[Constraints]): What a segmentation may contain.
    expected_f1 (Optional[float]): For "f1", 0 to 1: the ratio that is reached over all
        documents. None: that of this document alone.
    RETURNS (List[Tuple[int, int, int]]): As `viterbi` gives them; [] if nothing is
        possible.
    RAISES (ValueError): HS023 objective; HS026 expected_f1; and as `log_partition`.
    """
    check_word("objective", objective, OBJECTIVES)
    _check_f1(expected_f1)
    found = marginals(automaton, potentials, constraints, counts=False)
    free = _Free(automaton, potentials, constraints)
    if objective == "f1":
        return _best_f1(found, free, expected_f1)
    if found.log_z == -np.inf:
        return []
    return _best_gain(found, free, _candidates(found))


def mbr_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
    expected_f1: float | None,
) -> Steps[list[Segments]]:
    """`mbr` of each document, with "f1", in steps.

    automaton (PatternAutomaton): Of all documents.
    potentials (Sequence[Potentials]), constraints (Sequence[Optional[Constraints]]): Of
        each.
    expected_f1 (Optional[float]): Of all, or None, see `mbr`.
    YIELDS (Task): Work without the GIL, which must be done before the next step.
    RETURNS (List[List[Tuple[int, int, int]]]): In the order of the documents.
    RAISES (ValueError): HS026 expected_f1; and as `log_partition`.
    """
    _check_f1(expected_f1)
    decide = partial(_without_search, expected_f1)
    given = automaton, potentials, constraints
    least = _least(expected_f1)
    found = yield from decision_steps(*given, least, decide)
    alone = [k for k, segments in enumerate(found) if segments is None]

    def answer(k: int, posterior: Marginals) -> Segments:
        free = _Free(automaton, potentials[k], constraints[k])
        return _best_f1(posterior, free, expected_f1)

    others = iter((yield from marginal_steps(*given, alone, answer, least)))
    return [next(others) if x is None else x for x in found]


def _best_f1(found: Marginals, free: _Free, expected_f1: float | None) -> Segments:
    """The segmentation with the highest expected F1; [] if nothing is possible."""
    if found.log_z == -np.inf:
        return []
    spans, n_expected = found.spans_above(_least(expected_f1))
    for segments in _without_search(expected_f1, free.n_tokens, spans, n_expected):
        if segments and found.is_possible(segments):
            return segments
    # Others may pay, or be needed where outside is not possible.
    prob, choose = _candidates(found), partial(_best_gain, found, free)
    if expected_f1 is not None:
        return choose(_gains(prob, expected_f1))
    return _highest_ratio(choose, free.most_probable(), prob, n_expected)


def _highest_ratio(
    choose: Callable[[Probabilities], Segments],
    best: Segments,
    prob: Probabilities,
    n_expected: float,
) -> Segments:
    """Dinkelbach's method, from `best` on; `choose` finds the segments with the highest
    gain, given the gain of each span."""
    ratio = _f1(best, prob, n_expected)
    while True:  # each time with fewer spans
        segments = choose(_gains(prob, ratio))
        reached = _f1(segments, prob, n_expected)
        if not reached > ratio + 1e-12:
            return best
        best, ratio = segments, reached


def _check_f1(expected_f1: float | None) -> None:
    """RAISES (ValueError): HS026 if it is out of range."""
    if expected_f1 is not None:
        check_number("expected_f1", expected_f1, 0.0, 1.0)


def _least(expected_f1: float | None) -> float:
    """The least probability of a span that may pay."""
    return _FIRST if expected_f1 is None else max(0.5 * expected_f1, LEAST)


def _without_search(
    expected_f1: float | None,
    n_tokens: int,
    spans: Sequence[tuple[int, int, int, float]],
    n_expected: float,
) -> Iterator[Segments]:
    """The best of all sets of spans that do not overlap, with outside between them. If
    it is a possible segmentation, it is the best one.

    spans (Sequence[Tuple[int, int, int, float]]): Those with a probability of at least
        `_least`, and the probability.
    n_expected (float): The expected number of spans.
    YIELDS (List[Tuple[int, int, int]]): See `_fillings`; nothing if spans of a lower
        probability may pay.
    """
    prob = {(i, j, y): p for i, j, y, p in spans}
    if expected_f1 is not None:
        yield from _fillings(_best_apart(_gains(prob, expected_f1)), n_tokens)
        return
    best = [span for span, p in prob.items() if p > _LIKELY] or [
        max(prob, key=prob.__getitem__, default=(0, 0, 0))
    ]
    if _f1(best, prob, n_expected) >= 2.0 * _FIRST:
        best = _highest_ratio(_best_apart, best, prob, n_expected)
        yield from _fillings(best, n_tokens)


def _gains(prob: Probabilities, ratio: float) -> Probabilities:
    """What each span gains if it costs `ratio`."""
    return {span: 2.0 * p - ratio for span, p in prob.items()}


def _best_apart(gains: Probabilities) -> Segments:
    """The spans without overlaps that gain most together, from left to right.

    With best[k] for the first k spans, sorted by their ends:

        best[k + 1] = max(best[k], gain of the next + best[those before its start])
    """
    spans = [span for span, gain in gains.items() if gain > 0.0]
    spans.sort(key=itemgetter(1, 0, 2))
    ends = [end for _, end, _ in spans]
    best, before = [0.0], []
    for k, span in enumerate(spans):
        b = bisect_right(ends, span[0], 0, k)
        total = gains[span] + best[b]
        before.append(b if total > best[k] else -1)
        best.append(max(total, best[k]))
    found: Segments = []
    k = len(spans)
    while k:
        k -= 1
        if before[k] >= 0:
            found.append(spans[k])
            k = before[k]
    return found[::-1]


def _candidates(found: Marginals) -> Probabilities:
    """Spans and their probabilities."""
    above = found.segments_above(LEAST, outside=False)
    return {(i, j, y): p for i, j, y, p in above}


def _f1(segments: Segments, prob: Probabilities, n_expected: float) -> float:
    spans = [segment for segment in segments if segment[2] > 0]
    n_correct = sum(prob.get(segment, 0.0) for segment in spans)
    size = len(spans) + n_expected
    return 2.0 * n_correct / size if size else 0.0


class _Free:
    """A document in which what is forbidden has a score of -inf, and all else 0."""

    def __init__(
        self,
        automaton: PatternAutomaton,
        potentials: Potentials,
        constraints: Constraints | None,
    ) -> None:
        self.automaton = automaton
        self.constraints = constraints
        self.n_tokens = potentials.n_tokens
        self._given = potentials

    def most_probable(self) -> Segments:
        """The Viterbi path with the scores as given."""
        segments, _ = viterbi(self.automaton, self._given, self.constraints)
        return segments

    @cached_property
    def potentials(self) -> Potentials:
        """Scores of 0 or -inf."""
        given = check_potentials(self.automaton, self._given)

        def forbidden(name: str) -> np.ndarray:
            return np.where(np.isneginf(getattr(given, name)), -np.inf, 0.0)

        def forbidden_rows(rows: np.ndarray) -> np.ndarray:
            return rows[np.isneginf(rows["score"])]

        return Potentials(
            **{name: forbidden(name) for name in (*ROLES, "length", "tail", "pattern")},
            cells=forbidden_rows(given.cells),
            entries=None if given.entries is None else forbidden_rows(given.entries),
        )


def _best_gain(found: Marginals, free: _Free, gains: Probabilities) -> Segments:
    """The possible segmentation whose spans gain most together.

    First try spans with a gain above 0, with outside between them. If that is not
    possible, decode with a cost on each span that is higher than all gains; a cell
    gives the cost back to each span with a gain. So a span without a gain is part of
    the answer only where nothing else is possible.
    """
    for segments in _fillings(_best_apart(gains), free.n_tokens):
        if segments and found.is_possible(segments):
            return segments
    start = free.potentials.start.copy()
    start[:, 1 : free.automaton.n_labels] -= _COST
    given_back = [(*segment, _COST + gain) for segment, gain in gains.items()]
    cells = np.concatenate([free.potentials.cells, np.array(given_back, CELLS)])
    potentials = replace(free.potentials, start=start, cells=cells)
    segments, _ = viterbi(free.automaton, potentials, free.constraints)
    return segments


def _fillings(spans: Segments, n_tokens: int) -> Iterator[Segments]:
    """Spans from left to right, with outside between them: first in one segment per
    gap, the usual form, then token by token."""
    starts = [0, *(end for _, end, _ in spans)]
    ends = [*(start for start, _, _ in spans), n_tokens]
    gaps = [(start, end, 0) for start, end in zip(starts, ends) if start < end]
    yield sorted([*gaps, *spans])
    if any(end - start > 1 for start, end, _ in gaps):
        tokens = [(t, t + 1, 0) for start, end, _ in gaps for t in range(start, end)]
        yield sorted([*tokens, *spans])
