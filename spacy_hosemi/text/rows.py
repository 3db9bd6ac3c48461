"""Rows of tables with cells of any length, and the mark of cells that would run.

A spreadsheet runs a cell that begins like a formula (CSV injection). In the tables that
`hosemi parse` writes it gets the mark of OWASP, an apostrophe; so does one that
begins with apostrophes and then like a formula, so that all cells can be read again.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

# The largest limit that csv takes on every platform.
LONGEST_CELL = 2**31 - 1


# The last four are = + - @ of full width.
_FORMULA = re.compile("'*[-=+@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def marked(cell: Any) -> Any:
    """Returns a cell with the mark, if it would run; other values as they are."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unmarked(cell: str) -> str:
    """Returns a cell without the mark, if it has one."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def may_have_marks(names: Sequence[str]) -> bool:
    """Returns whether a table has the column that `hosemi parse` writes in each."""
    return "record_confidence" in names


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
