from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials

Segments = list[tuple[int, int, int]]

def kbest(
    automaton: PatternAutomaton,
    potentials: Potentials,
    k: int,
    constraints: Constraints | None = None,
) -> list[tuple[Segments, float]]: ...
