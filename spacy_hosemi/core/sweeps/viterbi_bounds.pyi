from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials

def groups_left(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = ...,
) -> list[list[int]] | None: ...
