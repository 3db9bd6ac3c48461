"""A cache of rows of numbers that depend on a word alone, such as its attributes."""

from __future__ import annotations

from collections.abc import Callable
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
Make = Callable[[Vocab, Keys, NDArray[Any]], Any]


class WordCache:
    """Rows of numbers, each computed from one word.

    Words are identified by their hash, so rows stay right if a vocabulary forgets
    words. Any number of threads may call `find`: rows and numbers of words are added
    under a lock, and never changed.

    When half of the bytes are taken, the words that have them become the old ones, and
    the other half is for words from then on. Old words that are met again are among
    these, without being computed; the others are forgotten when this half is full.

    make (Callable): Writes rows: (vocab, ORTH of K distinct words, array [K, ..]).
    row (DTypeLike): The type of a row.
    n_bytes (int): The most bytes of cached rows and words. A call with more words than
        half of them are enough for gets rows that are not all kept.

    is_on (bool): False: compute all rows in each call. Tests set it, to compare
        results.
    """

    is_on = True

    def __init__(self, make: Make, row: Any, n_bytes: int) -> None:
        self._make, self._row = make, np.dtype(row)
        self._most = n_bytes // 2 // (WORD_BYTES + self._row.itemsize)  # of each half
        self._lock = Lock()
        self._old, self._young = _WordRows(self._row), _WordRows(self._row)

    def find(self, vocab: Vocab, orths: Keys) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Returns the row of each token, int32 [n], and all rows, [K, ..]."""
        if not self.is_on:
            words, of_tokens = np.unique(orths, return_inverse=True)
            return of_tokens.reshape(-1).astype(np.int32), self.rows(vocab, words)
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
        young, most = self._young, self._most
        words = young.numbering.unknown(orths)
        n_free = most - len(young.numbering)
        if len(words) <= n_free:
            self._write(self._old, vocab, words, young.free(len(words), most))
            young.numbering.add(words)
            return young
        # Not by `setdiff1d`: NumPy 2.0 fails there for some numbers of uint64.
        met = np.unique(orths[np.isin(orths, words, invert=True, kind="sort")])
        every, n_words = _WordRows(self._row), len(words) + len(met)
        self._write(self._old, vocab, words, every.free(len(words), max(most, n_words)))
        every.numbering.add(words)
        if len(met):
            every.free(len(met), most)[:] = young.rows_of(met)
            every.numbering.add(met)
        if n_words <= most:
            self._old, self._young = young, every
        else:
            young.free(n_free, most)[:] = every.rows_of(words[:n_free])
            young.numbering.add(words[:n_free])
        return every

    def rows(self, vocab: Vocab, words: Keys) -> NDArray[Any]:
        """Returns rows [K, ..] of K distinct words for another cache: those that are
        not there are computed, but not kept."""
        rows = np.empty(len(words), self._row)
        self._write(self._young, vocab, words, rows)
        return rows

    def _write(
        self, known: _WordRows, vocab: Vocab, words: Keys, rows: NDArray[Any]
    ) -> None:
        """Writes rows of words: some of these, if they are there, else new ones."""
        numbers, n_new = known.numbering.find(words)
        if not self.is_on or n_new == len(words) or known.table is None:
            self._make(vocab, words, rows)
            return
        rows[:] = known.table[numbers]
        if n_new:
            is_new = numbers < 0
            new = np.empty(n_new, self._row)
            self._make(vocab, words[is_new], new)
            rows[is_new] = new


class _WordRows:
    """Numbers words, and has their rows."""

    def __init__(self, row: np.dtype[Any]) -> None:
        self.numbering, self._row = Numbering(), row
        self.table: NDArray[Any] | None = None

    def rows_of(self, words: Keys) -> NDArray[Any]:
        """Returns the rows [K, ..] of words that are there."""
        assert self.table is not None
        rows: NDArray[Any] = self.table[self.numbering.find(words)[0]]
        return rows

    def free(self, n_words: int, room: int) -> NDArray[Any]:
        """Returns rows to write before their words get numbers, since a word with a
        number may be read at once. `room`: for how many words, from the first on."""
        if self.table is None:
            # A table that grows would be copied, to memory that is new as well.
            memory = unwritten(room * self._row.itemsize)
            # Not by `view`: of rows without features there are no bytes.
            shape = room, *self._row.shape
            self.table = np.ndarray(shape, self._row.base, memory.data)
        n = len(self.numbering)
        return self.table[n : n + n_words]
