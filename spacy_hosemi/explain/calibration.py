"""Measures whether 8 of 10 entities with confidence .8 are right, and corrects that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from spacy.training import Example

from ..component.judging import JudgedSpans, Progress, judge_component
from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..prediction.decodings import DECODINGS
from ..prediction.thresholds import Thresholds, least_of
from .operating_points import (
    Point,
    choose_expected_f1,
    choose_thresholds,
    merit,
    try_thresholds,
)

# The temperature is searched between these.
TEMPERATURES = (0.2, 5.0)

# Values of expected_f1 to try, beside None (of each document alone).
EXPECTED_F1 = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

# Values of min_confidence whose precision and recall are shown.
LIMITS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Bin:
    """Entities with low <= confidence < high (the last bin includes 1): how many, at
    least 1; their mean confidence; the share of them that is right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """How far confidences at a temperature can be trusted."""

    temperature: float
    # Expected calibration error: the mean of |confidence - right|, weighted by `n`.
    error: float
    # The mean of - log p, in nats; p = confidence, 1 - confidence of a wrong entity.
    log_loss: float
    bins: list[Bin]  # without empty ones


def measure_reliability(
    judged: JudgedSpans, temperature: float, n_bins: int = 10
) -> Reliability:
    """Returns the reliability of entities that were predicted with a temperature, by
    bins of equal width from 0 to 1; NaN where there are no entities."""
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


def log_loss(judged: JudgedSpans) -> float:
    """Returns the log loss, see `Reliability`."""
    p = np.clip(judged.confidence, 1e-15, 1.0 - 1e-15)
    return float(-np.log(np.where(judged.is_right, p, 1.0 - p)).mean())


def choose_temperature(judge_at: Callable[[float], JudgedSpans]) -> float | None:
    """Returns the temperature with the lowest log loss, with two decimals, of entities
    as `judge_at` judges them; None without a minimum: all are right, or none is."""
    from scipy.optimize import minimize_scalar

    right = judge_at(1.0).is_right
    if right.all() or not right.any():
        return None
    result = minimize_scalar(
        lambda x: log_loss(judge_at(float(np.exp(x)))),
        bounds=tuple(np.log(TEMPERATURES)),
        method="bounded",
        options={"xatol": 0.005},
    )
    return round(float(np.exp(result.x)), 2)


@dataclass(frozen=True)
class Calibration:
    """Measurements, and the settings chosen by them."""

    judged: JudgedSpans  # with the chosen temperature and expected_f1
    # With the temperature of the component, then with the chosen one, both with the
    # expected_f1 of the component; none if there are no entities.
    reliability: list[Reliability]
    chosen: dict[str, Any]  # temperature, expected_f1, min_confidence
    # What each expected_f1 leaves, with the min_confidence that reaches the wanted
    # precision or recall; empty if none is tried.
    expected: dict[float | None, Point]
    # What each min_confidence leaves; the chosen one is among them.
    thresholds: list[tuple[Thresholds, Point]]
    # Of each label the min_confidence and what it leaves; empty if one is for all.
    by_label: dict[str, tuple[float, Point]]
    notes: list[str]  # what could not be reached


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
    """Measures how far confidences of a component on `load_examples` can be trusted, by
    a few dozen predictions, and chooses settings, which it restores; for `labels` and
    what is `wanted` see `choose_thresholds`. Raises ValueError: HS092 nothing is
    predicted, HS320 no gold."""
    judge_with = partial(judge_component, pipe, examples, progress)
    judged, notes = judge_with(), []
    if not (judged.n_gold.total() > 0 or judged.is_right.any()):
        raise ValueError(Errors.HS320.format(name=pipe.name, found=len(examples)))
    measured = [(judged, pipe.temperature)]
    chosen: dict[str, Any] = {}
    if with_temperature:
        # With "mbr" the predicted entities would depend on the temperature.
        temperature = choose_temperature(
            lambda t: judge_with(temperature=t, decoding="viterbi")
        )
        if temperature is None:
            notes.append("All entities are right, or none is: temperature stays.")
        else:
            chosen["temperature"] = temperature
            judged = judge_with(**chosen)
            measured.append((judged, temperature))
    expected: dict[float | None, Point] = {}
    if with_expected_f1 and DECODINGS[pipe.decoding].reads_expected_f1:
        fixed = None if with_threshold else pipe.min_confidence
        numbers = sorted({*EXPECTED_F1, pipe.expected_f1} - {None})
        tried = {x: judge_with(**chosen, expected_f1=x) for x in (None, *numbers)}
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
        thresholds = choose_thresholds(judged, labels, **wanted)
        chosen["min_confidence"] = thresholds
        for label in labels or ():
            least = least_of(thresholds, label)
            by_label[label] = least, try_thresholds(judged.of_label(label), least)
        points = {f" of {label}": point for label, (_, point) in by_label.items()}
        notes += _missed(points or {"": try_thresholds(judged, thresholds)}, **wanted)
    thresholds = chosen.get("min_confidence", 0.0)
    limits: list[Thresholds] = [*LIMITS, thresholds]
    if isinstance(thresholds, float):
        limits = [*sorted({*LIMITS, thresholds})]
    shown = [(limit, try_thresholds(judged, limit)) for limit in limits]
    reliability = [
        measure_reliability(spans, temperature, n_bins)
        for spans, temperature in measured
        if len(spans.labels)
    ]
    return Calibration(judged, reliability, chosen, expected, shown, by_label, notes)


def _choose_expected_f1(
    tried: Mapping[float | None, JudgedSpans],
    pipe: HighOrderSemiCRF,
    fixed: Thresholds | None,
    labels: Sequence[str] | None,
    wanted: Mapping[str, float | None],
) -> tuple[float | None, dict[float | None, Point]]:
    """Returns the best expected_f1, and what each leaves with its min_confidence."""
    is_any_wanted = any(value is not None for value in wanted.values())
    least = 0.0 if fixed is None and not is_any_wanted else fixed
    points, merits = {}, {}
    for value, judged in tried.items():
        limits = choose_thresholds(judged, labels, **wanted) if least is None else least
        points[value] = try_thresholds(judged, limits)
        merits[value] = merit(judged, limits, labels, **wanted)
    return choose_expected_f1(merits, pipe.expected_f1), points


def _missed(points: Mapping[str, Point], **wanted: float | None) -> Iterator[str]:
    """Yields a note on each precision or recall that no min_confidence reaches."""
    for figure, least in wanted.items():
        for of_what, point in points.items():
            value = getattr(point, figure)
            if least is not None and point.n and value < least:
                yield f"The {figure}{of_what} is at most {value:.4f}, not {least:g}."


# What a picture can be, by the ending of its file.
ENDINGS = (".png", ".svg", ".pdf")
_COLOURS = ("#999999", "#d55e00")


def draw_calibration(path: str | Path, calibration: Calibration) -> None:
    """Draws a reliability diagram, and precision, recall and F1 by threshold, to a file
    that ends in one of ENDINGS. Raises ImportError HS100 without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(Errors.HS100) from None
    # Without a random salt and the date the same numbers give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "calibration", "font.size": 9}):
        figure = Figure(figsize=(8.0, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_reliability(left, calibration.reliability)
        _draw_thresholds(right, calibration)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(path, dpi=150, metadata=metadata.get(Path(path).suffix.lower()))


def _draw_reliability(panel: Any, reliability: Sequence[Reliability]) -> None:
    panel.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8, linestyle=":")
    for measured, colour in zip(reliability, _COLOURS[-len(reliability) :]):
        label = f"temperature {measured.temperature:g}, error {measured.error:.3f}"
        x, y = [b.confidence for b in measured.bins], [b.right for b in measured.bins]
        panel.plot(x, y, color=colour, marker="o", label=label)
    last = reliability[-1].bins
    panel.bar(
        [b.low for b in last],
        [b.n / sum(b.n for b in last) for b in last],
        width=[b.high - b.low for b in last],
        align="edge",
        color=_COLOURS[-1],
        alpha=0.2,
        label="share of entities",
    )
    panel.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="share right")
    panel.legend(frameon=False, loc="upper left")


def _draw_thresholds(panel: Any, calibration: Calibration) -> None:
    thresholds = np.linspace(0.0, 1.0, 101).tolist()
    points = [try_thresholds(calibration.judged, threshold) for threshold in thresholds]
    for figure, colour in (("precision", "#0072b2"), ("recall", "#009e73")):
        values = [getattr(p, figure) if p.n else np.nan for p in points]
        panel.plot(thresholds, values, color=colour, label=figure)
    panel.plot(thresholds, [p.f1 for p in points], color="#d55e00", label="F1")
    chosen = calibration.chosen.get("min_confidence")
    if isinstance(chosen, float):
        panel.axvline(chosen, color="#999999", linewidth=0.8, linestyle="--")
    panel.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="min_confidence")
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.legend(frameon=False, loc="best")
