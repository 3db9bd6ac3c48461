"""benchmarks/pattern_gains.py against enumeration."""

import numpy as np

from spacy_hosemi import core
from spacy_hosemi.labels.gold import Gold

from .. import oracles
from ..helpers import as_problem, import_script

gains = import_script("benchmarks/pattern_gains.py")
pattern_gains = gains.pattern_gains

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
