"""The references agree with a case worked by hand and with each other, and the
generators cover what they promise. Nothing of ours is tested here."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from .. import oracles
from ..oracles import Problem
from ..strategies import EXACT, TRAITS, problems_nLD, random_problem, traits

INF = math.inf


def test_segmentations_of_two_tokens_and_two_labels():
    assert sorted(oracles.segmentations(2, 2)) == [
        ((0, 1, 0), (1, 2, 0)),
        ((0, 1, 0), (1, 2, 1)),
        ((0, 1, 1), (1, 2, 0)),
        ((0, 1, 1), (1, 2, 1)),
        ((0, 2, 0),),
        ((0, 2, 1),),
    ]


@pytest.mark.parametrize("n_tokens, n_labels", [(1, 3), (3, 2), (5, 3)])
def test_number_of_segmentations(n_tokens, n_labels):
    # the first token has L labels; each other goes on, or starts one of L labels
    expected = n_labels * (1 + n_labels) ** (n_tokens - 1)
    assert len(oracles.segmentations(n_tokens, n_labels)) == expected


@pytest.mark.parametrize(
    "pattern, labels, expected",
    [
        ((0, 1), (0, 1, 0, 1), 2),
        ((0, 0), (0, 0, 0), 2),
        (("^", 0), (0, 0), 1),
        ((0, "$"), (0, 0), 1),
        (("^", 0, "$"), (0,), 1),
        (("^", 0, "$"), (0, 0), 0),
        (("^", "$"), (), 1),
        (("^", "$"), (0,), 0),
    ],
)
def test_patterns_fire_when_completed(pattern, labels, expected):
    assert oracles.n_fired(pattern, labels) == expected


def test_score_by_hand():
    problem = Problem(
        patterns=((0, 1), (1, "$")),
        inside=np.array([[1.0, 0], [0, 2], [0, 4]]),
        start=np.array([[0, 0], [0, 8], [0, 16]]),
        end=np.array([[32, 0], [0, 64], [0, 128]]),
        length=np.array([[256, 0], [0, 512]]),
        tail=np.array([0, 1024]),
        cells=[(1, 3, 1, 2048), (1, 3, 1, 4096), (1, 2, 1, -INF)],
        pattern=np.array([8192, 16384]),
    )
    # O: inside 1, end 32, length 256
    # A: inside 2 + 4, start 8, end 128, length 512, cells 2048 + 4096
    # O A: 8192; A $: 16384
    expected = (1 + 32 + 256) + (6 + 8 + 128 + 512 + 6144) + 8192 + 16384
    assert oracles.score(problem, ((0, 1, 0), (1, 3, 1))) == expected


def test_length_score_beyond_the_explicit_lengths():
    problem = random_problem(np.random.default_rng(0), n_tokens=1)
    problem = problem._replace(length=np.array([[1.0, 10.0]]), tail=np.array([100.0]))
    scores = [oracles.length_score(problem, 0, width) for width in (1, 2, 3, 5)]
    assert scores == [1.0, 10.0, 110.0, 310.0]


def test_references_agree():
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(400):
        problem = random_problem(rng)
        expected = oracles.marginals(problem, oracles.scored(problem))
        found = oracles.reference_marginals(problem)
        assert found.log_z == pytest.approx(expected.log_z, rel=1e-12, abs=1e-12)
        assert oracles.reference_log_z(problem) == found.log_z
        for a, b in zip(found[1:], expected[1:], strict=True):
            worst = max(worst, np.abs(a - b).max(initial=0.0))
    assert worst < 1e-10


def test_references_agree_on_the_best_segmentation_and_its_ties():
    rng = np.random.default_rng(2)
    for _ in range(400):
        problem = random_problem(rng, kinds=EXACT)
        expected = oracles.best(oracles.scored(problem))
        assert oracles.reference_best(problem) == expected


# --- coverage ---------------------------------------------------------------------


def all_traits(problem: Problem) -> set[str]:
    found = traits(problem)
    values = list(oracles.scored(problem).values())
    top = max(values, default=-INF)
    if top == -INF:
        return found | {"impossible"}
    return found | {"tie"} if values.count(top) > 1 else found


def assert_covered(seen: Counter, at_least: int):
    n_seen = {name: seen[name] for name in TRAITS | {"tie", "impossible"}}
    rare = {name: count for name, count in n_seen.items() if count < at_least}
    assert not rare


def test_random_problem_covers():
    seen: Counter = Counter()
    for seed in range(1000):
        seen.update(all_traits(random_problem(np.random.default_rng(seed))))
    assert_covered(seen, at_least=20)
    assert seen["impossible"] < 500


def test_problems_nLD_cover():
    seen: Counter = Counter()

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(problems_nLD())
    def collect(problem):
        seen.update(all_traits(problem))

    collect()
    assert_covered(seen, at_least=2)
    assert seen["impossible"] < 200
