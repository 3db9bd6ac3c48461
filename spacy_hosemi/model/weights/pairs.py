"""Which (feature row, column) pairs have a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_PAIRS = 30_000_000


Keys = NDArray[np.uint64]


Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Columns in which rows have weights, row by row.

    first (int32 [R + 1]): Row r has columns[first[r]:first[r + 1]].
    columns (int32 [N]): Ascending within a row.
    """

    first: NDArray[np.int32]
    columns: NDArray[np.int32]

    @property
    def sizes(self) -> NDArray[np.int32]:
        """RETURNS (int32 [R]): How many weights each row has."""
        return np.diff(self.first)

    def n_whole(self, n_columns: int) -> int:
        """RETURNS (int): How many rows, the first ones, have weights in just these
        columns: 0 to n_columns - 1."""
        last = self.first[1:] - 1
        is_whole = (self.sizes == n_columns) & (n_columns > 0)
        # ascending from 0, as many as there are
        is_whole[is_whole] = self.columns[last[is_whole]] == n_columns - 1
        return int(np.append(is_whole, False).argmin())

    def sizes_of(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """RETURNS (int32 [K]): How many weights each of these rows has."""
        return self.first[rows + 1] - self.first[rows]

    def with_columns(
        self,
        weights: NDArray[np.float64],
        at: int,
        n_new: int,
        is_wanted: NDArray[np.bool_],
    ) -> tuple[Pairs, NDArray[np.float64]]:
        """With more columns, whose weights are the least of their row.

        weights (float64 [N]): Of the pairs; 0 where there is none.
        at (int): Before this column; later columns move on.
        n_new (int): How many.
        is_wanted (bool [R]): Rows that get them.
        RETURNS (Tuple[Pairs, float64 [N']]): And their weights.
        """
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        column = self.columns + np.where(self.columns >= at, n_new, 0)
        least = np.zeros(len(self.sizes))
        np.minimum.at(least, row, weights)
        rows = np.flatnonzero(is_wanted).repeat(n_new)
        columns = np.tile(np.arange(at, at + n_new), int(is_wanted.sum()))
        row, column = np.concatenate([row, rows]), np.concatenate([column, columns])
        order = np.lexsort((column, row))
        sizes = np.bincount(row, minlength=len(least))
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        pairs = Pairs(first, column[order].astype(np.int32))
        return pairs, np.concatenate([weights, least[rows]])[order]

    def with_rows(self, n_new: int, n_columns: int) -> Pairs:
        """With more rows at the end, which have a weight in each of these columns."""
        more = np.arange(1, n_new + 1, dtype=np.int32) * n_columns
        columns = np.tile(np.arange(n_columns, dtype=np.int32), n_new)
        return Pairs(
            np.concatenate([self.first, self.first[-1] + more]),
            np.concatenate([self.columns, columns]),
        )

    def column(self, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """RETURNS (Tuple[intp [K], intp [K]]): Rows that have a weight in a column, and
        where these weights are, of 0 to N - 1."""
        slots = np.flatnonzero(self.columns == column)
        return np.searchsorted(self.first, slots, side="right") - 1, slots

    def merged(self, other: Pairs, n_columns: int) -> tuple[Pairs, NDArray[np.intp]]:
        """Those of both.

        other (Pairs): Of as many rows, or more.
        n_columns (int): More than any column.
        RETURNS (Tuple[Pairs, int64 [K]]): And for each of those that are new before
            which of the old ones it is.
        """
        old, new = self._keys(n_columns), other._keys(n_columns)
        new = np.setdiff1d(new, old, assume_unique=True)
        at = np.searchsorted(old, new)
        row, column = np.divmod(np.insert(old, at, new), n_columns)
        counts = np.bincount(row, minlength=len(other.sizes))
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return Pairs(first, column.astype(np.int32)), at

    def _keys(self, n_columns: int) -> NDArray[np.int64]:
        row = np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes)
        return row * n_columns + self.columns

    def check(self, n_rows: int, n_columns: int) -> None:
        """RAISES (ValueError): Something would be read out of bounds."""
        columns = self.columns
        is_sound = (
            self.first.shape == (n_rows + 1,)
            and self.first.dtype == columns.dtype == np.int32
            and self.first[0] == 0
            and self.first[-1] == len(columns)
            and (self.sizes >= 0).all()
            and ((columns >= 0) & (columns < n_columns)).all()
            and self._are_ascending()
        )
        if not is_sound:
            raise ValueError(f"pairs do not fit {n_rows} rows, {n_columns} columns")

    def _are_ascending(self) -> bool:
        """Whether columns ascend within each row; first: checked before."""
        begins_row = np.zeros(len(self.columns) + 1, bool)
        begins_row[self.first] = True
        return bool((np.diff(self.columns) > 0)[~begins_row[1:-1]].all())

    def slots(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """RETURNS (int32): Where the weights of these rows are, of 0 to N - 1."""
        sizes = self.sizes_of(rows)
        before = np.cumsum(sizes) - sizes
        slots = np.repeat(self.first[rows] - before, sizes) + np.arange(sizes.sum())
        return slots.astype(np.int32)


@dataclass(frozen=True)
class Selection:
    """What gets weights.

    keys (uint64 [R]): Distinct feature keys, those of transitions last, sorted: the
        same documents give the same.
    names (List[str]): "role:TEMPLATE=value" of each.
    counts (int64 [R]): Training documents in which each occurs.
    n_docs (int): Training documents.
    pairs (Optional[Pairs]): None: each row has a weight in every column.
    is_limited (bool): Whether frequent features were left out, as there were too many.
    """

    keys: Keys
    names: list[str]
    counts: NDArray[np.int64]
    n_docs: int
    pairs: Pairs | None
    is_limited: bool = False
