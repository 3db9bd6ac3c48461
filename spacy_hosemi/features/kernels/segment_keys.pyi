import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]

AT: int
ALL: int
RUNS: int
OF_SEGMENT: int
NEITHER: int
BALANCED: int
OPEN_BRACKETS: int
OPEN_QUOTES: int
OPEN_BOTH: int

def segment_keys(
    values: Keys,
    start: Ints,
    end: Ints,
    of_segment: Keys,
    seeds: Keys,
    first_atom: Ints,
    kinds: NDArray[np.uint8],
    columns: Ints,
    offsets: Ints,
) -> Keys: ...
def balance(
    start: Ints,
    end: Ints,
    change: Ints,
    depth: Ints,
    quotes: Ints,
    has_marks: Ints,
) -> Keys: ...
