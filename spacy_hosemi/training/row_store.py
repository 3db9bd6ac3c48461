"""The active features of many documents, in one array, or in a file if it is large."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Warnings
from ..model.active_features import NO_ROWS, RoleRows, SegmentRows
from ..model.weights.state import WeightState

_FIELDS = "start", "end", "row", "strength"

# Arrays with more bytes than this are in a file: the 20 to 30 features that a token has
# in one role take about 120, so that a million tokens are in memory.
MOST_BYTES = 2**27


def give_back_memory() -> None:
    """Give freed memory back to the system. By itself glibc returns only what is free
    at the end of the heap, where words that are kept lie above what a text has taken.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another library of C
            ctypes.CDLL(None).malloc_trim(0)


class RowStore:
    """Joins the features of documents in one role, as those of one document."""

    def __init__(self) -> None:
        self._firsts: list[NDArray[np.int32]] = []
        self._size = 0
        self._rows = _Store(np.dtype(np.int32))
        self._strengths: _Store | None = None

    def append(self, rows: RoleRows) -> None:
        """Adds a document."""
        if rows.strength is not None and self._strengths is None:
            self._strengths = _Store(np.dtype(np.float64))
            self._strengths.append(np.ones(self._size))
        self._firsts.append(rows.first[:-1] + np.int32(self._size))
        self._size += len(rows.row)
        self._rows.append(rows.row)
        if self._strengths is not None:
            ones = np.ones(len(rows.row)) if rows.strength is None else rows.strength
            self._strengths.append(ones)

    def joined(self) -> RoleRows:
        """Returns the features of all documents."""
        first = np.concatenate([*self._firsts, [self._size]]).astype(np.int32)
        strengths = None if self._strengths is None else self._strengths.array()
        return RoleRows(first, self._rows.array(), strengths)


def join_rows(parts: Iterable[RoleRows]) -> RoleRows:
    """Returns the features of many documents as those of one."""
    store = RowStore()
    for part in parts:
        store.append(part)
    return store.joined()


class SegmentStore:
    """Joins the features of D documents; positions are those in each document."""

    def __init__(self, parts: Iterable[SegmentRows]) -> None:
        of_docs = [*parts]
        sizes = [len(x.row) for x in of_docs]
        self._first = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self.rows = SegmentRows(
            *(
                np.concatenate([getattr(x, name) for x in (NO_ROWS, *of_docs)])
                for name in _FIELDS
            )
        )

    def of(self, begin: int, end: int) -> SegmentRows:
        """Returns those of the documents `begin` to `end` - 1, as views."""
        at = slice(self._first[begin], self._first[end])
        return SegmentRows(*(getattr(self.rows, name)[at] for name in _FIELDS))

    def part(self, chosen: Sequence[int]) -> SegmentStore:
        """Returns some of the documents."""
        return SegmentStore(self.of(k, k + 1) for k in chosen)

    def needs(self, state: WeightState) -> NDArray[np.int64]:
        """Returns how many cells the segments of each document have, how many tokens
        these have after their first ones, and how many cells have more than one token,
        int64 [D, 3]."""
        rows, pairs = self.rows, state.pairs
        size = np.full(len(rows.row), len(state.tail), np.int64)
        if pairs is not None:
            size = pairs.sizes_of(rows.row).astype(np.int64)
        more = (rows.end - rows.start).astype(np.int64) - 1
        counts = np.stack([size, size * more, size * (more > 0)], axis=-1)
        sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(counts, axis=0)])
        needs: NDArray[np.int64] = np.diff(sums[self._first], axis=0)
        return needs


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
        """Moves what is in memory to the file, or back, with the warning HSW71, where
        that is not possible."""
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
