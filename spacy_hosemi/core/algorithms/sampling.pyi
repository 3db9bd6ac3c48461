from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials

Segments = list[tuple[int, int, int]]

def sample(
    automaton: PatternAutomaton,
    potentials: Potentials,
    n_samples: int,
    seed: int = 0,
    constraints: Constraints | None = None,
) -> list[Segments]: ...
