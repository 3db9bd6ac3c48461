"""Follows one minimization: its best weights, its log, and when it ends."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from ..errors import Warnings
from .fit_files import FitFiles
from .fit_log import iterations_left
from .minimizers import norm_of
from .training_set import Floats, Trainable, check_finite, naming_features

# Iterations between two calls of `TrainingSet.watch`, which may decode a corpus.
WATCH_EVERY = 10

# A fit that goes on from a checkpoint has lost the curvature. Its first iterations may
# lower the objective by less than the tolerance without being near the optimum.
GRACE = 10


class _Ended(Exception):
    """Ends a minimization: whether it has converged, and why it ends."""


class _Kept(NamedTuple):
    """The weights with the best F1 on dev: they, the objective, iterations, scores."""

    x: Floats
    loss: float
    n_steps: int
    scores: Mapping[str, Any]


class FitProgress:
    """Follows one minimization, from its first iteration to its last.

    settings (Dict[str, Any]): Penalties, "tolerance" and, if the fit ends by the scores
        of other documents (Prechelt 1998, "Early stopping - but when?"), "patience"; it
        does so where `TrainingSet.watch` is set.
    max_iter (int): The most iterations.
    n_small (int): A fit has converged after this many iterations that each lowered the
        objective by at most the tolerance: one step may be short by chance.

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
        files: FitFiles,
        batch: Trainable,
        settings: Mapping[str, Any],
        max_iter: int,
        n_small: int,
    ) -> None:
        self._files, self._batch, self._settings = files, batch, settings
        self.max_iter, self._n_small = max_iter, n_small
        self.best, self.loss, self.n_steps = batch.weights.vector(), np.inf, 0
        self._n_weights = len(self.best)
        self.is_over = self.is_converged = False
        self.reason = ""
        self.n_kept: int | None = None
        saved = files.begin(batch)
        if saved is not None:
            self.best, self.n_steps = saved.weights, saved.n_iterations
            self.loss = np.inf if saved.loss is None else saved.loss
            is_done = saved.is_done and saved.settings == settings
            self.is_over = is_done or self.n_steps >= max_iter
            if self.is_over:
                path = files.checkpoint.path if files.checkpoint else ""
                self.is_converged, self.reason = saved.is_done, f"as in {path}"
        self._n_before, self._n_grace = self.n_steps, GRACE if saved else 0
        self._changes: list[float] = []
        self._is_evaluated = False
        self._watched: tuple[int, dict[str, Any]] | None = None
        self._value = self._norm = np.inf
        self._began = time.monotonic()
        self._bar: Any = None
        self._patience: int | None = None
        if getattr(batch, "watch", None) is not None:
            self._patience = settings.get("patience")
        self._kept: _Kept | None = None

    @contextmanager
    def running(self, bar: Any) -> Iterator[None]:
        """Runs the optimizer, which Ctrl-C ends as if it had reached max_iter.

        bar (tqdm): Counts iterations.
        RAISES (KeyboardInterrupt): There has been no iteration yet.
        """
        self._bar = bar
        bar.update(self.n_steps)
        settings = {"max_iter": self.max_iter, **self._settings}
        self._log("start", n_weights=self._n_weights, **settings)
        try:
            yield
        except _Ended as ended:
            self.is_converged, self.reason = ended.args
        except KeyboardInterrupt:
            if not self.n_steps:
                raise
            self.reason = "interrupted"
        self._batch.weights.set_vector(self.to_weights(self.best), copy=False)
        dev = self._watch(is_last=True)
        if not self.is_over:
            if self._patience is not None:
                dev = self._take_best(dev)
            self._save()
        seconds = time.monotonic() - self._began
        how = {"is_converged": self.is_converged, "reason": self.reason}
        self._log("end", objective=self.loss, **how, seconds=seconds, **dev)

    def evaluate(self) -> tuple[float, Floats]:
        """Returns the loss at the present weights, and its gradient, float64 [N].

        RAISES (ValueError): HS057 not a number.
        """
        with naming_features(self._batch, self.n_steps):
            value, gradient = self._batch.value_and_gradient()
        check_finite(self._batch, value, self.n_steps)
        return value, gradient

    def evaluated(self, value: float, gradient: Floats) -> None:
        """Notes what the optimizer gets: the objective, with all penalties."""
        check_finite(self._batch, value, self.n_steps)
        self._value, self._norm = value, norm_of(gradient)
        if self._is_evaluated:
            return
        self._is_evaluated = True
        if not np.isfinite(self.loss):
            self.loss = value
        # without weights nothing can be predicted
        if self._patience is not None and self.best.any():
            self._look(self._watch(is_last=True))

    def step(self, x: Floats) -> None:
        """Notes the end of one iteration, at the weights that were evaluated last."""
        value, before = self._value, self.loss
        change = (before - value) / max(abs(before), abs(value), 1.0)
        self._changes.append(change)
        self.best, self.loss, self.n_steps = x, value, self.n_steps + 1
        left, watched = self._seconds_left(), self._watch()
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
        if self._files.is_time_to_save:
            self._save()
        self._look(watched)
        n_here = self.n_steps - self._n_before
        if change <= self._settings["tolerance"] and n_here >= self._n_grace:
            self._n_small -= 1
        if change == 0.0 or not self._n_small:
            raise _Ended(True, "CONVERGENCE: RELATIVE REDUCTION OF F <= TOLERANCE")
        if self.n_steps >= self.max_iter:
            raise _Ended(False, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT")

    def end(self, is_converged: bool, reason: str) -> None:
        """Notes that the optimizer has ended by itself, at the best weights."""
        self.is_converged, self.reason = is_converged, reason

    def warn(self) -> None:
        """WARNS (UserWarning): HSW60 the fit was interrupted; HSW61 it ended because of
        its limit of iterations."""
        advice = ""
        if (checkpoint := self._files.checkpoint) is not None:
            advice = f" The same fit.checkpoint goes on from {checkpoint.path}."
        values = {"n": self.n_steps, "loss": self.loss, "advice": advice}
        if self.reason == "interrupted":
            values["unit"] = "iterations"
            warnings.warn(Warnings.HSW60.format(**values), stacklevel=4)
        elif not self.is_converged and self.n_steps >= self.max_iter:
            change = self._changes[-1] if self._changes else np.nan
            values |= {"change": change, "more": 2 * self.max_iter}
            values |= {"tolerance": self._settings["tolerance"]}
            warnings.warn(Warnings.HSW61.format(**values), stacklevel=4)

    def to_weights(self, x: Floats) -> Floats:
        """Returns the weights, [N]: x[:N] - x[N:] if x has 2 N numbers."""
        n = self._n_weights
        return x[:n] - x[n:] if len(x) > n else x

    def _seconds_left(self) -> float | None:
        """Estimates the seconds until the fit has converged."""
        n_left = iterations_left(self._changes, self._settings["tolerance"])
        if n_left is None:
            return None
        n_here = self.n_steps - self._n_before
        by_iteration = (time.monotonic() - self._began) / n_here
        return by_iteration * min(n_left, self.max_iter - self.n_steps)

    def _watch(self, is_last: bool = False) -> dict[str, Any]:
        """Returns what `TrainingSet.watch` says of the present weights, every
        WATCH_EVERY steps and at the last."""
        watch = getattr(self._batch, "watch", None)
        if watch is None or (self._files.log is None and self._patience is None):
            return {}
        if self.n_steps % WATCH_EVERY and not is_last:
            return {}
        if self._watched is None or self._watched[0] != self.n_steps:
            self._watched = self.n_steps, {"dev": watch(self._batch.weights)}
        return self._watched[1]

    def _look(self, watched: Mapping[str, Any]) -> None:
        """Notes scores of the best weights, which end the fit if better ones are too
        long ago."""
        if self._patience is None or not watched:
            return
        scores, kept = watched["dev"], self._kept
        if kept is None or scores["ents_f"] > kept.scores["ents_f"]:
            kept = _Kept(self.best.copy(), self.loss, self.n_steps, scores)
            self._kept = kept
        if self.n_steps - kept.n_steps >= self._patience:
            n = self._patience
            raise _Ended(True, f"no better F1 on dev in {n} iterations")

    def _take_best(self, watched: Mapping[str, Any]) -> dict[str, Any]:
        """Goes back to the weights with the best F1 on dev; returns their scores."""
        with suppress(_Ended):
            self._look(watched)
        assert self._kept is not None
        self.best, self.loss, self.n_kept, scores = self._kept
        self._batch.weights.set_vector(self.to_weights(self.best), copy=False)
        return {"dev": scores, "kept": self.n_kept}

    def _log(self, event: str, **values: Any) -> None:
        self._files.add_event(event, self.n_steps, **values)

    def _save(self) -> None:
        """Writes the weights that the fit would leave now."""
        x, loss = self.best, self.loss
        if self._kept is not None:
            x, loss = self._kept[:2]
        self._files.save(
            self.to_weights(x),
            self._settings,
            n_iterations=self.n_steps,
            loss=loss if np.isfinite(loss) else None,
            is_done=self.is_converged,
        )
