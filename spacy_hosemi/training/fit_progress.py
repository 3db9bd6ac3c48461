"""Follows one minimization: its best weights, its log, and when it ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import Warnings
from .checkpoint import Checkpoint, SavedFit
from .fit_log import FitLog, iterations_left
from .minimizers import norm_of
from .not_finite import check_finite, naming_features
from .training_set import Trainable

# Iterations between two calls of `TrainingSet.watch`, which may decode a corpus.
WATCH_EVERY = 10

# A fit that goes on from a checkpoint has lost the curvature. Its first iterations may
# lower the objective by less than the tolerance without being near the optimum.
GRACE = 10


class FitProgress:
    """Follows one minimization, from its first iteration to its last.

    The settings are penalties, "tolerance" and, if the fit ends by the scores of other
    documents (Prechelt 1998, "Early stopping - but when?"), "patience"; it does so
    where `TrainingSet.watch` is set. A fit has converged after `n_small` iterations
    that each lowered the objective by at most the tolerance: one step may be short by
    chance. `is_converged` and `reason` say how it ended.
    """

    def __init__(
        self,
        batch: Trainable,
        log: FitLog | None,
        checkpoint: Checkpoint | None,
        settings: Mapping[str, Any],
        max_iter: int,
        n_small: int,
    ) -> None:
        self._batch, self._settings = batch, settings
        self._log_file, self._checkpoint = log, checkpoint
        self.max_iter, self._n_small = max_iter, n_small
        # The best weights so far, as the optimizer has them, the objective there in
        # nats, and iterations so far, with those of earlier runs.
        self.best, self.loss, self.n_steps = batch.weights.vector(), np.inf, 0
        self._n_weights = len(self.best)
        self.centre: Floats | None = None
        self.unit: Floats | float = 1.0
        # Over: an earlier run has converged with the same settings, or made all
        # iterations.
        self.is_over = self.is_converged = False
        self.reason = ""
        self.n_kept: int | None = None  # iterations before the weights that are kept
        saved = None
        if checkpoint is not None:
            self._identity = batch.identity()
            saved = checkpoint.begin(batch.level - 1, self._identity)
            if saved is not None:
                self.best, self.n_steps = saved.weights, saved.n_iterations
                self.is_converged = saved.converged_with == settings
                if self.is_converged or self.n_steps >= max_iter:
                    self.is_over, self.reason = True, f"as in {checkpoint.path}"
        if log is not None and batch.level == 1 and saved is None:
            log.begin()
        self._n_before, self._n_grace = self.n_steps, GRACE if saved else 0
        self._changes: list[float] = []
        self._watched: tuple[int, dict[str, Any]] | None = None
        self._value = self._norm = np.inf
        self._began = time.monotonic()
        self._bar: Any = None
        self._patience = None if batch.watch is None else settings.get("patience")
        # The best weights by F1 on dev: the objective, iterations and scores there.
        self._kept: tuple[Floats, float, int, Mapping[str, Any]] | None = None

    @contextmanager
    def running(self, bar: Any) -> Iterator[None]:
        """Runs the optimizer, whose iterations a bar of tqdm counts. Ctrl-C ends it as
        max_iter does; before the first iteration it raises KeyboardInterrupt."""
        self._bar = bar
        bar.update(self.n_steps)
        settings = {"max_iter": self.max_iter, **self._settings}
        self._log("start", n_weights=self._n_weights, **settings)
        try:
            yield
        except KeyboardInterrupt:
            if not self.n_steps or self.loss == np.inf:
                raise
            self.is_converged, self.reason = False, "interrupted"
        self._batch.weights.set_vector(self.to_weights(self.best), copy=False)
        dev = self._watch(is_last=True)
        if not self.is_over:
            if self._patience is not None:
                self._look(dev)
                assert self._kept is not None
                self.best, self.loss, self.n_kept, scores = self._kept
                dev = {"dev": scores, "kept": self.n_kept}
            self._save()
        seconds = time.monotonic() - self._began
        how = {"is_converged": self.is_converged, "reason": self.reason}
        self._log("end", objective=self.loss, **how, seconds=seconds, **dev)

    def evaluate(self) -> tuple[float, Floats]:
        """Returns the loss at the present weights, and its gradient, float64 [N].
        Raises ValueError HS057 if it is not a number."""
        with naming_features(self._batch, self.n_steps):
            value, gradient = self._batch.value_and_gradient()
        check_finite(self._batch, value, self.n_steps)
        return value, gradient

    def evaluated(self, value: float, gradient: Floats) -> None:
        """Notes what the optimizer gets: the objective, with all penalties."""
        check_finite(self._batch, value, self.n_steps)
        self._value, self._norm = value, norm_of(gradient)
        if self.loss == np.inf:
            self.loss = value
            # without weights nothing can be predicted
            if self._patience is not None and self.best.any():
                self._look(self._watch(is_last=True))

    def step(self, x: Floats) -> bool:
        """Notes the end of one iteration, at the weights that were evaluated last;
        returns whether it is the last one."""
        value, before = self._value, self.loss
        change = (before - value) / max(abs(before), abs(value), 1.0)
        self._changes.append(change)
        self.best, self.loss, self.n_steps = x, value, self.n_steps + 1
        left = iterations_left(self._changes, self._settings["tolerance"])
        shown = {"loss": f"{value:.1f}", "gradient": f"{self._norm:.2g}"}
        if left is not None:  # from here on in seconds
            seconds = (time.monotonic() - self._began) / (self.n_steps - self._n_before)
            left = seconds * min(left, self.max_iter - self.n_steps)
            shown["left"] = f"~{left:.0f}s"
        watched = self._watch()
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
        if self._checkpoint is not None and self._checkpoint.is_due:
            self._save()
        self._look(watched)
        n_here = self.n_steps - self._n_before
        if change <= self._settings["tolerance"] and n_here >= self._n_grace:
            self._n_small -= 1
        if change == 0.0 or not self._n_small:
            self.end(True, "CONVERGENCE: RELATIVE REDUCTION OF F <= TOLERANCE")
        elif self.n_steps >= self.max_iter:
            self.end(False, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT")
        return bool(self.reason)

    def end(self, is_converged: bool, reason: str) -> None:
        """Notes why the minimization ends, unless that is known."""
        if not self.reason:
            self.is_converged, self.reason = is_converged, reason

    def warn(self) -> None:
        """Warns by HSW60 of an interrupted fit, by HSW61 of its limit of iterations."""
        advice = ""
        if self._checkpoint is not None:
            advice = f" The same fit.checkpoint goes on from {self._checkpoint.path}."
        values = {"n": self.n_steps, "loss": self.loss, "advice": advice}
        if self.reason == "interrupted":
            values["unit"] = "iterations"
            warnings.warn(Warnings.HSW60.format(**values), stacklevel=4)
        elif not self.is_converged and self.n_steps >= self.max_iter:
            change = self._changes[-1] if self._changes else np.nan
            values |= {"change": change, "more": 2 * self.max_iter}
            values["tolerance"] = self._settings["tolerance"]
            warnings.warn(Warnings.HSW61.format(**values), stacklevel=4)

    def to_weights(self, x: Floats) -> Floats:
        """Returns the weights [N]: x[:N] - x[N:] of 2 N, or centre + unit * x."""
        n = self._n_weights
        if self.centre is not None:
            return self.centre + self.unit * x
        return x[:n] - x[n:] if len(x) > n else x

    def _watch(self, is_last: bool = False) -> dict[str, Any]:
        """Returns what `TrainingSet.watch` says of the present weights, every
        WATCH_EVERY steps and at the last."""
        watch = self._batch.watch
        if watch is None or (self._log_file is None and self._patience is None):
            return {}
        if self.n_steps % WATCH_EVERY and not is_last:
            return {}
        if self._watched is None or self._watched[0] != self.n_steps:
            self._watched = self.n_steps, {"dev": watch(self._batch.weights)}
        return self._watched[1]

    def _look(self, watched: Mapping[str, Any]) -> None:
        """Notes scores of the best weights; ends the fit if those are too long ago."""
        if self._patience is None or not watched:
            return
        scores = watched["dev"]
        if self._kept is None or scores["ents_f"] > self._kept[3]["ents_f"]:
            self._kept = self.best.copy(), self.loss, self.n_steps, scores
        elif self.n_steps - self._kept[2] >= self._patience:
            self.end(True, f"no better F1 on dev in {self._patience} iterations")

    def _log(self, event: str, **values: Any) -> None:
        if self._log_file is not None:
            where = {"part": self._batch.level - 1, "iteration": self.n_steps}
            self._log_file.add(event, **where, **values)

    def _save(self) -> None:
        """Writes the weights that the fit would leave now."""
        if self._checkpoint is None:
            return
        x = self.best if self._kept is None else self._kept[0]
        settings = {**self._settings} if self.is_converged else None
        args = self.to_weights(x), self._identity, self.n_steps, settings
        self._checkpoint.write(self._batch.level - 1, SavedFit(*args))
