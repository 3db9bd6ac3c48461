"""Sets of spans without overlaps, against all subsets."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from spacy_hosemi.core.algorithms.best_sets import (
    LEAST,
    best_set,
    least_listed,
    next_listed,
)

from ..strategies import n_of


def best_apart(gains):
    """As a probability p at the ratio 0 gains 2 p: these are the same numbers."""
    return best_set([(*x, 0.5 * gain) for x, gain in gains.items()], 0.0, 0.0)[0]


def random_spans(rng):
    """The spans of some random sets of spans without overlaps, and how probable they
    are; many of them equally, and some not at all."""
    probs = {}
    n_sets = int(rng.integers(0, 5))
    shares = rng.random(n_sets) if rng.random() < 0.5 else np.ones(n_sets)
    for share in shares / (shares.sum() or 1.0):
        at = 0
        while at < 8:
            start = at + int(rng.integers(0, 4))
            at = start + int(rng.integers(1, 4))
            if at <= 8:
                span = start, at, int(rng.integers(1, 3))
                probs[span] = probs.get(span, 0.0) + float(share)
    spans = [(*span, p) for span, p in probs.items()]
    rng.shuffle(spans)
    return [(int(i), int(j), int(y), float(p)) for i, j, y, p in spans[:9]]


def sets_apart(spans):
    """All sets of spans that do not overlap, from left to right."""
    for size in range(len(spans) + 1):
        for some in combinations(sorted(spans), size):
            if all(left[1] <= right[0] for left, right in pairwise(some)):
                yield some


def f1(some, n_expected):
    size = len(some) + n_expected
    return 2 * sum(p for *_, p in some) / size if size else 0.0


def with_probabilities(segments, spans):
    prob = {x[:3]: x[3] for x in spans}
    found = tuple((*segment, prob[segment]) for segment in segments)
    assert all(left[1] <= right[0] for left, right in pairwise(found))
    return found


def test_highest_f1():
    rng = np.random.default_rng(0)
    for _ in range(n_of(2000)):
        spans = random_spans(rng)
        n_expected = sum(p for *_, p in spans) * rng.choice([0.0, 0.5, 1.0, 2.0])
        segments, ratio = best_set(spans, n_expected, None)
        found = with_probabilities(segments, spans)
        best = max(f1(some, n_expected) for some in sets_apart(spans))
        assert f1(found, n_expected) == pytest.approx(ratio, abs=1e-12)
        assert ratio == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("expected_f1", [0.0, 0.25, 0.6, 1.0])
def test_highest_gain(expected_f1):
    rng = np.random.default_rng(1)
    for _ in range(n_of(1000)):
        spans = random_spans(rng)
        segments, ratio = best_set(spans, rng.random(), expected_f1)
        assert ratio == expected_f1

        def gain(some):
            return sum(2 * p - expected_f1 for *_, p in some)

        best = max(map(gain, sets_apart(spans)))
        found = with_probabilities(segments, spans)
        assert gain(found) == pytest.approx(best, abs=1e-12)
        assert all(2 * p > expected_f1 for *_, p in found)


def test_any_gains():
    rng = np.random.default_rng(2)
    for _ in range(n_of(1000)):
        gains = {x[:3]: 10 * x[3] - 3 for x in random_spans(rng)}
        best = max(sum(x[3] for x in some) for some in sets_apart(rows(gains)))
        found = best_apart(gains)
        with_probabilities(found, rows(gains))
        assert sum(gains[span] for span in found) == pytest.approx(best, abs=1e-12)


def rows(gains):
    return [(*span, gain) for span, gain in gains.items()]


def test_ties_leave_out_what_ends_later():
    """A set is left only for one that gains more."""
    assert best_apart({(0, 1, 1): 1.0, (0, 1, 2): 1.0}) == [(0, 1, 1)]
    assert best_apart({(0, 2, 1): 1.0, (1, 3, 1): 1.0}) == [(0, 2, 1)]
    both = {(0, 1, 1): 0.5, (1, 2, 1): 0.5, (0, 2, 1): 1.0}
    assert best_apart(both) == [(0, 2, 1)]
    assert best_apart({(0, 1, 1): 0.0}) == []


def test_the_first_of_the_most_probable_spans_is_tried_first():
    spans = [(0, 2, 1, 0.5), (1, 3, 1, 0.5)]
    assert best_set(spans, 1.0, None) == ([(0, 2, 1)], 0.5)
    assert best_set(spans[::-1], 1.0, None) == ([(1, 3, 1)], 0.5)


def test_nothing_to_choose_from():
    assert best_set([], 0.0, None) == ([], 0.0)
    assert best_set([], 3.0, 0.5) == ([], 0.5)
    assert best_set([(0, 1, 1, 0.0)], 0.0, None) == ([(0, 1, 1)], 0.0)


def test_many_spans():
    """More than there was room for before, and only every third one fits."""
    n = 5000
    spans = [(i, i + 3, 1, 0.25) for i in range(n)]
    segments, ratio = best_set(spans, 0.0, None)
    assert ratio == 0.5
    segments, _ = best_set(spans, 0.0, 0.25)
    assert len(segments) == (n + 2) // 3


@pytest.mark.parametrize("expected_f1", [None, 0.0, 0.5, 1.0])
def test_spans_that_may_pay_are_listed(expected_f1):
    """Until none below the least probability pays at the F1 that is reached."""
    least = least_listed(expected_f1)
    if expected_f1 is not None:
        assert least == max(LEAST, expected_f1 / 2)
        assert next_listed(least, expected_f1) == 0.0
        return
    reached, steps = 0.0, 0
    while lower := next_listed(least, reached):
        assert lower < least and (reached == 0.0 or reached / 2 <= lower)
        least, reached, steps = lower, 1e-5, steps + 1
    assert reached >= 2 * least * (1 - 1e-9) and 0 < steps < 12
    assert next_listed(LEAST, 0.0) == 0.0
