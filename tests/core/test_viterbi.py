"""The best segmentation, its score, and the rule for ties."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi import core

from .. import oracles
from ..strategies import EXACT, problems_nLD, random_patterns, random_problem
from .problems import (
    INF,
    N_PROBLEMS,
    as_core,
    few_examples,
    make_cells,
    make_entries,
    n_of,
    raises,
    relative_error,
    solved,
    zeros,
)
from .test_inference import IMPOSSIBLE, MANY_PATTERNS

METHODS = ["auto", "automaton", "bounds"]  # those for weights of any sign


def solve(problem: oracles.Problem):
    return oracles.best(oracles.scored(problem))


def best_error(arguments, expected: float) -> float:
    """Relative errors of the score that viterbi gives, and of its segments' score."""
    automaton, potentials, constraints = arguments
    segments, found = core.viterbi(automaton, potentials, constraints)
    error = relative_error(found, expected)
    if found == -INF:
        return error if segments == [] else INF
    rescored = core.score(automaton, potentials, segments)
    return max(error, relative_error(rescored, expected))


def twice(arguments, method="auto"):
    """The best; for the second time it is found with what is kept of the weights."""
    first, second = (core.viterbi(*arguments, method=method) for _ in range(2))
    assert first == second
    return first


# --- a case worked by hand ----------------------------------------------------------


def test_best_by_hand():
    """Three tokens, O and A; A scores 2, 1, 4 a token and 5 less for each start.

    O O O          = 0
    A, 3 tokens    = 2 + 1 + 4 - 5             =  2
    A O A          = (2 - 5) + 0 + (4 - 5) + 7 =  3
    A A, 1 + 2     = (2 - 5) + (1 + 4 - 5) + 2 = -1
    O A, 2 + 1     = 0 + (4 - 5)               = -1
    """
    automaton, potentials = zeros(3, 2, tail=0.0, patterns=[(1, 0, 1), (1, 1)])
    potentials.inside[:, 1] = 2, 1, 4
    potentials.start[:, 1] = -5
    potentials.pattern[:] = 7, 2
    assert core.viterbi(automaton, potentials) == (
        [(0, 1, 1), (1, 2, 0), (2, 3, 1)],
        3.0,
    )


def test_result_has_plain_numbers():
    segments, score = core.viterbi(*zeros(2, 2))
    assert isinstance(segments, list)
    assert all(type(x) is int for segment in segments for x in segment)
    assert all(type(segment) is tuple for segment in segments)
    assert type(score) is float


def test_best_by_hand_with_an_observed_pattern():
    """Two tokens; the second one costs 3 in an A that follows an O, as column 2 says.

    O O = 0, O A = 2 - 3 = -1, A O = 1, A A = 1 + 2 = 3, A, two tokens, = 1 + 2 - 5 = -2
    Without A A: A O.
    """
    automaton, potentials = zeros(2, 2, tail=0.0, patterns=[(1, 1)], observed=[(0, 1)])
    potentials.inside[:, 1] = 1, 2
    potentials.tail[1] = -5
    potentials.inside[1, 2] = -3
    assert core.viterbi(automaton, potentials) == ([(0, 1, 1), (1, 2, 1)], 3.0)
    potentials.pattern[0] = -INF
    assert core.viterbi(automaton, potentials) == ([(0, 1, 1), (1, 2, 0)], 1.0)
    potentials.inside[1, 2] = 0
    assert core.viterbi(automaton, potentials) == ([(0, 1, 0), (1, 2, 1)], 2.0)
    potentials.entries = make_entries([(1, 2, 2, -0.5)])
    assert core.viterbi(automaton, potentials) == ([(0, 1, 0), (1, 2, 1)], 1.5)


# --- enumeration --------------------------------------------------------------------


def test_score_equals_enumeration():
    worst = (0.0, 0)
    for seed in range(N_PROBLEMS):
        arguments, _, (_, expected) = solved(seed)
        worst = max(worst, (best_error(arguments, expected), seed))
    error, seed = worst
    print(f"score: worst error over {N_PROBLEMS} problems {error:.1e} (seed {seed})")
    assert error < 1e-9, f"random_problem(np.random.default_rng({seed}))"


@pytest.mark.parametrize("method", METHODS)
def test_segments_and_ties_equal_enumeration(method):
    for seed in range(n_of(1500)):
        arguments, _, (segments, score) = solved(seed, kinds=EXACT)
        found = twice(arguments, method)
        message = f"random_problem(np.random.default_rng({seed}), kinds=EXACT)"
        assert found == (list(segments), score), message


@given(problems_nLD(kinds=EXACT))
def test_segments_and_ties_equal_enumeration_on_any_problem(problem):
    segments, score = solve(problem)
    assert twice(as_core(problem)) == (list(segments), score)


@given(problems_nLD())
def test_score_equals_enumeration_on_any_problem(problem):
    assert best_error(as_core(problem), solve(problem)[1]) < 1e-9


@pytest.mark.parametrize("n_tokens", [12, 30, 60])
def test_segments_and_ties_equal_the_reference(n_tokens):
    rng = np.random.default_rng(n_tokens)
    for _ in range(n_of(60)):
        problem = random_problem(rng, kinds=EXACT, n_tokens=n_tokens)
        segments, score = oracles.reference_best(problem)
        assert twice(as_core(problem)) == (list(segments), score)


@pytest.mark.parametrize("n_tokens", [30, 60])
def test_ties_of_many_long_cells(n_tokens):
    rng = np.random.default_rng(n_tokens + 1)
    for _ in range(10):
        problem = random_problem(rng, kinds=("ties",), n_tokens=n_tokens)
        n_columns = problem.n_columns
        starts = rng.integers(0, n_tokens, 100)
        cells = [
            (i, int(rng.integers(i + 1, n_tokens + 1)), k % n_columns, float(k % 7 - 2))
            for k, i in enumerate(starts.tolist())
        ]
        problem = problem._replace(cells=cells)
        segments, score = oracles.reference_best(problem)
        assert twice(as_core(problem)) == (list(segments), score)


@pytest.mark.parametrize("n_labels, longest, n_patterns", MANY_PATTERNS)
def test_ties_of_many_patterns(n_labels, longest, n_patterns):
    rng = np.random.default_rng(21)
    for _ in range(8):
        patterns = random_patterns(rng, n_labels, longest, n_patterns)
        problem = random_problem(
            rng, kinds=EXACT, n_tokens=8, n_labels=n_labels, patterns=patterns
        )
        segments, score = oracles.reference_best(problem)
        assert twice(as_core(problem)) == (list(segments), score)


@pytest.mark.parametrize("observed", [(), (("^", 0), (0, 0))], ids=["", "observed"])
def test_long_document_equals_the_reference(observed):
    rng = np.random.default_rng(16)
    patterns = ((0, 0), ("^", 0, 0), (0, "$"))
    problem = random_problem(
        rng,
        kinds=("ties",),
        n_tokens=2000,
        patterns=patterns,
        constrained=False,
        observed=observed,
    )
    segments, score = oracles.reference_best(problem)
    assert core.viterbi(*as_core(problem)) == (list(segments), score)


@pytest.mark.parametrize("constrained", [False, None])
def test_documents_in_the_room_of_others(constrained):
    """The automaton keeps the room of a document: the next one may be longer or
    shorter, with other lengths, cells and constraints, or not be one at all."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        n_labels = int(rng.integers(1, 4))
        patterns = random_patterns(rng, n_labels, 3, 5)
        same = {"n_labels": n_labels, "patterns": patterns, "observed": ()}
        automaton = None
        for n_tokens in rng.permutation([0, 1, 2, 3, 5, 8, 13, 9, 4]).tolist():
            problem = random_problem(
                rng, kinds=EXACT, n_tokens=n_tokens, constrained=constrained, **same
            )
            if rng.random() < 0.3:
                problem = problem._replace(cells=[])
            made, potentials, constraints = as_core(problem)
            automaton = automaton or made
            segments, score = oracles.reference_best(problem)
            found = core.viterbi(automaton, potentials, constraints)
            assert found == (list(segments), score)
            if n_tokens == 5:
                with raises("HS011"):
                    wrong = replace(potentials, tail=np.full(n_labels, np.nan))
                    core.viterbi(automaton, wrong)


def test_room_of_finished_documents_from_many_threads():
    automaton, potentials = zeros(30, 3, tail=0.0, patterns=[(0, 1), (1, 2)])
    rng = np.random.default_rng(4)
    docs = [
        replace(
            potentials,
            **{x: rng.normal(size=(n, 3)) for x in ("inside", "start", "end")},
        )
        for n in rng.integers(0, 30, 200)
    ]
    expected = [core.viterbi(automaton, doc) for doc in docs]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda doc: core.viterbi(automaton, doc), docs * 5))
    assert found == expected * 5


# --- ties -------------------------------------------------------------------------


def test_zeros_with_a_tail_are_one_outside_segment():
    assert core.viterbi(*zeros(4, 3, tail=0.0)) == ([(0, 4, 0)], 0.0)


def test_zeros_of_single_tokens_are_outside():
    segments = [(k, k + 1, 0) for k in range(4)]
    assert core.viterbi(*zeros(4, 3)) == (segments, 0.0)


def test_zeros_are_cut_from_the_start():
    """At most 3 of 5 tokens: the first segment is the long one."""
    found, _ = core.viterbi(*zeros(5, 2, n_explicit=3))
    assert found == [(0, 3, 0), (3, 5, 0)]


def test_the_smaller_label_comes_before_the_greater_length():
    # A could cover everything, O one token only
    found, _ = core.viterbi(*zeros(3, 2, tail=[-INF, 0.0]))
    assert found == [(0, 1, 0), (1, 2, 0), (2, 3, 0)]


def test_the_first_segment_decides_before_the_last():
    """O A and A O tie, all else is forbidden: the first label is O."""
    automaton, potentials = zeros(2, 2, patterns=[(0, 0), (1, 1)])
    potentials.pattern[:] = -INF
    assert core.viterbi(automaton, potentials)[0] == [(0, 1, 0), (1, 2, 1)]


def test_ties_look_through_all_histories_of_a_label():
    """O O O, O O A and A A O tie; after O O the next label is O too."""
    automaton, potentials = zeros(3, 2, patterns=[(0, 0, 0), (0, 0, 1), (1, 1, 0)])
    potentials.pattern[:] = 1, 1, 1
    assert core.viterbi(automaton, potentials)[0] == [(k, k + 1, 0) for k in range(3)]


# --- nothing is possible, nothing is there ------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_nothing_possible(case, method):
    arguments, constraints = case
    found = core.viterbi(*arguments, core.Constraints(**constraints), method=method)
    assert found == ([], -INF)


@pytest.mark.parametrize("weight", [0.0, 2.5, -1e4, -INF])
def test_empty_document(weight):
    automaton, potentials = zeros(0, 2, patterns=[("^", 0), ("^", "$"), (0, "$")])
    potentials.pattern[:] = 7.0, weight, 7.0
    assert core.viterbi(automaton, potentials) == ([], weight)


# --- large scores, long documents ---------------------------------------------------


def test_scores_that_add_up_without_rounding_are_exact():
    automaton, potentials = zeros(100_000, 2, tail=[-INF, -1.0])
    potentials.inside[:] = -1e4
    potentials.inside[1::2, 1] += 3.0
    # token by token: pairs of O, then A ahead by 3
    segments, score = core.viterbi(automaton, potentials)
    assert segments == [(k, k + 1, k % 2) for k in range(100_000)]
    assert score == -1e4 * 100_000 + 3.0 * 50_000


@pytest.mark.parametrize("value", [1.0, -1.0, 1e4, -1e4])
@pytest.mark.parametrize("ahead", [-1.0, 1.0])
def test_a_segment_as_long_as_the_document(value, ahead):
    """One A against single O; a pattern that fires at the start decides at the end."""
    n_tokens = 20_000
    patterns = [(0, 1), (1, 0), (1, 1), ("^", 1)]
    automaton, potentials = zeros(n_tokens, 2, tail=[-INF, 0.0], patterns=patterns)
    potentials.inside[:, 0] = value
    potentials.pattern[:] = -INF, -INF, -INF, n_tokens * value + ahead
    segments, score = core.viterbi(automaton, potentials)
    assert score == n_tokens * value + max(0.0, ahead)
    assert len(segments) == (1 if ahead > 0 else n_tokens)


def test_a_label_far_behind_wins():
    automaton, potentials = zeros(3, 2, patterns=[(0, 1), (1, 0)])
    potentials.pattern[:] = -INF
    potentials.inside[:, 1] = -760, 1600, -760
    expected = [(0, 1, 1), (1, 2, 1), (2, 3, 1)]
    assert core.viterbi(automaton, potentials) == (expected, 80.0)


def test_a_dead_end_that_scores_1e4():
    automaton, potentials = zeros(2, 2, patterns=[(1, 0), (1, 1), (1, "$")])
    potentials.pattern[:] = -INF
    potentials.inside[:, 1] = 1e4
    assert core.viterbi(automaton, potentials) == ([(0, 1, 0), (1, 2, 0)], 0.0)


@pytest.mark.parametrize("n_tokens", [5, 2000])
def test_one_cell_as_long_as_the_document(n_tokens):
    automaton, potentials = zeros(n_tokens, 2, tail=0.0)
    potentials.inside[:, 1] = -1.0
    potentials.cells = make_cells([(0, n_tokens, 1, n_tokens + 1.0)])
    assert core.viterbi(automaton, potentials) == ([(0, n_tokens, 1)], 1.0)


# --- constraints ----------------------------------------------------------------------


def test_constraints_change_the_best():
    automaton, potentials = zeros(3, 2, tail=0.0)
    boundary = np.array([0, 1, 0, 0])
    allowed = np.array([[True, True], [True, True], [False, True]])
    found, _ = core.viterbi(automaton, potentials, core.Constraints(allowed, boundary))
    assert found == [(0, 1, 0), (1, 2, 0), (2, 3, 1)]


@few_examples
@given(problems_nLD())
def test_constraints_that_the_best_obeys_do_not_change_it(problem):
    automaton, potentials, _ = as_core(problem)
    segments, score = core.viterbi(automaton, potentials)
    if score == -INF:
        return
    boundary = np.full(len(problem.inside) + 1, -1)
    boundary[[0, *(end for _, end, _ in segments)]] = 1
    found = core.viterbi(automaton, potentials, core.Constraints(boundary=boundary))
    assert found[0] == segments
    assert math.isclose(found[1], score, rel_tol=1e-12, abs_tol=1e-12)


# --- the call -----------------------------------------------------------------------


def test_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(17)
    problems = [as_core(random_problem(rng, n_tokens=200)) for _ in range(20)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda arguments: core.viterbi(*arguments), problems))
    assert found == [core.viterbi(*arguments) for arguments in problems]


@pytest.mark.parametrize("method", ["", "Auto", "enumeration", None])
def test_error_method(method):
    for accepted in METHODS:
        core.viterbi(*zeros(1, 1), method=accepted)
    with raises("HS023"):
        core.viterbi(*zeros(1, 1), method=method)
