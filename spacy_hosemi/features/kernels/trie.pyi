from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

NO_ENTRY: int
SHARED: int

class Trie:
    def __init__(self, keys: NDArray[np.uint64], source: NDArray[Any]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def keys(self) -> NDArray[np.uint64]: ...
    @property
    def source(self) -> NDArray[Any]: ...
    @staticmethod
    def build(
        words: NDArray[np.uint64],
        first: NDArray[np.int64],
        sources: NDArray[np.uint64] | None = None,
    ) -> Trie: ...

def find_entries(
    tries: Sequence[Trie],
    words: NDArray[np.uint64],
    begins: NDArray[np.uint8],
    ends: NDArray[np.uint8],
    docs: Ints,
) -> tuple[Ints, Ints, Ints, NDArray[np.uint64]]: ...
def count_wordless(
    first: Ints, last: Ints, docs: Ints, most: int
) -> tuple[Ints, Ints]: ...
def columns_of_matches(
    lists: Ints,
    start: Ints,
    end: Ints,
    value: NDArray[np.uint64],
    n_tokens: int,
    n_lists: int,
) -> NDArray[np.uint64]: ...
