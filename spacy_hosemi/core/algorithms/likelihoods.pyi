from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parallel.tasks import Task
from .gold_paths import GoldPaths

Floats = NDArray[np.float64]

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
        cells: NDArray[Any],
        first_cell: NDArray[np.int64],
        cell_at: int,
    ) -> None: ...
    def finish(self) -> None: ...
