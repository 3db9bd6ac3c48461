from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints

Floats = NDArray[np.float64]
Segments = list[tuple[int, int, int]]

class GoldPaths:
    def __init__(
        self,
        automaton: PatternAutomaton,
        sizes: Sequence[int],
        golds: Sequence[Segments | Constraints | None],
        borders: Sequence[int],
        needs: NDArray[np.int64] | None = None,
    ) -> None: ...
    def set_weights(self, pattern: Floats, length: Floats, tail: Floats) -> None: ...
