"""Names the types of arrays that annotations need often."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]  # what kernels take
Places = NDArray[np.intp]  # indices, as NumPy has them
Counts = NDArray[np.int64]
Keys = NDArray[np.uint64]  # hashes, as of features
