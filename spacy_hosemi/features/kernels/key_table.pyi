import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]

def template_keys(
    values: Keys,
    seeds: Keys,
    first_atom: Ints,
    columns: Ints,
    offsets: Ints,
    first: Ints | None = None,
) -> Keys: ...

class RowTable:
    keys: Keys
    def __init__(self, keys: Keys) -> None: ...
    def __len__(self) -> int: ...
    def extend(self, keys: Keys) -> None: ...
    def rows(self, keys: Keys) -> tuple[Ints, Ints]: ...
    def find(self, keys: Keys) -> Ints: ...
