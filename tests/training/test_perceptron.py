"""The loss of the perceptron, against enumeration and central differences."""

import math
import pickle

import numpy as np
import pytest

from spacy_hosemi.core import Constraints, compile_grammar, viterbi
from spacy_hosemi.labels.gold import Gold
from spacy_hosemi.training.objectives import (
    is_zero,
    make_perceptron,
    no_counts,
    perceptron,
)

from .. import oracles
from ..core.problems import (
    FIELDS,
    as_core,
    given_columns,
    gradient_fields,
    make_automaton,
    zeros,
)
from ..helpers import find, make_examples, make_nlp
from ..strategies import random_constraints, random_problem

PERCEPTRON = {"@misc": "spacy_hosemi.perceptron.v1"}


def random_case(seed, is_complete):
    """A problem, its scores by enumeration, what agrees with the gold, and the gold."""
    rng = np.random.default_rng(seed)
    while True:
        n_tokens = int(rng.integers(1, 5))
        problem = random_problem(
            rng, kinds=("small",), n_tokens=n_tokens, constrained=False
        )
        scores = oracles.scored(problem)
        possible = oracles.possible(scores)
        if not possible:
            continue
        if is_complete:
            segments = possible[rng.integers(len(possible))]
            return problem, scores, [segments], Gold(list(segments), None, n_tokens)
        limits = random_constraints(rng, n_tokens, problem.n_labels)
        agreeing = oracles.possible(oracles.scored(problem._replace(**limits)))
        if agreeing:
            gold = Gold(None, Constraints(**limits), n_tokens)
            return problem, scores, agreeing, gold


def n_wrong(segments, agreeing, gold):
    """Tokens with a label that is known to be wrong."""
    wrong = 0
    for start, end, y in segments:
        for i in range(start, end):
            if gold.segments is not None:
                (right,) = (z for u, j, z in agreeing[0] if u <= i < j)
                wrong += y != right
            elif gold.constraints.allowed is not None:
                wrong += not gold.constraints.allowed[i, y]
    return wrong


@pytest.mark.parametrize("is_complete", [True, False])
def test_enumeration(is_complete):
    """What is sought in a problem for two margins is enumerated once."""
    cases = [random_case(seed, is_complete) for seed in range(60)]
    n_right = [n_equal(cases, margin) for margin in (0.0, 0.7)]
    assert all(6 < n < 54 for n in n_right)


def n_equal(cases, margin) -> int:
    """Of how many problems the best segmentation is the gold; all must be right."""
    n_right = 0
    for problem, scores, agreeing, gold in cases:
        rivals = {
            s: score + margin * n_wrong(s, agreeing, gold)
            for s, score in scores.items()
        }
        best = max(rivals, key=rivals.get)
        right = max(agreeing, key=scores.get)
        automaton, potentials, _ = as_core(problem)
        loss, gradient = perceptron(automaton, potentials, gold, margin)
        assert loss == pytest.approx(rivals[best] - scores[right], abs=1e-9)
        assert loss >= 0.0
        assert is_zero(gradient) == (best == right)
        n_right += best == right
        taken, given = (oracles.marginals(problem, {s: 0.0}) for s in (best, right))
        for name, array in gradient_fields(gradient).items():
            expected = getattr(taken, name) - getattr(given, name)
            expected = given_columns(expected, array)
            np.testing.assert_allclose(array, expected, atol=1e-12, err_msg=name)
    return n_right


def test_among_equals():
    """Without weights all score 0, and still there is something to learn."""
    automaton, potentials = zeros(3, 2, tail=0.0)
    best, score = viterbi(automaton, potentials)
    assert score == 0.0
    loss, gradient = perceptron(automaton, potentials, Gold(best, None, 3))
    assert loss == 0.0
    assert is_zero(gradient)
    loss, gradient = perceptron(automaton, potentials, Gold([(0, 3, 1)], None, 3))
    assert loss == 0.0
    assert gradient.start[0].tolist() == [1.0, -1.0]
    assert gradient.tail.tolist() == [2.0, -2.0]


def test_nothing_known_costs_nothing():
    automaton, potentials = zeros(3, 2)
    loss, gradient = perceptron(automaton, potentials, Gold(None, Constraints(), 0))
    assert loss == 0.0
    assert is_zero(gradient)


def test_gold_that_breaks_rules_is_learnt_from_without_them():
    labels = ("O", "A")
    rules = compile_grammar(labels, ["A at most once"])
    automaton = make_automaton(2, grammar=rules)
    _, potentials = zeros(3, 2)
    potentials.inside[:] = np.random.default_rng(0).normal(size=(3, 2))
    potentials.inside[:, 0] += 5.0
    gold = Gold([(0, 1, 1), (1, 2, 0), (2, 3, 1)], None, 3)
    found = perceptron(automaton, potentials, gold)
    expected = perceptron(automaton.without_grammar, potentials, gold)
    assert found[0] == expected[0] > 0.0
    fields = gradient_fields(expected[1])
    for name, array in gradient_fields(found[1]).items():
        assert (array == fields[name]).all()


@pytest.mark.parametrize("is_complete", [True, False])
def test_impossible_gold(is_complete):
    automaton, potentials = zeros(2, 2)
    potentials.inside[1, 1] = -np.inf
    allowed = np.array([[True, True], [False, True]])
    gold = Gold(None, Constraints(allowed), 2)
    if is_complete:
        gold = Gold([(0, 1, 0), (1, 2, 1)], None, 2)
    with pytest.raises(ValueError, match="HS056"):
        perceptron(automaton, potentials, gold)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_potentials_are_only_read(margin):
    problem, *_, gold = random_case(1, True)
    automaton, potentials, _ = as_core(problem)
    for name in FIELDS:
        if (array := getattr(potentials, name)) is not None:
            array.setflags(write=False)
    loss, _ = perceptron(automaton, potentials, gold, margin)
    assert isinstance(loss, float)


def test_is_zero():
    automaton, potentials = zeros(2, 2, patterns=[(0, 1)])
    assert is_zero(no_counts(potentials))
    for name in ("inside", "start", "end", "length", "tail", "pattern"):
        gradient = no_counts(potentials)
        getattr(gradient, name).flat[-1] = -1.0
        assert not is_zero(gradient)


@pytest.mark.parametrize("margin", [-0.1, math.nan, math.inf])
def test_margin_out_of_range(margin):
    with pytest.raises(ValueError, match="HS043.*margin"):
        make_perceptron(margin)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_online_training(margin):
    nlp = make_nlp(objective={**PERCEPTRON, "margin": margin})
    pickle.loads(pickle.dumps(nlp.get_pipe("hosemi").objective))
    optimizer = nlp.initialize(lambda: make_examples(nlp))
    losses = []
    for _ in range(15):
        found = nlp.update(make_examples(nlp), sgd=optimizer)
        losses.append(found["hosemi"])
    assert losses[-1] < max(losses) / 10
    doc = "Ada Lovelace wrote to Mary Somerville."
    assert find(nlp, doc) == [("Ada Lovelace", "PER"), ("Mary Somerville", "PER")]
