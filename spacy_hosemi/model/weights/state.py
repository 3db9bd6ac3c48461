"""Types of the weights, and what of them is saved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core import CELLS

# Of so many of the weights of its features a model has `pairs` rather than zeros: from
# there on they are not only smaller but as fast.
SPARSE = 1 / 8


Floats = NDArray[np.float64]


Ints = NDArray[np.int32]


Keys = NDArray[np.uint64]


_NO_CELLS = np.zeros(0, CELLS)


# What is saved as it is.
_STORED = (
    *("names", "counts", "pairs", "matrix", "pattern", "length", "tail"),
    *("learn_length", "length_smoothing", "n_observed"),
    *("is_trained", "n_docs", "grows"),
)
