"""Whether eight of ten entities with confidence .8 are right, and what to do if not.

Nothing is printed here; that is done in `cli`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from spacy.training import Example

from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..prediction.thresholds import Thresholds, least_of
from .judging import Judged, Progress, judge_all
from .operating_points import (
    Point,
    choose_expected_f1,
    choose_thresholds,
    merit,
    try_thresholds,
)

# Where the temperature is looked for.
TEMPERATURES = (0.2, 5.0)

# What is tried as expected_f1, beside that of each document alone.
EXPECTED_F1 = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

# What is left with these as min_confidence is shown.
LIMITS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Bin:
    """Entities with about the same confidence.

    low, high (float): From low on, below high; the last one up to 1.
    n (int): How many, at least one.
    confidence (float): Their mean.
    right (float): The share that is right.
    """

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """How far confidences can be trusted.

    temperature (float): Of the component.
    error (float): Expected calibration error: the mean difference of `confidence` and
        `right` of the bins, weighted by `n`.
    log_loss (float): Mean - log of the probability that was given to what is the case,
        right or wrong, in nats.
    bins (List[Bin]): Those with entities.
    """

    temperature: float
    error: float
    log_loss: float
    bins: list[Bin]


def measure_reliability(
    judged: Judged, temperature: float, n_bins: int = 10
) -> Reliability:
    """How far confidences can be trusted.

    judged (Judged): Entities, at this temperature.
    temperature (float): Of the component.
    n_bins (int): Bins of equal width from 0 to 1.
    RETURNS (Reliability): See there; nan where there are no entities.
    """
    if not len(judged.labels):
        return Reliability(temperature, np.nan, np.nan, [])
    p, right = judged.confidence, judged.is_right
    index = np.minimum((p * n_bins).astype(int), n_bins - 1)
    bins = [
        Bin(
            low=float(k) / n_bins,
            high=float(k + 1) / n_bins,
            n=int((index == k).sum()),
            confidence=float(p[index == k].mean()),
            right=float(right[index == k].mean()),
        )
        for k in np.unique(index)
    ]
    error = sum(b.n * abs(b.confidence - b.right) for b in bins) / len(p)
    return Reliability(temperature, error, log_loss(judged), bins)


def log_loss(judged: Judged) -> float:
    """RETURNS (float): Mean - log of what was given to the truth, in nats."""
    p = np.clip(judged.confidence, 1e-15, 1.0 - 1e-15)
    return float(-np.log(np.where(judged.is_right, p, 1.0 - p)).mean())


def choose_temperature(judge_at: Callable[[float], Judged]) -> float | None:
    """The temperature with the lowest log loss.

    judge_at (Callable[[float], Judged]): Of a temperature: always the same entities.
    RETURNS (Optional[float]): With two decimals; None if all entities are right, or
        none is: they would be as sure as can be, which says nothing of others.
    """
    from scipy.optimize import minimize_scalar

    right = judge_at(1.0).is_right
    if right.all() or not right.any():
        return None
    found = minimize_scalar(
        lambda x: log_loss(judge_at(float(np.exp(x)))),
        bounds=tuple(np.log(TEMPERATURES)),
        method="bounded",
        options={"xatol": 0.005},
    )
    return round(float(np.exp(found.x)), 2)


def reads_expected_f1(pipe: HighOrderSemiCRF) -> bool:
    """Whether what a component finds depends on its expected_f1."""
    return pipe.decoding == "mbr"


def try_expected_f1(
    judge_at: Callable[[float | None], Judged], present: float | None
) -> dict[float | None, Judged]:
    """What is found with each of EXPECTED_F1.

    judge_at (Callable[[Optional[float]], Judged]): With one.
    present (Optional[float]): Is tried, too.
    """
    numbers = sorted(x for x in {*EXPECTED_F1, present} if x is not None)
    return {value: judge_at(value) for value in (None, *numbers)}


@dataclass(frozen=True)
class Calibration:
    """What was measured, and what follows.

    judged (Judged): Entities, with the temperature and expected_f1 that are chosen.
    reliability (List[Reliability]): With the temperature of the component, then with
        the one chosen, if something is found; both with the component's expected_f1.
    chosen (Dict[str, Any]): Options: temperature, expected_f1, min_confidence.
    expected (Dict[Optional[float], Point]): What is left with some expected_f1, and the
        min_confidence that has what is wanted, if something is; empty if none is tried.
    thresholds (List[Tuple[Thresholds, Point]]): What is left with some min_confidence,
        that which is chosen among them.
    by_label (Dict[str, Tuple[float, Point]]): What is left of each label, if each has a
        min_confidence of its own.
    notes (List[str]): What could not be had.
    """

    judged: Judged
    reliability: list[Reliability]
    chosen: dict[str, Any]
    expected: dict[float | None, Point]
    thresholds: list[tuple[Thresholds, Point]]
    by_label: dict[str, tuple[float, Point]]
    notes: list[str]


def calibrate(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    *,
    n_bins: int = 10,
    with_temperature: bool = True,
    with_expected_f1: bool = True,
    with_threshold: bool = True,
    labels: Sequence[str] | None = None,
    progress: Progress = iter,
    **wanted: float | None,
) -> Calibration:
    """How far confidences can be trusted; choose temperature, expected_f1 and
    min_confidence.

    pipe (HighOrderSemiCRF): A trained component, which stays as it is.
    examples (Sequence[Example]): From `read_examples`.
    n_bins (int): As for `measure_reliability`.
    with_temperature, with_expected_f1, with_threshold (bool): What is chosen; an
        expected_f1 only with decoding = "mbr", which reads it.
    labels (Optional[Sequence[str]]): As for `choose_thresholds`.
    progress (Callable): As for `judge_all`, which is called some dozen times.
    wanted (Optional[float]): As for `choose_threshold`.
    RETURNS (Calibration): See there.
    RAISES (ValueError): HS092 there is nothing to judge.
    """
    judge_with = partial(judge_all, pipe, examples, progress)
    judged, notes = judge_with(), []
    reliability = _measured(judged, pipe.temperature, n_bins)
    chosen: dict[str, Any] = {}
    if with_temperature:
        # What "mbr" finds depends on the temperature.
        found = choose_temperature(
            lambda t: judge_with(temperature=t, decoding="viterbi")
        )
        if found is None:
            notes.append("All entities are right, or none is: temperature stays.")
        else:
            chosen["temperature"] = found
            judged = judge_with(**chosen)
            reliability += _measured(judged, found, n_bins)
    expected: dict[float | None, Point] = {}
    if with_expected_f1 and reads_expected_f1(pipe):
        fixed = None if with_threshold else pipe.min_confidence
        tried = try_expected_f1(
            lambda e: judge_with(**chosen, expected_f1=e), pipe.expected_f1
        )
        best, expected = _choose_expected_f1(tried, pipe, fixed, labels, wanted)
        chosen["expected_f1"], judged = best, tried[best]
    if not len(judged.labels):
        raise ValueError(Errors.HS092.format(name=pipe.name, found=len(examples)))
    by_label: dict[str, tuple[float, Point]] = {}
    if with_threshold and pipe.level_weights is not None:
        notes.append(
            "Labels are in a tree: what is less sure gets a label above its own, and "
            "counts as dropped here."
        )
    if with_threshold:
        chosen["min_confidence"] = thresholds = choose_thresholds(
            judged, labels, **wanted
        )
        for label in labels or ():
            threshold = least_of(thresholds, label)
            by_label[label] = (
                threshold,
                try_thresholds(judged.of_label(label), threshold),
            )
        points = {f" of {label}": point for label, (_, point) in by_label.items()}
        notes += _missed(points or {"": try_thresholds(judged, thresholds)}, **wanted)
    limits = _with(chosen.get("min_confidence", 0.0))
    shown = [(thresholds, try_thresholds(judged, thresholds)) for thresholds in limits]
    return Calibration(judged, reliability, chosen, expected, shown, by_label, notes)


def _choose_expected_f1(
    tried: Mapping[float | None, Judged],
    pipe: HighOrderSemiCRF,
    fixed: Thresholds | None,
    labels: Sequence[str] | None,
    wanted: Mapping[str, float | None],
) -> tuple[float | None, dict[float | None, Point]]:
    """The best of some expected_f1, and what each leaves: with a min_confidence that is
    fixed, or the one that has what is wanted, or none if nothing is."""
    least = fixed
    if fixed is None and all(value is None for value in wanted.values()):
        least = 0.0
    points, merits = {}, {}
    for value, judged in tried.items():
        limits = choose_thresholds(judged, labels, **wanted) if least is None else least
        points[value] = try_thresholds(judged, limits)
        merits[value] = merit(judged, limits, labels, **wanted)
    return choose_expected_f1(merits, pipe.expected_f1), points


def _measured(judged: Judged, temperature: float, n_bins: int) -> list[Reliability]:
    """The one measurement; none where nothing is found."""
    if not len(judged.labels):
        return []
    return [measure_reliability(judged, temperature, n_bins)]


def _with(chosen: Thresholds) -> Sequence[Thresholds]:
    """What is shown, with what is chosen."""
    if isinstance(chosen, float):
        return sorted({*LIMITS, chosen})
    return [*LIMITS, chosen]


def _missed(points: Mapping[str, Point], **wanted: float | None) -> Iterator[str]:
    """Where no min_confidence has what is wanted."""
    for figure, least in wanted.items():
        for of_what, point in points.items():
            value = getattr(point, figure)
            if least is not None and point.n and value < least:
                yield f"The {figure}{of_what} is at most {value:.4f}, not {least:g}."
