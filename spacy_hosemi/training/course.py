"""One minimization while it goes on: best weights so far, log, and how it ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, Warnings
from .batch import Batch, Trainable, check_finite, naming_features
from .checkpoint import Checkpoint, Part
from .files import is_same
from .fit_log import FitLog, iterations_left
from .patience import Kept, Patience
from .quasi_newton import Position

Floats = NDArray[np.float64]

# Iterations between two calls of `Batch.watch`, which may decode a corpus.
WATCH_EVERY = 10

# A fit that goes on with other settings, or with bounds of weights, has lost the
# curvature. Its first iterations may lower the objective by less than the tolerance
# without being near the optimum.
GRACE = 10


class _Ended(Exception):
    """A minimization ends here, and why."""


class Records:
    """What the minimizations of a training write.

    log (Optional[str]), checkpoint (Optional[str]): Files, see `FitLog`, `Checkpoint`.
    checkpoint_every (float): Seconds between two states of the file `checkpoint`.
    is_trial (bool): There are many of these fits, and one that is kept: they do not
        warn.
    RAISES (ValueError): HS270 the folder of a file does not exist; HS300 `log` is
        another file; HS301 both files are one.
    """

    def __init__(
        self,
        log: str | None = None,
        checkpoint: str | None = None,
        checkpoint_every: float = 60.0,
        is_trial: bool = False,
    ) -> None:
        self.is_trial = is_trial
        self.log = None if log is None else FitLog(log)
        self.checkpoint = None if checkpoint is None else Checkpoint(checkpoint)
        if self.log is not None and self.checkpoint is not None:
            if is_same(self.log.path, self.checkpoint.path):
                raise ValueError(Errors.HS301.format(log=log, checkpoint=checkpoint))
        self.every = checkpoint_every
        self._part = 0

    @property
    def is_writing(self) -> bool:
        """Whether there is any file to write."""
        return self.log is not None or self.checkpoint is not None

    def begin(
        self,
        batch: Trainable,
        settings: Mapping[str, Any],
        max_iter: int,
        tolerance: float,
    ) -> Course:
        """RETURNS (Course): That of the next minimization.

        batch (Trainable): What is minimized. A `Batch` begins a training, whatever is
            no `Batch` belongs to the one before.
        settings (Dict[str, Any]): The penalties; "patience", if there is one.
        max_iter (int), tolerance (float): Where it ends.
        RAISES (ValueError): HS272 the file `checkpoint`, which has been read.
        """
        is_first = isinstance(batch, Batch)
        self._part = 0 if is_first else self._part + 1
        found, identity = None, {}
        if self.checkpoint is not None:
            identity = batch.identity()
            found = self.checkpoint.part(self._part, identity)
        if self.log is not None and is_first and found is None:
            self.log.begin()
        settings = {**settings, "tolerance": tolerance}
        where = self._part, identity
        return Course(self, *where, batch, settings, max_iter, found)


class Course:
    """One minimization, from its first iteration to its last.

    records (Records): What is written, and where.
    part (int): Which minimization of its training this is, from 0.
    identity (Dict[str, str]): Of the batch, for the file `checkpoint`.
    batch (Trainable): What is minimized.
    settings (Dict[str, Any]): Penalties, "tolerance" and, if the fit ends by the scores
        of other documents, "patience"; it does so where `Batch.watch` is set.
    max_iter (int): The most iterations.
    found (Optional[Part]): Where an earlier run of it was.

    position (Optional[Position]): Where the optimizer is; None: it does not say.
    best (float64): The best weights so far, as the optimizer has them.
    n_steps (int): Iterations so far, with those of earlier runs.
    loss (float): The objective at the best weights, in nats.
    n_kept (Optional[int]): Iterations before the weights that are kept, if scores on
        dev decide which.
    is_converged (bool), reason (str): How it ended.
    is_over (bool): Whether an earlier run has left nothing to do: it has converged with
        the same settings, or made all iterations.
    """

    def __init__(
        self,
        records: Records,
        part: int,
        identity: dict[str, str],
        batch: Trainable,
        settings: dict[str, Any],
        max_iter: int,
        found: Part | None,
    ) -> None:
        self._records, self._part, self._batch = records, part, batch
        self._identity = identity
        self._settings, self.max_iter, self._found = settings, max_iter, found
        start, self.loss = batch.weights.vector(), np.inf
        self._n_weights = len(start)
        self.n_steps, self.is_over = 0, False
        self.position: Position | None = None
        kept = None
        if found is not None:
            start, self.n_steps = found.weights, found.n_iterations
            self.loss = np.inf if found.loss is None else found.loss
            is_same = found.settings == settings
            self.is_over = self.n_steps >= max_iter or (is_same and found.is_done)
            if is_same and not self.is_over:
                self.position = found.position
        if found is not None and self.position is not None:
            start, self.loss = self.position.x, self.position.value
            kept = found.kept
        self.start = self.best = start
        self._n_before = self.n_steps
        self.has_lost_curvature = found is not None and self.position is None
        self.is_converged, self.reason = False, ""
        self.n_kept: int | None = None
        self._changes: list[float] = []
        self._is_evaluated = False
        self._seen: tuple[int, dict[str, Any]] | None = None
        self._value = self._norm = np.inf
        self._began = self._written = time.monotonic()
        self._bar: Any = None
        self._patience: Patience | None = None
        if "patience" in settings and getattr(batch, "watch", None) is not None:
            self._patience = Patience(settings["patience"], kept)

    @property
    def tolerance(self) -> float:
        """The tolerance for the optimizer, which knows no grace after a start."""
        return 0.0 if self.has_lost_curvature else float(self._settings["tolerance"])

    @contextmanager
    def running(self, bar: Any) -> Iterator[None]:
        """What runs the optimizer, which Ctrl-C ends as if it had reached max_iter.

        bar (tqdm): Counts iterations.
        RAISES (KeyboardInterrupt): There has been no iteration yet.
        """
        self._bar = bar
        bar.update(self.n_steps)
        settings = {"max_iter": self.max_iter, **self._settings}
        self._log("start", n_weights=self._n_weights, **settings)
        if self.is_over and self._found is not None:
            self.is_converged = self._found.is_done
            self.reason = f"as in {self._path}"
        try:
            yield
        except _Ended as reason:
            self.is_converged, self.reason = True, str(reason)
        except KeyboardInterrupt:
            if not self.n_steps:
                raise
            self.reason = "interrupted"
        self._batch.weights.set_vector(self.to_weights(self.best), copy=False)
        dev = self._watched(is_last=True)
        if not self.is_over:
            kept = self._kept  # a fit that goes on from here does not look here
            if self._patience is not None:
                self._look(dev)
                dev = self._take_kept()
            self._keep(kept)
        seconds = time.monotonic() - self._began
        ended = {"is_converged": self.is_converged, "reason": self.reason}
        self._log("end", objective=self.loss, **ended, seconds=seconds, **dev)

    def end(self, result: Any) -> None:
        """Note how the optimizer ended by itself.

        result (OptimizeResult): What SciPy gives.
        """
        self.best, self.loss = result.x, float(result.fun)
        self.is_converged, self.reason = result.status == 0, str(result.message)

    def evaluate(self) -> tuple[float, Floats]:
        """RETURNS (Tuple[float, float64 [N]]): The loss at the present weights, and its
        gradient.

        RAISES (ValueError): HS057 not a number.
        """
        with naming_features(self._batch, self.n_steps):
            value, gradient = self._batch.value_and_gradient()
        check_finite(self._batch, value, self.n_steps)
        return value, gradient

    def evaluated(self, value: float, gradient: Floats) -> None:
        """Note what the optimizer was given: the objective, with all penalties."""
        check_finite(self._batch, value, self.n_steps)
        self._value = value
        with np.errstate(over="ignore"):
            self._norm = float(np.sqrt(gradient @ gradient))
        if self._is_evaluated:
            return
        self._is_evaluated = True
        if not np.isfinite(self.loss):
            self.loss = value
        # without weights nothing can be predicted
        if self._patience is not None and self.best.any():
            if self._look(self._watched(is_last=self.position is None)):
                self._end_by_patience()

    def move(self, position: Position) -> None:
        """Note the end of one iteration, after which the optimizer is there."""
        self.step(position.x, position)

    def step(self, x: Floats, position: Position | None = None) -> None:
        """Note the end of one iteration, at the weights that were evaluated last.

        x (float64): They. position (Optional[Position]): Of the optimizer.
        """
        value, before = self._value, self.loss
        change = (before - value) / max(abs(before), abs(value), 1.0)
        self._changes.append(change)
        made = x, value, self.n_steps + 1, position
        self.best, self.loss, self.n_steps, self.position = made
        left, watched = self._seconds_left(), self._watched()
        shown = {"loss": f"{value:.1f}", "gradient": f"{self._norm:.2g}"}
        if left is not None:
            shown["left"] = f"~{left:.0f}s"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()
        self._log(
            "iteration",
            objective=value,
            gradient_norm=self._norm,
            change=change,
            seconds=time.monotonic() - self._began,
            seconds_left=left,
            **watched,
        )
        is_enough = self._look(watched)
        if time.monotonic() - self._written >= self._records.every:
            self._keep(self._kept)
        n_here = self.n_steps - self._n_before
        if self.has_lost_curvature and n_here >= GRACE:
            if change <= self._settings["tolerance"]:
                raise _Ended("the change is below the tolerance")
        if is_enough:
            self._end_by_patience()

    def warn(self) -> None:
        """WARNS (UserWarning): HSW60 the fit was interrupted; HSW61 it ended because of
        its limit of iterations."""
        advice = ""
        if self._records.checkpoint is not None:
            advice = f" The same fit.checkpoint goes on from {self._path}."
        values = {"n": self.n_steps, "loss": self.loss, "advice": advice}
        if self._records.is_trial:
            return
        if self.reason == "interrupted":
            values["unit"] = "iterations"
            warnings.warn(Warnings.HSW60.format(**values), stacklevel=4)
        elif not self.is_converged and self.n_steps >= self.max_iter:
            change = self._changes[-1] if self._changes else np.nan
            values |= {"change": change, "more": 2 * self.max_iter}
            values |= {"tolerance": self._settings["tolerance"]}
            warnings.warn(Warnings.HSW61.format(**values), stacklevel=4)

    def to_weights(self, x: Floats) -> Floats:
        """RETURNS (float64 [N]): The weights, x[:N] - x[N:] if x has 2 N numbers."""
        n = self._n_weights
        return x[:n] - x[n:] if len(x) > n else x

    @property
    def _path(self) -> str:
        checkpoint = self._records.checkpoint
        return "" if checkpoint is None else str(checkpoint.path)

    def _seconds_left(self) -> float | None:
        """An estimate of the seconds until the fit has converged."""
        n_left = iterations_left(self._changes, self._settings["tolerance"])
        n_here = self.n_steps - self._n_before
        if n_left is None or not n_here:
            return None
        by_iteration = (time.monotonic() - self._began) / n_here
        return by_iteration * min(n_left, self.max_iter - self.n_steps)

    def _watched(self, is_last: bool = False) -> dict[str, Any]:
        """What `Batch.watch` says of the present weights, every WATCH_EVERY steps and
        at the last."""
        watch = getattr(self._batch, "watch", None)
        if watch is None or (self._records.log is None and self._patience is None):
            return {}
        if self.n_steps % WATCH_EVERY and not is_last:
            return {}
        if self._seen is None or self._seen[0] != self.n_steps:
            self._seen = self.n_steps, {"dev": watch(self._batch.weights)}
        return self._seen[1]

    def _look(self, watched: Mapping[str, Any]) -> bool:
        """RETURNS (bool): Whether these scores of the best weights end the fit."""
        if self._patience is None or not watched:
            return False
        return self._patience.look(self.best, self.loss, self.n_steps, watched["dev"])

    def _end_by_patience(self) -> NoReturn:
        n = self._settings["patience"]
        raise _Ended(f"no better F1 on dev in {n} iterations")

    def _take_kept(self) -> dict[str, Any]:
        """Go back to the weights with the best F1 on dev. RETURNS (Dict[str, Any]):
        Their scores, for the log."""
        assert self._patience is not None and self._patience.kept is not None
        kept = self._patience.kept
        self.best, self.loss = kept.x, kept.loss
        self._batch.weights.set_vector(self.to_weights(self.best), copy=False)
        self.n_kept = kept.n_steps
        return {"dev": kept.scores, "kept": kept.n_steps}

    def _log(self, event: str, **values: Any) -> None:
        if self._records.log is not None:
            where = {"part": self._part, "iteration": self.n_steps}
            self._records.log.add(event, **where, **values)

    @property
    def _kept(self) -> Kept | None:
        return None if self._patience is None else self._patience.kept

    def _keep(self, kept: Kept | None) -> None:
        """Write where the minimization is; `kept` is what patience had there."""
        checkpoint = self._records.checkpoint
        if checkpoint is not None:
            loss = self.loss if np.isfinite(self.loss) else None
            x = self.best
            if self._kept is not None:
                x, loss = self._kept.x, self._kept.loss
            args = self.to_weights(x), self.n_steps, loss, self.is_converged
            position = None if self.is_converged else self.position
            about = self._settings, self._identity
            part = Part(*args, *about, position, kept)
            checkpoint.write(self._part, part)
        self._written = time.monotonic()
