from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

class Freedom(IntFlag):
    FIXED = 0
    NONNEGATIVE = 1
    FREE = 2

def touched_rows(first: Ints, rows: Ints, d_scores: Floats) -> Ints: ...
def adagrad_rows(
    touched: NDArray[Any],
    weights: Floats,
    gradient: Floats,
    squares: Floats,
    l2: Floats,
    rate: float,
) -> None: ...
def average_rows(
    touched: NDArray[Any],
    weights: Floats,
    averages: Floats,
    last: Floats,
    log_decay: float,
) -> None: ...
def step_rows(
    touched: Ints,
    first_pair: Ints,
    n_labels: int,
    weights: Floats,
    gradient: Floats,
    moved: Floats,
    freedom: NDArray[np.uint8],
    rate: Floats,
    n_before: float,
) -> None: ...
def step_entries(
    rows: Ints,
    first_pair: Ints,
    d_entries: NDArray[Any],
    weights: Floats,
    gradient: Floats,
    moved: Floats,
    freedom: NDArray[np.uint8],
    rate: Floats,
    n_before: float,
) -> None: ...
