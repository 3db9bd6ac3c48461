"""Many documents at once: the same as one by one, for any number of threads."""

import pickle

import numpy as np
import pytest

from spacy_hosemi import core

from ..strategies import random_problem
from .problems import (
    INF,
    all_segments,
    as_core,
    gradient_fields,
    make_entries,
    raises,
    zeros,
)

THREADS = [1, 2, 5]
PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"))
OBSERVED = ((0, 1), ("^", 1), (2, 0, 1))
PATTERNS_BY_NAME = [("a", "b"), ("b", "c", "b"), ("^", "c"), ("b", "$")]


def documents(seed: int, n_documents: int = 24, kinds=("small", "spikes", "huge")):
    """An automaton, and potentials and constraints of documents of 0 to 40 tokens."""
    rng = np.random.default_rng(seed)
    problems = [
        random_problem(
            rng,
            kinds=kinds,
            n_tokens=int(rng.integers(0, 41)),
            n_labels=3,
            patterns=PATTERNS,
            observed=OBSERVED,
        )
        for _ in range(n_documents)
    ]
    automata, potentials, constraints = zip(*map(as_core, problems), strict=True)
    assert len({automaton.to_bytes() for automaton in automata}) == 1
    assert {given is None for given in constraints} == {True, False}
    return automata[0], list(potentials), list(constraints)


def as_bytes(found: core.Marginals) -> bytes:
    """All numbers, so that equal bytes are equal results."""
    n_tokens, n_labels = found.tokens.shape
    segments = all_segments(min(n_tokens, 8), n_labels)
    return pickle.dumps(
        (
            found.log_z,
            gradient_fields(found.gradient),
            found.tokens,
            [found.segment(*segment) for segment in segments],
            found.segments_above(0.1),
        )
    )


# --- equal to single calls ----------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("seed", range(3))
def test_viterbi_many(seed, threads):
    automaton, potentials, constraints = documents(seed)
    free = [core.viterbi(automaton, p) for p in potentials]
    limited = [
        core.viterbi(automaton, p, c)
        for p, c in zip(potentials, constraints, strict=True)
    ]
    assert free != limited
    found = core.viterbi_many(automaton, potentials, threads=threads)
    assert isinstance(found, list)
    assert found == free
    found = core.viterbi_many(automaton, potentials, constraints, threads=threads)
    assert found == limited


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("seed", range(3))
def test_marginals_many(seed, threads):
    automaton, potentials, constraints = documents(seed)
    free = [core.marginals(automaton, p) for p in potentials]
    limited = [
        core.marginals(automaton, p, c)
        for p, c in zip(potentials, constraints, strict=True)
    ]
    found = core.marginals_many(automaton, potentials, threads=threads)
    assert isinstance(found, list)
    assert all(isinstance(one, core.Marginals) for one in found)
    assert list(map(as_bytes, found)) == list(map(as_bytes, free))
    found = core.marginals_many(automaton, potentials, constraints, threads=threads)
    assert list(map(as_bytes, found)) == list(map(as_bytes, limited))


@pytest.mark.parametrize("threads", THREADS)
def test_results_stand_in_the_order_of_the_documents(threads):
    """The longest first, so that later ones are ready before it."""
    sizes = [3000, 1, 5, 2, 0, 700, 4]
    automaton, _ = zeros(0, 2)
    potentials = [zeros(n_tokens, 2)[1] for n_tokens in sizes]
    for n_tokens, one in zip(sizes, potentials, strict=True):
        one.inside[:, 0] = n_tokens
    expected = [float(n_tokens**2) for n_tokens in sizes]
    found = core.viterbi_many(automaton, potentials, threads=threads)
    assert [score for _, score in found] == expected
    found = core.marginals_many(automaton, potentials, threads=threads)
    assert [len(one.tokens) for one in found] == sizes


@pytest.mark.parametrize("threads", THREADS)
def test_repeated_calls_are_equal(threads):
    automaton, potentials, _ = documents(3)
    first, second = (
        list(map(as_bytes, core.marginals_many(automaton, potentials, threads=threads)))
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("threads", THREADS)
def test_one_document_many_times(threads):
    """The same arrays are read at the same time."""
    automaton, potentials, _ = documents(4, 8)
    found = core.marginals_many(automaton, potentials[:1] * 20, threads=threads)
    assert len(set(map(as_bytes, found))) == 1


@pytest.mark.parametrize("threads", THREADS)
def test_impossible_documents(threads):
    automaton, possible = zeros(2, 2)
    _, impossible = zeros(2, 2)
    impossible.inside[1] = -INF
    given = [possible, impossible, possible]
    found = core.viterbi_many(automaton, given, threads=threads)
    expected = ([(0, 1, 0), (1, 2, 0)], 0.0)
    assert found == [expected, ([], -INF), expected]
    found = core.marginals_many(automaton, given, threads=threads)
    assert found[1].log_z == -INF
    assert not found[1].tokens.any()
    assert found[0].log_z == found[2].log_z > 0


# --- how many -----------------------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_no_documents(name, threads):
    automaton, _ = zeros(1, 2)
    function = getattr(core, name)
    assert function(automaton, [], threads=threads) == []
    assert function(automaton, [], [], threads=threads) == []


@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_one_thread_unless_said(name):
    automaton, potentials = zeros(3, 2)
    assert len(getattr(core, name)(automaton, [potentials])) == 1


@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_more_threads_than_documents(name):
    automaton, potentials = zeros(3, 2)
    assert len(getattr(core, name)(automaton, [potentials] * 2, threads=64)) == 2


# --- errors -------------------------------------------------------------------------


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("place", [0, 7, 15])
@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_error_in_one_document(name, place, threads):
    function = getattr(core, name)
    automaton, potentials, _ = documents(5, 16)
    shape = potentials[place].tail.shape
    potentials[place].tail = np.full(shape, np.nan)
    with raises("HS011"):
        function(automaton, potentials, threads=threads)
    potentials[place].tail = np.zeros(4)
    with raises("HS010"):
        function(automaton, potentials, threads=threads)
    potentials[place].tail = np.zeros(shape)
    potentials[place].entries = make_entries([(100, 0, 0, 0.0)])
    with raises("HS025"):
        function(automaton, potentials, threads=threads)
    potentials[place].entries = None
    assert len(function(automaton, potentials, threads=threads)) == 16


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_error_in_one_of_the_constraints(name, threads):
    automaton, potentials = zeros(3, 2)
    constraints = [None, core.Constraints(boundary=np.zeros(3)), core.Constraints()]
    with raises("HS016"):
        getattr(core, name)(automaton, [potentials] * 3, constraints, threads=threads)


@pytest.mark.parametrize("threads", [0, -1])
@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_error_threads(name, threads):
    automaton, potentials = zeros(1, 2)
    function = getattr(core, name)
    for given in ([potentials], []):
        with pytest.raises(ValueError, match=rf"threads is {threads}"):
            function(automaton, given, threads=threads)


@pytest.mark.parametrize("n_constraints", [0, 1, 3])
@pytest.mark.parametrize("name", ["viterbi_many", "marginals_many"])
def test_error_number_of_constraints(name, n_constraints):
    automaton, potentials = zeros(1, 2)
    function = getattr(core, name)
    assert len(function(automaton, [potentials] * 2, [None] * 2)) == 2
    with raises("HS028"):
        function(automaton, [potentials] * 2, [None] * n_constraints)


# --- rooms of finished documents ----------------------------------------------------


def free_documents(seed: int):
    """As `documents`, without observed patterns, cells and constraints."""
    rng = np.random.default_rng(seed)
    automaton = core.PatternAutomaton(["a", "b", "c"], PATTERNS_BY_NAME)
    found = []
    for _ in range(24):
        potentials = core.Potentials.zeros(automaton, int(rng.integers(0, 41)))
        for name in ("inside", "start", "end", "pattern"):
            scores = getattr(potentials, name)
            scores[...] = rng.normal(size=scores.shape)
        potentials.tail[:] = -0.5
        potentials.inside[rng.random(potentials.inside.shape) < 0.1] = -INF
        found.append(potentials)
    return automaton, found


def by_score(automaton, potentials, best) -> float:
    """The score of the best segmentation, once more."""
    return core.score(automaton, potentials, best[0]) if best[0] else best[1]


@pytest.mark.parametrize("seed", range(3))
def test_a_document_in_the_room_of_another(seed):
    _, potentials = free_documents(seed)
    expected = [core.viterbi(free_documents(seed)[0], p) for p in potentials]
    automaton, _ = free_documents(seed)
    for _ in range(3):
        found = core.viterbi_many(automaton, potentials)
        assert found == expected
        for one, best in zip(potentials, found, strict=True):
            again = by_score(automaton, one, best)
            assert again == pytest.approx(best[1], abs=1e-9)


@pytest.mark.parametrize("bad", [np.nan, INF])
@pytest.mark.parametrize("name", ["inside", "start", "end", "tail", "pattern"])
def test_numbers_are_checked_in_the_room_of_another(name, bad):
    automaton, potentials = free_documents(7)
    expected = core.viterbi_many(automaton, potentials)
    given = potentials[9]
    original = getattr(given, name).copy()
    getattr(given, name).flat[-1] = bad
    with raises("HS011"):
        core.viterbi_many(automaton, potentials)
    getattr(given, name)[...] = original
    assert core.viterbi_many(automaton, potentials) == expected
    given.inside = given.inside.astype(np.float32)  # has to be converted
    found = core.viterbi(automaton, given)
    assert found[1] == pytest.approx(expected[9][1], abs=1e-4)
    given.inside = given.inside[:, :2]
    with raises("HS010"):
        core.viterbi(automaton, given)


def test_cells_are_checked_in_the_room_of_another():
    automaton, potentials = free_documents(8)
    core.viterbi_many(automaton, potentials)
    for bad in (None, [], np.zeros(0)):
        potentials[3].cells = bad
        with raises("HS012"):
            core.viterbi(automaton, potentials[3])
