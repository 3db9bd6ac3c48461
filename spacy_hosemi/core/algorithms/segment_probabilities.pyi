from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import Constraints, ManyPotentials, Potentials

Segments = list[tuple[int, int, int]]
PathAnswer = tuple[Segments, list[float], float, float]
Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
PathsFound = tuple[Ints, Ints, Floats | None, Floats | None]

def segment_probabilities(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    segments: list[list[tuple[int, int, int]]],
    constraints: list[Constraints | None],
) -> list[list[float]]: ...
def probability_steps(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    segments: list[list[tuple[int, int, int]]],
    constraints: list[Constraints | None],
) -> Steps[tuple[list[list[float]], list[float | None]]]: ...
def log_partition_as_asked(
    automaton: PatternAutomaton, potentials: Potentials, constraints: Constraints | None
) -> float: ...
def probable_segments(
    automaton: PatternAutomaton,
    potentials: list[Potentials],
    segments: Sequence[Sequence[tuple[int, int, int]]],
    constraints: list[Constraints | None],
    p: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]: ...
def path_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    paths: Sequence[Segments],
    constraints: Sequence[Constraints | None],
) -> Steps[list[PathAnswer | None]]: ...
def best_path_steps(
    automaton: PatternAutomaton,
    potentials: ManyPotentials,
    *,
    has_probabilities: bool = True,
) -> Steps[PathsFound | None]: ...
def best_decision_steps(
    automaton: PatternAutomaton,
    potentials: ManyPotentials,
    expected_f1: float | None,
    *,
    has_probabilities: bool = True,
) -> Steps[PathsFound | None]: ...
def decision_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
    expected_f1: float | None,
) -> Steps[list[PathAnswer | tuple[()] | None]]: ...
