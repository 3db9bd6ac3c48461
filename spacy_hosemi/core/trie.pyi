from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    def matches(
        self, words: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64]]: ...
