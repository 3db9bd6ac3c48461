import numpy as np
from numpy.typing import NDArray

from .lattice_graph import StateTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.uint8]

class Lattice:
    table: StateTable
    def __init__(
        self,
        table: StateTable,
        pattern: Floats,
        first: Ints,
        sizes: Ints,
        starts: Ints,
        ends: Ints,
        labels: Ints,
    ) -> None: ...
    def sums(
        self, scores: Floats, kept: Mask | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]: ...
    def solve(self, scores: Floats, order: Ints) -> tuple[Floats, Ints, Floats]: ...
    def entropies(self, scores: Floats) -> Floats: ...
    def kbest(
        self, d: int, scores: Floats, order: Ints, k: int
    ) -> list[tuple[list[int], float]]: ...
