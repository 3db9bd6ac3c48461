"""The line search of Moré and Thuente (1994), by which L-BFGS finds its steps.

    value(step) <= value(0) + DECREASE * step * slope(0)
    |slope(step)| <= CURVATURE * |slope(0)|

Steps are tried until both hold. An interval, once there is one, has such a step between
its ends; the next step is where a cubic or a quadratic polynomial through what is known
has its minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DECREASE, CURVATURE = 1e-3, 0.9

# The share of its larger end below which an interval is not cut any more.
_WIDTH = 0.1

_LONGEST = 1e10


@dataclass
class _End:
    """A step that was tried, the value and the slope there."""

    step: float
    value: float
    slope: float

    def less(self, slope: float) -> _End:
        """RETURNS (_End): The same, of the function less a line through 0."""
        return _End(self.step, self.value - self.step * slope, self.slope - slope)


class LineSearch:
    """Steps along one direction.

    value, slope (float): At step 0; slope below 0.
    step (float): The first one that is tried.
    """

    def __init__(self, value: float, slope: float, step: float) -> None:
        self._start = _End(0.0, value, slope)
        self._best = self._other = self._start
        self._is_bracketed, self._is_first_stage = False, True
        self._low, self._high = 0.0, 5.0 * step
        self._width, self._width_before = _LONGEST, 2.0 * _LONGEST

    def next(self, step: float, value: float, slope: float) -> float | None:
        """What to try after a step.

        value, slope (float): At this step.
        RETURNS (Optional[float]): The next step; None: this one will do, or there is
            none better within rounding.
        """
        start = self._start
        found = _End(step, value, slope)
        least = DECREASE * start.slope
        bound = start.value + step * least
        if self._is_first_stage and value <= bound and slope >= 0.0:
            self._is_first_stage = False
        if value <= bound and abs(slope) <= -CURVATURE * start.slope:
            return None
        if self._is_stuck(step) or (step == _LONGEST and value <= bound):
            return None
        if self._is_first_stage and bound < value <= self._best.value:
            # Neither low enough nor higher: by the function less the line of `bound`.
            step = self._narrow(found.less(least), least)
        else:
            step = self._narrow(found, 0.0)
        if self._is_bracketed:
            ends = self._best.step, self._other.step
            width = abs(ends[1] - ends[0])
            if width >= 0.66 * self._width_before:
                step = ends[0] + 0.5 * (ends[1] - ends[0])
            self._width_before, self._width = self._width, width
            self._low, self._high = min(ends), max(ends)
        else:
            self._low = step + 1.1 * (step - self._best.step)
            self._high = step + 4.0 * (step - self._best.step)
        step = min(max(step, 0.0), _LONGEST)
        return self._best.step if self._is_stuck(step) else step

    def _is_stuck(self, step: float) -> bool:
        """Whether the interval is as small as it is going to be."""
        return self._is_bracketed and (
            not self._low < step < self._high
            or self._high - self._low <= _WIDTH * self._high
        )

    def _narrow(self, found: _End, line: float) -> float:
        """Put a step that was tried into the interval. RETURNS (float): The next one.

        line (float): The slope of what was taken from the value of the step.
        """
        best, other = self._best.less(line), self._other.less(line)
        step, is_bracketed = self._between(best, other, found)
        if found.value > best.value:
            other = found
        else:
            if found.slope * best.slope < 0.0:
                other = best
            best = found
        self._best, self._other = best.less(-line), other.less(-line)
        self._is_bracketed = is_bracketed
        return step

    def _between(self, best: _End, other: _End, found: _End) -> tuple[float, bool]:
        """The next step, and whether there is an interval now: four cases."""
        at, end = found.step, best.step
        if found.value > best.value:  # the minimum lies between
            cubic = _cubic(best, found)
            drop = (best.value - found.value) / (at - end) + best.slope
            quadratic = end + best.slope / drop / 2.0 * (at - end)
            if abs(cubic - end) <= abs(quadratic - end):
                return cubic, True
            return cubic + (quadratic - cubic) / 2.0, True
        secant = (
            at + found.slope / (found.slope - best.slope) * (end - at)
            if (found.slope != best.slope)
            else at
        )
        if (
            found.slope * best.slope < 0.0
        ):  # between, too: the slopes point at each other
            cubic = _cubic(found, best)
            return (cubic if abs(cubic - at) > abs(secant - at) else secant), True
        if abs(found.slope) < abs(best.slope):  # beyond, and the slope gets smaller
            cubic = self._beyond(best, found)
            is_nearer = abs(cubic - at) < abs(secant - at)
            if not self._is_bracketed:
                step = secant if is_nearer else cubic
                return min(max(step, self._low), self._high), False
            step = cubic if is_nearer else secant
            most = at + 0.66 * (other.step - at)
            return (min(most, step) if at > end else max(most, step)), True
        if self._is_bracketed:
            return _cubic(found, other), True
        return (self._high if at > end else self._low), False

    def _beyond(self, best: _End, found: _End) -> float:
        """The minimum of the cubic beyond a step, or the end of what is permitted."""
        theta, gamma = _terms(best, found)
        if found.step > best.step:
            gamma = -gamma
        share = (gamma - found.slope) + theta
        total = (gamma + (best.slope - found.slope)) + gamma
        if total != 0.0 and share / total < 0.0 and gamma != 0.0:
            return found.step + share / total * (best.step - found.step)
        return self._high if found.step > best.step else self._low


def _terms(one: _End, two: _End) -> tuple[float, float]:
    """Of the cubic polynomial through both: theta and gamma of Moré and Thuente."""
    theta = 3.0 * (one.value - two.value) / (two.step - one.step)
    theta += one.slope + two.slope
    size = max(abs(theta), abs(one.slope), abs(two.slope))
    if size == 0.0:
        return 0.0, 0.0
    root = (theta / size) ** 2 - (one.slope / size) * (two.slope / size)
    return theta, size * math.sqrt(max(root, 0.0))


def _cubic(one: _End, two: _End) -> float:
    """The minimum of the cubic polynomial through both, as seen from the first one."""
    theta, gamma = _terms(one, two)
    if two.step < one.step:
        gamma = -gamma
    share = (gamma - one.slope) + theta
    total = ((gamma - one.slope) + gamma) + two.slope
    return one.step + share / total * (two.step - one.step)
