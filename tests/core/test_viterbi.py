"""The best segmentation, its score, and the rule for ties."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import viterbi

from .. import oracles
from ..strategies import EXACT, random_patterns, random_problem
from .problems import INF, as_core, raises, zeros


@pytest.mark.parametrize("observed", [(), (("^", 0), (0, 0))], ids=["", "observed"])
def test_long_document_equals_the_reference(observed):
    rng = np.random.default_rng(16)
    patterns = ((0, 0), ("^", 0, 0), (0, "$"))
    problem = random_problem(
        rng,
        kinds=("ties",),
        n_tokens=800,
        patterns=patterns,
        constrained=False,
        observed=observed,
    )
    segments, score = oracles.reference_best(problem)
    assert core.viterbi(*as_core(problem)) == (list(segments), score)


@pytest.mark.parametrize("constrained", [False, None])
def test_documents_in_the_room_of_others(constrained):
    """The automaton keeps the room of a document: the next one may be longer or
    shorter, with other lengths, cells and constraints, or not be one at all."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        n_labels = int(rng.integers(1, 4))
        patterns = random_patterns(rng, n_labels, 3, 5)
        same = {"n_labels": n_labels, "patterns": patterns, "observed": ()}
        automaton = None
        for n_tokens in rng.permutation([0, 1, 2, 3, 5, 8, 13, 9, 4]).tolist():
            problem = random_problem(
                rng, kinds=EXACT, n_tokens=n_tokens, constrained=constrained, **same
            )
            if rng.random() < 0.3:
                problem = problem._replace(cells=[])
            made, potentials, constraints = as_core(problem)
            automaton = automaton or made
            segments, score = oracles.reference_best(problem)
            found = core.viterbi(automaton, potentials, constraints)
            assert found == (list(segments), score)
            if n_tokens == 5:
                with raises("HS011"):
                    wrong = replace(potentials, tail=np.full(n_labels, np.nan))
                    core.viterbi(automaton, wrong)


def test_room_of_finished_documents_from_many_threads():
    automaton, potentials = zeros(30, 3, tail=0.0, patterns=[(0, 1), (1, 2)])
    rng = np.random.default_rng(4)
    docs = [
        replace(
            potentials,
            **{x: rng.normal(size=(n, 3)) for x in ("inside", "start", "end")},
        )
        for n in rng.integers(0, 30, 200)
    ]
    expected = [core.viterbi(automaton, doc) for doc in docs]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda doc: core.viterbi(automaton, doc), docs * 5))
    assert found == expected * 5


# --- ties -------------------------------------------------------------------------


def tokens(*labels) -> list[tuple[int, int, int]]:
    return [(k, k + 1, y) for k, y in enumerate(labels)]


@pytest.mark.parametrize(
    "given, pattern, expected",
    [
        ((4, 3, 1, 0.0), None, [(0, 4, 0)]),
        ((4, 3), None, tokens(0, 0, 0, 0)),
        # At most 3 of 5 tokens: the first segment is the long one.
        ((5, 2, 3), None, [(0, 3, 0), (3, 5, 0)]),
        # A could cover everything, O one token only: the smaller label comes first.
        ((3, 2, 1, [-INF, 0.0]), None, tokens(0, 0, 0)),
        # O A and A O tie, all else is forbidden: the first segment decides.
        ((2, 2, 1, -INF, [(0, 0), (1, 1)]), -INF, tokens(0, 1)),
        # O O O, O O A and A A O tie: after O O the next label is O too.
        ((3, 2, 1, -INF, [(0, 0, 0), (0, 0, 1), (1, 1, 0)]), 1.0, tokens(0, 0, 0)),
    ],
)
def test_ties_by_hand(given, pattern, expected):
    automaton, potentials = zeros(*given)
    if pattern is not None:
        potentials.pattern[:] = pattern
    for method in viterbi.METHODS[:3]:
        assert core.viterbi(automaton, potentials, method=method)[0] == expected
