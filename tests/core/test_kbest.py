"""The k best segmentations, in order."""

import math

import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi import core

from .. import oracles
from ..strategies import EXACT, problems_nLD, random_patterns, random_problem
from .problems import (
    INF,
    all_segments,
    as_core,
    few_examples,
    make_cells,
    n_of,
    raises,
    relative_error,
    solved,
    zeros,
)
from .test_inference import IMPOSSIBLE


def kbest(problem: oracles.Problem, k: int):
    automaton, potentials, constraints = as_core(problem)
    return core.kbest(automaton, potentials, k, constraints)


def as_lists(pairs):
    return [(list(segmentation), score) for segmentation, score in pairs]


def kbest_errors(found, scores: oracles.Scores, k: int) -> list[str]:
    """What is wrong with the k best, for scores that need not be exact."""
    expected = [score for _, score in oracles.ranked(scores)][:k]
    segmentations = [tuple(segments) for segments, _ in found]
    values = [score for _, score in found]
    if len(found) != len(expected):
        return [f"{len(found)} instead of {len(expected)}"]
    wrong = []
    if len(set(segmentations)) < len(segmentations):
        wrong.append("not distinct")
    if values != sorted(values, reverse=True):
        wrong.append("not sorted")
    for (segmentation, value), score in zip(
        zip(segmentations, values), expected, strict=True
    ):
        own = scores.get(segmentation, -INF)
        if relative_error(value, score) > 1e-9 or relative_error(value, own) > 1e-9:
            wrong.append(f"{segmentation} with {value}, expected {score}, is {own}")
    return wrong


# --- a case worked by hand ----------------------------------------------------------


def test_kbest_by_hand():
    """Two tokens, A scores 1 and 4 a token, 3 less from the second token on.

    O, 2 tokens = 0 = O O       O A = 4       A O = 1
    A, 2 tokens = 1 + 4 - 3 = 2               A A = 1 + 4 - 6 (pattern) = -1
    """
    automaton, potentials = zeros(2, 2, tail=[0.0, -3.0], patterns=[(1, 1)])
    potentials.inside[:, 1] = 1, 4
    potentials.pattern[0] = -6
    expected = [
        ([(0, 1, 0), (1, 2, 1)], 4.0),
        ([(0, 2, 1)], 2.0),
        ([(0, 1, 1), (1, 2, 0)], 1.0),
        ([(0, 2, 0)], 0.0),
        ([(0, 1, 0), (1, 2, 0)], 0.0),
        ([(0, 1, 1), (1, 2, 1)], -1.0),
    ]
    for k in (1, 2, 3, 5, 6):  # 4 would cut between those that tie
        assert core.kbest(automaton, potentials, k) == expected[:k]
    assert core.kbest(automaton, potentials, 100) == expected
    potentials.pattern[0] = -INF
    assert core.kbest(automaton, potentials, 100) == expected[:5]


def test_result_has_plain_numbers():
    for segments, score in core.kbest(*zeros(2, 2), 3):
        assert isinstance(segments, list)
        assert all(type(segment) is tuple for segment in segments)
        assert all(type(x) is int for segment in segments for x in segment)
        assert type(score) is float


# --- enumeration --------------------------------------------------------------------


def test_all_in_order_equal_enumeration():
    """Ties too: in the order of the rule, as everything is listed."""
    for seed in range(n_of(300)):
        problem = random_problem(np.random.default_rng(seed), kinds=EXACT)
        expected = oracles.ranked(oracles.scored(problem))
        found = kbest(problem, len(expected) + 1)
        message = f"random_problem(np.random.default_rng({seed}), kinds=EXACT)"
        assert found == as_lists(expected), message


@pytest.mark.parametrize("k", [1, 2, 5, 20, 100])
def test_k_equal_enumeration(k):
    for seed in range(100 * k, 100 * k + 100):
        problem = random_problem(np.random.default_rng(seed))
        scores = oracles.scored(problem)
        found = kbest(problem, k)
        message = f"random_problem(np.random.default_rng({seed}))"
        assert not kbest_errors(found, scores, k), message


@few_examples
@given(problems_nLD(kinds=EXACT))
def test_all_in_order_equal_enumeration_on_any_problem(problem):
    expected = oracles.ranked(oracles.scored(problem))
    assert kbest(problem, len(expected) + 1) == as_lists(expected)


@few_examples
@given(problems_nLD())
def test_k_equal_enumeration_on_any_problem(problem):
    scores = oracles.scored(problem)
    assert not kbest_errors(kbest(problem, 10), scores, 10)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_the_first_is_the_best_with_its_ties(k):
    for seed in range(n_of(300)):
        arguments, _, (segments, score) = solved(seed, kinds=EXACT)
        automaton, potentials, constraints = arguments
        found = core.kbest(automaton, potentials, k, constraints)
        if score == -INF:
            assert found == []
        else:
            assert found[0] == (list(segments), score)
            assert found[0] == core.viterbi(*arguments)


@pytest.mark.parametrize("k", [2, 7, 60])
def test_scores_of_the_k_best_with_ties_equal_enumeration(k):
    """Which of those tied at the end are listed is not said: their scores are."""
    for seed in range(n_of(200)):
        problem = random_problem(np.random.default_rng(seed), kinds=("ties",))
        scores = oracles.scored(problem)
        found = kbest(problem, k)
        assert not kbest_errors(found, scores, k)
        expected = [score for _, score in oracles.ranked(scores)[:k]]
        assert [score for _, score in found] == expected


@pytest.mark.parametrize("n_tokens", [12, 30])
@pytest.mark.parametrize("k", [1, 10, 40])
def test_scores_equal_the_reference(n_tokens, k):
    rng = np.random.default_rng(n_tokens + k)
    for _ in range(12):
        problem = random_problem(rng, kinds=EXACT, n_tokens=n_tokens)
        automaton, potentials, constraints = as_core(problem)
        found = core.kbest(automaton, potentials, k, constraints)
        expected = oracles.reference_best_scores(problem, k)
        assert [score for _, score in found] == expected
        assert len({tuple(segments) for segments, _ in found}) == len(found)
        for segments, score in found:
            assert core.score(automaton, potentials, segments) == score


def test_scores_equal_the_reference_with_many_patterns_and_cells():
    rng = np.random.default_rng(31)
    for n_labels, longest, n_patterns in [(1, 7, 30), (2, 6, 60), (3, 4, 150)]:
        patterns = random_patterns(rng, n_labels, longest, n_patterns)
        problem = random_problem(
            rng, kinds=EXACT, n_tokens=10, n_labels=n_labels, patterns=patterns
        )
        cells = [
            (*segment, float(rng.integers(-2, 3)))
            for segment in all_segments(10, problem.n_columns)
            if rng.random() < 0.3
        ]
        problem = problem._replace(cells=cells)
        found = kbest(problem, 25)
        expected = oracles.reference_best_scores(problem, 25)
        assert [score for _, score in found] == expected


# --- how many -----------------------------------------------------------------------


@pytest.mark.parametrize("n_tokens, n_labels", [(1, 1), (1, 3), (4, 2), (6, 1)])
def test_there_are_no_more_than_possible(n_tokens, n_labels):
    n_possible = n_labels * (1 + n_labels) ** (n_tokens - 1)
    automaton, potentials = zeros(n_tokens, n_labels, tail=0.0)
    for k in (n_possible - 1, n_possible, n_possible + 1, 10**6):
        if k > 0:
            found = core.kbest(automaton, potentials, k)
            assert len(found) == min(k, n_possible)
    assert {score for _, score in found} == {0.0}


def test_more_k_only_adds_scores():
    rng = np.random.default_rng(32)
    problem = random_problem(rng, kinds=("small",), n_tokens=30, constrained=False)
    few, many = kbest(problem, 10), kbest(problem, 60)
    assert len(few) == 10 and len(many) == 60
    assert [segments for segments, _ in few] == [segments for segments, _ in many[:10]]
    values = [score for _, score in many[:10]]
    assert [score for _, score in few] == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize("case", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_nothing_possible(case):
    arguments, constraints = case
    assert core.kbest(*arguments, 5, core.Constraints(**constraints)) == []


@pytest.mark.parametrize("weight", [0.0, 2.5, -1e4])
def test_empty_document(weight):
    automaton, potentials = zeros(0, 2, patterns=[("^", 0), ("^", "$"), (0, "$")])
    potentials.pattern[:] = 7.0, weight, 7.0
    assert core.kbest(automaton, potentials, 3) == [([], weight)]
    potentials.pattern[1] = -INF
    assert core.kbest(automaton, potentials, 3) == []


# --- large scores, long documents ---------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("n_tokens", [3, 100, 2000])
def test_sums_of_powers_of_two(n_tokens, value):
    """Three tokens may be A for 1, 2 and 4 less, all others for 1,000 or more less."""
    automaton, potentials = zeros(n_tokens, 2)
    potentials.inside[:, 0] = value
    potentials.inside[:, 1] = value - 1000 - np.arange(n_tokens)
    places = np.linspace(0, n_tokens - 1, 3).astype(int)
    potentials.inside[places, 1] = value - np.array([1, 2, 4])
    found = core.kbest(automaton, potentials, 8)
    assert [score - n_tokens * value for _, score in found] == [-x for x in range(8)]
    for cost, (segments, _) in enumerate(found):
        changed = [start for start, _, label in segments if label]
        bits = [place for k, place in enumerate(places) if cost >> k & 1]
        assert changed == bits


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_runs_of_the_whole_document(size):
    """Runs of O and A: all A first, then those with O somewhere, as good as each
    other."""
    automaton, potentials = zeros(200, 2, tail=0.0, patterns=[(0, 0), (1, 1)])
    potentials.inside[:, 1] = size
    potentials.pattern[:] = -INF
    found = core.kbest(automaton, potentials, 202)
    scores = [score for _, score in found]
    assert scores == [200 * size] + [199 * size] * 200 + [198 * size]
    places = [s for segments, _ in found[1:201] for s in segments if s[2] == 0]
    assert sorted(places) == [(k, k + 1, 0) for k in range(200)]


def test_a_cell_that_only_the_second_best_has():
    automaton, potentials = zeros(50, 2, tail=0.0, patterns=[(0, 0), (1, 1)])
    potentials.inside[:, 1] = -1.0
    potentials.pattern[:] = -INF
    potentials.cells = make_cells([(10, 40, 1, 29.5)])
    found = core.kbest(automaton, potentials, 2)
    assert found == [
        ([(0, 50, 0)], 0.0),
        ([(0, 10, 0), (10, 40, 1), (40, 50, 0)], -0.5),
    ]


# --- how paths are shared -----------------------------------------------------------


def test_running_segments_that_end_elsewhere_or_go_on():
    """Beyond the first token only the running sum knows a segment: each of its ends may
    be part of the next best."""
    for seed in range(n_of(100)):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, kinds=("small",), n_tokens=5, n_labels=2)
        tail = rng.normal(scale=0.1, size=2)
        problem = problem._replace(tail=tail, length=problem.length[:, :1])
        scores = oracles.scored(problem)
        k = len(scores) + 1
        assert not kbest_errors(kbest(problem, k), scores, k), seed


def test_ties_in_a_long_document_are_in_order():
    """At four places there may be A or B of one token or A of two, each for 1 less."""
    automaton, potentials = zeros(400, 3, tail=0.0, patterns=[(0, 0)])
    potentials.pattern[:] = -INF
    potentials.inside[:, 1:] = -50.0
    potentials.cells = make_cells(
        (start, start + size, label, 50.0 * size - 1.0)
        for start in (10, 100, 200, 300)
        for size, label in [(1, 1), (1, 2), (2, 1)]
    )
    found = core.kbest(automaton, potentials, 4**4)
    n_paths = [math.comb(4, n) * 3**n for n in range(5)]
    expected = [-float(n) for n in range(5) for _ in range(n_paths[n])]
    assert [score for _, score in found] == expected
    for n in range(5):
        tied = [segments for segments, score in found if score == -n]
        assert tied == sorted(tied, key=oracles.tie_key)


# --- the call -----------------------------------------------------------------------


def test_constraints():
    automaton, potentials = zeros(3, 2)
    potentials.inside[:, 1] = 1, 2, 4
    allowed = np.array([[True, True], [True, False], [True, True]])
    found = core.kbest(automaton, potentials, 10, core.Constraints(allowed))
    assert [score for _, score in found] == [5.0, 4.0, 1.0, 0.0]


def test_calls_are_deterministic():
    rng = np.random.default_rng(33)
    automaton, potentials, constraints = as_core(random_problem(rng, n_tokens=40))
    first, second = (
        core.kbest(automaton, potentials, 20, constraints) for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("k", [0, -1, -(10**6)])
def test_error_k(k):
    assert len(core.kbest(*zeros(1, 2), 1)) == 1
    with raises("HS026"):
        core.kbest(*zeros(1, 2), k)
    with pytest.raises(ValueError, match=rf"\bk\b.*{k}"):
        core.kbest(*zeros(1, 2), k)


def test_scores_are_numbers():
    rng = np.random.default_rng(34)
    for _ in range(n_of(100)):
        problem = random_problem(rng, kinds=("huge", "spikes"), n_tokens=6)
        for _, score in kbest(problem, 50):
            assert not math.isnan(score) and score > -INF
