from collections.abc import Iterable

from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import Constraints, Potentials

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
) -> list[tuple[list[Segment], float]]: ...
def viterbi_steps(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    constraints: list[Constraints | None],
    method: str = ...,
) -> Steps[list[tuple[list[Segment], float]]]: ...
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
def add_all_counts(
    automaton: PatternAutomaton,
    potentials: Potentials,
    counted: Iterable[tuple[Iterable[Segment], float]],
    gradient: Potentials,
) -> list[float]: ...
