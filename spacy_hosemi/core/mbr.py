"""What to answer, if not the most probable segmentation: minimum Bayes risk."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..errors import Errors
from .automaton import PatternAutomaton
from .inference import Marginals, marginals
from .potentials import (
    CELLS,
    ROLES,
    Constraints,
    Potentials,
    check_potentials,
)
from .viterbi import viterbi

Segments = list[tuple[int, int, int]]
Probabilities = dict[tuple[int, int, int], float]  # of spans

OBJECTIVES = ("spans", "f1")

# Segments that are less probable are not considered: all of them together are worth
# less than a span in a million.
LEAST = 1e-7

# What a segment costs that has no gain of its own: more than all gains of a document.
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
    if objective not in OBJECTIVES:
        raise ValueError(
            Errors.HS023.format(name="objective", found=objective, expected=OBJECTIVES)
        )
    if expected_f1 is not None and not 0.0 <= expected_f1 <= 1.0:
        expected = "a number from 0 to 1, or None"
        raise ValueError(
            Errors.HS026.format(
                name="expected_f1", found=expected_f1, expected=expected
            )
        )
    found = marginals(automaton, potentials, constraints)
    if found.log_z == -np.inf:
        return []
    free = _Free(automaton, potentials, constraints)
    if objective == "spans":
        return _best_gain(found, free, _candidates(found, LEAST))

    if expected_f1 is not None:
        ratio = expected_f1
    else:
        best, _ = viterbi(automaton, potentials, constraints)
        prob = {segment: found.segment(*segment) for segment in best if segment[2] > 0}
        n_expected = float(found.gradient.start[:, 1 : automaton.n_labels].sum())
        ratio = _f1(best, prob, n_expected)
    # The ratio only grows, so a span with less than half of it would never pay. It is
    # needed only where outside is not possible.
    least = max(0.5 * ratio, LEAST)
    prob = _candidates(found, least)
    while True:
        gains = {segment: 2.0 * p - ratio for segment, p in prob.items()}
        segments = _best_gain(found, free, gains)
        is_closed = all(s in prob for s in segments if s[2] > 0)
        if not is_closed and least > LEAST:
            least = LEAST
            prob = _candidates(found, least)
            continue
        if expected_f1 is not None:
            return segments
        new_ratio = _f1(segments, prob, n_expected)
        if new_ratio <= ratio + 1e-12:
            return best
        best, ratio = segments, new_ratio


def _candidates(found: Marginals, least: float) -> Probabilities:
    """Spans with at least this probability."""
    return {(i, j, y): p for i, j, y, p in found.segments_above(least) if y > 0}


def _f1(segments: Segments, prob: Probabilities, n_expected: float) -> float:
    spans = [segment for segment in segments if segment[2] > 0]
    n_correct = sum(prob.get(segment, 0.0) for segment in spans)
    size = len(spans) + n_expected
    return 2.0 * n_correct / size if size else 0.0


class _Free:
    """A document without preferences: what is forbidden stays so, everything else is
    worth nothing."""

    def __init__(
        self,
        automaton: PatternAutomaton,
        potentials: Potentials,
        constraints: Constraints | None,
    ) -> None:
        self.automaton = automaton
        self.constraints = constraints
        self._given = potentials

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

    As a rule that has all spans that gain anything, and outside between them. Else a
    span costs more than can be gained, and a cell gives that back where there is a
    gain: so others are only taken where nothing else is possible.
    """
    segments = _with_outside([x for x, gain in gains.items() if gain > 0.0], found)
    if segments and found.is_possible(segments):
        return segments
    start = free.potentials.start.copy()
    start[:, 1 : free.automaton.n_labels] -= _COST
    given_back = [(*segment, _COST + gain) for segment, gain in gains.items()]
    cells = np.concatenate([free.potentials.cells, np.array(given_back, CELLS)])
    potentials = replace(free.potentials, start=start, cells=cells)
    segments, _ = viterbi(free.automaton, potentials, free.constraints)
    return segments


def _with_outside(spans: Segments, found: Marginals) -> Segments:
    """Spans, and outside where none is; [] if two of them overlap."""
    segments: Segments = []
    at = 0
    for start, end, label in sorted(spans):
        if start < at:
            return []
        if start > at:
            segments.append((at, start, 0))
        segments.append((start, end, label))
        at = end
    n_tokens = len(found.tokens)
    return [*segments, (at, n_tokens, 0)] if at < n_tokens else segments
