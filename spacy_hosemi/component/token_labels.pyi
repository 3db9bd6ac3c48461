from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def cover(
    spans: list[Sequence[tuple[int, int, str]]],
    numbers: list[dict[str, int]],
    first: list[int],
    begin: int,
    inside: int,
    outside: int,
    columns: NDArray[np.uint64],
) -> None: ...
