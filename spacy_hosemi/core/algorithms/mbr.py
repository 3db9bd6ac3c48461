"""Minimum Bayes risk: the segmentation with the highest expected number of correct
spans, or expected F1, instead of the most probable one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..arguments import check_number, check_word
from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import CELLS, ROLES, Constraints, Potentials, check_potentials
from .best_sets import LEAST, best_apart, best_set, least_listed, next_listed
from .marginals import Marginals, marginal_steps, marginals
from .segment_probabilities import PathAnswer, decision_steps
from .viterbi import viterbi, viterbi_steps

Segments = list[tuple[int, int, int]]
Probabilities = dict[tuple[int, int, int], float]  # of spans

OBJECTIVES = ("spans", "f1")

# Unlisted spans are searched for below this share of the last least probability.
_STEP = 1 / 4

# What a span that is not listed costs: more than all gains of a document.
_COST = 1e6

# Gains are rounded to 1e-10, where the search has to compare their sums.
_UNIT = 2.0**-33


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
    above = found.segments_above(LEAST, outside=False)
    return _best_gain(found, free, {(i, j, y): p for i, j, y, p in above}, -_COST)


def mbr_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
    expected_f1: float | None,
) -> Steps[tuple[list[Segments], list[PathAnswer | None]]]:
    """`mbr` of each document, with "f1", in steps.

    automaton (PatternAutomaton): Of all documents.
    potentials (Sequence[Potentials]), constraints (Sequence[Optional[Constraints]]): Of
        each.
    expected_f1 (Optional[float]): Of all, or None, see `mbr`.
    YIELDS (Task): Work without the GIL, which must be done before the next step.
    RETURNS (Tuple[List[Segments], List[Optional[PathAnswer]]]): Of each document; what
        is known of the segmentation, if it was found together with that, see
        `path_steps`.
    RAISES (ValueError): HS026 expected_f1; and as `log_partition`.
    """
    _check_f1(expected_f1)
    answers = yield from decision_steps(automaton, potentials, constraints, expected_f1)
    found = [answer[0] if answer else [] for answer in answers]
    # Where no span is probable, the most probable segmentation is as good as any.
    alike = [k for k, answer in enumerate(answers) if answer == ()]
    some = [potentials[k] for k in alike], [constraints[k] for k in alike]
    for k, (segments, _) in zip(alike, (yield from viterbi_steps(automaton, *some))):
        found[k] = segments
    alone = [k for k, answer in enumerate(answers) if answer is None]

    def answer(k: int, posterior: Marginals) -> Segments:
        free = _Free(automaton, potentials[k], constraints[k])
        return _best_f1(posterior, free, expected_f1)

    given = automaton, potentials, constraints, alone, answer
    least = least_listed(expected_f1)
    for k, segments in zip(alone, (yield from marginal_steps(*given, least))):
        found[k] = segments
    return found, [answer or None for answer in answers]


def _best_f1(found: Marginals, free: _Free, expected_f1: float | None) -> Segments:
    """The segmentation with the highest expected F1; [] if nothing is possible."""
    if found.log_z == -np.inf:
        return []
    last = least = least_listed(expected_f1)
    while least:  # until no other span pays
        spans, n_expected = found.spans_above(least)
        best, ratio = best_set(spans, n_expected, expected_f1)
        last, least = least, next_listed(least, ratio)
    if not spans and expected_f1 is None:  # all are as good as the most probable one
        return free.most_probable()
    for segments in _fillings(best, free.n_tokens):
        if segments and found.is_possible(segments):
            return segments
    # Others may be needed where outside is not possible.
    return _search(found, free, expected_f1, last)


def _search(
    found: Marginals, free: _Free, expected_f1: float | None, least: float
) -> Segments:
    """The possible segmentation with the highest expected F1.

    Spans are listed down to some probability, and all others taken for as probable as
    that. If what is best then has none of them, none can be part of anything better.
    """
    is_known = False
    while not is_known:
        least = max(_STEP * least, LEAST)
        spans, n_expected = found.spans_above(least)
        prob = {(i, j, y): p for i, j, y, p in spans}
        choices = _Choices(found, free, prob, least)
        if expected_f1 is not None:
            best = choices.choose(expected_f1)
        else:
            start = free.most_probable()
            best = _highest_ratio(choices.choose, start, prob, n_expected)
        is_known = choices.are_known
    return best


class _Choices:
    """The best segmentations where spans below some probability are not listed.

    are_known (bool): Whether none had a span that is not listed, or all are listed.
    """

    def __init__(
        self, found: Marginals, free: _Free, prob: Probabilities, least: float
    ) -> None:
        self._found, self._free, self._prob, self._least = found, free, prob, least
        self.are_known = True

    def choose(self, ratio: float) -> Segments:
        """The possible segmentation with the highest gain at this ratio."""
        is_last = self._least <= LEAST
        other = -_COST if is_last else 2.0 * self._least - ratio
        gains = _gains(self._prob, ratio)
        segments = _best_gain(self._found, self._free, gains, other)
        listed = [x in self._prob for x in segments if x[2]]
        self.are_known = self.are_known and (is_last or all(listed))
        return segments


def _highest_ratio(
    choose: Callable[[float], Segments],
    best: Segments,
    prob: Probabilities,
    n_expected: float,
) -> Segments:
    """Dinkelbach's method, from `best` on; `choose` finds the segments with the highest
    gain, given the ratio."""
    ratio = _f1(best, prob, n_expected)
    while True:  # each time with fewer spans
        segments = choose(ratio)
        reached = _f1(segments, prob, n_expected)
        if not reached > ratio + 1e-12:
            return best
        best, ratio = segments, reached


def _check_f1(expected_f1: float | None) -> None:
    """RAISES (ValueError): HS026 if it is out of range."""
    if expected_f1 is not None:
        check_number("expected_f1", expected_f1, 0.0, 1.0)


def _gains(prob: Probabilities, ratio: float) -> Probabilities:
    """What each span gains if it costs `ratio`."""
    return {span: 2.0 * p - ratio for span, p in prob.items()}


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


def _best_gain(
    found: Marginals, free: _Free, gains: Probabilities, other: float
) -> Segments:
    """The possible segmentation whose spans gain most together.

    If others gain nothing, first try spans with a gain above 0, with outside between
    them. If that is not possible, decode with the gain of others on each span; a cell
    adds the rest to those whose gain is known. With `-_COST`, which is more than all
    gains, others are part of the answer only where nothing else is possible.

    other (float): What a span gains that `gains` does not have.
    """
    for segments in _fillings(best_apart(gains), free.n_tokens) if other <= 0 else ():
        if segments and found.is_possible(segments):
            return segments
    start = free.potentials.start.copy()
    other = _whole(other)
    start[:, 1 : free.automaton.n_labels] += other
    rest = [(*segment, _whole(gain) - other) for segment, gain in gains.items()]
    cells = np.concatenate([free.potentials.cells, np.array(rest, CELLS)])
    potentials = replace(free.potentials, start=start, cells=cells)
    segments, _ = viterbi(free.automaton, potentials, free.constraints)
    return segments


def _whole(gain: float) -> float:
    """In whole numbers of a small unit: their sums are exact, so ties stay ties."""
    return round(gain / _UNIT) * _UNIT


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
