"""Reads the features of many documents into one array, or a file if it is large."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import groupby, islice, pairwise
from operator import attrgetter
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Warnings
from ..model.active_features import (
    NO_PLACES,
    NO_SEGMENTS,
    AnyRows,
    PlaceRows,
    RoleRows,
    Rows,
    SegmentRows,
    by_document,
    read_docs,
)
from ..model.tok2vec import Vectors
from ..model.weights.state import WeightState
from .blocks import cut_blocks
from .progress import watched

# Arrays with more bytes than this are in a file: the 20 to 30 features that a token has
# in one role take about 120, so that a million tokens are in memory.
MOST_BYTES = 2**27

_NO_DOCS = np.zeros(1, np.int32)
_NO_SEGMENTS = by_document(SegmentRows, NO_SEGMENTS, _NO_DOCS)
_NO_PLACES = by_document(PlaceRows, NO_PLACES, _NO_DOCS)


def give_back_memory() -> None:
    """Give freed memory back to the system. By itself glibc returns only what is free
    at the end of the heap, where kept words lie above what a text has taken."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # another library of C
            ctypes.CDLL(None).malloc_trim(0)


def read_rows(
    state: WeightState, docs: Collection[Doc], is_train: bool = False
) -> Rows:
    """Returns the known features of documents, see `read_docs`. Those of a block and a
    vocabulary are read together, in a quarter of the time."""
    borders, _ = cut_blocks([*map(len, docs)], 1)
    bar = iter(watched(docs, "Reading features"))
    blocks = (islice(bar, j - i) for i, j in pairwise(borders))
    together = (x for block in blocks for _, x in groupby(block, attrgetter("vocab")))
    return join_rows(read_docs(state, [*part], is_train) for part in together)


def choose_rows(rows: Rows, chosen: Iterable[int]) -> Rows:
    """Returns a copy of the features of some documents."""
    return join_rows(rows[k : k + 1] for k in chosen)


def join_rows(parts: Iterable[Rows]) -> Rows:
    """Returns the features of the documents of all parts."""
    first, roles = [np.zeros(1, np.int64)], dict[str, _Role]()
    others: list[tuple[SegmentRows, PlaceRows, Vectors | None]] = []
    for part in parts:
        first.append(first[-1][-1] + part.first[1:])
        for role, rows in part.tokens.items():
            roles.setdefault(role, _Role()).append(rows)
        others.append((part.segments, part.places, part.vectors))
    tokens = {role: rows.joined() for role, rows in roles.items()}
    segments, places, vectors = map(list, zip(*others)) if others else ([], [], [])
    has_vectors = any(x is not None for x in vectors)
    return Rows(
        np.concatenate(first),
        tokens,
        _join(segments, _NO_SEGMENTS),
        _join(places, _NO_PLACES),
        np.concatenate(vectors) if has_vectors else None,
    )


def _join(parts: Sequence[AnyRows], none: AnyRows) -> AnyRows:
    """Returns the rows of the documents of all parts."""
    columns: list[Any] = [*zip(*(vars(part).values() for part in (none, *parts)))]
    sizes = np.concatenate([*map(np.diff, columns[0])])
    first = np.append(0, np.cumsum(sizes))
    return type(none)(first, *map(np.concatenate, columns[1:]))


class _Role:
    """Joins the features of documents in one role."""

    def __init__(self) -> None:
        self._firsts: list[NDArray[np.int32]] = []
        self._size = 0
        self._rows = _Store(np.dtype(np.int32))
        self._strengths: _Store | None = None

    def append(self, rows: RoleRows) -> None:
        """Adds documents."""
        at = slice(rows.first[0], rows.first[-1])
        n = int(at.stop - at.start)
        if rows.strength is not None and self._strengths is None:
            self._strengths = _Store(np.dtype(np.float64))
            self._strengths.append(np.ones(self._size))
        self._firsts.append(rows.first[:-1] + np.int32(self._size - at.start))
        self._size += n
        self._rows.append(rows.row[at])
        if self._strengths is not None:
            ones = np.ones(n) if rows.strength is None else rows.strength[at]
            self._strengths.append(ones)

    def joined(self) -> RoleRows:
        """Returns the features of all documents."""
        first = np.concatenate([*self._firsts, [self._size]]).astype(np.int32)
        strengths = None if self._strengths is None else self._strengths.array()
        return RoleRows(first, self._rows.array(), strengths)


class _Store:
    """Arrays that become one: in memory, or, beyond MOST_BYTES, mapped from a file.

    The file has no name in its folder, so that it is gone as soon as the array is, or
    the program. It is written before it is mapped: a full disk is an error here, and
    not the end of the program.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[Any]] = []
        self._n_held = self._n_written = 0  # bytes
        self._file: IO[bytes] | None = None
        self._may_write = True

    def append(self, values: NDArray[Any]) -> None:
        self._parts.append(np.ascontiguousarray(values, self._dtype))
        self._n_held += self._parts[-1].nbytes
        if self._may_write and self._n_held > MOST_BYTES:
            self._write()

    def array(self) -> NDArray[Any]:
        if self._file is not None:
            self._write()
        if self._file is not None:
            mapped = np.asarray(np.memmap(self._file, self._dtype, "r"))
            self._file.close()  # what is mapped stays
            return mapped
        parts, self._parts = self._parts, []  # not in memory twice for long
        return np.concatenate([np.zeros(0, self._dtype), *parts])

    def _write(self) -> None:
        """Moves memory to the file, or back, with HSW71, where that fails."""
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)
            for part in self._parts:
                data = memoryview(part.tobytes())
                while data:
                    data = data[self._file.write(data) :]
        except OSError as e:
            message = Warnings.HSW71.format(size=self._n_held / 1e6, reason=e)
            warnings.warn(message, stacklevel=2)
            self._may_write = False
            if self._file is not None:
                self._file.seek(0)
                n_written = self._n_written // self._dtype.itemsize
                self._parts.insert(0, np.fromfile(self._file, self._dtype, n_written))
                self._file.close()
                self._file = None
        else:
            self._n_written += self._n_held
            self._parts, self._n_held = [], 0
