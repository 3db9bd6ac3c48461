"""A cache of rows of numbers that depend on a word alone, such as its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .kernels.word_index import Numbering

# What a word takes beside its row: its key, and slots of the table of numbers.
WORD_BYTES = 24

Keys = NDArray[np.uint64]
Make = Callable[[Vocab, Keys], NDArray[Any]]


def words_of(docs: Sequence[Doc]) -> tuple[Keys, NDArray[np.int32]]:
    """RETURNS (Tuple[uint64 [n], int32 [D + 1]]): The ORTH of each token of
    concatenated documents; the first token of each document, and n."""
    parts = [doc.to_array(ORTH) for doc in docs]
    orths = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return orths.astype(np.uint64, copy=False), borders_of(docs)


def borders_of(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """RETURNS (int32 [D + 1]): The first token of each document, if they are
    concatenated, and the number of all tokens."""
    first = np.zeros(len(docs) + 1, np.int32)
    np.cumsum([*map(len, docs)], out=first[1:])
    return first


def doc_of(start: NDArray[Any], first: NDArray[np.int32]) -> NDArray[np.int32]:
    """RETURNS (int32 [K]): The document of each of some tokens of concatenated
    documents; first (int32 [D + 1]): See `borders_of`."""
    return (np.searchsorted(first, start, side="right") - 1).astype(np.int32)


class WordCache:
    """Rows of numbers, each computed from one word.

    Words are identified by their hash, so rows stay right if a vocabulary forgets
    words. Any number of threads may call `find`: rows and numbers of words are added
    under a lock, and never changed.

    make (Callable): (vocab, ORTH of K distinct words) -> array [K, ..].
    n_bytes (int): The most bytes of cached rows and words; arrays that grow may have
        room for twice as many. A call whose new words need more starts a new cache with
        all words of this call, whatever their size.

    is_on (bool): False: compute all rows in each call. Tests set it, to compare
        results.
    """

    is_on = True

    def __init__(self, make: Make, n_bytes: int) -> None:
        self._make = make
        self._n_bytes = n_bytes
        self._lock = Lock()
        self._now = _Generation()

    def find(self, vocab: Vocab, orths: Keys) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """RETURNS (Tuple[int32 [n], array [K, ..]]): The row of each token, and all
        rows.

        vocab (Vocab): The vocabulary with the words.
        orths (uint64 [n]): The ORTH of each token.
        """
        if not self.is_on:
            words, of_tokens = np.unique(orths, return_inverse=True)
            return of_tokens.reshape(-1).astype(np.int32), self._make(vocab, words)
        now = self._now
        numbers, n_unknown = now.numbering.find(orths)
        if n_unknown or now.table is None:
            with self._lock:
                now = self._add(vocab, orths)
            numbers, _ = now.numbering.find(orths)
        # Read the table after the numbers: another thread may just have added words.
        assert now.table is not None
        return numbers, now.table

    def _add(self, vocab: Vocab, orths: Keys) -> _Generation:
        """The cache with all these words added, or a new one with them alone."""
        now = self._now
        numbers, _ = now.numbering.find(orths)
        words = np.unique(orths[numbers < 0])
        if now.table is not None:
            of_word = now.table[:1].nbytes + WORD_BYTES
            if of_word * (len(now.numbering) + len(words)) > self._n_bytes:
                now, words = _Generation(), np.unique(orths)
        now.append(words, self._make(vocab, words))
        self._now = now
        return now


class _Generation:
    """Words and their rows since the cache was last emptied."""

    def __init__(self) -> None:
        self.numbering = Numbering()
        self.table: NDArray[Any] | None = None

    def append(self, words: NDArray[np.uint64], rows: NDArray[Any]) -> None:
        """Add words: first their rows, since a word with a number may be read at
        once."""
        n, table = len(self.numbering), self.table
        if table is None:
            table = np.zeros((16, *rows.shape[1:]), rows.dtype)
        if n + len(words) > len(table):
            more = np.zeros((n + len(words), *rows.shape[1:]), rows.dtype)
            table = np.concatenate([table, more])
        table[n : n + len(words)] = rows
        self.table = table
        self.numbering.add(words)
