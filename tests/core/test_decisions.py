"""Decisions by expected gain (mbr), and the entropy of the distribution."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given

from spacy_hosemi import core
from spacy_hosemi.core.algorithms import decision_search
from spacy_hosemi.core.algorithms import entropy as entropy_module
from spacy_hosemi.core.algorithms.best_sets import LEAST

from .. import oracles
from ..helpers import assert_linear
from ..strategies import KINDS, problems_nLD, random_problem
from .problems import INF, as_core, few_examples, make_cells, n_of, raises, zeros
from .test_inference import IMPOSSIBLE, renewal

GAINS = {"spans": oracles.expected_correct, "f1": oracles.expected_f1}
OBJECTIVES = list(GAINS)
N_PROBLEMS = n_of(500)


@cache
def scored(seed: int):
    problem = random_problem(np.random.default_rng(seed))
    return problem, oracles.scored(problem)


def loss(found, objective: str, scores: oracles.Scores) -> float:
    """How much less a decision gains than the best possible one; inf: a wrong one."""
    possible = oracles.possible(scores)
    if not possible:
        return 0.0 if found == [] else INF
    if scores.get(tuple(found), -INF) == -INF:
        return INF
    probs = oracles.span_probabilities(scores)
    gain = GAINS[objective]
    return max(gain(probs, s) for s in possible) - gain(probs, tuple(found))


# --- mbr by hand --------------------------------------------------------------------


def test_the_best_need_not_have_the_most_correct_spans():
    """A A 3, A O 2, O A 2, one A of two tokens 4, of 11 parts.

    P(A at 0) = P(A at 1) = 5 / 11: A A gains 10 / 11, the best one 4 / 11.
    """
    automaton, potentials = zeros(
        2, 2, tail=[-INF, 0.0], patterns=[(0, 0), (0, 1), (1, 0), (1, 1)]
    )
    potentials.cells = make_cells([(0, 2, 1, math.log(4))])
    potentials.pattern[:] = -INF, math.log(2), math.log(2), math.log(3)
    best = core.viterbi(automaton, potentials)[0]
    assert best == [(0, 2, 1)]
    assert core.mbr(automaton, potentials) == [(0, 1, 1), (1, 2, 1)]
    assert core.mbr(automaton, potentials, "f1") == [(0, 1, 1), (1, 2, 1)]


def test_f1_predicts_fewer_spans_than_spans():
    """Two tokens, A with 4/5 and 1/10: a second span is right too seldom for F1.

    E[gold] = 9/10. Of A O: 2 * 0.8 / 1.9 = 0.84; of A A: 2 * 0.9 / 2.9 = 0.62.
    """
    automaton, potentials = zeros(2, 2)
    potentials.inside[:, 1] = math.log(4), -math.log(9)
    assert core.mbr(automaton, potentials, "spans") == [(0, 1, 1), (1, 2, 1)]
    assert core.mbr(automaton, potentials, "f1") == [(0, 1, 1), (1, 2, 0)]


def test_f1_predicts_spans_that_are_not_likely():
    """Ten tokens, A with 1/4 each: all of them gain more than none."""
    automaton, potentials = zeros(10, 2)
    potentials.inside[:, 1] = -math.log(3)
    expected = [(k, k + 1, 1) for k in range(10)]
    assert core.viterbi(automaton, potentials)[0] == [(k, k + 1, 0) for k in range(10)]
    # all: 2 * 2.5 / 12.5 = 0.4; m of them: 2 m / 4 / (m + 2.5), which grows with m
    assert core.mbr(automaton, potentials, "f1") == expected


# --- mbr against enumeration --------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gain_equals_enumeration(objective):
    worst = (0.0, 0)
    for seed in range(N_PROBLEMS):
        problem, scores = scored(seed)
        automaton, potentials, constraints = as_core(problem)
        found = core.mbr(automaton, potentials, objective, constraints)
        lost = loss(found, objective, scores)
        worst = max(worst, (lost, seed))
        # it need not find the very best, but not less than what viterbi gives
        best, _ = core.viterbi(automaton, potentials, constraints)
        assert lost <= loss(best, objective, scores) + 1e-9, f"seed {seed}"
    print(f"{objective}: worst loss over {N_PROBLEMS} problems {worst[0]:.1e}")
    assert worst[0] < 1e-5, f"random_problem(np.random.default_rng({worst[1]}))"


@pytest.mark.parametrize("objective", OBJECTIVES)
@few_examples
@given(problem=problems_nLD())
def test_gain_equals_enumeration_on_any_problem(problem, objective):
    automaton, potentials, constraints = as_core(problem)
    found = core.mbr(automaton, potentials, objective, constraints)
    assert loss(found, objective, oracles.scored(problem)) < 1e-5


def test_spans_that_pay_at_a_given_f1_equal_enumeration():
    for seed in range(n_of(100)):
        problem, scores = scored(seed)
        automaton, potentials, constraints = as_core(problem)
        prob = oracles.span_probabilities(scores)
        for ratio in (0.0, 0.3, 1.0):

            def gain(segments, prob=prob, ratio=ratio):
                return sum(
                    2 * prob.get(s, 0.0) - ratio for s in oracles.spans(segments)
                )

            found = core.mbr(
                automaton, potentials, "f1", constraints, expected_f1=ratio
            )
            possible = oracles.possible(scores)
            assert bool(found) == bool(possible and problem.n_tokens)
            best = max(map(gain, possible), default=0.0)
            assert gain(found) == pytest.approx(best, abs=1e-5), f"seed {seed}"


@pytest.mark.parametrize(
    ("seed", "expected_f1"),
    [(100729, 1.0), (101903, None), (102413, 0.8), (102413, 1.0)],
)
def test_a_span_that_does_not_pay_may_be_needed(seed, expected_f1):
    """Where outside cannot stand beside others."""
    problem, scores = scored(seed)
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
        for _ in range(300)
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
@pytest.mark.parametrize("n_tokens", [40, 150])
def test_gain_on_longer_documents(n_tokens, objective):
    """Not less than those of the best and of 200 samples, by the marginals."""
    rng = np.random.default_rng(n_tokens)
    for _ in range(6):
        problem = random_problem(
            rng, kinds=("small",), n_tokens=n_tokens, constrained=False
        )
        arguments = as_core(problem)[:2]
        marginals = core.marginals(*arguments)
        if marginals.log_z == -INF:
            continue
        found = core.mbr(*arguments, objective)
        assert core.score(*arguments, found) > -INF
        n_gold = marginals.gradient.start[:, 1 : problem.n_labels].sum()

        prob = cache(marginals.segment)

        def gain(segments, prob=prob, n_gold=n_gold):
            spans = oracles.spans(segments)
            correct = sum(prob(*span) for span in spans)
            if objective == "spans":
                return correct
            return 2 * correct / max(len(spans) + n_gold, 1e-300)

        others = [core.viterbi(*arguments)[0], *core.sample(*arguments, 200)]
        assert gain(found) >= max(map(gain, others)) - 1e-6


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_certain_segmentation_is_decided_for(objective):
    """One that is far ahead of all others. That another span is right has some
    probability, however small, and so "spans" may add it where that costs nothing."""
    for seed in range(n_of(100)):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, kinds=("small",), constrained=False)
        scores = oracles.scored(problem)
        possible = oracles.possible(scores)
        if not possible:
            continue
        chosen = possible[rng.integers(len(possible))]
        cells = [(*segment, 500.0) for segment in chosen]
        boundary = np.zeros(problem.n_tokens + 1, dtype=np.int8)
        boundary[[0, *(end for _, end, _ in chosen)]] = 1
        problem = problem._replace(cells=problem.cells + cells, boundary=boundary)
        automaton, potentials, constraints = as_core(problem)
        found = core.mbr(automaton, potentials, objective, constraints)
        spans = set(oracles.spans(chosen))
        assert spans <= set(oracles.spans(found))
        if objective == "f1" and spans:
            assert spans == set(oracles.spans(found))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("case", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_nothing_possible(case, objective):
    arguments, constraints = case
    assert core.mbr(*arguments, objective, core.Constraints(**constraints)) == []


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_only_outside(objective):
    """There is no span to find, and the segments cover the document all the same."""
    automaton, potentials = zeros(4, 1, tail=0.0)
    found = core.mbr(automaton, potentials, objective)
    assert core.score(automaton, potentials, found) == 0.0
    assert core.mbr(*zeros(0, 2), objective) == []


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


def test_result_has_plain_numbers():
    segments = core.mbr(*zeros(2, 2))
    assert isinstance(segments, list)
    assert all(type(segment) is tuple for segment in segments)
    assert all(type(x) is int for segment in segments for x in segment)


@pytest.mark.parametrize("objective", ["", "F1", "tokens", None])
def test_error_objective(objective):
    for accepted in OBJECTIVES:
        core.mbr(*zeros(1, 1), objective=accepted)
    with raises("HS023"):
        core.mbr(*zeros(1, 1), objective=objective)


# --- entropy ------------------------------------------------------------------------


def test_entropy_by_hand():
    """O O, O A, A O, A A have 1, 3, 5 and 15 of 24."""
    automaton, potentials = zeros(2, 2)
    potentials.inside[:, 1] = math.log(5), math.log(3)
    probs = np.array([1, 3, 5, 15]) / 24
    expected = -(probs * np.log(probs)).sum()
    found = core.entropy(automaton, potentials)
    assert type(found) is float
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_entropy_equals_enumeration(kind):
    worst = (0.0, 0)
    for seed in range(n_of(200)):
        problem = random_problem(np.random.default_rng(seed), kinds=(kind,))
        expected = oracles.entropy(oracles.scored(problem))
        found = core.entropy(*as_core(problem))
        assert found == -INF if expected == -INF else found >= 0.0
        error = 0.0 if found == expected else abs(found - expected)
        worst = max(worst, (error if error == error else INF, seed))
    print(f"{kind}: worst error over 200 problems {worst[0]:.1e}")
    is_large = kind in ("huge", "steps", "spikes")
    assert worst[0] < (1e-7 if is_large else 1e-9), f"seed {worst[1]}"


@few_examples
@given(problems_nLD())
def test_entropy_equals_enumeration_on_any_problem(problem):
    expected = oracles.entropy(oracles.scored(problem))
    found = core.entropy(*as_core(problem))
    assert found == expected or abs(found - expected) < 1e-7
    assert found == -INF or found >= 0.0


@pytest.mark.parametrize("n_tokens", [12, 30, 60])
def test_entropy_equals_the_reference(n_tokens):
    rng = np.random.default_rng(n_tokens + 2)
    for _ in range(15):
        problem = random_problem(rng, kinds=("small", "medium"), n_tokens=n_tokens)
        expected = oracles.reference_entropy(problem)
        found = core.entropy(*as_core(problem))
        assert found == expected or found == pytest.approx(expected, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("n_labels", [1, 3])
@pytest.mark.parametrize("n_tokens", [1, 2, 1000])
@pytest.mark.parametrize("value", [0.0, -1e4, 1e4])
def test_entropy_of_equally_likely_segmentations(n_tokens, n_labels, value):
    """Each token but the first goes on, or starts one of L labels."""
    automaton, potentials = zeros(n_tokens, n_labels, tail=0.0)
    potentials.inside[:] = value
    expected = math.log(n_labels) + (n_tokens - 1) * math.log(1 + n_labels)
    tolerance = 1e-8 + 1e-12 * n_tokens * abs(value)
    assert core.entropy(automaton, potentials) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("seed", range(6))
def test_entropy_is_the_log_of_a_count(seed):
    """All scores are 0 or -inf: a dynamic program counts what is possible. What only
    the label 0 reads is 0, so that there is something."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, kinds=("ties",), n_tokens=1000, n_labels=2, constrained=False
    )
    has_label_1 = np.array([False, True, *(1 in z for z in problem.observed)])

    def scores(shape, may_be_inf):
        return np.where(may_be_inf & (rng.random(shape) < 0.2), -INF, 0.0)

    for name in ("inside", "start", "end"):
        shape = getattr(problem, name).shape
        columns = scores(shape, has_label_1[: shape[1]])
        problem = problem._replace(**{name: columns})
    may_be_inf = np.array([1 in z for z in problem.patterns], dtype=bool)
    problem = problem._replace(
        length=np.zeros_like(problem.length),
        tail=np.zeros(2),
        pattern=scores(len(problem.patterns), may_be_inf),
        cells=[],
        entries=(),
    )
    expected = oracles.reference_log_z(problem)
    assert expected > 0.0
    assert core.entropy(*as_core(problem)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("value", [0.0, -1e4, 1e4])
def test_entropy_of_a_long_document(value):
    """Each of 100,000 tokens decides on its own, so their entropies add."""
    n_tokens, n_labels = 100_000, 2
    automaton, potentials, _, goes_on = renewal(n_tokens, n_labels, value, -1.5, -0.25)
    starts = (1 - goes_on) / n_labels
    each = -goes_on * math.log(goes_on) - (1 - goes_on) * math.log(starts)
    expected = math.log(n_labels) + (n_tokens - 1) * each
    tolerance = 1e-9 if value == 0.0 else 1e-6
    assert core.entropy(automaton, potentials) == pytest.approx(expected, rel=tolerance)


def test_entropy_of_two_long_alternatives():
    """All O against one A, whatever they score."""
    for n_tokens, value in [(2000, 0.0), (2000, 1e4), (50, -1e4)]:
        patterns = [(0, 1), (1, 0), (1, 1)]
        automaton, potentials = zeros(n_tokens, 2, tail=[-INF, 0.0], patterns=patterns)
        potentials.inside[:] = value
        potentials.pattern[:] = -INF
        found = core.entropy(automaton, potentials)
        tolerance = 1e-8 + 1e-12 * n_tokens * abs(value)
        assert found == pytest.approx(math.log(2), abs=tolerance)


@pytest.mark.parametrize("ahead", [1.0, 30.0, 50.0, 800.0])
def test_entropy_of_a_near_certainty(ahead):
    """One of two is ahead: H = log(1 + e^-a) + a e^-a / (1 + e^-a)."""
    automaton, potentials = zeros(1, 2)
    potentials.inside[0, 1] = ahead
    rest = math.exp(-ahead)
    expected = math.log1p(rest) + ahead * rest / (1 + rest)
    found = core.entropy(automaton, potentials)
    assert found >= 0.0
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


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


def test_entropy_of_one_possible_segmentation_is_0():
    automaton, potentials = zeros(500, 2, patterns=[("^", 1), (0, 1)])
    potentials.inside[:] = np.random.default_rng(0).normal(scale=1e3, size=(500, 2))
    potentials.pattern[:] = -INF
    assert 0.0 <= core.entropy(automaton, potentials) < 1e-7


@pytest.mark.parametrize("case", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_entropy_of_nothing_possible(case):
    arguments, constraints = case
    assert core.entropy(*arguments, core.Constraints(**constraints)) == -INF


def test_entropy_of_an_empty_document():
    automaton, potentials = zeros(0, 2, patterns=[("^", "$")])
    potentials.pattern[0] = -1e4
    assert core.entropy(automaton, potentials) == 0.0
    potentials.pattern[0] = -INF
    assert core.entropy(automaton, potentials) == -INF


def test_constraints_lower_the_entropy_to_what_is_left():
    automaton, potentials = zeros(3, 2)
    allowed = np.array([[True, True], [True, False], [True, True]])
    found = core.entropy(automaton, potentials, core.Constraints(allowed))
    assert found == pytest.approx(math.log(4))


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_expected_f1_must_be_a_share(value):
    with pytest.raises(ValueError, match="HS026.*expected_f1 is .*from 0 to 1"):
        core.mbr(*zeros(1, 2), "f1", expected_f1=value)
