"""The references agree with a case worked by hand and with each other, and the
generators cover what they promise. Nothing of ours is tested here."""

import math
from collections import Counter

import numpy as np
import pytest

from .. import oracles
from ..oracles import Problem
from ..strategies import EXACT, KINDS, TRAITS, n_of, random_problem, traits

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
    widths = {len(pattern), 1}
    assert [*oracles.windows(labels, widths)].count(pattern) == expected


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


def test_columns_read_by_hand():
    problem = random_problem(np.random.default_rng(0), n_labels=2)
    problem = problem._replace(observed=(("^", 1), (0, 1), (1, 0, 1), (1, 1)))
    labels = (1, 0, 1, 1)
    read = [oracles.columns_read(problem, labels[:t]) for t in range(1, 5)]
    assert read == [(1, 2), (0,), (1, 3, 4), (1, 5)]


def test_score_by_hand_with_observed_patterns_and_entries():
    problem = Problem(
        patterns=((0, 1),),
        inside=np.array([[1.0, 0, 0, 0], [0, 2, 4, 0], [0, 8, 16, 0]]),
        start=np.array([[0, 0, 0, 32], [0, 64, 128, 0], [0, 0, 0, 0]]),
        end=np.zeros((3, 2)),
        length=np.zeros((2, 1)),
        tail=np.array([0, 256.0]),
        cells=[(1, 3, 1, 512), (1, 3, 2, 1024), (1, 3, 3, -INF)],
        pattern=np.array([2048.0]),
        observed=((0, 1), ("^", 0)),
        entries=[
            *[(0, 0, 3, 2.0**12), (0, 1, 3, 2.0**13), (0, 2, 3, 2.0**14)],
            *[(1, 0, 2, 2.0**15), (2, 0, 2, 2.0**16), (1, 0, 2, 2.0**17)],
            *[(1, 1, 1, 2.0**18), (2, 2, 2, 2.0**19)],
            # not read: no start at 2, no end at 1, another column
            *[(2, 1, 2, -INF), (1, 2, 2, -INF), (1, 0, 3, -INF), (1, 0, 0, -INF)],
        ],
    )
    # O, the first: inside 1, column 3 from the start 32, entries 12 to 14
    # A after O: labels 2 + 8 + 64 + 256 + 512, column 2: 4 + 16 + 128 + 1024, 15 to 19
    expected = 33 + (2 + 8 + 64 + 256 + 512) + (4 + 16 + 128 + 1024) + 2048
    expected += 2**20 - 2**12
    assert oracles.score(problem, ((0, 1, 0), (1, 3, 1))) == expected


@pytest.mark.parametrize("kinds", [KINDS, EXACT], ids=["", "exact"])
def test_references_agree(kinds):
    """Where sums are exact, on the best and its ties, too."""
    rng = np.random.default_rng(1)
    for _ in range(n_of(300)):
        problem = random_problem(rng, kinds=kinds)
        expected, found = oracles.Enumerated(problem), oracles.Reference(problem)
        close = {"rel": 1e-12, "abs": 1e-12}
        assert found.log_z == pytest.approx(expected.log_z, **close)
        assert oracles.reference_log_z(problem) == found.log_z
        for a, b in zip(found.marginals[1:], expected.marginals[1:], strict=True):
            assert a.shape == b.shape
            assert np.abs(a - b).max(initial=0.0) < 1e-10
        assert found.entropy == pytest.approx(expected.entropy, abs=1e-9)
        if kinds == EXACT:
            assert found.best == expected.best
            for k in (1, 7):
                assert found.best_scores(k) == expected.best_scores(k)


# --- what the enumeration also answers ---------------------------------------------

O_A, A_A, O_B = ((0, 1, 0), (1, 2, 1)), ((0, 1, 1), (1, 2, 1)), ((0, 1, 0), (1, 2, 2))
WHOLE = ((0, 2, 1),)


def test_ranked_by_hand():
    scores = {O_B: 1.0, A_A: 1.0, WHOLE: 1.0, O_A: 2.0, ((0, 2, 0),): -INF}
    assert oracles.ranked(scores) == [(O_A, 2), (O_B, 1), (WHOLE, 1), (A_A, 1)]
    assert oracles.best(scores) == (O_A, 2)
    assert oracles.best({WHOLE: -INF}) == ((), -INF)


def test_entropy_by_hand():
    scores = {O_A: math.log(2), A_A: 0.0, O_B: 0.0, WHOLE: -INF}
    assert oracles.entropy(scores) == pytest.approx(1.5 * math.log(2))
    assert oracles.entropy({WHOLE: -1e4}) == 0.0
    assert oracles.entropy({WHOLE: -INF}) == -INF


def test_expected_correct_and_f1_by_hand():
    scores = {O_A: math.log(2), A_A: 0.0, O_B: 0.0}
    probs = oracles.span_probabilities(scores)
    assert probs == pytest.approx({(1, 2, 1): 0.75, (0, 1, 1): 0.25, (1, 2, 2): 0.25})
    correct = [oracles.expected_correct(probs, s) for s in (O_A, A_A, O_B, WHOLE)]
    assert correct == pytest.approx([0.75, 1.0, 0.25, 0.0])
    f1 = [oracles.expected_f1(probs, s) for s in (O_A, A_A, O_B, ((0, 2, 0),))]
    assert f1 == pytest.approx([1.5 / 2.25, 2.0 / 3.25, 0.5 / 2.25, 0.0])


# --- coverage ---------------------------------------------------------------------


def all_traits(problem: Problem) -> set[str]:
    found = traits(problem)
    values = list(oracles.scored(problem).values())
    top = max(values, default=-INF)
    if top == -INF:
        return found | {"impossible"}
    return found | {"tie"} if values.count(top) > 1 else found


def test_random_problem_covers():
    seen: Counter = Counter()
    for k in range(n_of(1000)):
        seen.update(all_traits(random_problem(np.random.default_rng(k))))
    assert not {x for x in TRAITS | {"tie", "impossible"} if seen[x] < n_of(20)}
    assert seen["impossible"] < n_of(500)
    assert n_of(300) < seen["observed"] < n_of(500)
