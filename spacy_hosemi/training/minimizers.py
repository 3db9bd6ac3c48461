"""L-BFGS (Liu and Nocedal 1989) without bounds; SciPy's L-BFGS-B where there are some.

The two loops of the direction run over coefficients: those of the last steps s, of the
changes y of the gradient that they brought, and of the gradient. So an iteration reads
all these vectors twice, for their products with the gradient and for their sum (Chen,
Wang and Zhou 2014, "Large-scale L-BFGS using MapReduce").
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Bools, Floats

Function = Callable[[Floats], tuple[float, Floats]]

# Steps from which the curvature is known: 2 vectors each, the larger part of memory. In
# single precision they would take half of it, but BLAS rounds otherwise on another CPU,
# and weights would differ from the third digit on.
N_STEPS = 6

# Vectors are read in parts of this length, which stay in the cache.
PART = 8_192

# The weak conditions of Wolfe: value(step) <= value + DECREASE * step * slope, and
# slope(step) >= CURVATURE * slope. At most MOST_TRIED steps are tried.
DECREASE, CURVATURE, MOST_TRIED = 1e-4, 0.9, 30


def minimize_smooth(
    function: Function, start: Floats, callback: Callable[[Floats], bool]
) -> tuple[bool, str]:
    """Minimizes a smooth function, which returns the value and the gradient at a point,
    in a new array. The start is changed like the points after it. The callback gets the
    point after each iteration, which is changed in the iteration after the next one,
    and returns whether this was the last one. Returns whether the gradient is 0, and
    why it ended."""
    x, trial, direction = start, np.empty_like(start), np.empty_like(start)
    history = _History(len(x))
    value, gradient = function(x)
    while norm := norm_of(gradient):
        slope = history.direct(gradient, direction)
        step, low, high = 1.0 if history.slots else 1.0 / norm, 0.0, np.inf
        is_found = False
        for _ in range(MOST_TRIED if slope < 0.0 else 0):
            np.multiply(direction, step, out=trial)
            trial += x
            new_value, new_gradient = function(trial)
            if not new_value <= value + DECREASE * step * slope:
                high = step
            elif _dot(new_gradient, direction) < CURVATURE * slope:
                low = step
            else:
                is_found = True
                break
            step = 2.0 * step if high == np.inf else 0.5 * (low + high)
        if is_found:
            history.add(direction, step, gradient, new_gradient)
            x, trial, value, gradient = trial, x, new_value, new_gradient
            if callback(x):
                return False, "STOP: CALLBACK REQUESTED HALT"
        elif history.slots:
            history.slots = []
        else:
            return False, "ABNORMAL: NO LOWER VALUE WAS FOUND"
    return True, "CONVERGENCE: THE GRADIENT IS 0"


def parts_of(n: int) -> list[slice]:
    """Returns n places in parts of at most `PART`."""
    return [slice(k, k + PART) for k in range(0, n, PART)]


def norm_of(x: Floats) -> float:
    """Returns the Euclidean norm, also where squares are out of range."""
    norm = _dot(x, x) ** 0.5
    if np.isfinite(norm):
        return norm
    largest = float(np.abs(x).max())
    return largest * float(np.sqrt(np.square(x / largest).sum()))


# A gradient that is too large has no finite products: no step along it is taken.
_quietly = np.errstate(over="ignore", invalid="ignore")


@_quietly
def _dot(x: Floats, y: Floats) -> float:
    return float(x @ y)


class _History:
    """Keeps the last steps and changes of the gradient, and products of them."""

    def __init__(self, n: int) -> None:
        # Where the steps are, the oldest first: step k is vectors[k], its change
        # vectors[N_STEPS + k].
        self.slots: list[int] = []
        self._vectors = np.zeros((2 * N_STEPS, n))
        self._parts = parts_of(n)
        # Of vectors with changes, and with the gradient.
        self._products = np.zeros((2 * N_STEPS, 2 * N_STEPS))
        self._with_gradient = np.zeros(2 * N_STEPS)

    @_quietly
    def direct(self, gradient: Floats, direction: Floats) -> float:
        """Sets the direction, [N]; returns the derivative along it."""
        if not self.slots:
            np.negative(gradient, out=direction)
            return float(direction @ gradient)
        products, times = self._products, np.zeros(2 * N_STEPS)
        shares = np.zeros(N_STEPS)
        for k in reversed(self.slots):
            y = N_STEPS + k
            along = products[k] @ times - self._with_gradient[k]
            shares[k] = along / products[k, y]
            times[y] -= shares[k]
        last = self.slots[-1], N_STEPS + self.slots[-1]
        scale = products[last] / products[last[1], last[1]]
        times *= scale
        for k in self.slots:
            y = N_STEPS + k
            along = products[y] @ times - scale * self._with_gradient[y]
            times[k] += shares[k] - along / products[k, y]
        for part in self._parts:
            direction[part] = times @ self._vectors[:, part] - scale * gradient[part]
        return float(direction @ gradient)

    @_quietly
    def add(
        self, direction: Floats, step: float, before: Floats, gradient: Floats
    ) -> None:
        """Remembers a step and the gradients around it in place of the oldest one."""
        k = len(self.slots) if len(self.slots) < N_STEPS else self.slots.pop(0)
        self.slots.append(k)
        y = N_STEPS + k
        products = np.zeros((2 * N_STEPS, 2))
        for part in self._parts:
            vectors, now = self._vectors[:, part], gradient[part]
            vectors[k], vectors[y] = step * direction[part], now - before[part]
            products += vectors @ np.array([vectors[y], now]).T
        self._products[y] = self._products[:, y] = products[:, 0]
        self._with_gradient = products[:, 1]


def minimize_bounded(
    function: Function,
    start: Floats,
    callback: Callable[[Floats], bool],
    is_bounded: Bools,
) -> tuple[bool, str]:
    """Minimizes a smooth function of bounded weights, see `minimize_smooth`. Of a start
    with 2 N numbers, the last N are subtracted, and none is below 0. `is_bounded`, bool
    [N], says which weights must be 0 or more."""
    from scipy.optimize import Bounds, minimize

    def stop_at_last(x: Floats) -> None:
        if callback(x):
            raise StopIteration

    n = len(is_bounded)
    least, most = np.where(is_bounded, 0.0, -np.inf), np.full(n, np.inf)
    if len(start) > n:
        least = np.zeros(2 * n)
        most = np.concatenate([most, np.where(is_bounded, 0.0, np.inf)])
    options = {"maxiter": sys.maxsize, "maxfun": sys.maxsize, "ftol": 0.0, "gtol": 0.0}
    result: Any = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(least, most),
        callback=stop_at_last,
        options={**options, "maxcor": N_STEPS},
    )
    return result.status == 0, str(result.message)
