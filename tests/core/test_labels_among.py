"""Probabilities of sets of tags on adjacent tokens; `test_answers` has enumeration."""

import math

import numpy as np
import pytest

from spacy_hosemi import core

from .problems import raises, zeros

PATTERNS = ((0, 1), (1, 2, 1), ("^", 2), (1, "$"), (2, 2, 0))


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
