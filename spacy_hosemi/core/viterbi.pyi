from collections.abc import Iterable

from .automaton import PatternAutomaton
from .potentials import Constraints, Potentials

Segment = tuple[int, int, int]

def viterbi(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = ...,
    method: str = ...,
) -> tuple[list[Segment], float]: ...
def score(
    automaton: PatternAutomaton, potentials: Potentials, segments: Iterable[Segment]
) -> float: ...
