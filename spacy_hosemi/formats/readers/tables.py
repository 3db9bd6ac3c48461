"""CSV and TSV: a column with the text, and a column for each field with its value; or
a row for each span, or for each token.

Values are found in the text; which occurrence is meant is not said, so that the longest
value is placed first, each where the text is still free.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from ...errors import Errors
from ...text.rows import next_row
from ..align import Aligner
from ..lines import delimiter_of
from ..sources import Source
from ..texts import AnnotatedText, Fault, Found, LabeledSpan, Skipped, shown
from .base import Reader, Settings
from .span_rows import has_span_rows, texts_of_rows
from .token_rows import texts_of_tokens, token_columns

TEXT = ("text", "raw", "reference", "string", "line")
# Columns of these names are not looked for in the text unless --fields names them.
META = frozenset(
    ("id", "doc_id", "docid", "doc", "group", "key", "source", "index", "")
)
N_SAMPLED = 20

Table = list[tuple[int, list[str]]]  # rows with their lines


def _recognizes(source: Source) -> bool:
    head = "\n".join(source.text.split("\n")[:N_SAMPLED])
    if head.lstrip()[:1] in ("{", "[", "<"):
        return False
    rows = _rows(head)
    names = [name.strip() for name in rows[0][1]] if rows else []
    is_header = len(names) > 1 and len(set(names)) > len(names) // 2 and all(names)
    has_text = any(name.casefold() in TEXT for name in names) or token_columns(names)
    fitting = sum(len(row) == len(names) for _, row in rows[1:])
    return is_header and bool(has_text) and 2 * fitting >= len(rows) - 1


def _rows(text: str) -> Table:
    delimiter = delimiter_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    found, line = [], 1
    while (row := next_row(reader)) is not None:
        if any(map(str.strip, row)):
            found.append((line, row))
        line = reader.line_num + 1
    return found


def _read(source: Source, settings: Settings) -> Iterator[Found]:
    try:
        rows = _rows(source.text)
    except csv.Error as e:
        yield Fault(source.path, None, f"is no table that can be read: {e}")
        return
    if not rows:
        return
    names = [name.strip() for name in rows[0][1]]
    complete = [(line, row) for line, row in rows[1:] if len(row) == len(names)]
    for line, row in rows[1:]:
        if len(row) != len(names):
            message = f"has {len(row)} cells; expected {len(names)}, as the header has"
            yield Fault(source.path, line, message)
    columns = token_columns(names)
    if columns and not settings.text_key and not {*TEXT} & {*map(str.casefold, names)}:
        yield from texts_of_tokens(columns, complete, source.path)
        return
    at = _text_column(names, settings, source.path)
    if has_span_rows(names) and not settings.fields:
        yield from texts_of_rows(names, complete, at, source.path)
    else:
        yield from _texts_of_fields(names, complete, at, source.path, settings)


def _texts_of_fields(
    names: list[str], rows: Table, at: int, path: str, settings: Settings
) -> Iterator[Found]:
    """Texts of a table with a column for each field."""
    fields = _fields(names, at, settings, path)
    placed = [(line, row, _place(row, at, fields, names)) for line, row in rows]
    silent = _never_found(placed, fields, names, settings)
    for name in sorted(silent):
        yield Skipped(f"column {shown(name)}, no value of which is in its text")
    for line, row, (spans, missed) in placed:
        missed = [(name, value) for name, value in missed if name not in silent]
        if missed:
            yield from (_missed(path, line, *pair) for pair in missed)
            continue
        meta = {name: row[i] for i, name in enumerate(names) if i != at}
        yield AnnotatedText(
            row[at], tuple(spans), path, line, has_offsets=False, meta=meta
        )


def _text_column(names: list[str], settings: Settings, path: str) -> int:
    """RAISES (ValueError): HS162 no column has the text."""
    wanted = (settings.text_key,) if settings.text_key else TEXT
    folded = [name.casefold() for name in names]
    for name in wanted:
        if name.casefold() in folded:
            return folded.index(name.casefold())
    expected = settings.text_key or "text"
    shown_names = ", ".join(map(shown, names))
    raise ValueError(Errors.HS162.format(path=path, found=shown_names, name=expected))


def _fields(names: list[str], text: int, settings: Settings, path: str) -> list[int]:
    """RAISES (ValueError): HS162 there is no column of a field."""
    missing = [name for name in settings.fields if name not in names]
    if missing:
        found = ", ".join(map(shown, names))
        raise ValueError(Errors.HS162.format(path=path, found=found, name=missing[0]))
    if settings.fields:
        return [i for i, name in enumerate(names) if name in settings.fields]
    other = META | {settings.group or ""}
    chosen = (i for i, name in enumerate(names) if name.casefold() not in other)
    return [i for i in chosen if i != text and names[i] not in other]


Placed = tuple[list[LabeledSpan], list[tuple[str, str]]]


def _place(row: list[str], text: int, fields: list[int], names: list[str]) -> Placed:
    """The spans of a row, and (column, value) of what is not in the text."""
    aligner = Aligner(row[text])
    spans: list[LabeledSpan] = []
    missed: list[tuple[str, str]] = []
    values = [(names[i], row[i].strip()) for i in fields if row[i].strip()]
    for name, value in sorted(values, key=lambda pair: -len(pair[1])):
        found = aligner.place(value)
        if found is None:
            missed.append((name, value))
        else:
            spans.append(LabeledSpan(*found, name))
    return sorted(spans), missed


def _never_found(
    placed: list[tuple[int, list[str], Placed]],
    fields: list[int],
    names: list[str],
    settings: Settings,
) -> set[str]:
    """Columns with values none of which is in its text: they are no fields."""
    found = {span.label for _, _, (spans, _) in placed for span in spans}
    missed = {name for _, _, (_, pairs) in placed for name, _ in pairs}
    return set() if settings.fields or not found else missed - found


def _missed(path: str, line: int, name: str, value: str) -> Fault:
    found = f"{shown(name)} is {shown(value)}, which is not in the text, or not free"
    return Fault(path, line, f"{found}; expected a part of the text")


READER = Reader("csv", _recognizes, _read)
