"""Precision, recall and F1 by min_confidence and expected_f1, and the best of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..component.judging import JudgedSpans
from ..prediction.thresholds import LabelThresholds, Thresholds, least_of


@dataclass(frozen=True)
class Point:
    """The entities that are predicted with a min_confidence or an expected_f1.

    n (int): How many.
    precision, recall, f1 (float): From 0 to 1; 0 if there are none.
    """

    n: int
    precision: float
    recall: float
    f1: float


def try_thresholds(judged: JudgedSpans, thresholds: Thresholds) -> Point:
    """RETURNS (Point): What a min_confidence leaves.

    judged (JudgedSpans): Entities.
    thresholds (Union[float, Dict[str, float]]): As `min_confidence`.
    """
    least = np.array([least_of(thresholds, label) for label in judged.labels])
    kept = judged.is_right[judged.confidence >= least]
    n_right, n_gold = int(kept.sum()), judged.n_gold.total()
    return Point(
        n=len(kept),
        precision=n_right / max(len(kept), 1),
        recall=n_right / max(n_gold, 1),
        f1=2.0 * n_right / max(len(kept) + n_gold, 1),
    )


def choose_threshold(
    judged: JudgedSpans, *, precision: float | None = None, recall: float | None = None
) -> float:
    """The threshold with the highest F1, or the one that reaches a precision or recall;
    if none does, the threshold that comes nearest.

    judged (JudgedSpans): Entities.
    precision (Optional[float]): Choose the lowest threshold that reaches it.
    recall (Optional[float]): Choose the highest threshold that reaches it.
    RETURNS (float): A number with few decimals between the confidences of the least
        confident entity that is kept and of the most confident one that is not.
    """
    values, n_right, n_kept = _cumulated(judged)
    if not len(values):
        return 0.0
    n_gold = max(judged.n_gold.total(), 1)
    if recall is not None:  # the first of equals has the fewest entities
        best = int(np.argmax(np.minimum(n_right / n_gold, recall)))
    else:  # the last of equals has the most entities
        found = 2.0 * n_right / (n_kept + n_gold)
        if precision is not None:
            found = np.minimum(n_right / n_kept, precision)
        best = len(found) - 1 - int(np.argmax(found[::-1]))
    return 0.0 if best + 1 == len(values) else short_between(*values[[best + 1, best]])


def merit(
    judged: JudgedSpans,
    thresholds: Thresholds,
    labels: Iterable[str] | None = None,
    **wanted: float | None,
) -> tuple[float, float]:
    """The merit of a min_confidence, to compare it with that of others.

    judged (JudgedSpans): Entities.
    thresholds (Union[float, Dict[str, float]]): As `min_confidence`.
    labels (Optional[Iterable[str]]): Each of them should reach the wanted precision or
        recall; None: all labels together.
    wanted (Optional[float]): precision or recall, as for `choose_threshold`.
    RETURNS (Tuple[float, float]): The reached part of the wanted precision or recall,
        the mean of labels; then the other of the two. If none is wanted: F1, 0.
    """
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
    """The expected_f1 with the highest merit; of equals the present one, or else the
    median.

    merits (Mapping[Optional[float], Tuple[float, float]]): The `merit` of each. None
        (of each document alone) is chosen only if no number is as good.
    present (Optional[float]): The setting of the component.
    """
    best = max(merits.values())
    found = [value for value in merits if merits[value] == best]
    if present in found:
        return present
    numbers = sorted(value for value in found if value is not None)
    return numbers[len(numbers) // 2] if numbers else None


def _cumulated(judged: JudgedSpans) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Distinct confidences, descending; right and all entities from each on."""
    values, index = np.unique(-judged.confidence, return_inverse=True)
    n_kept = np.cumsum(np.bincount(index, minlength=len(values)))
    right = np.bincount(index, weights=judged.is_right, minlength=len(values))
    return -values, np.cumsum(right), n_kept


def short_between(low: float, high: float) -> float:
    """RETURNS (float): The number with the fewest decimals between two others."""
    middle = 0.5 * (low + high)
    rounded = (round(float(middle), digits) for digits in range(1, 16))
    return next((x for x in rounded if low < x < high), float(high))


def choose_thresholds(
    judged: JudgedSpans, labels: Iterable[str] | None = None, **wanted: float | None
) -> Thresholds:
    """A min_confidence for all labels together, or for each of them.

    judged (JudgedSpans): Entities.
    labels (Optional[Iterable[str]]): Choose one for each of these; None: one for all.
    wanted (Optional[float]): precision or recall, as for `choose_threshold`.
    RETURNS (Union[float, Dict[str, float]]): By label only those above 0.
    """
    if labels is None:
        return choose_threshold(judged, **wanted)
    found = {
        label: choose_threshold(judged.of_label(label), **wanted) for label in labels
    }
    return LabelThresholds((label, least) for label, least in found.items() if least)
