import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

class StateTable:
    automaton: PatternAutomaton
    next: Ints
    edge: Ints
    final_edge: Ints
    def __init__(self, automaton: PatternAutomaton) -> None: ...
    def weights(self, pattern: Floats) -> tuple[Floats, Floats]: ...
    def counts(self, steps: Floats, final: Floats) -> Floats: ...
