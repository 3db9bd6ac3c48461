"""The k best segmentations, in order."""

import math

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from .problems import INF, make_cells, zeros

# --- how many -----------------------------------------------------------------------


@pytest.mark.parametrize("n_tokens, n_labels", [(1, 1), (1, 3), (4, 2), (6, 1)])
def test_there_are_no_more_than_possible(n_tokens, n_labels):
    n_possible = n_labels * (1 + n_labels) ** (n_tokens - 1)
    automaton, potentials = zeros(n_tokens, n_labels, tail=0.0)
    for k in (n_possible - 1, n_possible, n_possible + 1, 10**6):
        if k > 0:
            found = core.kbest(automaton, potentials, k)
            assert len(found) == min(k, n_possible)
    assert {score for _, score in found} == {0.0}


# --- large scores, long documents ---------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("n_tokens", [3, 100, 2000])
def test_sums_of_powers_of_two(n_tokens, value):
    """Three tokens may be A for 1, 2 and 4 less, all others for 1,000 or more less."""
    automaton, potentials = zeros(n_tokens, 2)
    potentials.inside[:, 0] = value
    potentials.inside[:, 1] = value - 1000 - np.arange(n_tokens)
    places = np.linspace(0, n_tokens - 1, 3).astype(int)
    potentials.inside[places, 1] = value - np.array([1, 2, 4])
    found = core.kbest(automaton, potentials, 8)
    assert [score - n_tokens * value for _, score in found] == [-x for x in range(8)]
    for cost, (segments, _) in enumerate(found):
        changed = [start for start, _, label in segments if label]
        bits = [place for k, place in enumerate(places) if cost >> k & 1]
        assert changed == bits


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_runs_of_the_whole_document(size):
    """Runs of O and A: all A first, then those with O somewhere, as good as each
    other."""
    automaton, potentials = zeros(200, 2, tail=0.0, patterns=[(0, 0), (1, 1)])
    potentials.inside[:, 1] = size
    potentials.pattern[:] = -INF
    found = core.kbest(automaton, potentials, 202)
    scores = [score for _, score in found]
    assert scores == [200 * size] + [199 * size] * 200 + [198 * size]
    places = [s for segments, _ in found[1:201] for s in segments if s[2] == 0]
    assert sorted(places) == [(k, k + 1, 0) for k in range(200)]


def test_a_cell_that_only_the_second_best_has():
    automaton, potentials = zeros(50, 2, tail=0.0, patterns=[(0, 0), (1, 1)])
    potentials.inside[:, 1] = -1.0
    potentials.pattern[:] = -INF
    potentials.cells = make_cells([(10, 40, 1, 29.5)])
    found = core.kbest(automaton, potentials, 2)
    assert found == [
        ([(0, 50, 0)], 0.0),
        ([(0, 10, 0), (10, 40, 1), (40, 50, 0)], -0.5),
    ]


# --- how paths are shared -----------------------------------------------------------


def test_ties_in_a_long_document_are_in_order():
    """At four places there may be A or B of one token or A of two, each for 1 less."""
    automaton, potentials = zeros(400, 3, tail=0.0, patterns=[(0, 0)])
    potentials.pattern[:] = -INF
    potentials.inside[:, 1:] = -50.0
    potentials.cells = make_cells(
        (start, start + size, label, 50.0 * size - 1.0)
        for start in (10, 100, 200, 300)
        for size, label in [(1, 1), (1, 2), (2, 1)]
    )
    found = core.kbest(automaton, potentials, 4**4)
    n_paths = [math.comb(4, n) * 3**n for n in range(5)]
    expected = [-float(n) for n in range(5) for _ in range(n_paths[n])]
    assert [score for _, score in found] == expected
    for n in range(5):
        tied = [segments for segments, score in found if score == -n]
        assert tied == sorted(tied, key=oracles.tie_key)
