"""Patterns that always have the same weight: their sums are formed once, and nothing
else changes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.segment_probabilities import segment_probabilities

from .. import oracles
from ..strategies import EXACT, KINDS, random_problem
from .problems import LABELS, all_segments, as_core, make_automaton, n_of, raises
from .test_inference import largest_errors
from .test_kbest import as_lists
from .test_segment_probabilities import by_marginals, problem_of_lanes

N_PROBLEMS = n_of(400)


def random_ties(rng, n_patterns):
    """Of each pattern the first one with the same weight."""
    group = rng.integers(0, max(1, n_patterns // 2), n_patterns).tolist()
    return [group.index(g) for g in group]


def make(seed, kinds=KINDS):
    """The arguments of the core with ties, and the problem."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, kinds=kinds)
    tied = random_ties(rng, len(problem.patterns))
    problem = problem._replace(pattern=problem.pattern[tied])
    rules = ["A at most once"] if problem.n_labels > 1 and seed % 3 == 0 else []
    grammar = core.compile_grammar(LABELS[: problem.n_labels], rules) if rules else None
    scores = oracles.scored(problem)
    if grammar is not None:
        scores = oracles.filtered(scores, grammar.permits)
    return as_core(problem, tied=tied, grammar=grammar), scores, problem, tied


def test_marginals_equal_enumeration():
    n_fewer = 0
    for seed in range(N_PROBLEMS):
        arguments, scores, problem, tied = make(seed)
        expected = oracles.marginals(problem, scores)
        found = core.marginals(*arguments)
        errors = largest_errors(found, expected)
        errors["pattern"] = 0.0
        assert max(errors.values()) < 1e-9, (seed, errors)
        sums = (
            np.bincount(tied, x, 1) for x in (found.gradient.pattern, expected.pattern)
        )
        assert next(sums) == pytest.approx(next(sums), abs=1e-9), seed
        assert core.log_partition(*arguments) == pytest.approx(expected.log_z, rel=1e-9)
        plain = make_automaton(problem.n_labels, problem.patterns, problem.observed)
        n_fewer += len(arguments[0].arc_edge) < len(plain.arc_edge)
    assert n_fewer > N_PROBLEMS // 10


def test_the_best_and_their_order_equal_enumeration():
    for seed in range(N_PROBLEMS):
        (automaton, potentials, constraints), scores, _, _ = make(seed, EXACT)
        segments, score = oracles.best(scores)
        expected = list(segments), score
        assert core.viterbi(automaton, potentials, constraints) == expected, seed
        assert core.viterbi_many(automaton, [potentials], [constraints]) == [expected]
        ranked = oracles.ranked(scores)
        found = core.kbest(automaton, potentials, len(ranked) + 1, constraints)
        assert found == as_lists(ranked), seed


def test_entropy_equals_enumeration():
    for seed in range(N_PROBLEMS // 4):
        arguments, scores, _, _ = make(seed, ("ties", "small"))
        expected = oracles.entropy(scores)
        found = core.entropy(*arguments)
        assert found == expected or found == pytest.approx(expected, abs=1e-9), seed


def test_documents_side_by_side():
    rng = np.random.default_rng(5)
    for seed in range(50):
        problems = [problem_of_lanes(rng, n, ("small",)) for n in (3, 7, 0, 12)]
        tied = random_ties(rng, len(problems[0].patterns))
        weights = problems[0].pattern[tied]
        args = [as_core(x._replace(pattern=weights), tied=tied) for x in problems]
        automata, potentials, limits = map(list, zip(*args, strict=True))
        # what stands side by side has the same weights of patterns
        potentials = [replace(x, pattern=potentials[0].pattern) for x in potentials]
        segments = [[*map(tuple, all_segments(x.n_tokens, 3))] for x in problems]
        given = automata[0], potentials, segments, limits
        plain = make_automaton(3, problems[0].patterns), *given[1:]
        for found, expected in zip(
            segment_probabilities(*given), by_marginals(*plain), strict=True
        ):
            assert found == pytest.approx(expected, abs=1e-12), seed


def test_they_are_saved():
    automaton = make_automaton(3, [(0, 1), (1, 1), (2, 1)], tied=[0, 1, 0])
    for copy in (
        core.PatternAutomaton.from_bytes(automaton.to_bytes()),
        pickle.loads(pickle.dumps(automaton)),
        automaton.without_observed,
        automaton.without_grammar,
    ):
        assert copy.tied == automaton.tied == (0, 1, 0)
        assert len(copy.arc_edge) == len(automaton.arc_edge)


def test_sums_are_formed_once():
    pairs = [(p, y) for y in range(12) for p in range(12)]
    weights = [(p < 6, y < 6) for p, y in pairs]
    tied = [weights.index(w) for w in weights]
    plain, found = make_automaton(12, pairs), make_automaton(12, pairs, tied=tied)
    assert len(plain.arc_edge) == 12 * 13  # ^ has none
    assert len(found.arc_edge) == 12 * 3
    assert len(found.suffix_sums.input) < 30  # twice six, and what pads them


@pytest.mark.parametrize("tied", [[0], [0, 1, 2, 3], [0, 0, 1], [0, 2, 2], [-1, 1, 2]])
def test_ties_are_checked(tied):
    with raises("HS122"):
        make_automaton(3, [(0, 1), (1, 1), (2, 1)], tied=tied)
