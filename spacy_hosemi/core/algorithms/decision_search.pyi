from ..automaton.automaton import PatternAutomaton
from ..potentials import Constraints, Potentials
from .marginals import Marginals

Segments = list[tuple[int, int, int]]

def best_f1(
    posterior: Marginals,
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None,
    expected_f1: float | None,
) -> Segments: ...
def most_correct(
    posterior: Marginals,
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None,
) -> Segments: ...
