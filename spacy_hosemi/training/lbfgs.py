"""Batch training: L-BFGS on the whole corpus; SciPy's, where weights have bounds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from ..arrays import Floats
from ..core.arguments import MOST_THREADS
from ..errors import Errors
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.penalty_groups import by_penalty_group
from ..values import (
    FILE_PATH,
    FLAG,
    Setting,
    by_name,
    integer,
    number,
    or_null,
    or_word,
    read_all,
)
from .checkpoint import Checkpoint
from .fit_log import FitLog
from .fit_progress import FitProgress
from .minimizers import minimize_bounded, minimize_smooth, parts_of
from .objectives import Objective, is_smooth
from .progress import bar_of
from .training_set import Trainable, Trained, TrainingSet, sharing


@dataclass(frozen=True)
class FitReport:
    """What one minimization says of itself."""

    n_iterations: int
    loss: float  # the objective at the end, with its penalties, in nats
    n_weights: int
    is_converged: bool  # nothing was left to gain: neither max_iter nor Ctrl-C ended it
    reason: str  # why it stopped, in the optimizer's words; "interrupted": Ctrl-C
    seconds: float  # of CPU
    n_kept: int | None = None  # with patience, iterations before the weights kept


# Of a `Trainable`; of averages, a TrainingSet.
Fit = Callable[[Any], FitReport | None]

# Of a fit that chooses l2: the scores of its trials are those of fits to the end within
# chance (see benchmarks/results/settings.md), in two thirds of the time.
TRIAL_TOLERANCE = 10.0


# The block [initialize.components.hosemi.fit] of this fit.
SETTINGS = (
    Setting(
        "l2",
        or_word("auto", by_name(number(least=0.0))),
        0.1,
        "Weight of half the squared norm (1 / sigma^2), for all weights or by group: "
        "a role such as inside, or transition, pattern, length. "
        '"auto": what is best on the documents of `dev`, or on folds of the training '
        "documents.",
    ),
    Setting(
        "border_factor",
        number(least=0.0),
        1.0,
        "Multiplies l2 for features of the borders of segments, start and end.",
    ),
    Setting(
        "choose_decoding",
        FLAG,
        True,
        'With l2 = "auto": choose decoding and expected_f1, too.',
    ),
    Setting(
        "encoder_factor",
        number(least=0.0),
        30.0,
        "Multiplies l2 for the weights of frozen vectors.",
    ),
    Setting("l1", number(least=0.0), 0.0, "Weight of the sum of absolute values."),
    Setting(
        "prune",
        number(0.0, 1.0),
        0.002,
        "At the end the weights of features nearest to 0 become 0, as many as have "
        "this share of the sum of all squares; none with labels in a tree.",
    ),
    Setting("max_iter", integer(1), 1000, "At most this many iterations."),
    Setting(
        "tolerance",
        number(least=0.0),
        1e-4,
        "Stop when a second iteration lowers the objective by less than this share of "
        "it; with l1 or nonnegative, when the first one does.",
    ),
    Setting(
        "patience",
        or_null(integer(1)),
        None,
        "Stop after this many iterations without a better F1 on the documents of "
        "`dev`, and keep the weights that were best there. It looks every 10 "
        "iterations, and with labels in a tree on the last level only.",
    ),
    Setting("progress", FLAG, True, "Show a progress bar on stderr."),
    Setting(
        "nonnegative",
        FLAG,
        False,
        "No weight of a label pattern of three or more labels, nor of its features, is "
        "below 0: decoding is faster.",
    ),
    Setting(
        "threads",
        integer(1, MOST_THREADS),
        1,
        "Threads that share each iteration; the weights are the same for any number.",
    ),
    Setting(
        "log",
        or_null(FILE_PATH),
        None,
        "A file for the course of the fit, as lines of JSON; an earlier log goes, "
        "unless the fit goes on by `checkpoint`.",
    ),
    Setting(
        "checkpoint",
        or_null(FILE_PATH),
        None,
        "A file (.npz) for the best weights so far. If the file is there, the fit goes "
        "on from them.",
    ),
    Setting(
        "checkpoint_every",
        number(least=0.0),
        60.0,
        "Seconds between two writings of the file checkpoint; it is written at the end "
        "and at Ctrl-C, too.",
    ),
)


def make_lbfgs(
    l2: float | dict[str, float] | str = 0.1,
    l1: float = 0.0,
    max_iter: int = 1000,
    tolerance: float = 1e-4,
    progress: bool = True,
    nonnegative: bool = False,
    log: str | Path | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
    choose_decoding: bool = True,
    border_factor: float = 1.0,
    encoder_factor: float = 30.0,
    threads: int = 1,
    patience: int | None = None,
    prune: float = 0.002,
    spark_partitions: Any = None,
) -> Lbfgs:
    """Registered as "spacy_hosemi.lbfgs.v1" in `misc`: returns a fit, see SETTINGS.

    spark_partitions (None): No setting any more: null, or left out (HS341).
    RAISES (ValueError): HS043 a number out of range; HS054 unknown group; HS270 the
        folder of a file is missing; HS300 `log` is another file; HS301 both are one.
    """
    if spark_partitions is not None:
        raise ValueError(Errors.HS341.format(found=spark_partitions))
    settings = read_all(SETTINGS, locals(), prefix="fit.")
    penalty = None if settings["l2"] == "auto" else _penalty(settings["l2"], settings)
    return Lbfgs(penalty, settings)


def _penalty(
    l2: float | Mapping[str, float], settings: Mapping[str, Any]
) -> dict[str, float]:
    """Returns the penalty of each group; raises ValueError HS054 for another one."""
    penalty = by_penalty_group("l2", l2)
    for role in ("start", "end"):
        penalty[role] *= settings["border_factor"]
    penalty["encoder"] *= settings["encoder_factor"]
    return penalty


class Lbfgs:
    """A fit, to be called with a batch; `l2` is by group, or the component chooses it.
    Not a dataclass: where a config is checked, those become dictionaries."""

    centre: Floats | None = None  # the weights that l2 holds, [N]; None: all are 0
    known: Floats | float = 0.0  # what is added to the l2 of each weight, [N]
    # There are many of these fits, and one that is kept: it says nothing, and one
    # iteration of little gain ends it.
    is_trial = False

    def __init__(
        self, l2: Mapping[str, float] | None, settings: Mapping[str, Any]
    ) -> None:
        self.l2, self.settings = l2, settings
        log, checkpoint = settings["log"], settings["checkpoint"]
        self.log = None if log is None else FitLog(_output_path("fit.log", log))
        self.checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            path = _output_path("fit.checkpoint", checkpoint)
            self.checkpoint = Checkpoint(path, settings["checkpoint_every"])
            if log is not None and os.path.realpath(log) == os.path.realpath(path):
                raise ValueError(Errors.HS301.format(log=log, checkpoint=checkpoint))

    def check(self, objective: Objective) -> None:
        """Raises ValueError HS121 if the objective is not smooth, HS271 if the file
        `checkpoint` is no such file."""
        if not is_smooth(objective):
            raise ValueError(Errors.HS121)
        if self.checkpoint is not None:
            self.checkpoint.read()

    def at(self, l2: float, *, is_final: bool = False) -> Lbfgs:
        """Returns a fit with one penalty for all weights. If it is not the last one, it
        writes nothing, and stops at a change `TRIAL_TOLERANCE` times as large."""
        fit = copy(self)
        fit.l2 = _penalty(l2, self.settings)
        if not is_final:
            fit.is_trial, fit.log, fit.checkpoint = True, None, None
            tolerance = TRIAL_TOLERANCE * self.settings["tolerance"]
            more = {"progress": False, "tolerance": tolerance, "patience": None}
            fit.settings = {**self.settings, **more}
        return fit

    def around(self, centre: Floats, known: Floats) -> Lbfgs:
        """Returns the same fit, near weights that are known from other documents. It
        says nothing, and raises KeyboardInterrupt where others end."""
        fit = copy(self)
        fit.centre, fit.known, fit.is_trial = centre, known, True
        return fit

    def __call__(self, batch: Trainable) -> FitReport:
        """Leaves the weights that minimize the loss with both penalties.

            sum of losses + sum_k (l2[k] + known[k]) / 2 * (w[k] - centre[k])^2
                          + l1 * sum_k |w[k]|

        With l1, w is the difference of two vectors that are bounded below by 0, so that
        the objective is smooth. Where w must be 0 or more, the second one is 0. Ctrl-C
        ends it, from the first iteration on, as max_iter does: warnings HSW60, HSW61.
        """
        if isinstance(batch, TrainingSet):
            self.check(batch.objective)
        if self.l2 is None:
            raise ValueError(Errors.HS290)
        began = time.process_time()
        progress = self._minimize(batch, self.l2)
        if self.centre is not None and progress.reason == "interrupted":
            raise KeyboardInterrupt
        batch.weights.set_vector(progress.to_weights(progress.best), copy=False)
        batch.weights.round()  # a saved model predicts the same
        share = 0.0
        if isinstance(batch, TrainingSet) and batch.is_last and not self.is_trial:
            share = batch.share = self.settings["prune"]
        report = FitReport(
            progress.n_steps,
            progress.loss,
            len(batch.weights.vector()),
            progress.is_converged,
            progress.reason,
            time.process_time() - began,
            progress.n_kept,
        )
        if not self.is_trial:
            progress.warn()
        if self.settings["progress"]:
            n, n_kept = report.n_iterations, report.n_kept
            kept = "" if n_kept is None else f"; kept: iteration {n_kept}"
            tqdm.write(
                f"L-BFGS stopped after {n} iterations, {report.seconds:.1f} CPU s, "
                f"loss {report.loss:.2f}, {report.n_weights} weights: {report.reason}"
                f"{kept}\n{size_of(batch.weights, share)}",
                file=sys.stderr,
            )
        return report

    def _minimize(self, batch: Trainable, l2: Mapping[str, float]) -> FitProgress:
        weights, settings = batch.weights, self.settings
        l1, nonnegative = settings["l1"], settings["nonnegative"]
        about = {"l2": dict(l2), "l1": l1, "nonnegative": nonnegative}
        about["tolerance"] = settings["tolerance"]
        if settings["patience"] is not None:
            about["patience"] = settings["patience"]
        n_small = 1 if self.is_trial or l1 or nonnegative else 2
        files, limits = (self.log, self.checkpoint), (settings["max_iter"], n_small)
        progress = FitProgress(batch, *files, about, *limits)
        penalty, start = weights.vector_values(l2) + self.known, progress.best
        if l1 or nonnegative:
            import scipy.optimize  # noqa: F401 - its BLAS is limited below, too
        # The vectors are added up in less time than threads need to meet, and while
        # these wait for each other they take all cores: a fit took 2 to 3 times as
        # long. And the sums of threads would be other bits.
        one_thread = threadpool_limits(limits=1, user_api="blas")
        bar = bar_of(None, "L-BFGS", "iteration", settings["progress"])
        shared = sharing(batch, settings["threads"])
        with one_thread, bar, shared, progress.running(bar):

            def value_and_gradient(x: Floats) -> tuple[float, Floats]:
                w = progress.to_weights(x)
                weights.set_vector(w, copy=False)
                value, gradient = progress.evaluate()
                if self.centre is None:
                    for part in parts_of(len(w)):
                        pull = penalty[part] * w[part]
                        value += 0.5 * float(pull @ w[part])
                        gradient[part] += pull
                else:
                    gradient *= progress.unit
                    gradient += x
                    value += 0.5 * float(x @ x)
                if l1:
                    value += l1 * float(x.sum())
                    gradient = np.concatenate([gradient, -gradient]) + l1
                progress.evaluated(value, gradient)
                return value, gradient

            if self.centre is not None:
                progress.centre, progress.unit = self.centre, penalty**-0.5
                start = (start - self.centre) / progress.unit
            if l1:
                start = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
            progress.best = start
            args = value_and_gradient, start, progress.step
            if progress.is_over:
                value_and_gradient(start)  # its loss is not in the file
            elif l1 or nonnegative:
                is_bounded = batch.freedom(nonnegative) == Freedom.NONNEGATIVE
                progress.end(*minimize_bounded(*args, is_bounded))
            else:
                progress.end(*minimize_smooth(*args))
        return progress


def _output_path(name: str, path: str) -> Path:
    """Returns the path of a file that need not exist, in a folder that does; raises
    ValueError HS270 if there is no such folder, or the path is a folder itself."""
    where = Path(path)
    try:
        reason = "it is a folder itself" if where.is_dir() else ""
        if not where.parent.is_dir():
            reason = f"{str(where.parent)!r} is no folder"
    except OSError as e:  # as of a folder that may not be entered, or a name too long
        reason = f"it cannot be reached ({e.strerror})"
    if reason:
        raise ValueError(Errors.HS270.format(name=name, path=path, reason=reason))
    return where


def size_of(weights: Trained, share: float = 0.0) -> str:
    """How large the model will be, see `Weights.pruned_size`."""
    size, pruned = weights.pruned_size(share), " left by fit.prune" if share else ""
    return (
        f"{size['features']:,} features, {size['weights']:,} weights{pruned}, "
        f"{size['patterns']:,} label patterns, {size['mb']:.2f} MB"
    )
