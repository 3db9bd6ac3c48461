from collections.abc import Sequence
from typing import Any

from thinc.types import Ints2d

def describe(
    tokens: Any,
    first: list[int],
    n_spans: list[int],
    spans: list[list[int]],
    names: Sequence[str],
    numbers: dict[int, int],
    scores: list[float],
) -> tuple[Ints2d, list[int], list[dict[str, float | None]]]: ...
