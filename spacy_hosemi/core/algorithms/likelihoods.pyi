from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..automaton.automaton import PatternAutomaton
from ..parallel.tasks import Task

Floats = NDArray[np.float64]
Segments = list[tuple[int, int, int]]

class GoldPaths:
    def __init__(
        self,
        automaton: PatternAutomaton,
        sizes: Sequence[int],
        segments: Sequence[Segments | None],
        borders: Sequence[int],
    ) -> None: ...
    @property
    def is_chosen(self) -> NDArray[np.bool_]: ...
    def set_weights(self, pattern: Floats, length: Floats, tail: Floats) -> None: ...

class Likelihoods(Task):
    def __init__(self, gold: GoldPaths, which: int, n_tasks: int) -> None: ...
    def take(
        self,
        begin: int,
        end: int,
        at: int,
        start: Floats,
        inside: Floats,
        last: Floats,
        within: Floats,
        loss: Floats,
        done: NDArray[np.uint8],
        pattern: Floats,
        length: Floats,
    ) -> None: ...
