"""Rows of tables with cells of any length."""

from __future__ import annotations

import csv
from collections.abc import Iterator

# The largest limit that csv takes on every platform.
LONGEST_CELL = 2**31 - 1


def next_row(
    rows: Iterator[list[str]], longest: int = LONGEST_CELL
) -> list[str] | None:
    """Returns the next row of a `csv.reader`, None at the end; a cell has at most
    `longest` characters. Raises csv.Error if the row cannot be read."""
    # The limit is one for the whole process: others find theirs as they left it.
    limit = csv.field_size_limit(min(longest, LONGEST_CELL))
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(limit)
