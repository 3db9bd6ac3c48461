"""How often a segmentation reads each potential, against enumeration."""

from copy import deepcopy

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from ..strategies import random_problem
from .problems import INF, as_core, given_columns, gradient_fields, n_of, raises, zeros


def test_counts_of_random_segmentations():
    """Of observed columns too, dense ones and those of cells and entries."""
    n_observed = n_impossible = 0
    for seed in range(n_of(80)):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, constrained=False)
        automaton, potentials, _ = as_core(problem)
        scores = list(oracles.scored(problem).items())
        for k in rng.integers(len(scores), size=3):
            segments, score = scores[k]
            counts = core.marginals(automaton, potentials).gradient
            before = deepcopy(gradient_fields(counts))
            found = core.add_counts(automaton, potentials, segments, counts, 2.0)
            assert found == pytest.approx(score, rel=1e-9, abs=1e-9)
            expected = oracles.marginals(problem, {segments: 0.0})
            n_impossible += score == -INF
            n_observed += bool(problem.observed)
            for name, array in gradient_fields(counts).items():
                more = 0.0
                if score > -INF:
                    more = 2.0 * given_columns(getattr(expected, name), array)
                np.testing.assert_allclose(
                    array, before[name] + more, atol=1e-9, err_msg=f"{name} {seed}"
                )
    assert n_impossible > n_of(10)
    assert n_observed > n_of(40)


def test_segments_are_checked():
    automaton, potentials = zeros(3, 2)
    gradient = core.marginals(automaton, potentials).gradient
    with raises("HS020"):
        core.add_counts(automaton, potentials, [(0, 2, 1)], gradient)
    with raises("HS021"):
        core.add_counts(automaton, potentials, [(0, 3, 2)], gradient)
