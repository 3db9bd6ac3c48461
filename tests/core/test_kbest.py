"""The k best segmentations, in order."""

import math

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from .problems import INF, make_cells, zeros


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
