from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton
from ..parallel.coroutines import Steps
from ..potentials import Constraints, Potentials

Answer = TypeVar("Answer")

def check_segment(
    start: int, end: int, label: int, n_tokens: int, n_labels: int
) -> None: ...

class Marginals:
    log_z: float
    gradient: Potentials
    def __init__(
        self,
        automaton: PatternAutomaton,
        potentials: Potentials,
        constraints: Constraints | None = ...,
        counts: bool = ...,
    ) -> None: ...
    @property
    def tokens(self) -> NDArray[np.float64]: ...
    @property
    def n_spans(self) -> float: ...
    def segment(self, start: int, end: int, label: int) -> float: ...
    def labels_among(self, start: int, allowed: NDArray[np.bool_]) -> float: ...
    def less(self, segments: list[tuple[int, int, int]]) -> float: ...
    def is_possible(self, segments: Iterable[tuple[int, int, int]]) -> bool: ...
    def scores_of(self, segments: NDArray[np.int32]) -> NDArray[np.float64]: ...
    def segments_above(
        self, p: float, outside: bool = ...
    ) -> list[tuple[int, int, int, float]]: ...
    def best_above(
        self, p: float, limit: int, outside: bool = ...
    ) -> tuple[list[tuple[int, int, int, float]], bool]: ...

def log_partition(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = ...,
) -> float: ...
def marginals_of(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = ...,
) -> Marginals: ...
def marginals(
    automaton: PatternAutomaton,
    potentials: Potentials,
    constraints: Constraints | None = ...,
    counts: bool = ...,
) -> Marginals: ...
def marginal_steps(
    automaton: PatternAutomaton,
    potentials: Sequence[Potentials],
    constraints: Sequence[Constraints | None],
    asked: Sequence[int],
    answer: Callable[[int, Marginals], Answer],
    first_end: Mapping[int, int] | None = ...,
) -> Steps[list[Answer]]: ...
