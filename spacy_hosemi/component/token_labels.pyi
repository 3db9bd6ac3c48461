from collections.abc import Iterable, Sequence
from typing import Any

from thinc.types import Ints2d

from ..labels.inventory import Span

def describe(
    spans: Iterable[Span], numbers: dict[str, int], tokens: Any
) -> tuple[Ints2d, list[str], int, bool, bool]: ...
def describe_table(
    tokens: Any,
    first: list[int],
    n_spans: list[int],
    spans: list[list[int]],
    names: Sequence[str],
    numbers: dict[int, int],
) -> tuple[Ints2d, list[list[str]], list[int]]: ...
