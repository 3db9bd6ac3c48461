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
        start: Floats,
        inside: Floats,
        last: Floats,
        within: Floats,
        cells: NDArray[Any],
        loss: Floats,
        done: NDArray[np.uint8],
        pattern: Floats,
        length: Floats,
    ) -> None: ...
    def finish(self) -> None: ...
