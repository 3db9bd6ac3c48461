"""Many documents at once: the same as one by one, for any number of threads."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.many import PORTION

from ..strategies import random_problem
from .problems import INF, as_core, make_automaton, make_entries, raises, zeros
from .test_inference import as_bytes

THREADS = [1, 2, 5]
PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"))
OBSERVED = ((0, 1), ("^", 1), (2, 0, 1))

by_threads = pytest.mark.parametrize("threads", THREADS)
by_function = pytest.mark.parametrize("name", ["viterbi", "marginals"])


def documents(seed: int, n_documents: int = 24, kinds=("small", "spikes", "huge")):
    """An automaton, and potentials and constraints of documents of 0 to 40 tokens."""
    rng = np.random.default_rng(seed)
    given = {"n_labels": 3, "patterns": PATTERNS, "observed": OBSERVED}
    problems = [
        random_problem(rng, kinds=kinds, n_tokens=int(rng.integers(0, 41)), **given)
        for _ in range(n_documents)
    ]
    automata, potentials, constraints = zip(*map(as_core, problems), strict=True)
    assert {given is None for given in constraints} == {True, False}
    return automata[0], list(potentials), list(constraints)


def plain(found):
    """In a form that can be compared to the bit."""
    return as_bytes(found) if isinstance(found, core.Marginals) else found


def solve_many(name, automaton, *lists, threads=1):
    found = getattr(core, f"{name}_many")(automaton, *lists, threads=threads)
    assert isinstance(found, list)
    return list(map(plain, found))


# --- equal to single calls ----------------------------------------------------------


@by_function
@pytest.mark.parametrize("seed", range(2))
def test_many_are_as_one_by_one(name, seed):
    """In their order, with and without constraints, and each time."""
    automaton, potentials, constraints = documents(seed, PORTION + 8)
    solve = getattr(core, name)
    free = [plain(solve(automaton, x)) for x in potentials]
    pairs = zip(potentials, constraints, strict=True)
    limited = [plain(solve(automaton, *pair)) for pair in pairs]
    assert free != limited
    for threads in (*THREADS, 2):
        given = {"threads": threads}
        assert solve_many(name, automaton, potentials, **given) == free
        assert solve_many(name, automaton, potentials, constraints, **given) == limited


@by_function
@by_threads
def test_results_stand_in_the_order_of_the_documents(name, threads):
    """The longest first, so that later ones are ready before it; and the same arrays
    are read at the same time."""
    sizes = [3000, 1, 5, 2, 0, 700, 4] * 6
    automaton, _ = zeros(0, 2)
    made = {n: zeros(n, 2)[1] for n in sizes}
    for n, potentials in made.items():
        potentials.inside[:, 0] = n
    args = automaton, [made[n] for n in sizes]
    found = getattr(core, f"{name}_many")(*args, threads=threads)
    if name == "viterbi":
        assert [score for _, score in found] == [float(n**2) for n in sizes]
    else:
        assert [len(x.tokens) for x in found] == sizes
        assert len({as_bytes(x) for x in found}) == len(made)


@by_threads
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


# --- errors -------------------------------------------------------------------------


@by_function
@by_threads
@pytest.mark.parametrize("place", [0, 7, 15])
def test_error_in_one_document(name, place, threads):
    automaton, potentials, _ = documents(5, 16)
    good = potentials[place].tail
    for field, value, code in (
        ("tail", np.full(good.shape, np.nan), "HS011"),
        ("tail", np.zeros(4), "HS010"),
        ("entries", make_entries([(100, 0, 0, 0.0)]), "HS025"),
    ):
        before = getattr(potentials[place], field)
        setattr(potentials[place], field, value)
        with raises(code):
            solve_many(name, automaton, potentials, threads=threads)
        setattr(potentials[place], field, before)
    assert len(solve_many(name, automaton, potentials, threads=threads)) == 16


@by_function
def test_error_constraints_and_threads(name):
    automaton, potentials = zeros(3, 2)
    wrong = [None, core.Constraints(boundary=np.zeros(3)), core.Constraints()]
    for threads in THREADS:
        with raises("HS016"):
            solve_many(name, automaton, [potentials] * 3, wrong, threads=threads)
    for n in (0, 1, 3):
        with raises("HS028"):
            solve_many(name, automaton, [potentials] * 2, [None] * n)
    for threads in (0, -1):
        for given in ([potentials], []):
            with pytest.raises(ValueError, match=rf"threads is {threads}"):
                solve_many(name, automaton, given, threads=threads)


# --- rooms of finished documents ----------------------------------------------------


def free_documents(seed: int):
    """Without observed patterns, cells and constraints."""
    rng = np.random.default_rng(seed)
    automaton = make_automaton(3, PATTERNS)
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


@pytest.mark.parametrize("seed", range(3))
def test_a_document_in_the_room_of_another(seed):
    automaton, potentials = free_documents(seed)
    expected = [core.viterbi(free_documents(seed)[0], p) for p in potentials]
    for _ in range(3):
        assert core.viterbi_many(automaton, potentials) == expected
        for given, (segments, score) in zip(potentials, expected, strict=True):
            if segments:
                again = core.score(automaton, given, segments)
                assert again == pytest.approx(score, abs=1e-9)


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
    for bad in (None, [], np.zeros(0)):
        potentials[3].cells = bad
        with raises("HS012"):
            core.viterbi(automaton, potentials[3])
