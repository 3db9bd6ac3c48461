"""Patterns that always have the same weight: their sums are formed once, and nothing
else changes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.segment_probabilities import segment_probabilities

from .families import random_ties
from .problems import all_segments, as_core, make_automaton, raises
from .test_segment_probabilities import by_marginals, problem_of_lanes


def test_documents_side_by_side():
    rng = np.random.default_rng(5)
    for seed in range(20):
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
