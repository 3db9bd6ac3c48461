"""What was computed of a word once, kept for the next time."""

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
    """The words of documents, one behind the other.

    docs (Sequence[Doc]): One or more, of n tokens together.
    RETURNS (Tuple[uint64 [n], int32 [D + 1]]): The ORTH of each token; the first token
        of each document, and n.
    """
    parts = [doc.to_array(ORTH) for doc in docs]
    orths = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return orths.astype(np.uint64, copy=False), borders_of(docs)


def borders_of(docs: Sequence[Doc]) -> NDArray[np.int32]:
    """RETURNS (int32 [D + 1]): The first token of each document, where they stand one
    behind the other, and how many there are."""
    first = np.zeros(len(docs) + 1, np.int32)
    np.cumsum([*map(len, docs)], out=first[1:])
    return first


def doc_of(start: NDArray[Any], first: NDArray[np.int32]) -> NDArray[np.int32]:
    """RETURNS (int32 [K]): In which document some tokens are.

    start (int [K]): Tokens of documents that stand one behind the other.
    first (int32 [D + 1]): See `borders_of`.
    """
    return (np.searchsorted(first, start, side="right") - 1).astype(np.int32)


class Kept:
    """Rows of numbers that depend on the word of a token alone.

    Words are known by their hash, which stays the same where the vocabulary forgets
    them. Several threads may ask.

    make (Callable): (vocab, ORTH of K distinct words) -> array [K, ..].
    n_bytes (int): At most so much is kept: rows beyond it begin anew. Those that are
        asked for at once are there in any case.
    """

    def __init__(self, make: Make, n_bytes: int) -> None:
        self._make = make
        self._n_bytes = n_bytes
        self._lock = Lock()
        self._now = _Generation()

    def find(self, vocab: Vocab, orths: Keys) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Rows of all words of some documents.

        vocab (Vocab): It knows the words.
        orths (uint64 [n]): See `words_of`.
        RETURNS (Tuple[int32 [n], array [K, ..]]): Which row is that of each token.
        """
        now = self._now
        numbers, n_unknown = now.numbering.find(orths)
        if n_unknown or now.table is None:
            with self._lock:
                now = self._add(vocab, orths)
            numbers, _ = now.numbering.find(orths)
        # Read after the numbers: the table may have grown with them.
        assert now.table is not None
        return numbers, now.table

    def _add(self, vocab: Vocab, orths: Keys) -> _Generation:
        """RETURNS (_Generation): One that knows all these words."""
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
    """Words and their rows, until there are too many."""

    def __init__(self) -> None:
        self.numbering = Numbering()
        self.table: NDArray[Any] | None = None

    def append(self, words: NDArray[np.uint64], rows: NDArray[Any]) -> None:
        n, table = len(self.numbering), self.table
        if table is None:
            table = np.zeros((16, *rows.shape[1:]), rows.dtype)
        if n + len(words) > len(table):
            more = np.zeros((n + len(words), *rows.shape[1:]), rows.dtype)
            table = np.concatenate([table, more])
        table[n : n + len(words)] = rows
        self.table = table
        self.numbering.add(words)  # last: from now on the rows are read
