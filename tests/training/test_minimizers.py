"""L-BFGS without bounds: beside SciPy's, and beside the two loops of the textbook."""

from contextlib import suppress

import numpy as np
import pytest
from scipy.optimize import minimize

from spacy_hosemi.training import minimizers
from spacy_hosemi.training.minimizers import (
    CURVATURE,
    DECREASE,
    N_STEPS,
    minimize_smooth,
    norm_of,
)

from ..strategies import n_of


def problem(seed, n=40):
    """Logistic regression with a penalty, badly scaled."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, n)) * 10.0 ** rng.uniform(-0.5, 0.5, n)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)

    def function(w):
        margin = y * (x @ w)
        value = np.logaddexp(0.0, -margin).sum() + 0.05 * w @ w
        return float(value), x.T @ (-y / (1.0 + np.exp(margin))) + 0.1 * w

    return function, rng.normal(size=n)


class Enough(Exception):
    """Ends a minimization."""


def points_of(function, start, most=500):
    """The points after each iteration, until the value no longer falls, and values."""
    points, values = [], []

    def callback(x):
        points.append(x.copy())
        values.append(function(x)[0])
        if len(points) == most or values[1:] and values[-2] <= values[-1]:
            raise Enough

    with suppress(Enough):
        minimize_smooth(function, start.copy(), callback)
    return points, values


@pytest.mark.parametrize("seed", range(n_of(15)))
def test_it_ends_where_scipy_ends(seed):
    function, start = problem(seed, 20)
    with np.errstate(over="ignore"):
        points, values = points_of(function, start)
        options = {"ftol": 0.0, "gtol": 1e-9, "maxiter": 5000, "maxfun": 5000}
        expected = minimize(function, start, jac=True, method="BFGS", tol=1e-9)
        how = {"jac": True, "method": "L-BFGS-B", "options": options}
        bounded = minimize(function, start, **how)
    value, gradient = function(points[-1])
    assert value <= min(expected.fun, bounded.fun) * (1 + 1e-10)
    assert np.abs(gradient).max() < 1e-4
    n_scipy = next(k for k, x in enumerate(values) if x < bounded.fun * (1 + 1e-6))
    assert n_scipy < 1.5 * bounded.nit


@pytest.mark.parametrize("seed", range(3))
def test_steps_satisfy_the_conditions_of_wolfe(seed):
    function, start = problem(seed)
    before = start
    for x in points_of(function, start, 40)[0]:
        (value, slope), (new_value, new_slope) = (
            (found[0], found[1] @ (x - before)) for found in map(function, (before, x))
        )
        assert slope < 0.0
        assert new_value <= value + DECREASE * slope + 1e-12 * value
        assert new_slope >= CURVATURE * slope - 1e-12 * value
        before = x


def two_loops(gradient, steps, changes):
    """Nocedal and Wright 2006, algorithm 7.4."""
    q, shares = gradient.copy(), []
    for s, y in zip(steps[::-1], changes[::-1]):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    q *= steps[-1] @ changes[-1] / (changes[-1] @ changes[-1])
    for s, y, share in zip(steps, changes, shares[::-1]):
        q += (share - y @ q / (s @ y)) * s
    return -q


@pytest.mark.parametrize("part", [7, 15, 100])
def test_directions_are_those_of_two_loops(monkeypatch, part):
    monkeypatch.setattr(minimizers, "PART", part)
    rng = np.random.default_rng(0)
    n, gradient, direction = 30, rng.normal(size=30), np.empty(30)
    matrix = rng.normal(size=(n, n))
    matrix = matrix @ matrix.T + n * np.eye(n)
    history, steps, changes = minimizers._History(n), [], []
    assert history.direct(gradient, direction) == pytest.approx(-gradient @ gradient)
    np.testing.assert_array_equal(direction, -gradient)
    for k in range(20):
        if k == 13:  # as where no lower value was found
            history.slots, steps, changes = [], [], []
        step, moved = rng.uniform(0.1, 2.0), rng.normal(size=n)
        steps.append(step * moved)
        changes.append(matrix @ steps[-1])
        before, gradient = gradient, gradient + changes[-1]
        history.add(moved, step, before, gradient)
        steps, changes = steps[-N_STEPS:], changes[-N_STEPS:]
        slope = history.direct(gradient, direction)
        expected = two_loops(gradient, steps, changes)
        np.testing.assert_allclose(direction, expected, rtol=1e-8, atol=1e-10)
        assert slope == pytest.approx(direction @ gradient)


def test_a_point_holds_until_the_next_one():
    """Whenever an iteration is stopped, the weights of the last one are still there."""
    objective, start = problem(3)
    last, copies = [], []

    def function(w):
        if last:
            np.testing.assert_array_equal(last[-1], copies[-1])
        return objective(w)

    def callback(x):
        last.append(x)
        copies.append(x.copy())
        if len(last) == 30:
            raise Enough

    with pytest.raises(Enough):
        minimize_smooth(function, start, callback)


def test_where_no_step_is_found_it_follows_the_gradient():
    objective, start = problem(3)
    seen, points, first = [], [], 12

    def function(w):
        seen.append(w.copy())
        value, gradient = objective(w)
        is_lie = first <= len(seen) < first + 2 * minimizers.MOST_TRIED
        return value + 1e3 * is_lie, gradient

    def callback(x):
        points.append((len(seen), x.copy()))

    is_zero, reason = minimize_smooth(function, start, callback)
    # neither along the last direction nor along the gradient
    assert not is_zero and "NO LOWER VALUE" in reason
    assert len(seen) == first + 2 * minimizers.MOST_TRIED - 1
    n, x = points[-1]
    assert n == first - 1
    _, gradient = objective(x)
    moved = seen[n + minimizers.MOST_TRIED] - x
    np.testing.assert_allclose(moved, -gradient / norm_of(gradient), rtol=1e-9)


def test_where_nothing_is_to_be_gained():
    points = []
    found = minimize_smooth(lambda w: (w @ w, 2.0 * w), np.zeros(5), points.append)
    assert found == (True, "CONVERGENCE: THE GRADIENT IS 0") and not points
    assert minimize_smooth(lambda w: (1.0, np.zeros(0)), np.zeros(0), points.append)[0]


def test_a_gradient_that_lies_ends_it():
    points = []
    found = minimize_smooth(lambda w: (w @ w, -2.0 * w), np.ones(4), points.append)
    assert not found[0] and "ABNORMAL" in found[1] and not points


def test_norms_of_large_numbers():
    assert norm_of(np.array([3e200, -4e200])) == pytest.approx(5e200)
    assert norm_of(np.zeros(3)) == 0.0 == norm_of(np.zeros(0))
