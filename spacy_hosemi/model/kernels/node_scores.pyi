import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

class ChildRows:
    def __init__(
        self,
        begin: Ints,
        stop: Ints,
        node: Ints,
        at: NDArray[np.intp],
        first: Ints,
        rows: Ints,
        strength: Floats | None,
        first_child: Ints,
        first_pair: Ints,
        columns: Ints,
    ) -> None: ...
    def gather(self, weights: Floats, scores: Floats, scale: float = 1.0) -> None: ...
    def scatter(self, d_scores: Floats, d_weights: Floats) -> None: ...
