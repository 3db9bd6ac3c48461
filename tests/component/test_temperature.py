"""Scores divided by a temperature: predictions are in test_answers."""

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from ..core.problems import as_core
from ..helpers import fit_anew
from ..strategies import random_problem


@pytest.mark.parametrize("seed", range(40))
def test_scores_times_a_factor(seed):
    """Forbidden stays forbidden; cells, entries and lengths have a part in it."""
    rng = np.random.default_rng(seed)
    problem, factor = random_problem(rng), float(rng.choice([0.25, 0.5, 2.0]))
    automaton, potentials, constraints = as_core(problem)
    scaled = potentials.times(factor)
    expected = {s: factor * x for s, x in oracles.scored(problem).items()}
    found = core.log_partition(automaton, scaled, constraints)
    assert found == pytest.approx(oracles.log_z(expected), rel=1e-9, abs=1e-9)
    for name in ("inside", "length", "tail", "cells", "entries", "pattern"):
        old, new = getattr(potentials, name), getattr(scaled, name)
        assert old is None or not np.shares_memory(old, new)


def test_training_stays():
    """It is of no account there: weights and losses are those at 1."""
    plain, warm = fit_anew(), fit_anew(temperature=2.5)
    weights = [nlp.get_pipe("hosemi").get_weights().tolist() for nlp in (plain, warm)]
    assert weights[0] == weights[1]
