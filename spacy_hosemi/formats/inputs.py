"""Texts from lines, from JSON lines, or from a column of a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator

from ..errors import Errors
from ..text.rows import LONGEST_CELL, may_have_marks, next_row, unmarked
from .json_records import has_tokens, object_of, parse_json, string_of, tokens_of
from .lines import Line, delimiter_of
from .texts import Fault, has_half, shown

Lines = Iterable[Line | Fault]
# Makes texts of the lines of one file.
TextReader = Callable[[Lines], Iterator[Line | Fault]]


def read_json_lines(lines: Lines, key: str) -> Iterator[Line | Fault]:
    """Yields lines that are JSON objects with the text under a key in their place, or
    else with that of their "tokens"; empty lines are skipped."""
    for line in lines:
        if isinstance(line, Fault):
            yield line
        elif line.text.strip():
            yield _read_object(line, key)


def _read_object(line: Line, key: str) -> Line | Fault:
    value = parse_json(line.text, line.path, line.line)
    if isinstance(value, Fault):
        return value
    try:
        record = object_of(value)
        tokens = tokens_of(record) if has_tokens(record, key) else None
        text = string_of(record, key) if tokens is None else " ".join(tokens)
        if has_half(text):
            name = key if tokens is None else "tokens"
            raise ValueError(f'"{name}" has half a surrogate pair; expected a text')
    except ValueError as e:
        return Fault(line.path, line.line, str(e))
    return line._replace(text=text, tokens=tokens)


def read_column(
    lines: Lines,
    column: str,
    delimiter: str | None = None,
    max_chars: int = LONGEST_CELL,
    has_marks: bool = True,
) -> Iterator[Line | Fault]:
    """Yields the texts of one column of a table, whose first line has the names of the
    columns, with the line on which each row begins. Without `has_marks` cells of a
    table of `parse` are as they are, '-5 among them. Raises ValueError HS162 if there
    is no such column."""
    path, first, bad = "", 0, list[Fault]()

    def good() -> Iterator[str]:
        nonlocal path, first
        for line in lines:
            path = line.path
            if isinstance(line, Fault):
                bad.append(line)
            else:
                first = first or line.line
                yield line.text + "\n"

    source = good()
    header = next(source, "")
    delimiter = delimiter or delimiter_of(header)
    yield from bad
    try:
        names = next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:  # a line end of old Macs
        names = [header]
    if column not in names:
        header = ", ".join(map(shown, names[:20])) or "none"
        args = {"path": path or "the table", "found": header, "name": column}
        raise ValueError(Errors.HS162.format(**args))
    place, has_marks = names.index(column), has_marks and may_have_marks(names)
    rows = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        first, error = 0, ""
        bad.clear()
        try:
            row = next_row(rows, max_chars)
        except csv.Error as e:
            row, error = [], f"no row of a table ({e}); expected values as in CSV"
        yield from bad
        if row is None:
            return
        if row and len(row) <= place:
            error = f"{len(row)} values; expected {len(names)}, with {column!r}"
        if error:
            yield Fault(path, first, error)
        elif row:
            text = unmarked(row[place]) if has_marks else row[place]
            yield Line(path, first, text)
