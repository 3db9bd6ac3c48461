"""Rows of tables with cells of any length."""

from __future__ import annotations

import csv
from collections.abc import Iterator

# The largest limit that csv takes on every platform.
LONGEST_CELL = 2**31 - 1


def next_row(
    rows: Iterator[list[str]], longest: int = LONGEST_CELL
) -> list[str] | None:
    """The next row of a `csv.reader`.

    longest (int): A cell has at most so many characters.
    RETURNS (Optional[List[str]]): None at the end.
    RAISES (csv.Error): The row cannot be read.
    """
    # The limit is one for the whole process: others find theirs as they left it.
    limit = csv.field_size_limit(min(longest, LONGEST_CELL))
    try:
        return next(rows, None)
    finally:
        csv.field_size_limit(limit)
