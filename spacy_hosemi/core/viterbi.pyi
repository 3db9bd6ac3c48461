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
def viterbi_each(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    constraints: list[Constraints | None],
) -> list[tuple[list[tuple[int, int, int]], float]]: ...
def score(
    automaton: PatternAutomaton, potentials: Potentials, segments: Iterable[Segment]
) -> float: ...
def add_counts(
    automaton: PatternAutomaton,
    potentials: Potentials,
    segments: Iterable[Segment],
    gradient: Potentials,
    times: float = ...,
) -> float: ...
