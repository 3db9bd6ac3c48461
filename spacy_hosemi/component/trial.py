"""What one setting has reached on documents that the weights do not know."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..training.batch import Floats
from .dev_scores import Counts, f1_of, record_accuracy_of


@dataclass(frozen=True)
class Trial:
    """What one l2 has reached, with the decoding that was best for it.

    l2 (float): For all weights.
    decoding (str), expected_f1 (Optional[float]): As the settings of the component.
    counts (int64 [D, 4]): Of each document that was judged, see `Counts`.
    """

    l2: float
    decoding: str
    expected_f1: float | None
    counts: Counts

    @property
    def f1(self) -> float:
        """F1 of all spans, 0 to 1."""
        return f1_of(self.counts)

    @property
    def record_accuracy(self) -> float | None:
        """The share of exact documents, see `record_accuracy_of`."""
        return record_accuracy_of(self.counts)

    @property
    def score(self) -> float:
        """The mean of F1 and the share of exact documents, 0 to 1."""
        exact = self.record_accuracy
        return self.f1 if exact is None else (self.f1 + exact) / 2

    @property
    def how(self) -> str:
        """The decoding, as it is printed: mbr with its expected_f1."""
        value = "null" if self.expected_f1 is None else self.expected_f1
        return self.decoding + (f" {value}" if self.decoding == "mbr" else "")

    @property
    def in_words(self) -> str:
        """The settings, as they are printed."""
        return f"l2 {self.l2:g}, {self.how}"

    def to_cfg(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): As JSON can have it."""
        settings = {"decoding": self.decoding, "expected_f1": self.expected_f1}
        scores = {"ents_f": self.f1, "ents_record_accuracy": self.record_accuracy}
        return {"l2": self.l2, **settings, **scores}


def error_of_scores(one: Counts, other: Counts) -> float:
    """The standard error of the difference of two `Trial.score` on the same documents.

    With right, found and gold spans r, p, g of document i, and S the sum of p + g,
    F1 = sum 2 r / S changes with document i by about (2 r - F1 (p + g)) / S (the delta
    method); the share a of exact ones among C complete documents by (exact - a) / C.
    The differences d of the means of both are paired by document:

        e^2 = D / (D - 1)  sum_i (d_i - d'_i)^2

    one, other (int64 [D, 4]): See `Counts`.
    RETURNS (float): Infinity for one document, which says nothing of others.
    """
    differences = _f1_parts(one) - _f1_parts(other)
    if record_accuracy_of(one) is not None:
        differences = (differences + _record_parts(one) - _record_parts(other)) / 2
    n = len(differences)
    if n < 2:
        return math.inf
    return float(np.sqrt(n / (n - 1) * np.square(differences).sum()))


def _f1_parts(x: Counts) -> Floats:
    """What each document adds to F1, less its mean."""
    n_spans = x[:, 1] + x[:, 2]
    return np.asarray((2 * x[:, 0] - f1_of(x) * n_spans) / max(1, n_spans.sum()))


def _record_parts(x: Counts) -> Floats:
    """What each document adds to the share of exact ones, less its mean."""
    is_complete = x[:, 3] > 0
    is_exact = (x[:, :3] == x[:, :1]).all(axis=1)
    share = record_accuracy_of(x) or 0.0
    return np.where(is_complete, is_exact - share, 0.0) / max(1, is_complete.sum())
