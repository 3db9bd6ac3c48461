"""A cache of rows of numbers that depend on a word alone, such as its attributes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.vocab import Vocab

from .kernels.word_index import Numbering, unwritten

# The most that a word takes beside its row: its key, and slots of the table of numbers,
# which have room for twice as many words.
WORD_BYTES = 48

Keys = NDArray[np.uint64]
Make = Callable[[Vocab, Keys], NDArray[Any]]


class WordCache:
    """Rows of numbers, each computed from one word.

    Words are identified by their hash, so rows stay right if a vocabulary forgets
    words. Any number of threads may call `find`: rows and numbers of words are added
    under a lock, and never changed.

    When half of the bytes are taken, the words that have them become the old ones, and
    the other half is for words from then on. Old words that are met again are among
    these, without being computed; the others are forgotten when this half is full.

    make (Callable): (vocab, ORTH of K distinct words) -> array [K, ..].
    n_bytes (int): The most bytes of cached rows and words. A call with more words than
        half of them are enough for gets rows that are not all kept.

    is_on (bool): False: compute all rows in each call. Tests set it, to compare
        results.
    """

    is_on = True

    def __init__(self, make: Make, n_bytes: int) -> None:
        self._make = make
        self._n_bytes = n_bytes
        self._lock = Lock()
        self._old, self._young = _WordRows(), _WordRows()

    def find(self, vocab: Vocab, orths: Keys) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Returns the row of each token, int32 [n], and all rows, [K, ..]."""
        if not self.is_on:
            words, of_tokens = np.unique(orths, return_inverse=True)
            return of_tokens.reshape(-1).astype(np.int32), self._make(vocab, words)
        rows = self._young
        numbers, n_unknown = rows.numbering.find(orths)
        if n_unknown or rows.table is None:
            with self._lock:
                rows = self._add(vocab, orths)
            numbers, _ = rows.numbering.find(orths)
        # Read the table after the numbers: another thread may just have added words.
        assert rows.table is not None
        return numbers, rows.table

    def _add(self, vocab: Vocab, orths: Keys) -> _WordRows:
        """Makes rows of all these words."""
        young = self._young
        words = young.numbering.unknown(orths)
        # Those that are not among the young ones.
        table = self._made(self._old, vocab, words)
        bytes_of_row = table.itemsize * prod(table.shape[1:])
        most = self._n_bytes // 2 // (WORD_BYTES + bytes_of_row)
        n_free = most - len(young.numbering)
        if len(words) <= n_free:
            young.append(words, table, most)
            return young
        # Not by `setdiff1d`: NumPy 2.0 fails there for some numbers of uint64.
        met = np.unique(orths[np.isin(orths, words, invert=True, kind="sort")])
        every, n_words = _WordRows(), len(words) + len(met)
        every.append(words, table, max(most, n_words))
        if len(met):
            every.append(met, young.rows_of(met), most)
        if n_words <= most:
            self._old, self._young = young, every
        else:
            young.append(words[:n_free], table[:n_free], most)
        return every

    def rows(self, vocab: Vocab, words: Keys) -> NDArray[Any]:
        """Returns rows [K, ..] of K distinct words for another cache: those that are
        not there are computed, but not kept."""
        return self._made(self._young, vocab, words)

    def _made(self, rows: _WordRows, vocab: Vocab, words: Keys) -> NDArray[Any]:
        """Returns rows of words: some of these, if they are there, else new ones."""
        if not self.is_on or rows.table is None:
            return self._make(vocab, words)
        numbers, n_new = rows.numbering.find(words)
        if n_new == len(words):
            return self._make(vocab, words)
        table: NDArray[Any] = rows.table[numbers]
        if n_new:
            is_new = numbers < 0
            table[is_new] = self._make(vocab, words[is_new])
        return table


class _WordRows:
    """Numbers words, and has their rows."""

    def __init__(self) -> None:
        self.numbering = Numbering()
        self.table: NDArray[Any] | None = None

    def rows_of(self, words: Keys) -> NDArray[Any]:
        """Returns the rows [K, ..] of words that are there."""
        assert self.table is not None
        rows: NDArray[Any] = self.table[self.numbering.find(words)[0]]
        return rows

    def append(self, words: Keys, rows: NDArray[Any], room: int) -> None:
        """Adds words: first their rows, since a word with a number may be read at once.
        `room`: for how many words, from the first ones on."""
        if self.table is None:
            # A table that grows would be copied, to memory that is new as well.
            shape = room, *rows.shape[1:]
            memory = unwritten(prod(shape) * rows.itemsize)
            # Not by `view`: of rows without features there are no bytes.
            self.table = np.ndarray(shape, rows.dtype, memory.data)
        n = len(self.numbering)
        self.table[n : n + len(words)] = rows
        self.numbering.add(words)
