import numpy as np
from numpy.typing import NDArray

from .tokenizer import FieldTokenizer

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

def read_texts(
    texts: list[str], tokenizer: FieldTokenizer
) -> tuple[Keys, Keys, Ints, Ints, list[int], list[int]]: ...
