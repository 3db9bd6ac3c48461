from .automaton import PatternAutomaton
from .potentials import Constraints, Potentials

def segment_probabilities(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    segments: list[list[tuple[int, int, int]]],
    constraints: list[Constraints | None],
) -> list[list[float]]: ...
