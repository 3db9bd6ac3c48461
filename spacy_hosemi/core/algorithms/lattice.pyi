import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Mask = NDArray[np.uint8]

class Steps:
    automaton: PatternAutomaton
    next: Ints
    edge: Ints
    final_edge: Ints
    def __init__(self, automaton: PatternAutomaton) -> None: ...
    def weights(self, pattern: Floats) -> tuple[Floats, Floats]: ...
    def counts(self, steps: Floats, final: Floats) -> Floats: ...

class Lattice:
    steps: Steps
    def __init__(
        self,
        steps: Steps,
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
