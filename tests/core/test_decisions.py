"""Decisions by expected gain (mbr), and the entropy of the distribution."""

import math

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import decision_search
from spacy_hosemi.core.algorithms import entropy as entropy_module
from spacy_hosemi.core.algorithms.best_sets import LEAST

from .. import oracles
from ..helpers import assert_linear
from ..strategies import n_of, random_problem
from .problems import INF, as_core, make_cells, zeros

OBJECTIVES = ["spans", "f1"]


# --- mbr against enumeration --------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "expected_f1"),
    [(100729, 1.0), (101903, None), (102413, 0.8), (102413, 1.0)],
)
def test_a_span_that_does_not_pay_may_be_needed(seed, expected_f1):
    """Where outside cannot stand beside others."""
    problem = random_problem(np.random.default_rng(seed))
    scores = oracles.scored(problem)
    automaton, potentials, constraints = as_core(problem)
    probs = oracles.span_probabilities(scores)

    def gain(segments):
        if expected_f1 is None:
            return oracles.expected_f1(probs, segments)
        n_spans = len(oracles.spans(segments))
        return 2 * oracles.expected_correct(probs, segments) - expected_f1 * n_spans

    arguments = automaton, potentials, "f1", constraints
    found = tuple(core.mbr(*arguments, expected_f1=expected_f1))
    best = max(map(gain, oracles.possible(scores)))
    assert gain(found) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("expected_f1", [None, 0.0])
def test_long_documents_with_few_spans(expected_f1):
    """Outside may go on for long, and none of its 32 million segments is listed."""
    n_tokens = 8_000
    automaton, potentials = zeros(n_tokens, 2, tail=[0.0, -5.0], patterns=[(0, 0)])
    potentials.start[:, 1] = math.log(1e-4)
    potentials.pattern[:] = -INF
    listed = core.marginals(automaton, potentials).segments_above(1e-7, outside=False)
    assert 0 < len(listed) < 10 * n_tokens
    core.mbr(automaton, potentials, "f1", expected_f1=expected_f1)


def spans(segments):
    """Without outside, of which one segment is as good as several."""
    return [segment for segment in segments if segment[2]]


@pytest.mark.parametrize("expected_f1", [None, 0.8])
def test_what_is_tried_first_changes_nothing(expected_f1, monkeypatch):
    """All spans that pay, with outside between them."""
    rng = np.random.default_rng(5)
    problems = [
        as_core(random_problem(rng, n_tokens=int(rng.integers(1, 9)), n_labels=3))
        for _ in range(150)
    ]

    def decide():
        return [
            core.mbr(*arguments, "f1", constraints, expected_f1=expected_f1)
            for *arguments, constraints in problems
        ]

    found = decide()
    monkeypatch.setattr(decision_search, "_fillings", lambda *_: [])
    assert list(map(spans, found)) == list(map(spans, decide()))


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("expected_f1", [None, 0.05, 0.3])
def test_how_many_spans_are_listed_changes_nothing(expected_f1, outside, monkeypatch):
    """Where few spans are probable, or outside is not possible at some tokens."""
    rng = np.random.default_rng(6)
    problems = []
    for _ in range(n_of(100)):
        n_tokens, n_labels = int(rng.integers(1, 60)), int(rng.integers(2, 6))
        automaton, potentials = zeros(n_tokens, n_labels, tail=-0.5)
        potentials.inside[:] = rng.normal(scale=0.3, size=(n_tokens, n_labels))
        potentials.start[:, 1:] = rng.choice([-8.0, -3.0, 0.0])
        allowed = np.ones((n_tokens, n_labels), bool)
        allowed[:, 0] = outside | (rng.random(n_tokens) < 0.9)
        problems.append((automaton, potentials, core.Constraints(allowed)))

    def decide():
        settings = {"expected_f1": expected_f1}
        return [core.mbr(*x[:2], "f1", x[2], **settings) for x in problems]

    found = decide()
    monkeypatch.setattr(decision_search, "least_listed", lambda _: LEAST)
    assert list(map(spans, found)) == list(map(spans, decide()))


@pytest.mark.parametrize("expected_f1", [None, 0.2])
def test_documents_without_a_probable_span_take_linear_time(expected_f1):
    def decide(n_tokens):
        automaton, potentials = zeros(n_tokens, 2, tail=-0.01, patterns=[(0, 0)])
        potentials.start[:, 1] = math.log(1e-3)
        potentials.pattern[:] = -INF
        core.mbr(automaton, potentials, "f1", expected_f1=expected_f1)

    assert_linear(decide, 2_000, 16_000, 8)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("value", [1e4, -1e4])
def test_large_scores(objective, value):
    """Tokens of A and O in turn, 3 ahead: P = 0.95 each."""
    automaton, potentials = zeros(1000, 2)
    potentials.inside[:] = value
    potentials.inside[::2, 0] += 3
    potentials.inside[1::2, 1] += 3
    found = core.mbr(automaton, potentials, objective)
    if objective == "f1":
        assert found == [(k, k + 1, k % 2) for k in range(1000)]
    else:
        assert found == [(k, k + 1, 1) for k in range(1000)]


# --- entropy ------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [0.0, 0.1, 3.0, 8.0, 9.0, 20.0, 40.0, 300.0])
@pytest.mark.parametrize("n_tokens", [1, 10, 1000, 20_000])
def test_entropy_is_exact_from_the_uncertain_to_the_certain(n_tokens, ahead):
    """Each token decides between two labels; a third one is not possible. Scores of
    whole documents are rounded."""
    automaton, potentials = zeros(n_tokens, 3)
    potentials.inside[:, 1] = ahead
    potentials.inside[:, 2] = -INF
    rest = math.exp(-ahead)
    each = math.log1p(rest) + ahead * rest / (1 + rest)
    found = core.entropy(automaton, potentials)
    tolerance = 1e-12 + 1e-15 * n_tokens * ahead
    assert found == pytest.approx(n_tokens * each, rel=tolerance, abs=0.0)


@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0, 100.0, 1e4])
@pytest.mark.parametrize("n_tokens", [1, 7, 400])
def test_entropy_by_counts_equals_that_by_choices(n_tokens, scale, monkeypatch):
    """Where scores are large, only the choices are exact, and the bound says so."""
    rng = np.random.default_rng(n_tokens)
    for has_tail in (False, True):
        patterns = [(0, 1), (1, 1, 2), (2, "$")]
        tail = -0.3 if has_tail else -INF
        automaton, potentials = zeros(n_tokens, 3, 3, tail, patterns, observed=[(1, 2)])
        for name in ("inside", "start", "end", "pattern"):
            scores = getattr(potentials, name)
            scores[:] = rng.normal(0.0, scale, scores.shape)
        potentials.inside[:, 1:][rng.random((n_tokens, 3)) < 0.1] = -INF
        rows = [(k, min(k + 5, n_tokens), 2, scale) for k in range(0, n_tokens, 4)]
        potentials.cells = make_cells([*rows, (0, 1, 1, -INF)])
        found = core.entropy(automaton, potentials)
        with monkeypatch.context() as patch:
            patch.setattr(entropy_module, "LEAST_SHARE", INF)
            expected = core.entropy(automaton, potentials)
        assert found == pytest.approx(expected, rel=1e-10, abs=0.0)
