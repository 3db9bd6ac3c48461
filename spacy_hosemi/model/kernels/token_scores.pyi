import numpy as np
from numpy.typing import NDArray

from ...core.parallel.tasks import Task
from ...features.kernels.key_table import RowTable

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]

class BlockScores:
    def __init__(
        self, borders: Singles, roles: Ints, offsets: Ints, blocks: Ints
    ) -> None: ...

class TemplateScores:
    def __init__(
        self,
        seeds: Keys,
        first_atom: Ints,
        columns: Ints,
        offsets: Ints,
        roles: Ints,
        table: RowTable,
        first_weight: Ints,
        labels: Ints,
        weights: Singles,
    ) -> None: ...

class Scoring(Task):
    def __init__(
        self,
        first: Ints,
        scores: Floats,
        *,
        blocks: BlockScores | None = None,
        words: Ints | None = None,
        of_words: Singles | None = None,
        templates: TemplateScores | None = None,
        values: Keys | None = None,
    ) -> None: ...
