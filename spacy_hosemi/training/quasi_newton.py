"""L-BFGS (Liu and Nocedal 1989) for weights without bounds.

The direction is -H g, with H in the compact form of Byrd, Nocedal and Schnabel (1994):
from the last steps s and changes of the gradient y, and their products,

    H g = gamma g + S p + gamma Y q;   q = -R^-1 S'g
    p   = -R^-T (D q + gamma Y'Y q + gamma Y'g)

where R is the upper triangle of S'Y and D its diagonal. So an iteration goes twice
through the history: once for the direction, once for the new products.

Initial steps, line search and restarts are those of L-BFGS-B (Zhu et al. 1997), which
SciPy has: both go the same way but for rounding, and this one in half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parallel.team import ALONE, Team
from .kernels.history import History
from .line_search import LineSearch

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]

# Steps that one line search tries.
_MOST_TRIED = 20


class Position(NamedTuple):
    """Where a minimization is between two iterations, from which it goes on to the
    same bits.

    x (float64 [N]), value (float): The point, and the value there.
    n_iterations, n_evaluations (int): So far.
    n_small (int): Iterations of little gain that are left.
    products (float64 [2 k + 2, k]): Of the last k steps, the changes of the gradient
        that they brought, and the gradient: steps and changes, changes and changes,
        the gradient and steps, the gradient and changes.
    vectors (Callable): Gives these steps and changes, float64 [2, k, N]; until the end
        of the next iteration.
    """

    x: Floats
    value: float
    n_iterations: int
    n_evaluations: int
    n_small: int
    products: Floats
    vectors: Callable[[], Floats]


class Minimum(NamedTuple):
    """Where a minimization ended, as SciPy says it.

    x (float64 [N]), fun (float): The point, and the value there.
    status (int): 0: converged; 1: max_iter or max_evaluations; 2: no lower value was
        found.
    message (str): Why it ended.
    """

    x: Floats
    fun: float
    status: int
    message: str


def minimize_smooth(
    function: Function,
    start: Floats | Position,
    callback: Callable[[Position], Any],
    max_iter: int,
    max_evaluations: int,
    tolerance: float,
    n_steps: int,
    n_small: int = 1,
    team: Team = ALONE,
) -> Minimum:
    """Minimise a smooth function.

    function (Callable): The value and the gradient at a point, which it may keep until
        the next call. The gradient is not changed afterwards.
    start (Union[float64 [N], Position]): Where to begin, or to go on.
    callback (Callable): Called with the position after each iteration.
    max_iter (int), max_evaluations (int): Where to end at the latest, with those before
        a position.
    tolerance (float): It has converged when n_small iterations have lowered the value
        by at most this share of it: one step may be short by chance.
    n_steps (int): Steps that are remembered.
    team (Team): Threads for passes over vectors.
    RETURNS (Minimum): The last point.
    """
    n_iterations, n_evaluations = 0, 1
    if isinstance(start, Position):
        x, _, n_iterations, n_evaluations, n_small = start[:5]
        x = x.copy()
    else:
        x = start.copy()
    trial, curvature = np.empty_like(x), _Curvature(len(x), n_steps, team)
    if isinstance(start, Position):
        curvature.restore(start)
    value, gradient = function(x)
    norm = _norm(gradient)
    while norm > 0.0 and n_small:
        step = 1.0 if n_iterations else min(1.0 / norm, 1e10)
        slope = curvature.direct(gradient, x, step, trial)
        found = None
        if slope < 0.0:
            search = LineSearch(value, slope, step)
            for _ in range(_MOST_TRIED):
                found = function(trial)
                n_evaluations += 1
                following = search.next(step, found[0], curvature.slope(found[1]))
                if following is None:
                    break
                step, found = following, None
                curvature.walk(x, step, trial)
        if found is None:
            if curvature.is_empty:
                message = "ABNORMAL: NO LOWER VALUE WAS FOUND"
                return Minimum(x, value, 2, message)
            curvature.forget()
            continue
        before, gradient_before = value, gradient
        value, gradient = found
        x, trial = trial, x
        n_iterations += 1
        change = (before - value) / max(abs(before), abs(value), 1.0)
        n_small = 0 if change == 0.0 else n_small - (change <= tolerance)
        norm = curvature.remember(gradient, gradient_before, step, slope)
        made = n_iterations, n_evaluations, n_small
        callback(Position(x, value, *made, curvature.products(), curvature.vectors()))
        if n_small and n_iterations >= max_iter:
            return Minimum(x, value, 1, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT")
        if n_small and n_evaluations > max_evaluations:
            return Minimum(x, value, 1, "STOP: TOTAL NO. OF EVALUATIONS EXCEEDS LIMIT")
    reason = (
        "RELATIVE REDUCTION OF F <= TOLERANCE" if norm > 0.0 else "THE GRADIENT IS 0"
    )
    return Minimum(x, value, 0, f"CONVERGENCE: {reason}")


def _norm(x: Floats) -> float:
    """Its squares may be beyond the range of numbers."""
    with np.errstate(over="ignore"):
        found = float(np.sqrt(x @ x))
    if np.isfinite(found):
        return found
    largest = float(np.abs(x).max())
    return largest * float(np.sqrt(np.square(x / largest).sum()))


class _Curvature:
    """The last steps, and their products.

    n (int): Weights.
    n_steps (int): Steps that are remembered.
    team (Team): Threads.
    """

    def __init__(self, n: int, n_steps: int, team: Team) -> None:
        self._history = History(n, n_steps + 1, team=team)
        self._slots: list[int] = []  # of the last steps, the oldest first
        self._slot = 0  # of the direction
        # products by slot: of steps and changes, of changes, of both with the gradient
        self._steps_changes = np.zeros((n_steps + 1, n_steps + 1))
        self._changes = np.zeros((n_steps + 1, n_steps + 1))
        self._with_steps, self._with_changes = np.zeros((2, n_steps + 1))

    @property
    def is_empty(self) -> bool:
        """Whether there is no step: the direction is that of the gradient."""
        return not self._slots

    def forget(self) -> None:
        """Forget all steps."""
        self._slots = []

    def products(self) -> Floats:
        """RETURNS (float64 [2 k + 2, k]): See `Position`."""
        at = np.ix_(self._slots, self._slots)
        of_gradient = self._with_steps[self._slots], self._with_changes[self._slots]
        return np.vstack([self._steps_changes[at], self._changes[at], *of_gradient])

    def vectors(self) -> Callable[[], Floats]:
        """RETURNS (Callable): See `Position`."""
        history, slots = self._history, self._slots
        return lambda: history.read(slots)

    def restore(self, position: Position) -> None:
        """Remember what was remembered there."""
        k = position.products.shape[1]
        self._history.write(*position.vectors())
        self._slots, self._slot = [*range(k)], k
        products = np.vsplit(position.products, [k, 2 * k])
        self._steps_changes[:k, :k], self._changes[:k, :k] = products[:2]
        self._with_steps[:k], self._with_changes[:k] = products[2]

    def direct(self, gradient: Floats, x: Floats, step: float, trial: Floats) -> float:
        """Set the direction, and write x + step * direction to `trial`. RETURNS
        (float): The slope."""
        times, of_steps, of_changes = self._coefficients()
        slots = [*self._slots, self._slot]
        args = of_steps, of_changes, x, step, trial
        return float(self._history.direct(times, gradient, slots, *args))

    def _coefficients(self) -> tuple[float, Floats, Floats]:
        """What the gradient, the steps and the changes are multiplied by."""
        if not self._slots:
            return -1.0, np.zeros(0), np.zeros(0)
        at = np.ix_(self._slots, self._slots)
        upper, changes = np.triu(self._steps_changes[at]), self._changes[at]
        diagonal, last = np.diag(upper), self._slots[-1]
        gamma = self._steps_changes[last, last] / self._changes[last, last]
        q = -np.linalg.solve(upper, self._with_steps[self._slots])
        rest = changes @ q + self._with_changes[self._slots]
        p = -np.linalg.solve(upper.T, diagonal * q + gamma * rest)
        return -gamma, -p, -gamma * q

    def walk(self, x: Floats, step: float, trial: Floats) -> None:
        """Write x + step * direction to `trial`."""
        self._history.walk(x, step, trial)

    def slope(self, gradient: Floats) -> float:
        """RETURNS (float): That of the direction, by another gradient."""
        return float(self._history.slope(gradient))

    def remember(
        self, gradient: Floats, before: Floats, step: float, slope: float
    ) -> float:
        """Make the direction a step.

        gradient (float64 [N]), before (float64 [N]): Behind and before the step.
        slope (float): Before it, along the direction.
        RETURNS (float): The norm of the gradient.
        """
        slots = [*self._slots, self._slot]
        found = self._history.remember(gradient, before, step, slots)
        change_steps, change_changes, with_steps, with_changes = found
        self._with_steps[slots], self._with_changes[slots] = with_steps, with_changes
        # Nothing is learnt from a step along which the gradient has not grown.
        if change_steps[-1] > -np.finfo(float).eps * slope * step:
            self._steps_changes[slots, self._slot] = change_steps
            self._changes[slots, self._slot] = change_changes
            self._changes[self._slot, slots] = change_changes
            n = len(self._with_steps)
            # The oldest step stays where it is until the next iteration is over.
            self._slots = slots if len(slots) < n else slots[1:]
            self._slot = next(k for k in range(n) if k not in self._slots)
        return _norm(gradient)
