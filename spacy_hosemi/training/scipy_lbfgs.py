"""L-BFGS-B of SciPy (Zhu et al. 1997), for weights with bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def minimize_bounded(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    callback: Callable[[Floats], Any],
    max_iter: int,
    max_evaluations: int,
    tolerance: float,
    n_steps: int,
    is_bounded: NDArray[np.bool_],
) -> Any:
    """Minimise a smooth function of bounded weights, see `minimize_smooth`.

    start (float64 [N] or [2 N]): Of 2 N numbers, the last N are those that are
        subtracted, and none is below 0.
    is_bounded (bool [N]): Which of N weights must be 0 or more.
    RETURNS (OptimizeResult): Where it ended.
    """
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    n = len(is_bounded)
    least, most = np.where(is_bounded, 0.0, -np.inf), np.full(n, np.inf)
    if len(start) > n:
        least = np.zeros(2 * n)
        most = np.concatenate([most, np.where(is_bounded, 0.0, np.inf)])
    options = {"maxiter": max_iter, "maxfun": max_evaluations, "ftol": tolerance}
    options |= {"gtol": 0.0, "maxcor": n_steps}
    given: Any = {"jac": True, "method": "L-BFGS-B", "bounds": Bounds(least, most)}
    given |= {"callback": callback, "options": options}
    return scipy_minimize(function, start, **given)
