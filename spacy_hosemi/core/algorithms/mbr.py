"""Minimum Bayes risk: the segmentation with the highest expected number of correct
spans, or expected F1, instead of the most probable one."""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments import check_number, check_word
from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import Constraints, Potentials
from .decision_search import best_f1, most_correct
from .marginals import Marginals, marginal_steps, marginals
from .segment_probabilities import PathAnswer, decision_steps
from .viterbi import viterbi_steps

Segments = list[tuple[int, int, int]]

OBJECTIVES = ("spans", "f1")


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
    args = found, automaton, potentials, constraints
    return best_f1(*args, expected_f1) if objective == "f1" else most_correct(*args)


def mbr_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
    expected_f1: float | None,
) -> Steps[tuple[list[Segments], list[PathAnswer | None]]]:
    """Returns `mbr` of each document, with "f1", and its `PathAnswer` where it was
    found together with that; yields tasks. Raises HS026 if expected_f1 is not from 0 to
    1."""
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
        given = automaton, potentials[k], constraints[k]
        return best_f1(posterior, *given, expected_f1)

    given = automaton, potentials, constraints, alone, answer
    for k, segments in zip(alone, (yield from marginal_steps(*given))):
        found[k] = segments
    return found, [answer or None for answer in answers]


def _check_f1(expected_f1: float | None) -> None:
    """RAISES (ValueError): HS026 if it is out of range."""
    if expected_f1 is not None:
        check_number("expected_f1", expected_f1, 0.0, 1.0)
