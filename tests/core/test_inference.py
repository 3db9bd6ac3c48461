"""Score, log Z and marginals: cases worked by hand, closed forms, the calls.

`test_answers` compares them with enumeration.
"""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import log

import numpy as np
import pytest

from spacy_hosemi import core

from ..strategies import random_problem
from .families import cases
from .problems import (
    FIELDS,
    INF,
    all_segments,
    as_core,
    gradient_fields,
    make_cells,
    make_entries,
    raises,
    set_scores,
    zeros,
)

# --- a case worked by hand --------------------------------------------------------


@pytest.fixture
def hand():
    """Two tokens, O and A; all weights are logs, so Z is a sum of products.

    O O            1 * 1          =  1
    O A            1 * 3, O A * 7 = 21
    A O            (5 * 2) * 1    = 10
    A A            (5 * 2) * 3    = 30
    A, two tokens  5 * 2 * 3 / 2  = 15
    O, two tokens                    0
    """
    automaton, potentials = zeros(n_tokens=2, n_labels=2, patterns=[(0, 1)])
    potentials.inside[:, 1] = log(2), log(3)
    potentials.start[0, 1] = log(5)
    potentials.tail[1] = log(1 / 2)
    potentials.pattern[0] = log(7)
    return automaton, potentials


def test_by_hand(hand):
    assert core.score(*hand, [(0, 1, 0), (1, 2, 1)]) == pytest.approx(log(21))
    assert core.score(*hand, [(0, 2, 1)]) == pytest.approx(log(15))
    assert core.score(*hand, [(0, 2, 0)]) == -INF
    assert core.log_partition(*hand) == pytest.approx(log(77))
    found = core.marginals(*hand)
    assert_counts(
        found,
        77,
        inside=[[22, 55], [11, 66]],
        start=[[22, 55], [11, 51]],
        end=[[22, 40], [11, 66]],
        length=[[2 + 21 + 10], [21 + 10 + 2 * 30 + 15]],
        tail=[0, 15],
        pattern=[21],
        tokens=[[22, 55], [11, 66]],
    )
    rows = found.segments_above(22 / 78)
    assert [row[:3] for row in rows] == [(0, 1, 0), (0, 1, 1), (1, 2, 1)]
    assert [row[3] * 77 for row in rows] == pytest.approx([22, 40, 51])
    assert found.segment(0, 2, 1) * 77 == pytest.approx(15)
    assert found.segment(0, 2, 0) == 0
    ranked = [[(0, 1, 1), (1, 2, 1)], [(0, 1, 0), (1, 2, 1)], [(0, 2, 1)]]
    assert core.viterbi(*hand) == (ranked[0], pytest.approx(log(30)))
    assert [segments for segments, _ in core.kbest(*hand, 3)] == ranked


def assert_counts(found, total, **expected):
    assert found.log_z == pytest.approx(log(total))
    values = gradient_fields(found.gradient) | {"tokens": found.tokens}
    for name, counts in expected.items():
        assert values[name] * total == pytest.approx(np.array(counts)), name


@pytest.fixture
def observed_by_hand():
    """Two tokens, O and A, single tokens; ^ O and O A are observed, columns 2 and 3.

    O O            5 (^ O at 0)                    =   5
    O A            5 * 3 (start at 1) * 2 (cell)   =  30
    A O            1                               =   1
    A A            1                               =   1
    """
    observed = [("^", 0), (0, 1)]
    automaton, potentials = zeros(n_tokens=2, n_labels=2, observed=observed)
    potentials.inside[0, 2] = log(5)
    potentials.cells = make_cells([(1, 2, 3, log(2))])
    potentials.entries = make_entries([(1, 1, 3, log(3))])
    potentials.start = potentials.start[:, :2]
    return automaton, potentials


def test_observed_by_hand(observed_by_hand):
    automaton, potentials = observed_by_hand
    assert core.score(automaton, potentials, [(0, 1, 0), (1, 2, 1)]) == pytest.approx(
        log(30)
    )
    assert core.viterbi(automaton, potentials)[0] == [(0, 1, 0), (1, 2, 1)]
    found = core.marginals(automaton, potentials)
    assert_counts(
        found,
        37,
        inside=[[35, 2, 35, 0], [6, 31, 0, 30]],
        start=[[35, 2], [6, 31]],
        end=[[35, 2, 35, 0], [6, 31, 0, 30]],
        length=[[41], [33]],
        cells=[30],
        entries=[30],
        tokens=[[35, 2], [6, 31]],
    )
    assert found.segment(1, 2, 1) * 37 == pytest.approx(31)
    rows = found.segments_above(0.5)
    assert [row[:3] for row in rows] == [(0, 1, 0), (1, 2, 1)]


# --- calls --------------------------------------------------------------------------


def as_bytes(found: core.Marginals) -> bytes:
    """All numbers, so that equal bytes are equal results."""
    segments = all_segments(min(len(found.tokens), 8), found.tokens.shape[1])
    probs = [found.segment(*segment) for segment in segments]
    numbers = found.log_z, gradient_fields(found.gradient), found.tokens, probs
    return pickle.dumps((*numbers, found.segments_above(0.1)))


def test_threads_do_not_disturb_each_other():
    """Each document has the same marginals and the same best in any order."""
    rng = np.random.default_rng(9)
    problems = [as_core(random_problem(rng, n_tokens=200)) for _ in range(20)]

    def solved(arguments):
        return as_bytes(core.marginals(*arguments)), core.viterbi(*arguments)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(solved, problems)) == list(map(solved, problems))


def test_threads_share_marginals():
    problem = as_core(random_problem(np.random.default_rng(9), n_tokens=400))
    shared = core.marginals(*problem)
    expected = shared.segments_above(1e-6)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: shared.segments_above(1e-6), range(100)))
    assert [x == expected for x in found] == [True] * len(found)


def test_earlier_results_are_not_overwritten():
    first, second = (case.arguments for case in cases("running")[:2])
    found = core.marginals(*first)
    before = as_bytes(found)
    core.marginals(*second)
    assert as_bytes(found) == before


# --- special cases of the model -----------------------------------------------------


def linear_chain(emission, first, step, last):
    """log Z and P(label of token), by the textbook recursions in the log domain.

    emission [n, L], first [L], step [L, L] from row to column, last [L].
    """
    n_tokens = len(emission)
    alpha, beta = np.empty_like(emission), np.empty_like(emission)
    alpha[0] = first + emission[0]
    for t in range(1, n_tokens):
        alpha[t] = emission[t] + np.logaddexp.reduce(alpha[t - 1][:, None] + step)
    beta[-1] = last
    for t in reversed(range(n_tokens - 1)):
        beta[t] = np.logaddexp.reduce(step + emission[t + 1] + beta[t + 1], axis=1)
    log_z = np.logaddexp.reduce(alpha[-1] + last)
    return log_z, np.exp(alpha + beta - log_z)


@pytest.mark.parametrize("n_tokens", [1, 2, 50])
def test_one_token_segments_are_a_linear_chain(n_tokens):
    rng = np.random.default_rng(n_tokens)
    n_labels = 3
    labels = range(n_labels)
    patterns = [(a, b) for a in labels for b in labels]
    patterns += [("^", a) for a in labels] + [(a, "$") for a in labels]
    automaton, potentials = zeros(n_tokens, n_labels, patterns=patterns)
    for name in ("inside", "start", "end", "length", "pattern"):
        values = getattr(potentials, name)
        values[...] = rng.normal(size=values.shape)
    emission = potentials.inside + potentials.start + potentials.end
    emission = emission + potentials.length[:, 0]
    step, first, last = np.split(potentials.pattern, [9, 12])
    log_z, probs = linear_chain(emission, first, step.reshape(3, 3), last)
    found = core.marginals(automaton, potentials)
    assert found.log_z == pytest.approx(log_z, abs=1e-9)
    assert found.tokens == pytest.approx(probs, abs=1e-9)


# --- constraints ------------------------------------------------------------------
# Three tokens, two labels, all scores 0: the first token has 2 labels, each other goes
# on or starts one of 2 labels: Z = 2 * 3 * 3 = 18 segmentations.


@pytest.mark.parametrize(
    "constraints, expected",
    [
        ({}, 18),
        ({"boundary": [0, 1, 0, 0]}, 2 * 2 * 3),  # token 1 starts a segment
        ({"boundary": [1, 1, 1, 1]}, 2 * 2 * 2),
        ({"boundary": [0, -1, 0, 0]}, 2 * 1 * 3),  # token 1 goes on
        ({"boundary": [0, -1, -1, 0]}, 2),
        ({"boundary": [0, 2, 0, 0]}, (2 * 2 + 1) * 3),  # or only O goes on
        ({"boundary": [0, 2, 2, 0]}, 8 + 2 + 2 + 1),  # O goes on at neither, 1, 2, both
        ({"boundary": [2, 0, 0, 2]}, 18),
        ({"boundary": [0, 1, -1, 0]}, 2 * 2 * 1),
        ({"allowed": [[1, 1], [1, 0], [1, 1]]}, 9),  # as many have A at token 1
        ({"allowed": [[1, 0], [0, 1], [1, 0]]}, 1),
        ({"allowed": [[1, 0], [1, 0], [1, 0]]}, 4),
        ({"forbidden": [(0, 3, 1)]}, 18 - 1),
        ({"forbidden": [(0, 3, 0)]}, 18 - 1),
        ({"forbidden": [(0, 3, -1)]}, 18 - 1),
        ({"forbidden": [(1, 2, 1)]}, 18 - 2 * 2),
        ({"forbidden": [(1, 2, -1), (1, 2, 1), (0, 3, 0)]}, 18 - 4 - 1),
        ({"boundary": [0, 1, 0, 0], "allowed": [[1, 0], [1, 1], [1, 1]]}, 1 * 2 * 3),
    ],
)
@pytest.mark.parametrize("n_explicit, tail", [(1, 0.0), (2, 0.0), (3, -INF)])
def test_constraints_by_counting(constraints, expected, n_explicit, tail):
    automaton, potentials = zeros(3, 2, n_explicit, tail)
    given = {name: np.array(values) for name, values in constraints.items()}
    if "allowed" in given:
        given["allowed"] = given["allowed"].astype(bool)
    found = core.log_partition(automaton, potentials, core.Constraints(**given))
    assert math.exp(found) == pytest.approx(expected)


def test_no_constraints_is_the_same_as_none():
    automaton, potentials, _ = as_core(random_problem(np.random.default_rng(13)))
    expected = core.log_partition(automaton, potentials)
    free = core.Constraints(
        np.ones((len(potentials.inside), len(automaton.labels)), dtype=bool),
        np.zeros(len(potentials.inside) + 1, dtype=np.int8),
        [],
    )
    assert core.log_partition(automaton, potentials, core.Constraints()) == expected
    assert core.log_partition(automaton, potentials, free) == expected


@pytest.mark.parametrize("name", FIELDS)
def test_minus_1e30_is_as_good_as_forbidden(name):
    rng = np.random.default_rng(20)
    for _ in range(30):
        problem = random_problem(rng, kinds=("small",), n_tokens=5)
        automaton, potentials, constraints = as_core(problem)
        expected = core.marginals(automaton, potentials, constraints)
        if expected.log_z == -INF:
            continue
        where = gradient_fields(potentials)[name] == -INF
        if where.any():
            potentials = set_scores(potentials, name, where, -1e30)
        found = core.marginals(automaton, potentials, constraints)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-9)
        assert found.tokens == pytest.approx(expected.tokens, abs=1e-9)


# --- lists of segments --------------------------------------------------------------


def test_segments_above_of_a_long_document():
    n_tokens = 20_000
    automaton, potentials = zeros(n_tokens, 2, n_explicit=2, tail=0.0)
    potentials.length[:] = -20.0
    potentials.cells = make_cells([(k, k + 4, 1, 60.0) for k in range(0, n_tokens, 4)])
    rows = core.marginals(automaton, potentials).segments_above(0.9)
    expected = [(k, k + 4, 1) for k in range(0, n_tokens, 4)]
    assert [row[:3] for row in rows] == expected


@pytest.mark.parametrize("limit", [1, 2, 7, 30, 100])
def test_the_most_probable_segments_above(limit):
    """With ties, and more than twice as many as are listed."""
    rng = np.random.default_rng(limit)
    automaton = core.PatternAutomaton(["O", "A", "B"])
    potentials = core.Potentials.zeros(automaton, 12)
    potentials.tail[:] = 0.0
    potentials.inside[:, 1:] = rng.integers(-1, 2, size=(12, 1))
    found = core.marginals(automaton, potentials)
    every = found.segments_above(1e-12, outside=False)
    assert len(every) == 12 * 13
    by_rank = sorted(every, key=lambda row: (-row[3], row[1], row[0], row[2]))
    listed, is_cut = found.best_above(1e-12, limit)
    assert (listed, is_cut) == (sorted(by_rank[:limit]), True)
    assert found.best_above(1e-12, len(every)) == (every, False)
    assert found.best_above(1e-12, 0) == (every, False)


# --- errors -------------------------------------------------------------------------


NO_PATHS = [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(1, 3, 0)], [(0, 4, 0)]]
NO_PATHS += [[(0, 1, 0), (2, 3, 0)], [(0, 2, 0), (1, 3, 0)], [(-1, 3, 0)]]
NO_PATHS += [[(0, 0, 0), (0, 3, 0)], [(0, 3, 0), (3, 3, 0)], [(1, 3, 0), (0, 1, 0)]]


def test_error_segments():
    given = zeros(3, 2, tail=0.0)
    found = core.marginals(*given)
    assert core.score(*given, [(0, 1, 1), (1, 3, 0)]) == 0.0
    assert found.segment(0, 3, 1) > 0 and found.segment(2, 3, 1) > 0
    for segments in NO_PATHS:
        with raises("HS020"):
            core.score(*given, segments)
    with raises("HS020"):
        core.score(*zeros(0, 2), [(0, 1, 0)])
    for label in (-1, 2):
        with raises("HS021"):
            core.score(*given, [(0, 1, label), (1, 3, 0)])
        with raises("HS021"):
            found.segment(0, 1, label)
    for border in [(-1, 1), (0, 4), (3, 4), (1, 1), (2, 1)]:
        with raises("HS024"):
            found.segment(*border, 0)
    assert len(found.segments_above(np.nextafter(0.0, 1.0))) == 12
    assert found.segments_above(1.0) == []
    for p in (0.0, np.nextafter(1.0, 2.0)):
        with raises("HS022"):
            found.segments_above(p)


# --- other calls ----------------------------------------------------------------------


def test_results_have_plain_numbers():
    automaton, potentials = zeros(4, 3, tail=0.0)
    rows = core.marginals(automaton, potentials).segments_above(1e-12)
    assert [row[:3] for row in rows] == all_segments(4, 3)
    assert all([type(x) for x in row] == [int, int, int, float] for row in rows)
    best, score = core.viterbi(automaton, potentials)
    listed = core.kbest(automaton, potentials, 3)
    drawn = core.sample(automaton, potentials, 5)
    assert core.sample(automaton, potentials, 0) == [] and len(drawn) == 5
    for path in (
        best,
        core.mbr(automaton, potentials),
        *drawn,
        *(x for x, _ in listed),
    ):
        assert type(path) is list and {type(segment) for segment in path} == {tuple}
        assert {type(x) for segment in path for x in segment} == {int}
    numbers = score, core.entropy(automaton, potentials), *(x for _, x in listed)
    assert {type(x) for x in numbers} == {float}


def test_weights_of_patterns_that_change_in_place():
    """What is made of them is kept from document to document."""
    for case in cases("running"):
        automaton, potentials, _ = case.arguments
        potentials = replace(potentials, pattern=potentials.pattern.copy())
        for _ in range(3):
            fresh = core.PatternAutomaton.from_bytes(automaton.to_bytes())
            for function in (core.log_partition, core.viterbi):
                expected = function(fresh, potentials)
                assert function(automaton, potentials) == expected
            np.add(potentials.pattern, 0.5, out=potentials.pattern)
            potentials.pattern[::2] -= 1.0
