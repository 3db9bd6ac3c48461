"""What label patterns would add: against enumeration, and in training."""

import copy

import numpy as np
import pytest

from spacy_hosemi import core
from spacy_hosemi.labels.gold import Gold
from spacy_hosemi.training import gains
from spacy_hosemi.training.gains import pattern_gains

from . import oracles
from .helpers import (
    as_problem,
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    make_trained,
    triples,
)

LABELS = ("O", "A", "B")
CANDIDATES = [("A", "B", "A"), ("^", "A", "O"), ("B", "A", "B", "$"), ("O", "B", "O")]


def occurrences(pattern, segmentation) -> int:
    names = ["^", *(LABELS[y] for _, _, y in segmentation), "$"]
    size = len(pattern)
    return sum(
        tuple(names[i : i + size]) == pattern for i in range(len(names) - size + 1)
    )


def make_documents(seed):
    rng = np.random.default_rng(seed)
    automaton = core.PatternAutomaton(LABELS, [("O", "O"), ("A", "B")])
    documents = []
    for n in (3, 5, 4):
        potentials = core.Potentials.zeros(automaton, n, 1)
        potentials.inside[:] = rng.normal(size=(n, 3))
        potentials.start[:] = rng.normal(size=(n, 3))
        potentials.tail[:] = 0.0
        potentials.pattern[:] = -np.inf, 0.5
        documents.append(potentials)
    return automaton, documents


def moments(automaton, potentials, constraints=None):
    """Mean and variance of the counts of the candidates, by enumeration."""
    problem = as_problem(automaton, potentials, constraints)
    found = oracles.probabilities(oracles.scored(problem)).items()
    counts = np.array([[occurrences(p, s) for p in CANDIDATES] for s, _ in found])
    probs = np.array([p for _, p in found])
    mean = probs @ counts
    return mean, probs @ counts**2 - mean**2


def test_gains_are_those_of_enumeration(monkeypatch):
    monkeypatch.setattr(gains, "DRAWS", 4000)
    automaton, documents = make_documents(1)
    golds = [
        Gold([(0, 1, 1), (1, 2, 2), (2, 3, 1)], None, 3),
        Gold([(0, 2, 2), (2, 3, 1), (3, 5, 2)], None, 5),
        Gold([(0, 3, 0), (3, 4, 2)], None, 4),
    ]
    excess, variance = np.zeros((2, 4))
    for potentials, gold in zip(documents, golds, strict=True):
        mean, of_document = moments(automaton, potentials)
        excess += [occurrences(p, gold.segments) for p in CANDIDATES] - mean
        variance += of_document
    found = pattern_gains(
        automaton, CANDIDATES, zip(documents, golds, strict=True), 0.3
    )
    expected = excess**2 / (2 * (variance + 0.3))
    np.testing.assert_allclose(found, expected, rtol=0.1, atol=0.05)
    assert expected.max() > 0.5


def test_what_is_missing_is_expected_under_what_is_known(monkeypatch):
    monkeypatch.setattr(gains, "DRAWS", 4000)
    automaton, documents = make_documents(2)
    allowed = np.ones((5, 3), bool)
    allowed[1] = [False, True, False]
    constraints = core.Constraints(allowed=allowed)
    golds = [Gold(None, None, 0), Gold(None, constraints, 1)]
    mean, variance = moments(automaton, documents[1])
    excess = moments(automaton, documents[1], constraints)[0] - mean
    found = pattern_gains(automaton, CANDIDATES, zip(documents, golds, strict=False))
    np.testing.assert_allclose(
        found, excess**2 / (2 * (variance + 0.1)), rtol=0.1, atol=0.02
    )


def test_without_documents_or_patterns():
    automaton, documents = make_documents(0)
    assert pattern_gains(automaton, CANDIDATES, []).tolist() == [0.0] * 4
    gold = Gold([(0, 3, 0)], None, 3)
    assert pattern_gains(automaton, [], [(documents[0], gold)]).tolist() == []
    empty = core.Potentials.zeros(automaton, 0, 1)
    gold = Gold([], None, 0)
    assert pattern_gains(automaton, CANDIDATES, [(empty, gold)]).tolist() == [0.0] * 4


# --- in training ------------------------------------------------------------------

# Runs of D have the lengths that label pairs expect; what follows an A depends on what
# came before it, and on no word.
RUNS = [" ".join(["[D x]"] * n) for n in (1, 1, 1, 1, 2, 2, 3, 4, 5, 7)]
ALTERNATING = ["[A x] [B x] [A x] [C x]"] * 3
GAIN = {"max_order": 3, "pattern_selection": "gain", "pattern_max": 4}


def longer(pipe) -> list:
    return [p for p in pipe.automaton.patterns if len(p) > 2]


def test_the_chosen_patterns_are_few_and_have_weights():
    every = make_trained(max_order=3).get_pipe("hosemi")
    pipe = make_trained(**GAIN).get_pipe("hosemi")
    assert len(longer(pipe)) == 4 < len(longer(every))
    assert len(pipe.weights.pattern) == len(pipe.automaton.patterns)
    weights = dict(zip(pipe.automaton.patterns, pipe.weights.pattern, strict=True))
    assert all(weights[p] for p in longer(pipe))


def test_the_fit_ends_in_the_optimum_of_the_chosen_patterns():
    l2 = 0.3
    fit = {"l2": l2, "tolerance": 0.0, "max_iter": 1000}
    nlp = make_trained(fit=fit, **GAIN)
    pipe = nlp.get_pipe("hosemi")
    _, gradient = pipe.value_and_gradient(make_examples(nlp))
    assert np.abs(gradient + l2 * pipe.get_weights()).max() < 1e-3


def test_patterns_that_decide_are_chosen_before_frequent_ones():
    marked = [*RUNS, *ALTERNATING]
    features = {"preset": "none", "inside": ["BIAS"], "min_count": 1}
    settings = {"features": features, "outside": "none", "pattern_max": 1}
    losses, chosen = [], []
    for selection in ("count", "gain"):
        nlp = make_trained(marked, **settings, pattern_selection=selection)
        pipe = nlp.get_pipe("hosemi")
        chosen += longer(pipe)
        losses.append(pipe.value_and_gradient(make_examples(nlp, marked))[0])
    assert chosen[0] == ("D", "D", "D") != chosen[1]
    assert losses[1] < losses[0]


def test_the_same_patterns_twice():
    first, second = (make_trained(**GAIN).get_pipe("hosemi") for _ in range(2))
    assert first.to_bytes() == second.to_bytes()


@pytest.mark.parametrize(
    "config",
    [
        {"encoding": "BILUO"},
        {"label_rules": ["LOC at most once"]},
        {"pattern_max": 0},
        {"pattern_max": 1000},
    ],
)
def test_gains_with_other_settings(config):
    nlp = make_trained(**{**GAIN, **config})
    found = longer(nlp.get_pipe("hosemi"))
    every = make_trained(**{**GAIN, **config, "pattern_selection": "count"})
    assert len(found) == len(longer(every.get_pipe("hosemi")))
    if config.get("pattern_max") == 1000:
        assert found == longer(every.get_pipe("hosemi"))
    expected = [triples(eg.reference.ents) for eg in make_examples(nlp)]
    assert [triples(nlp(eg.text).ents) for eg in make_examples(nlp)] == expected


def test_copies_keep_the_chosen_patterns():
    nlp = make_trained(**GAIN)
    other = copy.deepcopy(nlp)
    assert longer(other.get_pipe("hosemi")) == longer(nlp.get_pipe("hosemi"))


@pytest.mark.parametrize(
    "config, fit, found",
    [
        ({"pattern_max": 4}, {}, "there is no fit"),
        ({}, {"fit": lbfgs()}, "pattern_max is null"),
        ({}, {}, "pattern_max is null and there is no fit"),
    ],
)
def test_what_a_gain_needs(config, fit, found):
    nlp = make_nlp(pattern_selection="gain", **config)
    with pytest.raises(ValueError, match=f"HS079.*{found};.*components.hosemi.fit"):
        initialize(nlp, **fit)


def test_unknown_selection():
    with pytest.raises(ValueError, match="HS042.*pattern_selection is 'best'"):
        make_nlp(pattern_selection="best")
