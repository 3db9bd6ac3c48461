"""Batch training: L-BFGS on the whole corpus; SciPy's, where weights have bounds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from ..core.arguments import MOST_THREADS
from ..errors import Errors
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.penalty_groups import by_penalty_group
from ..values import (
    ByName,
    FilePath,
    Flag,
    Number,
    OrNull,
    OrWord,
    Setting,
    Whole,
    read_all,
)
from .batch import Batch, Floats, Trainable, Trained, sharing
from .course import Records
from .kernels.history import add_penalty
from .objectives import Objective, is_smooth
from .progress import bar_of
from .quasi_newton import minimize_smooth
from .scipy_lbfgs import minimize_bounded


@dataclass(frozen=True)
class FitReport:
    """What one minimization says of itself.

    n_iterations (int): Iterations that were made.
    loss (float): The objective at the end, with its penalties, in nats.
    n_weights (int): Weights that were fitted.
    is_converged (bool): Whether it stopped because nothing was left to gain: neither at
        max_iter nor by Ctrl-C.
    reason (str): Why it stopped, in the words of the optimizer; "interrupted": Ctrl-C.
    seconds (float): Of CPU.
    n_kept (Optional[int]): With patience, iterations before the weights that are kept.
    """

    n_iterations: int
    loss: float
    n_weights: int
    is_converged: bool
    reason: str
    seconds: float
    n_kept: int | None = None


# Of a `Trainable`; of averages, a Batch.
Fit = Callable[[Any], FitReport | None]

# Steps from which the curvature is known: 2 vectors each, the larger part of memory.
_HISTORY = 6

# Iterations that gain little, at which a fit ends that is no trial.
_N_SMALL = 2

# Of a fit that chooses l2: the scores of its trials are those of fits to the end within
# chance (see benchmarks/results/settings.md), in two thirds of the time.
TRIAL_TOLERANCE = 10.0


# The block [initialize.components.hosemi.fit] of this fit.
SETTINGS = (
    Setting(
        "l2",
        OrWord("auto", ByName(Number(least=0.0))),
        0.1,
        "Weight of half the squared norm (1 / sigma^2), for all weights or by group: "
        "a role such as inside, or transition, pattern, length. "
        '"auto": what is best on the documents of `dev`, or on folds of the training '
        "documents.",
    ),
    Setting(
        "border_factor",
        Number(least=0.0),
        1.0,
        "Multiplies l2 for features of the borders of segments, start and end.",
    ),
    Setting(
        "choose_decoding",
        Flag(),
        True,
        'With l2 = "auto": choose decoding and expected_f1, too.',
    ),
    Setting("l1", Number(least=0.0), 0.0, "Weight of the sum of absolute values."),
    Setting("max_iter", Whole(1), 1000, "At most this many iterations."),
    Setting(
        "tolerance",
        Number(least=0.0),
        1e-4,
        "Stop when a second iteration lowers the objective by less than this share of "
        "it; with l1 or nonnegative, when the first one does.",
    ),
    Setting(
        "patience",
        OrNull(Whole(1)),
        None,
        "Stop after this many iterations without a better F1 on the documents of "
        "`dev`, and keep the weights that were best there. It looks every 10 "
        "iterations, and with labels in a tree on the last level only.",
    ),
    Setting("progress", Flag(), True, "Show a progress bar on stderr."),
    Setting(
        "nonnegative",
        Flag(),
        False,
        "No weight of a label pattern of three or more labels, nor of its features, is "
        "below 0: decoding is faster.",
    ),
    Setting(
        "threads",
        Whole(1, MOST_THREADS),
        1,
        "Threads that share each iteration; the weights are the same for any number.",
    ),
    Setting(
        "log",
        OrNull(FilePath()),
        None,
        "A file for the course of the fit, as lines of JSON; an earlier log goes, "
        "unless the fit goes on by `checkpoint`.",
    ),
    Setting(
        "checkpoint",
        OrNull(FilePath()),
        None,
        "A file (.npz) in which the fit keeps where it is. If the file is there, the "
        "fit goes on from it, without l1 and nonnegative to the same bits.",
    ),
    Setting(
        "checkpoint_every",
        Number(least=0.0),
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
    threads: int = 1,
    patience: int | None = None,
    spark_partitions: Any = None,
) -> Lbfgs:
    """Registered as "spacy_hosemi.lbfgs.v1" in `misc`.

    l2 (Union[float, Dict[str, float], str]): Weight of half the squared norm (1 /
        sigma^2), for all weights or by group (a role such as inside, or pattern, or
        length); "auto": see `PenaltySearch`.
    l1 (float): Weight of the sum of absolute values.
    max_iter (int): Most iterations.
    tolerance (float): Stop when a second iteration lowers the objective by less than
        this share of it; with l1 or nonnegative, when the first one does.
    progress (bool): Show a progress bar on stderr.
    nonnegative (bool): No weight of a label pattern of three or more names, nor of its
        features, is below 0: decoding is faster.
    log (Optional[Union[str, Path]]): A file for lines of JSON, see `FitLog`.
    checkpoint (Optional[Union[str, Path]]): A file to go on from, see `Checkpoint`.
    checkpoint_every (float): Seconds between two writings of it.
    choose_decoding (bool): With "auto", choose the decoding, too.
    border_factor (float): Multiplies l2 for features of the roles start and end.
    threads (int): That share each iteration; the same weights for any number.
    patience (Optional[int]): Stop after this many iterations without a better F1 on the
        documents of dev, and keep the weights that were best there.
    spark_partitions (None): No setting any more: null, or left out (HS341).
    RETURNS (Callable[[Batch], FitReport]): Finds the best weights and leaves them in
        place; Ctrl-C ends it with the best so far. It raises HS121 (ValueError) if the
        objective is not smooth, HS271 and HS272 if the file `checkpoint` does not fit.
    RAISES (ValueError): HS043 a number out of range; HS054 unknown group; HS270 the
        folder of a file does not exist; HS300 `log` is another file; HS301 both files
        are one; HS341 `spark_partitions` is set.
    """
    if spark_partitions is not None:
        raise ValueError(Errors.HS341.format(found=spark_partitions))
    given = read_all(SETTINGS, locals(), prefix="fit.")
    penalty = None if given["l2"] == "auto" else _penalty(given["l2"], given)
    records = Records(given["log"], given["checkpoint"], given["checkpoint_every"])
    return Lbfgs(penalty, given, records)


def _penalty(
    l2: float | Mapping[str, float], given: Mapping[str, Any]
) -> dict[str, float]:
    """The penalty of each group. RAISES (ValueError): HS054 unknown group."""
    penalty = by_penalty_group("l2", l2)
    for role in ("start", "end"):
        penalty[role] *= given["border_factor"]
    return penalty


class Lbfgs:
    """A fit of `make_lbfgs`, to be called with a batch.

    Not a dataclass: where a config is checked, those become dictionaries.

    l2 (Optional[Mapping[str, float]]): By group; None: the component chooses it.
    given (Mapping[str, Any]): All settings.
    records (Records): Files that it writes.
    """

    def __init__(
        self, l2: Mapping[str, float] | None, given: Mapping[str, Any], records: Records
    ) -> None:
        self.l2, self.records = l2, records
        self.progress: bool = given["progress"]
        self.choose_decoding: bool = given["choose_decoding"]
        self.patience: int | None = given["patience"]
        self.given = given

    def check(self, objective: Objective) -> None:
        """What can be checked before there is a batch.

        objective (Objective): Of the component.
        RAISES (ValueError): HS121 it is not smooth; HS271 the file `checkpoint`.
        """
        if not is_smooth(objective):
            raise ValueError(Errors.HS121)
        if self.records.checkpoint is not None:
            self.records.checkpoint.read()

    def __call__(self, batch: Trainable) -> FitReport:
        if isinstance(batch, Batch):
            self.check(batch.objective)
        if self.l2 is None:
            raise ValueError(Errors.HS290)
        given = self.given
        args = given["l1"], given["max_iter"], given["tolerance"], given["progress"]
        others = given["nonnegative"], self.records, given["threads"]
        return minimize(batch, self.l2, *args, *others, given["patience"])

    def at(self, l2: float, *, is_final: bool = False) -> Lbfgs:
        """RETURNS (Lbfgs): With one penalty for all weights. If it is not the last one,
        it shows and writes nothing, and stops at a change that is `TRIAL_TOLERANCE`
        times as large."""
        penalty = _penalty(l2, self.given)
        if is_final:
            return Lbfgs(penalty, self.given, self.records)
        tolerance = TRIAL_TOLERANCE * self.given["tolerance"]
        given = {**self.given, "progress": False, "tolerance": tolerance}
        given["patience"] = None
        return Lbfgs(penalty, given, Records(is_trial=True))


def minimize(
    batch: Trainable,
    l2: Mapping[str, float],
    l1: float,
    max_iter: int,
    tolerance: float,
    progress: bool,
    nonnegative: bool = False,
    records: Records | None = None,
    threads: int = 1,
    patience: int | None = None,
) -> FitReport:
    """Minimise the loss with both penalties, from the present weights.

        sum of losses + sum_k l2[k] / 2 * w[k]^2 + l1 * sum_k |w[k]|

    With l1, w is the difference of two vectors that are bounded below by 0, so that
    the objective is smooth. Where w must be 0 or more, the second one is 0.

    Ctrl-C ends it, from the first iteration on, as max_iter does.

    records (Optional[Records]): Files that it writes.
    threads (int): That share the work; the same bits for any number.
    patience (Optional[int]): See `make_lbfgs`; it counts if `batch.watch` is set.
    WARNS (UserWarning): HSW60 interrupted; HSW61 stopped at max_iter.
    """
    weights = batch.weights
    penalty = weights.vector_values(l2)
    settings: dict[str, Any]
    settings = {"l2": dict(l2), "l1": l1, "nonnegative": nonnegative}
    if patience is not None:
        settings["patience"] = patience
    course = (records or Records()).begin(batch, settings, max_iter, tolerance)
    start = course.start
    n = len(start)
    is_bounded = None
    if l1 or nonnegative:
        import scipy.optimize  # noqa: F401 - its BLAS is limited below, too

        is_bounded = batch.freedom(nonnegative) == Freedom.NONNEGATIVE
    began = time.process_time()
    # The vectors are added up in less time than threads need to meet, and while these
    # wait for each other they take all cores: a fit took 2 to 3 times as long.
    one_thread = threadpool_limits(limits=1, user_api="blas")
    bar = bar_of(None, "L-BFGS", "iteration", progress)
    shared = sharing(batch, threads)
    with one_thread, bar, shared as team, course.running(bar):

        def value_and_gradient(x: Floats) -> tuple[float, Floats]:
            w = x[:n] - x[n:] if l1 else x
            weights.set_vector(w, copy=False)
            value, gradient = course.evaluate()
            value += add_penalty(penalty, w, gradient)
            if l1:
                value += l1 * x.sum()
                gradient = np.concatenate([gradient, -gradient]) + l1
            course.evaluated(value, gradient)
            return value, gradient

        if l1:
            start = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
        course.best = start
        if not course.is_over:
            here = course.position
            n_left = max_iter - course.n_steps + (here.n_iterations if here else 0)
            ends = n_left, 2 * n_left, course.tolerance
            n_small = 1 if records is not None and records.is_trial else _N_SMALL
            if is_bounded is None:
                how = course.move, *ends, _HISTORY, n_small, team
                course.end(minimize_smooth(value_and_gradient, here or start, *how))
            else:
                args = value_and_gradient, start, course.step, *ends, _HISTORY
                course.end(minimize_bounded(*args, is_bounded))
    weights.set_vector(course.to_weights(course.best), copy=False)
    weights.round()  # a saved model predicts the same
    seconds = time.process_time() - began
    found = course.n_steps, course.loss, n, course.is_converged
    report = FitReport(*found, course.reason, seconds, course.n_kept)
    course.warn()
    if progress:
        kept = "" if report.n_kept is None else f"; kept: iteration {report.n_kept}"
        tqdm.write(
            f"L-BFGS stopped after {report.n_iterations} iterations, {seconds:.1f} CPU "
            f"s, loss {report.loss:.2f}, {n} weights: {report.reason}"
            f"{kept}\n"
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
