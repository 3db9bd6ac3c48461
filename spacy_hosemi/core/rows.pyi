from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]

class Freedom(IntFlag):
    FIXED = 0
    NONNEGATIVE = 1
    FREE = 2

def template_keys(
    values: Keys,
    seeds: Keys,
    first_atom: Ints,
    columns: Ints,
    offsets: Ints,
    first: Ints | None = None,
) -> Keys: ...

class RowTable:
    keys: Keys
    def __init__(self, keys: Keys) -> None: ...
    def __len__(self) -> int: ...
    def extend(self, keys: Keys) -> None: ...
    def rows(self, keys: Keys) -> tuple[Ints, Ints]: ...
    def find(self, keys: Keys) -> Ints: ...

def gather(first: Ints, rows: Ints, weights: Floats, scores: Floats) -> None: ...
def scatter(first: Ints, rows: Ints, d_scores: Floats, d_weights: Floats) -> None: ...
def touched_rows(first: Ints, rows: Ints, d_scores: Floats) -> Ints: ...
def gather_pairs(
    first: Ints,
    rows: Ints,
    first_pair: Ints,
    columns: Ints,
    weights: Floats,
    scores: Floats,
) -> None: ...
def scatter_pairs(
    first: Ints,
    rows: Ints,
    first_pair: Ints,
    columns: Ints,
    d_scores: Floats,
    d_weights: Floats,
) -> None: ...
def gather_strengths(
    first: Ints,
    rows: Ints,
    strength: Floats,
    first_pair: Ints,
    columns: Ints,
    weights: Floats,
    scores: Floats,
) -> None: ...
def scatter_strengths(
    first: Ints,
    rows: Ints,
    strength: Floats,
    first_pair: Ints,
    columns: Ints,
    d_scores: Floats,
    d_weights: Floats,
) -> None: ...
def gather_cells(
    starts: Ints,
    ends: Ints,
    rows: Ints,
    strength: Floats,
    first_pair: Ints,
    columns: Ints,
    weights: Floats,
    n_labels: int,
) -> NDArray[Any]: ...
def gather_entries(
    positions: Ints,
    rows: Ints,
    roles: NDArray[np.uint8],
    first_pair: Ints,
    columns: Ints,
    weights: Floats,
) -> NDArray[Any]: ...
def scatter_entries(
    rows: Ints, first_pair: Ints, d_entries: NDArray[Any], d_weights: Floats
) -> None: ...
def scatter_cells(
    rows: Ints,
    strength: Floats,
    first_pair: Ints,
    d_cells: NDArray[Any],
    n_labels: int,
    d_weights: Floats,
) -> None: ...
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
