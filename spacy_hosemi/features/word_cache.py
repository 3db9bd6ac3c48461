"""A cache of what was computed from a word, so that each word is computed once."""

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

Keys = NDArray[np.uint64]
Make = Callable[[Vocab, Keys], NDArray[Any]]


def words_of(docs: Sequence[Doc]) -> tuple[Keys, NDArray[np.int32]]:
    """The words of concatenated documents.

    docs (Sequence[Doc]): One or more, of n tokens together.
    RETURNS (Tuple[uint64 [n], int32 [D + 1]]): The ORTH of each token; the first token
        of each document, and n.
    """
    parts = [doc.to_array(ORTH) for doc in docs]
    orths = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return orths.astype(np.uint64, copy=False), borders_of(docs)


def borders_of(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """RETURNS (int32 [D + 1]): Where each of some concatenated documents begins, in
    tokens, and how many tokens there are."""
    first = np.zeros(len(docs) + 1, np.int32)
    np.cumsum([*map(len, docs)], out=first[1:])
    return first


def doc_of(start: NDArray[Any], first: NDArray[np.int32]) -> NDArray[np.int32]:
    """RETURNS (int32 [K]): The number of the document that each token belongs to.

    start (int [K]): Tokens of concatenated documents.
    first (int32 [D + 1]): See `borders_of`.
    """
    return (np.searchsorted(first, start, side="right") - 1).astype(np.int32)


class WordCache:
    """Rows of numbers, each computed from one word.

    A word is known by its hash, so rows stay right where a vocabulary forgets words.
    Any number of threads may call `find`: rows and numbers of words are added under a
    lock, and never changed.

    make (Callable): (vocab, ORTH of K distinct words) -> array [K, ..].
    n_bytes (int): The most that is cached. A call whose new words need more starts an
        empty cache with all words of that call, which may be more than `n_bytes`.

    is_on (bool): False: compute all rows anew in each call. Tests set it, to see that
        the results are the same.
    """

    is_on = True

    def __init__(self, make: Make, n_bytes: int) -> None:
        self._make = make
        self._n_bytes = n_bytes
        self._lock = Lock()
        self._now = _Generation()

    def find(self, vocab: Vocab, orths: Keys) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Rows of all words of some documents.

        vocab (Vocab): It has the words.
        orths (uint64 [n]): See `words_of`.
        RETURNS (Tuple[int32 [n], array [K, ..]]): For each token its row in the array.
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
        # The table is read after the numbers: another thread may just have added words.
        assert now.table is not None
        return numbers, now.table

    def _add(self, vocab: Vocab, orths: Keys) -> _Generation:
        """RETURNS (_Generation): One that has all these words."""
        now = self._now
        numbers, _ = now.numbering.find(orths)
        words = np.unique(orths[numbers < 0])
        if now.table is not None:
            size = now.table[:1].nbytes * (len(now.numbering) + len(words))
            if size > self._n_bytes:
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
        """Write the rows first: a word that has a number may be read at once."""
        n, table = len(self.numbering), self.table
        if table is None:
            table = np.zeros((16, *rows.shape[1:]), rows.dtype)
        if n + len(words) > len(table):
            more = np.zeros((n + len(words), *rows.shape[1:]), rows.dtype)
            table = np.concatenate([table, more])
        table[n : n + len(words)] = rows
        self.table = table
        self.numbering.add(words)
