"""Documents that are read together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .kernels.token_reader import split_tokens

# What is read of each token in one call, as `split_tokens` takes it. `Doc.to_array`
# takes numbers, too, but a third more time for them.
READ: Any = ("ORTH", "SPACY", "ENT_IOB", "SENT_START", "IS_SPACE", "LENGTH")


def borders_of(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """RETURNS (int32 [D + 1]): The first token of each document, if they are
    concatenated, and the number of all tokens."""
    return np.array([*accumulate(map(len, docs), initial=0)], np.int32)


@lru_cache(1024)
def _first_of_one(n_tokens: int) -> NDArray[np.int32]:
    """`borders_of` one document. To make it takes as long as to read the tokens."""
    first = np.array([0, n_tokens], np.int32)
    first.setflags(write=False)
    return first


class DocBatch(list[Doc]):
    """Documents of one vocabulary. What everybody asks of their tokens is read once.

    docs (Sequence[Doc]): One or more, of n tokens together.

    tokens (uint64 [3, n]): ORTH, SPACY and LENGTH of each token.
    orths, spaces (uint64 [n]): The first two.
    first (int32 [D + 1]), borders (List[int]): See `borders_of`.
    has_ents (List[bool] [D]): Whether a document has entities, blocked or missing
        tokens.
    has_limits (List[bool] [D]): Whether it has sentence starts or whitespace.
    is_clean (bool): Whether all words are known to be in their clean form.
    """

    is_clean = False

    def __init__(self, docs: Sequence[Doc]) -> None:
        super().__init__(docs)
        parts = [doc.to_array(READ) for doc in docs]
        if len(parts) == 1:
            tokens = parts[0]
            borders, self.first = [0, len(tokens)], _first_of_one(len(tokens))
        else:
            tokens = np.concatenate(parts)
            borders = [*accumulate(map(len, docs), initial=0)]
            self.first = np.array(borders, np.int32)
        self.borders = borders
        split = split_tokens(tokens, borders)
        self.tokens, self.has_ents, self.has_limits = split
        self.orths, self.spaces = self.tokens[0], self.tokens[1]

    @classmethod
    def of_texts(
        cls,
        texts: list[Any],
        orths: NDArray[np.uint64],
        spaces: NDArray[np.uint64],
        first: NDArray[np.int32],
    ) -> DocBatch:
        """RETURNS (DocBatch): Texts that need no documents: nothing is known of their
        tokens but words and spaces, and none is whitespace.

        texts (List[TokenizedText]): One or more, of words in their clean form if
            features read those.
        """
        batch = cls.__new__(cls)
        batch.extend(texts)
        batch.orths, batch.spaces, batch.first = orths, spaces, first
        batch.has_ents = batch.has_limits = [False] * len(texts)
        batch.is_clean = True
        return batch


def as_batch(docs: Sequence[Doc]) -> DocBatch:
    """RETURNS (DocBatch): Documents, which are read if they are not yet."""
    return docs if isinstance(docs, DocBatch) else DocBatch(docs)
