from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

def gather(first: Ints, rows: Ints, weights: Floats, scores: Floats) -> None: ...
def scatter(first: Ints, rows: Ints, d_scores: Floats, d_weights: Floats) -> None: ...
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
