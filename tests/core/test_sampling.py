"""Segmentations drawn at random, as often as their probabilities say."""

import math
from collections import Counter

import numpy as np
import pytest

from spacy_hosemi import core

from .. import oracles
from ..strategies import random_problem, traits
from .problems import INF, as_core, zeros

N_SAMPLES = 10_000
HIGHEST = 5.0  # standard deviations of a chi-square statistic


def sample(problem: oracles.Problem, n_samples: int, seed: int = 0):
    automaton, potentials, constraints = as_core(problem)
    found = core.sample(automaton, potentials, n_samples, seed, constraints)
    return [tuple(segments) for segments in found]


def chi_square(counts: Counter, probs: dict) -> float:
    """Standard deviations between the chi-square statistic and its expectation.

    What is expected fewer than 5 times is counted together.
    """
    n_samples = sum(counts.values())
    rare_found, rare_expected, terms = 0, 0.0, []
    for outcome, prob in probs.items():
        if n_samples * prob < 5.0:
            rare_found += counts[outcome]
            rare_expected += n_samples * prob
        else:
            expected = n_samples * prob
            terms.append((counts[outcome] - expected) ** 2 / expected)
    if rare_expected >= 1.0:
        terms.append((rare_found - rare_expected) ** 2 / rare_expected)
    elif rare_found > 20:
        return INF
    free = max(1, len(terms) - 1)
    return (sum(terms) - free) / math.sqrt(2 * free)


# what the problems to draw from have, besides being possible in several ways
WANTED = [
    *({"finite tail"}, {"long cell"}, {"finite tail", "long cell", "observed"}),
    *({"observed", "observed entry"}, {"observed dense"}, {"label entry"}, {"^", "$"}),
    *({"allowed", "forbidden"}, {"boundary +1"}, {"boundary +2", "observed"}),
    *({"tail -inf", "cell -inf"}, {"pattern -inf", "pattern of 4"}, {"n = 5"}),
]


def wanted_problem(names: set[str], kinds=("small", "ties"), n_possible: int = 12):
    """The first problem with these traits, and its scores."""
    for seed in range(10_000):
        problem = random_problem(np.random.default_rng(seed), kinds=kinds)
        if names <= traits(problem):
            scores = oracles.scored(problem)
            if len(oracles.possible(scores)) >= n_possible:
                return problem, scores
    raise AssertionError(f"no problem has {names}")


# --- frequencies --------------------------------------------------------------------


def test_this_bound_can_fail():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(50))
    wrong = 0.9 * probs + 0.1 * np.roll(probs, 1)
    right, far = (
        chi_square(Counter(dict(enumerate(counts))), dict(enumerate(probs)))
        for counts in (rng.multinomial(N_SAMPLES, p) for p in (probs, wrong))
    )
    assert right < HIGHEST < far


@pytest.mark.parametrize("names", WANTED, ids=lambda names: ", ".join(sorted(names)))
def test_frequencies_equal_enumeration(names):
    problem, scores = wanted_problem(names)
    counts = Counter(sample(problem, N_SAMPLES, seed=1))
    assert sum(counts.values()) == N_SAMPLES
    assert set(counts) <= set(oracles.possible(scores))
    distance = chi_square(counts, oracles.probabilities(scores))
    print(f"{len(counts)} of {len(scores)} drawn, chi-square {distance:+.1f} sd")
    assert distance < HIGHEST


@pytest.mark.parametrize("n_explicit, tail", [(1, -0.3), (2, -0.3), (1, -INF)])
def test_tokens_of_a_longer_document_equal_marginals(n_explicit, tail):
    rng = np.random.default_rng(3)
    patterns = [(1, 2), (2, 2), (0, 1, 0)]
    observed = [(0, 1), (1, 2)]
    automaton, potentials = zeros(
        60, 3, n_explicit, tail, patterns=patterns, observed=observed
    )
    for name in ("inside", "start", "end", "pattern"):
        values = getattr(potentials, name)
        values[...] = rng.normal(size=values.shape)
    expected = core.marginals(automaton, potentials)
    n_samples = 2000
    counts = np.zeros((60, 3))
    starts = np.zeros((60, 3))
    for segments in core.sample(automaton, potentials, n_samples, seed=4):
        for start, end, label in segments:
            counts[start:end, label] += 1
            starts[start, label] += 1
    for found, probs in (
        (counts, expected.tokens),
        (starts, expected.gradient.start[:, :3]),
    ):
        deviations = np.sqrt(probs * (1 - probs) / n_samples) + 1e-4
        assert (np.abs(found / n_samples - probs) < 5 * deviations).all()


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_large_scores(value):
    """All A or all O with 100 tokens, as likely as each other."""
    automaton, potentials = zeros(100, 2, patterns=[(0, 1), (1, 0)])
    potentials.inside[:] = value
    potentials.pattern[:] = -INF
    counts = Counter(map(tuple, core.sample(automaton, potentials, 2000, seed=5)))
    assert len(counts) == 2
    assert all(abs(count - 1000) < 5 * math.sqrt(500) for count in counts.values())


def test_a_long_document():
    """2,000 tokens that go on or start one of two labels, each as likely."""
    automaton, potentials = zeros(2000, 2, tail=math.log(2))
    lengths = []
    for segments in core.sample(automaton, potentials, 20, seed=6):
        assert segments[0][0] == 0 and segments[-1][1] == 2000
        assert all(a[1] == b[0] for a, b in zip(segments, segments[1:]))
        lengths += [end - start for start, end, _ in segments]
    assert np.mean(lengths) == pytest.approx(2.0, abs=0.1)
    assert np.mean(np.array(lengths) == 1) == pytest.approx(0.5, abs=0.03)


# --- the call -----------------------------------------------------------------------


def test_the_seed_decides():
    problem, _ = wanted_problem({"n = 5", "finite tail"})
    first, again, other = (sample(problem, 100, seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert sample(problem, 100) == sample(problem, 100, seed=0)


def test_seeds_are_independent_of_numpys_global_state():
    problem, _ = wanted_problem({"n = 5"})
    np.random.seed(1)
    first = sample(problem, 50)
    np.random.seed(2)
    state = np.random.get_state()[1].tolist()
    assert sample(problem, 50) == first
    assert np.random.get_state()[1].tolist() == state
