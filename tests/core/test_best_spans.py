"""Best spans of several documents whose potentials are in the same arrays."""

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms.viterbi import best_span_steps
from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.core.potentials import ManyPotentials

from .. import oracles
from ..strategies import random_patterns, random_problem
from .problems import as_core

NAMES = ("O", "A", "B")


def documents(rng, n_docs):
    """Problems that differ in their tokens alone, without cells and constraints."""
    patterns = random_patterns(rng, 3, 3, 6)
    found = [
        random_problem(
            rng, n_labels=3, patterns=patterns, observed=(), constrained=False
        )
        for _ in range(n_docs)
    ]
    first = found[0]
    shared = {name: getattr(first, name) for name in ("length", "tail", "pattern")}
    return [one._replace(cells=[], **shared) for one in found]


def joined(problems):
    """The automaton, and all potentials as one."""
    parts = [as_core(problem)[1] for problem in problems]
    scores = [
        np.ascontiguousarray(np.concatenate([getattr(x, role) for x in parts]))
        for role in ("inside", "start", "end")
    ]
    borders = np.cumsum([0, *(x.n_tokens for x in parts)]).tolist()
    one = parts[0]
    shared = one.length, one.tail, one.pattern, borders
    return as_core(problems[0])[0], ManyPotentials(*scores, *shared), parts


@pytest.mark.parametrize("seed", range(30))
def test_spans_equal_enumeration_and_those_of_each_alone(seed):
    problems = documents(np.random.default_rng(seed), 20)
    automaton, many, parts = joined(problems)
    for _ in range(2):  # for the second time in the tables of the first
        found = finish(best_span_steps(automaton, many, NAMES))
        for problem, one, spans in zip(problems, parts, found):
            segments, _ = core.viterbi(automaton, one)
            expected, score = oracles.best(oracles.scored(problem))
            if score == -np.inf:
                assert spans is None and segments == []
                continue
            named = [(i, j, NAMES[y]) for i, j, y in segments if y]
            assert spans == named
            assert named == [(i, j, NAMES[y]) for i, j, y in expected if y]


def test_potentials_of_each():
    _, many, parts = joined(documents(np.random.default_rng(0), 5))
    assert len(many) == 5
    for one, expected in zip(
        [*many, many[-1], *many[1:3]], [*parts, parts[-1], *parts[1:3]]
    ):
        for name, array in vars(expected).items():
            if name != "entries":
                np.testing.assert_array_equal(getattr(one, name), array)
        assert one.entries is None
    with pytest.raises(IndexError):
        many[5]


def test_error_scores_out_of_range():
    automaton, many, _ = joined(documents(np.random.default_rng(3), 12))
    many.start[-1, 1] = np.nan
    with pytest.raises(ValueError, match="HS011"):
        finish(best_span_steps(automaton, many, NAMES))
    many.start[-1, 1], many.pattern = 0.0, np.full_like(many.pattern, np.nan)
    with pytest.raises(ValueError, match="HS011"):
        finish(best_span_steps(automaton, many, NAMES))
