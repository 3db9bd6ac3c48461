"""Which groups bounds leave: all that can be part of a best segmentation, and few."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi import core
from spacy_hosemi.core.sweeps.viterbi_bounds import groups_left

from .. import oracles
from ..strategies import EXACT, problems_nLD, random_patterns, random_problem
from .problems import INF, as_core, make_cells, n_of, zeros
from .test_grammar_inference import SETS, compiled

N_PROBLEMS = n_of(1000)


def assert_sound(problem: oracles.Problem, message="") -> bool:
    """Every label of every best segmentation is left. RETURNS: whether bounds held."""
    automaton, potentials, constraints = as_core(problem)
    left = groups_left(automaton, potentials, constraints)
    scores = oracles.scored(problem)
    segments, score = oracles.best(scores)
    found = core.viterbi(automaton, potentials, constraints, "bounds")
    assert found == (list(segments), score), message
    if left is None:
        return False
    labels = [{int(automaton.group_label[g]) for g in groups} for groups in left]
    for segmentation, value in scores.items():
        if value == score:
            for i, j, y in segmentation:
                assert all(y in labels[k] for k in range(i, j)), message
    return True


def sharp(problem: oracles.Problem, rng) -> oracles.Problem:
    """With one label much better than the others at each token."""
    inside = problem.inside.copy()
    n_tokens, n_labels = len(inside), problem.n_labels
    for i, y in enumerate(rng.integers(0, n_labels, n_tokens)):
        inside[i, :n_labels][np.arange(n_labels) != y] -= 300.0
    return problem._replace(inside=inside)


def test_best_and_ties_equal_enumeration():
    n_held = 0
    for seed in range(N_PROBLEMS):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, kinds=EXACT, n_labels=int(rng.integers(2, 5)))
        if seed % 2:
            problem = sharp(problem, rng)
        n_held += assert_sound(problem, seed)
    assert n_held > N_PROBLEMS / 4


@given(problems_nLD(kinds=EXACT))
def test_best_and_ties_equal_enumeration_on_any_problem(problem):
    assert_sound(problem)


@pytest.mark.parametrize("n_tokens", [12, 40])
def test_longer_documents_equal_the_reference(n_tokens):
    n_held = 0
    for seed in range(n_of(60)):
        rng = np.random.default_rng(seed)
        patterns = random_patterns(rng, 6, 4, 30)
        problem = random_problem(
            rng, kinds=EXACT, n_tokens=n_tokens, n_labels=6, patterns=patterns
        )
        problem = sharp(problem, rng)
        arguments = as_core(problem)
        segments, score = oracles.reference_best(problem)
        assert core.viterbi(*arguments, "bounds") == (list(segments), score)
        n_held += groups_left(*arguments) is not None
    assert n_held >= n_of(5)


@pytest.mark.parametrize("rules", SETS, ids="; ".join)
def test_grammar_equals_the_automaton(rules):
    grammar = compiled(tuple(rules))
    for seed in range(n_of(60)):
        rng = np.random.default_rng(seed)
        problem = sharp(random_problem(rng, kinds=EXACT, n_labels=3, n_tokens=9), rng)
        arguments = as_core(problem, grammar=grammar)
        expected = core.viterbi(*arguments, "automaton")
        assert core.viterbi(*arguments, "bounds") == expected


def test_by_hand():
    """A B B beats all else by 9 or more, and the pattern A A by 1 at most."""
    automaton, potentials = zeros(3, 4, patterns=[(1, 1), (1, 1, 1)])
    potentials.inside[:] = -10.0
    potentials.inside[[0, 1, 2], [1, 2, 2]] = 0.0
    potentials.pattern[:] = 1.0, -5.0
    assert groups_left(automaton, potentials) == [[1], [2], [2]]
    expected = [(0, 1, 1), (1, 2, 2), (2, 3, 2)], 0.0
    assert core.viterbi(automaton, potentials, method="bounds") == expected


@pytest.mark.parametrize("score", [20.0, 120.0])
def test_a_cell_may_outweigh_all_tokens(score):
    automaton, potentials = zeros(3, 6)
    potentials.inside[:, 1:] = -30.0
    cells = make_cells([(0, 3, 3, score), (0, 3, 4, -1.0)])
    potentials = replace(potentials, tail=np.zeros(6), cells=cells)
    label = 3 if score > 90.0 else 0
    left = groups_left(automaton, potentials)
    assert left is None or all(label in groups for groups in left)
    best = core.viterbi(automaton, potentials, method="bounds")
    assert best == ([(0, 3, label)], max(score - 90.0, 0.0))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e4, 1e11])
@pytest.mark.parametrize("n_tokens", [1, 2, 20_000])
def test_rounding_loses_nothing(size, n_tokens):
    rng = np.random.default_rng(n_tokens)
    automaton, potentials = zeros(n_tokens, 5, patterns=[(0, 1), (1, 1, 2), (3, 4)])
    inside = size * rng.normal(size=(n_tokens, 5))
    pattern = size * rng.normal(size=3)
    potentials = replace(potentials, inside=inside, pattern=pattern, tail=np.zeros(5))
    expected = core.viterbi(automaton, potentials, method="automaton")
    assert core.viterbi(automaton, potentials, method="bounds") == expected


def test_nothing_left_and_nothing_possible():
    automaton, potentials = zeros(0, 3)
    assert groups_left(automaton, potentials) is None
    assert core.viterbi(automaton, potentials, method="bounds") == ([], 0.0)
    automaton, potentials = zeros(2, 3)
    potentials.inside[1] = -INF
    assert groups_left(automaton, potentials) is None
    assert core.viterbi(automaton, potentials, method="bounds") == ([], -INF)
    # The best path of the relaxation is none: two patterns exclude each other.
    automaton, potentials = zeros(2, 2, patterns=[(0, 0), (1, 1), (0, 1), (1, 0)])
    potentials.pattern[:] = -INF
    assert core.viterbi(automaton, potentials, method="bounds") == ([], -INF)
