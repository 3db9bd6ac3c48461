from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thinc.types import Ints2d

from ..labels.inventory import Span

def describe(
    spans: Iterable[Span], numbers: dict[str, int], tokens: Any
) -> tuple[Ints2d, list[str], int, bool, bool]: ...
def describe_table(
    tokens: Any,
    first: NDArray[np.int32],
    n_spans: NDArray[np.int32],
    spans: NDArray[np.int32],
    names: Sequence[str],
    numbers: list[int],
) -> tuple[Ints2d, list[list[str]], list[int]]: ...
