from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials

def entropy(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = None,
) -> float: ...
