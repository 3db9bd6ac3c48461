"""Which (feature row, column) pairs have a weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Bools, Counts, Floats, Ints, Keys, Places

MAX_PAIRS = 30_000_000


@dataclass(frozen=True)
class WeightPairs:
    """Holds the columns in which rows have weights, row by row."""

    first: Ints  # [R + 1]: row r has columns[first[r]:first[r + 1]]
    columns: Ints  # [N], ascending within a row

    @classmethod
    def read(cls, first: Any, columns: Any, n_bytes: int) -> WeightPairs:
        """Returns pairs as a file of n bytes has them: older ones have smaller types.
        What is larger than the file was inflated; `check` refuses other types then."""
        arrays = [np.asarray(x) for x in (first, columns)]
        if all(x.dtype.kind in "ui" and x.nbytes <= n_bytes for x in arrays):
            arrays = [x.astype(np.int32) for x in arrays]
        return cls(*arrays)

    @property
    def sizes(self) -> Ints:
        """The number of weights of each row [R]."""
        return np.diff(self.first)

    def n_whole(self, n_columns: int) -> int:
        """Returns how many rows, the first ones, have weights in just these columns: 0
        to n_columns - 1."""
        last = self.first[1:] - 1
        is_whole = (self.sizes == n_columns) & (n_columns > 0)
        # ascending from 0, as many as there are
        is_whole[is_whole] = self.columns[last[is_whole]] == n_columns - 1
        return int(np.append(is_whole, False).argmin())

    def sizes_of(self, rows: Ints) -> Ints:
        """Returns the number of weights of each of these rows [K]."""
        return self.first[rows + 1] - self.first[rows]

    def with_columns(
        self, weights: Floats, at: int, n_new: int, is_wanted: Bools
    ) -> tuple[WeightPairs, Floats]:
        """Returns the pairs, and weights [N], with more columns before column `at` in
        the rows that want them [R]; their weights are the least of the row, or 0."""
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        column = self.columns + np.where(self.columns >= at, n_new, 0)
        least = np.zeros(len(self.sizes))
        np.minimum.at(least, row, weights)
        rows = np.flatnonzero(is_wanted).repeat(n_new)
        columns = np.tile(np.arange(at, at + n_new), int(is_wanted.sum()))
        row, column = np.concatenate([row, rows]), np.concatenate([column, columns])
        order = np.lexsort((column, row))
        pairs = pairs_of(row, column[order], len(least))
        return pairs, np.concatenate([weights, least[rows]])[order]

    def with_rows(self, n_new: int, n_columns: int) -> WeightPairs:
        """Returns more rows at the end, each with weights in the first `n_columns`."""
        ends = np.arange(1, n_new + 1, dtype=np.int32) * n_columns
        columns = np.tile(np.arange(n_columns, dtype=np.int32), n_new)
        return WeightPairs(
            np.concatenate([self.first, self.first[-1] + ends]),
            np.concatenate([self.columns, columns]),
        )

    def column(self, column: int) -> tuple[Places, Places]:
        """Returns the rows that have a weight in a column, and where these weights are,
        of 0 to N - 1."""
        slots = np.flatnonzero(self.columns == column)
        return np.searchsorted(self.first, slots, side="right") - 1, slots

    def merged(self, other: WeightPairs, n_columns: int) -> tuple[WeightPairs, Places]:
        """Returns the pairs of both, and the place among the present pairs before which
        each new pair stands. The other has as many rows or more; all columns are below
        n_columns."""
        old, new = self._keys(n_columns), other._keys(n_columns)
        new = np.setdiff1d(new, old, assume_unique=True)
        at = np.searchsorted(old, new)
        row, column = np.divmod(np.insert(old, at, new), n_columns)
        return pairs_of(row, column, len(other.sizes)), at

    def _keys(self, n_columns: int) -> Counts:
        row = np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes)
        return row * n_columns + self.columns

    def check(self, n_rows: int, n_columns: int) -> None:
        """Raises ValueError if something would be read out of bounds."""
        columns = self.columns
        is_sound = (
            self.first.shape == (n_rows + 1,)
            and self.first.dtype == columns.dtype == np.int32
            and self.first[0] == 0
            and self.first[-1] == len(columns)
            and (self.sizes >= 0).all()
            and ((columns >= 0) & (columns < n_columns)).all()
        )
        if is_sound:  # then columns ascend within each row
            begins_row = np.zeros(len(columns) + 1, bool)
            begins_row[self.first] = True
            is_sound = (np.diff(columns) > 0)[~begins_row[1:-1]].all()
        if not is_sound:
            raise ValueError(f"pairs do not fit {n_rows} rows, {n_columns} columns")

    def slots(self, rows: Ints) -> Ints:
        """Returns where the weights of these rows are, of 0 to N - 1."""
        sizes = self.sizes_of(rows)
        before = np.cumsum(sizes) - sizes
        slots = np.repeat(self.first[rows] - before, sizes) + np.arange(sizes.sum())
        return slots.astype(np.int32)


def pairs_of(row: NDArray[Any], column: NDArray[Any], n_rows: int) -> WeightPairs:
    """Returns the pairs of R rows; the columns [N] go row by row, the rows [N] need not
    be sorted."""
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
    return WeightPairs(first.astype(np.int32), column.astype(np.int32))


@dataclass(frozen=True)
class Selection:
    """Names what gets weights."""

    keys: Keys  # [R], distinct; sorted, but those of transitions last
    names: list[str]  # "role:TEMPLATE=value" of each
    counts: Counts  # [R], training documents in which each occurs
    n_docs: int  # training documents
    pairs: WeightPairs | None  # None: each row has a weight in every column
    is_limited: bool = False  # whether frequent ones were left out, as too many
