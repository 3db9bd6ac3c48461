import numpy as np
from numpy.typing import NDArray
from spacy.strings import StringStore

from .tokenizer import FieldTokenizer

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

class SeenWords:
    def __init__(self, strings: StringStore, split_digits: bool) -> None: ...

def read_texts(
    texts: list[str], tokenizer: FieldTokenizer
) -> tuple[Keys, Keys, Ints, Ints, Ints, list[int]]: ...
