"""Which groups bounds leave: all that can be part of a best segmentation, and few."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.sweeps.viterbi_bounds import groups_left

from .families import cases
from .problems import INF, make_cells, zeros


@pytest.mark.parametrize("family", ["sharp", "any", "rules"])
def test_every_label_of_every_best_segmentation_is_left(family):
    n_held = 0
    for case in cases(family)[:60]:
        left = groups_left(*case.arguments)
        if left is None:
            continue
        n_held += 1
        labels = [{int(case.automaton.group_label[g]) for g in gs} for gs in left]
        _, score = case.expected.best
        for segmentation, value in case.expected.scores.items():
            if value == score and case.is_exact:
                for i, j, y in segmentation:
                    assert all(y in labels[k] for k in range(i, j)), segmentation
    assert n_held > 15 or family != "sharp"


def test_by_hand():
    """A B B beats all else by 9 or more, and the pattern A A by 1 at most."""
    automaton, potentials = zeros(3, 4, patterns=[(1, 1), (1, 1, 1)])
    potentials.inside[:] = -10.0
    potentials.inside[[0, 1, 2], [1, 2, 2]] = 0.0
    potentials.pattern[:] = 1.0, -5.0
    assert groups_left(automaton, potentials) == [[1], [2], [2]]
    expected = [(0, 1, 1), (1, 2, 2), (2, 3, 2)], 0.0
    assert core.viterbi(automaton, potentials, method="bounds") == expected


@pytest.mark.parametrize("score", [20.0, 120.0])
def test_a_cell_may_outweigh_all_tokens(score):
    automaton, potentials = zeros(3, 6)
    potentials.inside[:, 1:] = -30.0
    cells = make_cells([(0, 3, 3, score), (0, 3, 4, -1.0)])
    potentials = replace(potentials, tail=np.zeros(6), cells=cells)
    label = 3 if score > 90.0 else 0
    left = groups_left(automaton, potentials)
    assert left is None or all(label in groups for groups in left)
    best = core.viterbi(automaton, potentials, method="bounds")
    assert best == ([(0, 3, label)], max(score - 90.0, 0.0))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e4, 1e11])
@pytest.mark.parametrize("n_tokens", [1, 2, 20_000])
def test_rounding_loses_nothing(size, n_tokens):
    rng = np.random.default_rng(n_tokens)
    automaton, potentials = zeros(n_tokens, 5, patterns=[(0, 1), (1, 1, 2), (3, 4)])
    inside = size * rng.normal(size=(n_tokens, 5))
    pattern = size * rng.normal(size=3)
    potentials = replace(potentials, inside=inside, pattern=pattern, tail=np.zeros(5))
    expected = core.viterbi(automaton, potentials, method="automaton")
    assert core.viterbi(automaton, potentials, method="bounds") == expected


@pytest.mark.parametrize("seed", range(10))
def test_scores_that_cancel_within_a_segment(seed):
    rng = np.random.default_rng(seed)
    automaton, potentials = zeros(1, 1)
    potentials.inside[:], potentials.start[:] = -2e4, rng.normal()
    potentials.end[:] = rng.normal()
    potentials = replace(potentials, cells=make_cells([(0, 1, 0, 2e4 + rng.normal())]))
    best = [core.viterbi(automaton, potentials, method=x) for x in ("auto", "bounds")]
    assert best[0] == best[1] and best[0][0] == [(0, 1, 0)]


def test_nothing_left_and_nothing_possible():
    automaton, potentials = zeros(0, 3)
    assert groups_left(automaton, potentials) is None
    assert core.viterbi(automaton, potentials, method="bounds") == ([], 0.0)
    automaton, potentials = zeros(2, 3)
    potentials.inside[1] = -INF
    assert groups_left(automaton, potentials) is None
    assert core.viterbi(automaton, potentials, method="bounds") == ([], -INF)
    # The best path of the relaxation is none: two patterns exclude each other.
    automaton, potentials = zeros(2, 2, patterns=[(0, 0), (1, 1), (0, 1), (1, 0)])
    potentials.pattern[:] = -INF
    assert core.viterbi(automaton, potentials, method="bounds") == ([], -INF)
