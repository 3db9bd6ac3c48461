"""Scores at the ends of their range: every answer is right, or refused with a code, and
every loop ends."""

import math
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import decision_search, mbr

from .. import oracles
from ..strategies import IS_THOROUGH, random_problem
from .problems import DENSE, INF, as_core, raises, zeros

# Within the range; those beyond it are refused, see `test_beyond_the_range`.
SCORES = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e-16, 745.0, -746.0]
SCORES += [1e4, -1e4, 1e9, -1e9, 1e12, -1e12, 1e12 - 1.0, -1e15, -1e16, -1e30, -1e100]
SCORES += [-1e200, -9e199, -INF]
METHODS = ("auto", "automaton", "bounds", "nonnegative")


@st.composite
def extreme_problems(draw) -> oracles.Problem:
    """A random problem whose scores are replaced by a few of SCORES."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    some = draw(st.lists(st.sampled_from(SCORES), min_size=1, max_size=4))
    problem = random_problem(rng, n_tokens=int(rng.integers(1, 5)))

    def replaced(scores: np.ndarray) -> np.ndarray:
        return rng.choice(some, size=scores.shape)

    fields = ("inside", "start", "end", "length", "tail", "pattern")
    dense = {name: replaced(getattr(problem, name)) for name in fields}
    rows = {
        name: [(*row[:3], float(rng.choice(some))) for row in getattr(problem, name)]
        for name in ("cells", "entries")
    }
    return problem._replace(**dense, **rows)


def exact(x: float):
    return x if math.isinf(x) else Fraction(x)


def exact_scores(problem: oracles.Problem) -> dict:
    """Of each segmentation the exact score, and the sum of its absolute scores."""
    fields = ("inside", "start", "end", "length", "tail", "pattern")
    dense = {x: getattr(problem, x) for x in fields}
    as_fractions = np.frompyfunc(exact, 1, 1)
    given = problem._replace(
        **{x: as_fractions(array).astype(object) for x, array in dense.items()},
        cells=[(*row[:3], exact(row[3])) for row in problem.cells],
        entries=[(*row[:3], exact(row[3])) for row in problem.entries],
    )
    sizes = problem._replace(
        **{x: np.abs(array) for x, array in dense.items()},
        cells=[(*row[:3], abs(row[3])) for row in problem.cells],
        entries=[(*row[:3], abs(row[3])) for row in problem.entries],
    )
    of_size = oracles.scorer(sizes)
    return {s: (x, of_size(s)) for s, x in oracles.scored(given).items() if x > -INF}


def answer(function, *args, **more):
    """What a function finds; None: it refuses with a code."""
    try:
        return function(*args, **more)
    except ValueError as e:
        assert str(e).startswith(("[HS124]", "[HS104]")), e
        return None


@settings(max_examples=400 if IS_THOROUGH else 100)
@given(extreme_problems())
def test_answers_are_right_or_refused(problem):
    arguments = as_core(problem)
    scores = exact_scores(problem)
    rounding = 1e-13 * max((size for _, size in scores.values()), default=0.0)
    best = max((x for x, _ in scores.values()), default=-INF)
    for method in METHODS:
        found = answer(core.viterbi, *arguments, method=method)
        if found is None:
            continue
        segments, score = found
        if not scores:
            assert (segments, score) == ([], -INF)
            continue
        assert abs(exact(score) - best) <= rounding
        assert abs(scores[tuple(segments)][0] - best) <= rounding
    automaton, potentials, constraints = arguments
    listed = core.kbest(automaton, potentials, 3, constraints)
    assert len(listed) == min(3, len(scores))
    for segments, score in listed:
        assert abs(exact(score) - scores[tuple(segments)][0]) <= rounding
    log_z = answer(core.log_partition, *arguments)
    if log_z is None:
        assert scores and abs(best) > 9e11
    elif not scores:
        assert log_z == -INF
    else:
        assert abs(log_z - float(best)) <= rounding + math.log(len(scores)) + 1e-9
    check_probabilities(arguments, scores, float(best), rounding)


def test_spans_of_rounded_probability_do_not_overlap():
    """Of the first token two labels have a probability of 1/2, and rounding adds to
    both."""
    big, one = 1e9, np.full((4, 3), 1e9)
    cells = [(3, 4, 2, big), (1, 4, 2, big), (1, 2, 1, big), (3, 4, 2, big)]
    problem = oracles.Problem(
        patterns=(("^", 1, 0), (2, 0, 0), (1, "$"), (0, 0, 2), ("^", 2, "$")),
        inside=one,
        start=one,
        end=one,
        length=np.full((3, 2), big),
        tail=np.full(3, big),
        cells=cells,
        pattern=np.full(5, big),
        allowed=None,
        boundary=np.zeros(5, np.int8),
    )
    automaton, potentials, constraints = as_core(problem)
    found = core.marginals(automaton, potentials, constraints)
    assert found.segment(0, 1, 1) > 0.5 < found.segment(0, 1, 2)
    segments = core.mbr(automaton, potentials, "f1", constraints)
    assert segments == [(0, 1, 1), (1, 3, 0), (3, 4, 2)]


def check_probabilities(arguments, scores, best, rounding):
    """Where scores are distinguished by more than rounding: 0 and 1."""
    automaton, potentials, constraints = arguments
    found = answer(core.marginals, *arguments)
    entropy = answer(core.entropy, *arguments)
    drawn = (
        answer(core.sample, automaton, potentials, 5, constraints=constraints)
        if scores
        else []
    )
    decided = [
        answer(core.mbr, automaton, potentials, x, constraints) for x in mbr.OBJECTIVES
    ]
    given = answer(core.mbr, automaton, potentials, "f1", constraints, expected_f1=0.5)
    batch = answer(core.marginals_many, automaton, [potentials] * 5, [constraints] * 5)
    if found is None:
        assert [entropy, drawn, *decided, given, batch] == [None] * 6
        return
    assert batch[3].log_z == found.log_z
    for name in ("inside", "start", "end", "length", "tail", "pattern"):
        counts = getattr(found.gradient, name)
        assert not np.isnan(counts).any() and (counts >= 0).all(), name
    if not scores:
        assert entropy == -INF and [*decided, given] == [[], [], []]
        return
    assert found.tokens.sum(axis=1) == pytest.approx(1.0, abs=1e-2)
    assert -1e-9 <= entropy <= math.log(len(scores)) + 1e-2
    assert all(tuple(s) in scores for s in [*drawn, *decided, given])
    if rounding < 1e-3:
        weights = {s: math.exp(float(x) - best) for s, (x, _) in scores.items()}
        total = sum(weights.values())
        tokens = np.zeros_like(found.tokens)
        for segments, weight in weights.items():
            for i, j, y in segments:
                tokens[i:j, y] += weight / total
        assert found.tokens == pytest.approx(tokens, abs=1e-2)


@pytest.mark.parametrize("score", [1e308, -1e308, 1.1e12, -1.1e200, INF, float("nan")])
def test_beyond_the_range(score):
    functions = core.viterbi, core.log_partition, core.marginals, core.entropy, core.mbr
    for name in DENSE:
        automaton, potentials = zeros(3, 2, 2, patterns=[(0, 1)])
        getattr(potentials, name).flat[-1] = score
        for function in functions:
            with raises("HS011"):
                function(automaton, potentials)
        for function in (core.kbest, core.sample):
            with raises("HS011"):
                function(automaton, potentials, 2)


def test_sums_in_which_differences_are_lost():
    """The best segmentations differ in less than the rounding of their scores."""
    automaton, potentials = zeros(3, 2)
    potentials.inside[0] = -1e30
    potentials.inside[1, 1] = 5.0
    assert core.viterbi(automaton, potentials)[1] == -1e30
    for function in (core.log_partition, core.marginals, core.entropy, core.mbr):
        with raises("HS124"):
            function(automaton, potentials)
    with raises("HS124"):
        core.sample(automaton, potentials, 1)
    potentials.inside[0] = -INF, 0.0  # another way around what is as good as forbidden
    expected = pytest.approx(5.0067 + math.log(2), abs=1e-4)
    assert core.log_partition(automaton, potentials) == expected


@pytest.mark.parametrize("objective", mbr.OBJECTIVES)
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e4, 1e11])
def test_the_loop_of_f1_takes_a_few_steps(objective, size, monkeypatch):
    """Each step gives up a span: more than the tokens are never needed."""
    rng = np.random.default_rng(1)
    n_steps, viterbi = [0], decision_search.viterbi

    def counted(*args):
        n_steps[0] += 1
        return viterbi(*args)

    monkeypatch.setattr(decision_search, "viterbi", counted)
    for _ in range(20):
        problem = random_problem(rng, n_tokens=5, kinds=("small",))
        automaton, potentials, constraints = as_core(problem)
        given = potentials.times(size)
        before = n_steps[0]
        answer(core.mbr, automaton, given, objective, constraints)
        assert n_steps[0] - before <= 2 * 7
    assert n_steps[0] > 0
