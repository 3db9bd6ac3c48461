"""Batch training: SciPy's L-BFGS-B on the whole corpus."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from ..errors import Errors
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.families import family_values
from ..values import ByName, Flag, Number, Setting, Whole, read_all
from .batch import Batch, Floats, Trainable, Trained
from .objectives import is_smooth
from .progress import bar_of


@dataclass(frozen=True)
class FitReport:
    """What one minimization says of itself.

    n_iterations (int): Iterations that were made.
    loss (float): The objective at the end, with its penalties, in nats.
    n_weights (int): Weights that were fitted.
    is_converged (bool): Whether it stopped because nothing was left to gain, and not at
        max_iter.
    reason (str): Why it stopped, in the words of the optimizer.
    seconds (float): Of CPU.
    """

    n_iterations: int
    loss: float
    n_weights: int
    is_converged: bool
    reason: str
    seconds: float


# Of a `Trainable`; of averages, a Batch.
Fit = Callable[[Any], FitReport | None]

# Steps from which the curvature is known: 2 vectors each, the larger part of memory.
_HISTORY = 6

_PIECE = 100_000


# The block [initialize.components.hosemi.fit] of this fit.
SETTINGS = (
    Setting(
        "l2",
        ByName(Number(least=0.0)),
        0.1,
        "Weight of half the squared norm (1 / sigma^2), for all weights or by family: "
        "a role such as inside, or transition, pattern, length.",
    ),
    Setting("l1", Number(least=0.0), 0.0, "Weight of the sum of absolute values."),
    Setting("max_iter", Whole(1), 200, "At most this many iterations."),
    Setting(
        "tolerance",
        Number(least=0.0),
        1e-4,
        "Stop when an iteration lowers the objective by less than this share of it.",
    ),
    Setting("progress", Flag(), True, "Show a progress bar on stderr."),
    Setting(
        "nonnegative",
        Flag(),
        False,
        "No weight of a label pattern of three or more labels, nor of its features, is "
        "below 0: decoding is faster.",
    ),
)


def make_lbfgs(
    l2: float | dict[str, float] = 0.1,
    l1: float = 0.0,
    max_iter: int = 200,
    tolerance: float = 1e-4,
    progress: bool = True,
    nonnegative: bool = False,
) -> Fit:
    """Registered as "spacy_hosemi.lbfgs.v1" in `misc`.

    l2 (Union[float, Dict[str, float]]): Weight of half the squared norm (1 / sigma^2),
        for all weights or by family (a role such as inside, or pattern, or length).
    l1 (float): Weight of the sum of absolute values.
    max_iter (int): Most iterations.
    tolerance (float): Stop when an iteration lowers the objective by less than this
        share of it.
    progress (bool): Show a progress bar on stderr.
    nonnegative (bool): No weight of a label pattern of three or more names, nor of its
        features, is below 0: decoding is faster.
    RETURNS (Callable[[Batch], FitReport]): Finds the best weights and leaves them in
        place; raises HS121 (ValueError) if the objective is not smooth.
    RAISES (ValueError): HS043 a number out of range; HS054 unknown family.
    """
    given = read_all(SETTINGS, locals(), prefix="fit.")
    penalty = family_values("l2", given["l2"])

    def fit(batch: Trainable) -> FitReport:
        if isinstance(batch, Batch) and not is_smooth(batch.objective):
            raise ValueError(Errors.HS121)
        return minimize(batch, penalty, l1, max_iter, tolerance, progress, nonnegative)

    return fit


def add_penalty(penalty: Floats, w: Floats, gradient: Floats) -> float:
    """Half the weighted squares of weights; its gradient is added, piece by piece:
    whole vectors of temporary values would be the peak of memory."""
    value = 0.0
    for at in range(0, len(w), _PIECE):
        piece = slice(at, at + _PIECE)
        slope = penalty[piece] * w[piece]
        gradient[piece] += slope
        value += 0.5 * float(slope @ w[piece])
    return value


def minimize(
    batch: Trainable,
    l2: Mapping[str, float],
    l1: float,
    max_iter: int,
    tolerance: float,
    progress: bool,
    nonnegative: bool = False,
) -> FitReport:
    """Minimise the loss with both penalties, from the present weights.

        sum of losses + sum_k l2[k] / 2 * w[k]^2 + l1 * sum_k |w[k]|

    With l1, w is the difference of two vectors that are bounded below by 0, so that
    the objective is smooth. Where w must be 0 or more, the second one is 0.
    """
    from scipy.optimize import Bounds
    from scipy.optimize import minimize as scipy_minimize

    weights = batch.weights
    penalty = weights.vector_values(l2)
    start = weights.vector()
    n = len(start)
    bounds = None
    if l1 or nonnegative:
        is_bounded = batch.freedom(nonnegative) == Freedom.NONNEGATIVE
        bounds = Bounds(np.where(is_bounded, 0.0, -np.inf), np.full(n, np.inf))
    began = time.process_time()
    # The vectors are added up in less time than threads need to meet, and while these
    # wait for each other they take all cores: a fit took 2 to 3 times as long.
    one_thread = threadpool_limits(limits=1, user_api="blas")
    n_steps = 0
    with one_thread, bar_of(max_iter, "L-BFGS", "iteration", progress) as bar:

        def count(_: Floats) -> None:
            nonlocal n_steps
            n_steps += 1
            bar.update()

        def value_and_gradient(x: Floats) -> tuple[float, Floats]:
            w = x[:n] - x[n:] if l1 else x
            weights.set_vector(w, copy=False)
            value, gradient = batch.value_and_gradient()
            value += add_penalty(penalty, w, gradient)
            if not np.isfinite(value):
                raise ValueError(Errors.HS057.format(found=value, steps=n_steps))
            bar.set_postfix(loss=f"{value:.1f}", refresh=False)
            if l1:
                return value + l1 * x.sum(), np.concatenate([gradient, -gradient]) + l1
            return value, gradient

        if l1:
            start = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
            most = np.concatenate([np.full(n, np.inf), np.where(is_bounded, 0, np.inf)])
            bounds = Bounds(np.zeros(2 * n), most)
        result = scipy_minimize(
            value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=count,
            options={
                "maxiter": max_iter,
                "maxfun": 2 * max_iter,
                "ftol": tolerance,
                "gtol": 0.0,
                "maxcor": _HISTORY,
            },
        )
    best = result.x[:n] - result.x[n:] if l1 else result.x
    weights.set_vector(best, copy=False)
    weights.round()  # a saved model predicts the same
    seconds = time.process_time() - began
    found = int(result.nit), float(result.fun), n, result.status == 0
    report = FitReport(*found, str(result.message), seconds)
    if progress:
        tqdm.write(
            f"L-BFGS stopped after {report.n_iterations} iterations, {seconds:.1f} CPU "
            f"s, loss {report.loss:.2f}, {n} weights: {report.reason}\n"
            f"{size_of(weights)}",
            file=sys.stderr,
        )
    return report


def size_of(weights: Trained) -> str:
    """How large the model is, without features that have no weight but 0."""
    size = weights.pruned_size()
    return (
        f"{size['features']:,} features, {size['weights']:,} weights, "
        f"{size['patterns']:,} label patterns, {size['mb']:.2f} MB"
    )
