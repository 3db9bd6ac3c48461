"""The log of a fit, as lines of JSON: `fit.log`.

Each line is one event of one minimization:

    {"event": "start", "part": 0, "iteration": 0, "n_weights": 9000, "max_iter": 1000,
     "tolerance": 0.0001, "l1": 0.0, ..}
    {"event": "iteration", "part": 0, "iteration": 1, "objective": 812.4,
     "gradient_norm": 95.2, "change": 0.21, "seconds": 0.4, "seconds_left": null,
     "dev": {"ents_f": 0.61}}
    {"event": "end", "part": 0, "iteration": 61, "objective": 203.9,
     "is_converged": true, "reason": "..", "seconds": 22.8,
     "dev": {"ents_f": 0.84}}

`part` counts the levels of a label tree from 0, the top; it is 0 without a tree.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

from ..errors import Errors, Warnings
from ..values import map_values

# How the first line of a log begins.
_BEGIN = b'{"event": "start", "part": '

# The trend of the changes is that between the last iterations and those before them.
_WINDOW = 10


class FitLog:
    """A file of lines. Raises ValueError HS300 for a file that is no log, nor empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_broken, begin, reason = False, b"", ""
        try:
            if path.is_file():  # devices may be written to
                with path.open("rb") as file:
                    begin = file.read(len(_BEGIN))
        except OSError as e:
            reason = f"which cannot be read ({e.strerror})"
        if not _BEGIN.startswith(begin):
            reason = f"which begins with {begin.decode('utf8', 'replace')!r}"
        if reason:
            raise ValueError(Errors.HS300.format(path=str(path), reason=reason))

    def begin(self) -> None:
        """Forgets the lines of an earlier training."""
        self._is_broken = False
        self._write("", "w")

    def add(self, event: str, **values: Any) -> None:
        """Adds one line; warns by HSW63 if that fails, and then adds no more."""
        plain = map_values(_plain, {"event": event, **values})
        self._write(json.dumps(plain) + "\n", "a")

    def _write(self, text: str, mode: str) -> None:
        if self._is_broken:
            return
        try:
            with self.path.open(mode, encoding="utf8") as file:
                file.write(text)
        except OSError as e:
            self._is_broken = True
            message = Warnings.HSW63.format(path=str(self.path), reason=e)
            warnings.warn(message, stacklevel=3)


def iterations_left(changes: list[float], tolerance: float) -> float | None:
    """Estimates how many iterations are left until one changes the objective by at most
    the tolerance, if changes go on to shrink so; None: too few, or no trend."""
    last = [math.log(max(x, 1e-300)) for x in changes[-2 * _WINDOW :]]
    if len(last) < 2 * _WINDOW or tolerance <= 0.0:
        return None
    before, now = (sum(x) / _WINDOW for x in (last[:_WINDOW], last[_WINDOW:]))
    by_iteration = (now - before) / _WINDOW
    if by_iteration >= 0.0:
        return None
    # `now` is the mean of changes, half a window ago.
    n = (math.log(tolerance) - now) / by_iteration - (_WINDOW - 1) / 2
    return max(n, 1.0)


def _plain(value: Any) -> Any:
    """Returns a value that JSON has: neither NaN nor infinity."""
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else None
