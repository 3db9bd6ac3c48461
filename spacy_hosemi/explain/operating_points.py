"""Precision, recall and F1 by min_confidence and expected_f1, and the best of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..component.judging import JudgedSpans
from ..prediction.thresholds import LabelThresholds, Thresholds, least_of


@dataclass(frozen=True)
class Point:
    """How many entities a min_confidence or an expected_f1 leaves, and their scores."""

    n: int
    precision: float
    recall: float
    f1: float


def try_thresholds(judged: JudgedSpans, thresholds: Thresholds) -> Point:
    """Returns what a min_confidence leaves."""
    least = np.array([least_of(thresholds, label) for label in judged.labels])
    is_right = judged.is_right[judged.confidence >= least]
    n_right, n_gold = int(is_right.sum()), judged.n_gold.total()
    return Point(
        n=len(is_right),
        precision=n_right / max(len(is_right), 1),
        recall=n_right / max(n_gold, 1),
        f1=2.0 * n_right / max(len(is_right) + n_gold, 1),
    )


def choose_threshold(
    judged: JudgedSpans, *, precision: float | None = None, recall: float | None = None
) -> float:
    """Returns the threshold with the highest F1, or the lowest (highest) that reaches a
    precision (recall) or comes nearest; with few decimals."""
    if not len(judged.confidence):
        return 0.0
    # By distinct confidence, descending: right and all entities with at least that.
    values, index = np.unique(-judged.confidence, return_inverse=True)
    values, n_kept = -values, np.cumsum(np.bincount(index))
    n_right = np.cumsum(np.bincount(index, weights=judged.is_right))
    n_gold = max(judged.n_gold.total(), 1)
    if recall is not None:  # the first of equals has the fewest entities
        best = int(np.argmax(np.minimum(n_right / n_gold, recall)))
    else:  # the last of equals has the most entities
        scores = 2.0 * n_right / (n_kept + n_gold)
        if precision is not None:
            scores = np.minimum(n_right / n_kept, precision)
        best = len(scores) - 1 - int(np.argmax(scores[::-1]))
    return 0.0 if best + 1 == len(values) else short_between(*values[[best + 1, best]])


def merit(
    judged: JudgedSpans,
    thresholds: Thresholds,
    labels: Iterable[str] | None = None,
    **wanted: float | None,
) -> tuple[float, float]:
    """Returns the merit of a min_confidence: the reached part of the wanted precision
    or recall, the mean of `labels` or of all; then the other of the two. If neither
    is wanted: F1 and 0."""
    point = try_thresholds(judged, thresholds)
    for figure, other in (("precision", "recall"), ("recall", "precision")):
        if (least := wanted.get(figure)) is not None:
            points = [point]
            if labels is not None:
                points = [
                    try_thresholds(judged.of_label(label), least_of(thresholds, label))
                    for label in labels
                ]
            reached = [min(getattr(x, figure), least) for x in points]
            return sum(reached) / max(len(reached), 1), getattr(point, other)
    return point.f1, 0.0


def choose_expected_f1(
    merits: Mapping[float | None, tuple[float, float]], present: float | None
) -> float | None:
    """Returns the expected_f1 with the highest merit; of equals the present one, or
    else the median; None (of each document alone) only if no number is as good."""
    best = max(merits.values())
    equals = [value for value in merits if merits[value] == best]
    if present in equals:
        return present
    numbers = sorted(value for value in equals if value is not None)
    return numbers[len(numbers) // 2] if numbers else None


def short_between(low: float, high: float) -> float:
    """Returns the number with the fewest decimals between two others."""
    middle = 0.5 * (low + high)
    rounded = (round(float(middle), digits) for digits in range(1, 16))
    return next((x for x in rounded if low < x < high), float(high))


def choose_thresholds(
    judged: JudgedSpans, labels: Iterable[str] | None = None, **wanted: float | None
) -> Thresholds:
    """Returns a min_confidence for all labels together; or for each of `labels`,
    without those that are 0. `wanted`: as for `choose_threshold`."""
    if labels is None:
        return choose_threshold(judged, **wanted)
    chosen = (
        (label, choose_threshold(judged.of_label(label), **wanted)) for label in labels
    )
    return LabelThresholds((label, least) for label, least in chosen if least)
