"""The log-likelihood, against enumeration and central differences."""

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spacy_hosemi.core import CELLS, Constraints, Potentials, log_partition, score
from spacy_hosemi.labels.gold import Gold
from spacy_hosemi.training.objectives import (
    divergence,
    is_zero,
    log_likelihood,
    make_log_likelihood,
)

from .. import oracles
from ..core.problems import as_core
from ..helpers import numeric_gradient
from ..strategies import random_constraints, random_problem

FIELDS = ("inside", "start", "end", "length", "tail", "pattern")


def make_problem(seed, *, is_complete, with_cells=False):
    """Automaton, potentials, possible gold, and log P(gold) by enumeration."""
    rng = np.random.default_rng(seed)
    n_tokens = int(rng.integers(1, 5))
    problem = random_problem(
        rng, kinds=("small",), n_tokens=n_tokens, constrained=False, observed=()
    )
    if not with_cells:
        problem = problem._replace(cells=[])
    scores = oracles.scored(problem)
    possible = [s for s, score in scores.items() if score > -math.inf]
    if is_complete and possible:
        segments = possible[rng.integers(len(possible))]
        agreeing = {segments: scores[segments]}
        gold = Gold(list(segments), None, n_tokens)
    else:
        limits = random_constraints(rng, problem.n_tokens, problem.n_labels)
        agreeing = oracles.scored(problem._replace(**limits))
        gold = Gold(None, Constraints(**limits), n_tokens)
    if oracles.log_z(agreeing) == -math.inf:
        return make_problem(
            seed + 100_000, is_complete=is_complete, with_cells=with_cells
        )
    automaton, potentials, _ = as_core(problem)
    return automaton, potentials, gold, oracles.log_z(agreeing) - oracles.log_z(scores)


seeds = st.integers(0, 10_000)


@given(seeds, st.booleans())
def test_loss_is_minus_log_probability(seed, is_complete):
    *problem, log_p = make_problem(seed, is_complete=is_complete)
    loss, _ = log_likelihood(*problem)
    assert loss == pytest.approx(-log_p, abs=1e-9)
    assert loss >= -1e-9


@settings(max_examples=50)
@given(seeds, st.booleans())
def test_gradient_is_the_derivative(seed, is_complete):
    automaton, potentials, gold, _ = make_problem(seed, is_complete=is_complete)
    _, gradient = log_likelihood(automaton, potentials, gold)
    for name in FIELDS:

        def loss_at(array, name=name):
            moved = replace(potentials, **{name: array})
            return log_likelihood(automaton, moved, gold)[0]

        expected = numeric_gradient(loss_at, getattr(potentials, name))
        found = getattr(gradient, name)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=name)


@settings(max_examples=50)
@given(seeds, st.booleans())
def test_cells_count(seed, is_complete):
    problem = make_problem(seed, is_complete=is_complete, with_cells=True)
    automaton, potentials, gold, log_p = problem
    loss, gradient = log_likelihood(automaton, potentials, gold)
    assert loss == pytest.approx(-log_p, abs=1e-9)

    def loss_at(scores):
        cells = potentials.cells.copy()
        cells["score"] = scores
        moved = replace(potentials, cells=cells)
        return log_likelihood(automaton, moved, gold)[0]

    expected = numeric_gradient(loss_at, potentials.cells["score"])
    np.testing.assert_allclose(gradient.cells["score"], expected, atol=1e-6)


@given(seeds)
def test_nothing_known_costs_nothing(seed):
    automaton, potentials, gold, _ = make_problem(seed, is_complete=True)
    loss, gradient = log_likelihood(automaton, potentials, replace(gold, n_known=0))
    assert loss == 0.0
    for name in FIELDS:
        assert getattr(gradient, name).shape == getattr(potentials, name).shape
        if name != "tail":
            assert not getattr(gradient, name).any()


@given(seeds)
def test_what_allows_everything_costs_nothing(seed):
    automaton, potentials, gold, _ = make_problem(seed, is_complete=True)
    gold = Gold(None, Constraints(), gold.n_known)
    loss, gradient = log_likelihood(automaton, potentials, gold)
    assert loss == pytest.approx(0.0, abs=1e-9)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(gradient, name), 0.0, atol=1e-9)


def test_impossible_gold():
    automaton, potentials, gold, _ = make_problem(3, is_complete=True)
    potentials.inside[0] = -np.inf
    with pytest.raises(ValueError, match="HS056"):
        log_likelihood(automaton, potentials, gold)


def test_potentials_are_only_read():
    automaton, potentials, gold, _ = make_problem(5, is_complete=True)
    for name in FIELDS:
        getattr(potentials, name).setflags(write=False)
    loss, gradient = log_likelihood(automaton, potentials, gold)
    assert isinstance(loss, float)
    assert isinstance(gradient, Potentials)
    assert make_log_likelihood() is log_likelihood


@settings(max_examples=50)
@given(seeds)
def test_divergence(seed):
    """KL by enumeration, and its derivatives by differences."""
    rng = np.random.default_rng(seed)
    automaton, potentials, *_ = make_problem(seed, is_complete=True, with_cells=True)
    if log_partition(automaton, potentials) == -math.inf:
        return
    moved = {
        name: array + rng.normal(size=array.shape)
        for name in FIELDS
        for array in [getattr(potentials, name)]
    }
    now = replace(potentials, **moved, cells=random_cells(rng, potentials))
    loss, gradient = divergence(automaton, now, potentials)
    assert divergence(automaton, potentials, potentials)[0] == pytest.approx(
        0, abs=1e-9
    )
    expected = 0.0
    for segments in every_segmentation(len(now.inside), automaton.n_labels):
        before = score(automaton, potentials, segments)
        if before > -math.inf:
            log_p = before - log_partition(automaton, potentials)
            log_q = score(automaton, now, segments) - log_partition(automaton, now)
            expected += math.exp(log_p) * (log_p - log_q)
    assert loss == pytest.approx(expected, abs=1e-8)
    for name in FIELDS:

        def loss_at(array, name=name):
            return divergence(automaton, replace(now, **{name: array}), potentials)[0]

        found = numeric_gradient(loss_at, getattr(now, name))
        np.testing.assert_allclose(getattr(gradient, name), found, atol=1e-5)

    def loss_of_cells(scores):
        cells = now.cells.copy()
        cells["score"] = scores
        return divergence(automaton, replace(now, cells=cells), potentials)[0]

    found = numeric_gradient(loss_of_cells, now.cells["score"])
    np.testing.assert_allclose(gradient.cells["score"], found, atol=1e-5)


def random_cells(rng, potentials):
    """Others, some of them in the same places."""
    own = rng.choice(potentials.cells, min(len(potentials.cells), 2), replace=False)
    end = rng.integers(1, potentials.n_tokens + 1, 3)
    label = rng.integers(0, len(potentials.tail), 3)
    new = np.zeros(3, CELLS)
    new["start"], new["end"], new["column"] = rng.integers(0, end), end, label
    cells = np.concatenate([own, new])
    cells["score"] = rng.normal(size=len(cells))
    return cells


def test_no_divergence_of_what_is_impossible():
    automaton, potentials, *_ = make_problem(5, is_complete=True)
    never = replace(potentials, tail=np.full_like(potentials.tail, -np.inf))
    never = replace(never, inside=np.full_like(potentials.inside, -np.inf))
    for pair in ((potentials, never), (never, potentials), (never, never)):
        loss, gradient = divergence(automaton, *pair)
        assert loss == 0.0 and is_zero(gradient)


def every_segmentation(n_tokens, n_labels, at=0):
    if at == n_tokens:
        yield []
    for end in range(at + 1, n_tokens + 1):
        for y in range(n_labels):
            for rest in every_segmentation(n_tokens, n_labels, end):
                yield [(at, end, y), *rest]
