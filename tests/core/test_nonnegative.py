"""Viterbi decoding where patterns of three or more names only add."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.sweeps.viterbi_bounds import groups_left

from .. import oracles
from ..strategies import EXACT, random_problem
from .families import only_adding
from .problems import INF, as_core, make_cells, make_entries, raises, zeros

METHODS = ("nonnegative", "auto", "automaton", "bounds")


# --- the same as all other ways -------------------------------------------------------


@pytest.mark.parametrize("longest", [3, 5, 8])
def test_long_patterns_equal_the_automaton(longest):
    """Patterns as they are mined: all that some sequences of labels have."""
    rng = np.random.default_rng(longest)
    for _ in range(5):
        n_labels = int(rng.integers(2, 6))
        sequence = ("^", *rng.integers(0, n_labels, 30).tolist(), "$")
        ends = range(2, len(sequence) + 1)
        patterns = {sequence[max(0, e - k) : e] for e in ends for k in range(2, 9)}
        chosen = (z for z in patterns if 2 <= len(z) <= longest)
        patterns = tuple(sorted(chosen, key=str))
        problem = random_problem(
            rng, kinds=EXACT, n_tokens=60, n_labels=n_labels, patterns=patterns
        )
        arguments = as_core(only_adding(problem))
        expected = core.viterbi(*arguments, method="automaton")
        assert core.viterbi(*arguments, method="nonnegative") == expected
        assert core.viterbi(*arguments) == expected


def test_methods_take_turns():
    """The automaton keeps rooms of documents, and what it made for the last weights."""
    rng = np.random.default_rng(5)
    problem = random_problem(
        rng, kinds=EXACT, n_tokens=9, patterns=((0, 0, 0), (0, 0)), observed=()
    )
    automaton, potentials, constraints = as_core(only_adding(problem))
    for k in range(60):
        weights = np.array([float(k % 5), -float(k % 3)])
        doc = replace(potentials, pattern=weights)
        problem = problem._replace(pattern=weights)
        segments, score = oracles.reference_best(only_adding(problem))
        method = METHODS[int(rng.integers(len(METHODS)))]
        found = core.viterbi(automaton, doc, constraints, method)
        assert found == (list(segments), score)
        below = replace(potentials, pattern=np.array([-1.0, 0.0]))
        with raises("HS104"):
            core.viterbi(automaton, below, constraints, "nonnegative")


# --- refused --------------------------------------------------------------------------


def nonnegative(automaton, potentials):
    return core.viterbi(automaton, potentials, method="nonnegative")


@pytest.mark.parametrize("weight", [-1.0, -1e-300, -INF])
def test_error_negative_pattern(weight):
    patterns = [(0, 1), ("^", 1, 0), (0, 1, "$")]
    automaton, potentials = zeros(3, 2, patterns=patterns)
    potentials.pattern[:] = weight, -0.0, 0.0
    nonnegative(automaton, potentials)
    potentials.pattern[1:] = weight
    message = rf"^\[HS104\].* pattern has {weight} for \('\^', 'A', 'O'\)"
    with pytest.raises(ValueError, match=message):
        nonnegative(automaton, potentials)
    core.viterbi(automaton, potentials)


@pytest.mark.parametrize("name", ["inside", "start", "end", "entries", "cells"])
@pytest.mark.parametrize("score", [-1.0, -INF])
def test_error_negative_observed(name, score):
    automaton, potentials = zeros(3, 2, observed=[(0, 1), (0, 1, 1)])
    for column in (1, 2, 3):  # a label, a pair, a triple
        record = [(1, 2, column, score)]
        if name == "cells":
            potentials.cells = make_cells(record)
        elif name == "entries":
            potentials.entries = make_entries(record)
        else:
            getattr(potentials, name)[1, column] = score
        if column < 3:
            expected = core.viterbi(automaton, potentials, method="automaton")
            assert nonnegative(automaton, potentials) == expected
    message = rf"^\[HS104\].* {name} has {score} for \('O', 'A', 'A'\)"
    with pytest.raises(ValueError, match=message):
        nonnegative(automaton, potentials)
    expected = core.viterbi(automaton, potentials, method="automaton")
    assert core.viterbi(automaton, potentials) == expected


def test_bounds_that_do_not_hold_are_given_up():
    """Long patterns that outweigh all tokens: of many documents, all are as ever."""
    rng = np.random.default_rng(3)
    patterns = [(a, b, c) for a in range(6) for b in range(6) for c in range(6)]
    automaton, potentials = zeros(6, 6, patterns=patterns)
    potentials.pattern[:] = rng.integers(0, 90, len(patterns))
    documents = [
        replace(potentials, inside=rng.normal(size=(6, 6)).round(2)) for _ in range(40)
    ]
    assert all(groups_left(automaton, document) is None for document in documents)
    for _ in range(2):
        for found, document in zip(
            core.viterbi_many(automaton, documents), documents, strict=True
        ):
            assert found == core.viterbi(automaton, document, method="automaton")
            assert found == core.viterbi(automaton, document, method="bounds")
