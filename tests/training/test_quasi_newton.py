"""L-BFGS without bounds, and its line search, beside those of SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from spacy_hosemi.training.kernels.history import History, add_penalty
from spacy_hosemi.training.line_search import CURVATURE, DECREASE, LineSearch
from spacy_hosemi.training.quasi_newton import minimize_smooth


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


def course(function, start, **options):
    points = []
    given = {"max_iter": 500, "max_evaluations": 1000, "tolerance": 1e-9, "n_steps": 6}
    given |= options

    def callback(position):
        points.append(position.x.copy())

    return minimize_smooth(function, start, callback, **given), points


def kept(position):
    """A copy of a position, which stays."""
    vectors = position.vectors().copy()
    return position._replace(x=position.x.copy(), vectors=lambda: vectors)


@pytest.mark.parametrize("seed", range(6))
def test_it_goes_the_way_of_scipy(seed):
    function, start = problem(seed)
    expected = []
    with np.errstate(over="ignore"):
        found, points = course(function, start)
        minimize(
            function,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=lambda x: expected.append(x.copy()),
            options={"ftol": 0.0, "gtol": 1e-8, "maxcor": 6, "maxiter": 500},
        )
    for x, y in zip(points[:15], expected[:15], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-8)
    assert found.status == 0 and "CONVERGENCE" in found.message
    assert found.fun <= function(expected[-1])[0] * (1 + 1e-6)


@pytest.mark.parametrize("lies", [(), (7,), (9, 30)])
def test_it_goes_on_to_the_same_bits(lies):
    """From each position, read in the middle of the following iteration, where it is
    most in danger; also where the optimizer has forgotten all steps."""
    objective, start = problem(3)
    given = {"max_iter": 60, "max_evaluations": 90, "tolerance": 1e-7, "n_steps": 4}
    given |= {"n_small": 3}
    seen, positions, n_before = [], [], 0

    def function(w):
        value, gradient = objective(w)
        seen.append((w.copy(), value))
        # The values along one direction are such that no step is found.
        is_lie = any(k <= n_before + len(seen) < k + 20 for k in lies)
        return value + 1e3 * is_lie, gradient

    def callback(position):
        positions.append((kept(position), n_before + len(seen)))

    found = minimize_smooth(function, start, callback, **given)
    every, all_seen = [*positions], [*seen]
    assert len(every) > 20
    for k, (position, n) in enumerate(every[:-1]):
        seen.clear()
        positions.clear()
        n_before = n - 1  # the value at the position is found anew
        again = minimize_smooth(function, position, callback, **given)
        np.testing.assert_array_equal(again.x, found.x)
        assert again[1:] == found[1:]
        assert [one.value for one, _ in positions] == [
            one.value for one, _ in every[k + 1 :]
        ]
        assert len(all_seen) == n_before + len(seen)


def test_a_position_holds_until_the_next_one():
    """Whenever an iteration is stopped, the vectors are still there."""
    objective, start = problem(3)
    given = {"max_iter": 40, "max_evaluations": 90, "tolerance": 0.0, "n_steps": 3}
    last, copy = [], []

    def function(w):
        for position, as_it_was in zip(last[-1:], copy[-1:]):
            np.testing.assert_array_equal(position.x, as_it_was.x)
            np.testing.assert_array_equal(position.vectors(), as_it_was.vectors())
        value, gradient = objective(w)
        return value + 1e3 * (12 <= len(copy) < 13), gradient

    def callback(position):
        last.append(position)
        copy.append(kept(position))

    minimize_smooth(function, start, callback, **given)
    assert len(copy) > 11


def test_directions_are_those_of_two_loops():
    rng = np.random.default_rng(0)
    n, k = 100, 4
    steps = rng.normal(size=(k, n))
    matrix = rng.normal(size=(n, n))
    changes = steps @ (matrix @ matrix.T + n * np.eye(n))
    slots = []
    history, products = History(n, k + 1, portion=17), None
    x, trial, gradient = rng.normal(size=n), np.empty(n), rng.normal(size=n)
    at = np.zeros(n)
    for j in range(k):  # a direction is set as minus "gradient", scaled
        slots.append(j)
        history.direct(
            -1.0, -2.0 * steps[j], slots, np.zeros(j), np.zeros(j), x, 1, trial
        )
        np.testing.assert_allclose(trial, x + 2.0 * steps[j], rtol=1e-12)
        products = history.remember(at + changes[j], at, 0.5, slots)
        np.testing.assert_allclose(products[0], steps[: j + 1] @ changes[j], rtol=1e-10)
        np.testing.assert_allclose(
            products[1], changes[: j + 1] @ changes[j], rtol=1e-10
        )
        np.testing.assert_allclose(products[2], steps[: j + 1] @ changes[j], rtol=1e-10)
    of = rng.normal(size=(2, k))
    slope = history.direct(0.3, gradient, [*slots, k], of[0], of[1], x, 0.7, trial)
    direction = 0.3 * gradient + of[0] @ steps + of[1] @ changes
    np.testing.assert_allclose(trial, x + 0.7 * direction, rtol=1e-10, atol=1e-8)
    assert slope == pytest.approx(gradient @ direction)
    history.walk(x, 2.0, trial)
    np.testing.assert_allclose(trial, x + 2.0 * direction, rtol=1e-10, atol=1e-8)
    assert history.slope(x) == pytest.approx(x @ direction)


def test_ends():
    function, start = problem(1)
    found, points = course(function, start, max_iter=3)
    assert len(points) == 3 and found.status == 1 and "LIMIT" in found.message
    np.testing.assert_array_equal(found.x, points[-1])
    assert course(function, start, max_evaluations=2)[0].status == 1
    loose, tight = (course(function, start, tolerance=x)[1] for x in (1e-2, 1e-6))
    assert len(loose) < len(tight)


def test_where_nothing_is_to_be_gained():
    found, points = course(lambda w: (float(w @ w), 2.0 * w), np.zeros(5))
    assert found.status == 0 and not points and found.fun == 0.0
    found, _ = course(lambda w: (1.0, np.zeros(0)), np.zeros(0))
    assert found.status == 0


def test_a_gradient_that_lies_ends_it():
    found, points = course(lambda w: (float(w @ w), -2.0 * w), np.ones(4))
    assert found.status == 2 and "ABNORMAL" in found.message and not points
    np.testing.assert_array_equal(found.x, np.ones(4))


@pytest.mark.parametrize("seed", range(30))
def test_line_search_tries_the_steps_of_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0.1, 30.0, 3)

    def value(step):
        return float(a * (step - b / 10) ** 2 + c * np.sin(3.0 * step + b))

    def slope(step):
        return float(2 * a * (step - b / 10) + 3.0 * c * np.cos(3.0 * step + b))

    first = float(10.0 ** rng.uniform(-3, 1))
    if slope(0.0) >= 0.0:
        return
    search, tried = LineSearch(value(0.0), slope(0.0), first), []
    step = first
    for _ in range(20):
        tried.append(step)
        following = search.next(step, value(step), slope(step))
        if following is None:
            break
        step = following
    expected = []

    def noted(step):
        expected.append(float(step))
        return value(step)

    dcsrch = pytest.importorskip("scipy.optimize._dcsrch")
    reference = dcsrch.DCSRCH(noted, slope, DECREASE, CURVATURE, 0.1, 0.0, 1e10)
    reference(first, phi0=value(0.0), derphi0=slope(0.0), maxiter=20)
    np.testing.assert_allclose(tried, expected[: len(tried)], rtol=1e-9)


def test_penalty():
    rng = np.random.default_rng(0)
    for n in (0, 1, 7, 8, 100):
        penalty, w, gradient = rng.random(n), rng.normal(size=n), rng.normal(size=n)
        expected = gradient + penalty * w
        assert add_penalty(penalty, w, gradient) == pytest.approx(0.5 * penalty @ w**2)
        np.testing.assert_allclose(gradient, expected)
