"""Probabilities of sets of tags on adjacent tokens."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies

from spacy_hosemi import core

from .. import oracles
from ..strategies import KINDS, n_of, problems_nLD, random_problem
from .problems import INF, as_core, raises, zeros

PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"), (2, 2, 0))


def as_tags(problem):
    """The same problem, whose segments have one token."""
    length, tail = problem.length[:, :1], np.full(problem.n_labels, -INF)
    boundary = problem.boundary  # a border that a segment must cross is impossible
    if boundary is not None:
        boundary = np.maximum(boundary, 0)
    return problem._replace(length=length, tail=tail, cells=[], boundary=boundary)


def by_enumeration(problem, start, allowed):
    """Summed probabilities of the tags that are allowed."""
    return math.fsum(
        prob
        for tags, prob in oracles.probabilities(oracles.scored(problem)).items()
        if all(row[tags[start + i][2]] for i, row in enumerate(allowed))
    )


def check(problem, start, allowed, tolerance=1e-9):
    automaton, potentials, constraints = as_core(problem)
    expected = by_enumeration(problem, start, allowed)
    for counts in (False, True):
        posterior = core.marginals(automaton, potentials, constraints, counts=counts)
        found = posterior.labels_among(start, allowed)
        assert found == pytest.approx(expected, rel=tolerance, abs=1e-300)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_enumeration(kind):
    n_possible = 0
    for seed in range(n_of(1200) // 20):
        rng = np.random.default_rng(seed)
        n_tokens, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        given = {
            "n_tokens": n_tokens,
            "n_labels": n_labels,
            "constrained": seed % 3 == 0,
        }
        problem = as_tags(random_problem(rng, kinds=(kind,), **given))
        start = int(rng.integers(n_tokens))
        end = int(rng.integers(start, n_tokens)) + 1
        allowed = rng.random((end - start, n_labels)) < 0.6
        check(problem, start, allowed)
        n_possible += by_enumeration(problem, start, allowed) > 0.0
    assert n_possible


@given(problems_nLD(), strategies.data())
def test_equals_enumeration_on_any_problem(problem, data):
    if not problem.n_tokens:
        return
    start = data.draw(strategies.integers(0, problem.n_tokens - 1))
    n_rows = data.draw(strategies.integers(1, problem.n_tokens - start))
    bits = strategies.lists(
        strategies.booleans(),
        min_size=n_rows * problem.n_labels,
        max_size=n_rows * problem.n_labels,
    )
    allowed = np.array(data.draw(bits), bool).reshape(n_rows, problem.n_labels)
    check(as_tags(problem), start, allowed)


@pytest.mark.parametrize("scale", [1.0, 400.0])
@pytest.mark.parametrize("n_tokens", [700, 30_000])
def test_long_documents(n_tokens, scale):
    """Against two partition functions; large scores are summed in log domain."""
    rng = np.random.default_rng(0)
    automaton, potentials = zeros(n_tokens, 3, patterns=PATTERNS)
    potentials.inside[:] = scale * rng.normal(size=(n_tokens, 3))
    potentials.pattern[:] = rng.normal(size=len(PATTERNS))
    posterior = core.marginals(automaton, potentials, counts=False)
    log_z = core.log_partition(automaton, potentials)
    for start in (0, 1, n_tokens // 2, n_tokens - 4):
        allowed = np.ones((n_tokens, 3), bool)
        allowed[start : start + 4] = rng.random((4, 3)) < 0.7
        limits = core.Constraints(allowed=allowed)
        expected = math.exp(core.log_partition(automaton, potentials, limits) - log_z)
        found = posterior.labels_among(start, allowed[start : start + 4])
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_one_tag_is_a_segment():
    problem = as_tags(random_problem(np.random.default_rng(3), n_tokens=5, n_labels=3))
    posterior = core.marginals(*as_core(problem))
    for i in range(5):
        for y in range(3):
            found = posterior.labels_among(i, np.arange(3)[None] == y)
            assert found == pytest.approx(posterior.segment(i, i + 1, y), abs=1e-15)


def test_refusals():
    posterior = core.marginals(*zeros(3, 2))
    every = np.ones((2, 2), bool)
    longer = core.marginals(*zeros(3, 2, n_explicit=2))
    with raises("HS014"):
        longer.labels_among(0, every)
    for start in (-1, 2, 1.0, "0", None):
        with raises("HS024"):
            posterior.labels_among(start, every)
    with raises("HS024"):
        posterior.labels_among(0, every[:0])
    for wrong in (every[0], every[:, :1], every[None], np.True_):
        with raises("HS010"):
            posterior.labels_among(0, wrong)
    with raises("HS012"):
        posterior.labels_among(0, every.astype(int))
    read_only = every.copy()
    read_only.flags.writeable = False
    assert posterior.labels_among(0, read_only) == pytest.approx(1.0)
    assert posterior.labels_among(0, np.asfortranarray(every)) == pytest.approx(1.0)
