from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

MEASURES: tuple[str, ...]
GRAM: int

class BagIndex:
    def __init__(
        self,
        elements: NDArray[np.uint64],
        first: NDArray[np.int64],
        measure: str,
        threshold: float,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def find(
        self,
        elements: NDArray[np.uint64],
        begin: Ints,
        end: Ints,
        begins: NDArray[np.uint8],
        ends: NDArray[np.uint8],
    ) -> tuple[Ints, Ints, Ints, NDArray[Any]]: ...
