from collections.abc import Iterable
from typing import Any

from thinc.types import Ints2d

from ..labels.inventory import Span

def describe(
    spans: Iterable[Span], numbers: dict[str, int], tokens: Any
) -> tuple[Ints2d, list[str], int, bool, bool]: ...
