"""The log-likelihood, against enumeration and central differences."""

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

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
        kind = {"is_complete": is_complete, "with_cells": with_cells}
        return make_problem(seed + 100_000, **kind)
    automaton, potentials, _ = as_core(problem)
    return automaton, potentials, gold, oracles.log_z(agreeing) - oracles.log_z(scores)


seeds = st.integers(0, 10_000)


def assert_derivatives(loss, potentials, gradient, atol):
    """They equal central differences of a function of potentials."""
    for name in (*FIELDS, "cells"):
        at, found = getattr(potentials, name), getattr(gradient, name)
        if name == "cells":
            at, found = at["score"], found["score"]

        def loss_at(array, name=name):
            if name == "cells":
                cells = potentials.cells.copy()
                cells["score"], array = array, cells
            return loss(replace(potentials, **{name: array}))

        assert found.shape == at.shape
        expected = numeric_gradient(loss_at, at)
        np.testing.assert_allclose(found, expected, atol=atol, err_msg=name)


@given(seeds, st.booleans())
def test_loss_and_gradient(seed, is_complete):
    """Minus the log probability, and its derivatives."""
    problem = make_problem(seed, is_complete=is_complete, with_cells=True)
    automaton, potentials, gold, log_p = problem
    loss, gradient = log_likelihood(automaton, potentials, gold)
    assert loss == pytest.approx(-log_p, abs=1e-9)
    assert loss >= -1e-9

    def loss_of(potentials):
        return log_likelihood(automaton, potentials, gold)[0]

    assert_derivatives(loss_of, potentials, gradient, 1e-6)


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


@given(seeds)
def test_divergence(seed):
    """KL by enumeration, and its derivatives by differences."""
    rng = np.random.default_rng(seed)
    automaton, potentials, *_ = make_problem(seed, is_complete=True, with_cells=True)
    before = log_partition(automaton, potentials)
    if before == -math.inf:
        return
    arrays = {name: getattr(potentials, name) for name in FIELDS}
    moved = {name: x + rng.normal(size=x.shape) for name, x in arrays.items()}
    now = replace(potentials, **moved, cells=random_cells(rng, potentials))
    loss, gradient = divergence(automaton, now, potentials)
    same, _ = divergence(automaton, potentials, potentials)
    assert same == pytest.approx(0, abs=1e-9)
    expected, after = 0.0, log_partition(automaton, now)
    for segments in oracles.segmentations(len(now.inside), automaton.n_labels):
        log_p = score(automaton, potentials, segments) - before
        if log_p > -math.inf:
            log_q = score(automaton, now, segments) - after
            expected += math.exp(log_p) * (log_p - log_q)
    assert loss == pytest.approx(expected, abs=1e-8)

    def loss_of(potentials_now):
        return divergence(automaton, potentials_now, potentials)[0]

    assert_derivatives(loss_of, now, gradient, 1e-5)


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
