"""Weights of lengths as sums: what is learnt of them is how they differ.

    length[y, d] = sum over k <= d of step[y, k]                   smoothing = 1

With a penalty on the steps the weights of neighbouring lengths agree unless the data
say otherwise, and those that never occur go on as the last one that does: a random
walk. What is summed twice (smoothing = 2) goes on along a line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sums(steps: Floats, smoothing: int) -> Floats:
    """RETURNS (float64 [L, D]): Each row summed up so many times."""
    for _ in range(smoothing):
        steps = np.cumsum(steps, axis=1)
    return steps


def differences(length: Floats, smoothing: int) -> Floats:
    """Inverse of `sums`.

    length (float64 [L, D]): -inf: forbidden, as all longer ones of its row.
    RETURNS (float64 [L, D]): Finite; where length is not, it means nothing.
    """
    steps = np.where(np.isfinite(length), length, 0.0)
    for _ in range(smoothing):
        steps = np.diff(steps, prepend=0.0, axis=1)
    return steps


def gradient_of_sums(d_length: Floats, smoothing: int) -> Floats:
    """Transpose of `sums`: from derivatives by its result to those by the steps."""
    return sums(d_length[:, ::-1], smoothing)[:, ::-1]
