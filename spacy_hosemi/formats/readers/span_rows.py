"""Tables with a row for each span, such as `hosemi parse --format csv` writes.

Columns `start`, `end` and `label` beside that of the text, and `value` where the table
has it; rows side by side with the same text, and the same `line` if there is such a
column, are one text. An empty label is a text without spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ..json_records import make_span
from ..texts import AnnotatedText, Fault, Found, LabeledSpan, shown

NEEDED = ("start", "end", "label")

Row = tuple[int, list[str]]


def has_span_rows(names: Sequence[str]) -> bool:
    """RETURNS (bool): Whether the columns of a table say that a row is a span."""
    return set(NEEDED) <= {name.casefold() for name in names}


def texts_of_rows(
    names: Sequence[str], rows: Sequence[Row], text: int, path: str
) -> Iterator[Found]:
    """YIELDS (Found): The texts of a table, and its faults.

    names (Sequence[str]): Of the columns.
    rows (Sequence[Tuple[int, List[str]]]): Rows with their lines; all have a cell for
        each name.
    text (int): The column of the text.
    path (str): The file.
    """
    at = {name.casefold(): i for i, name in enumerate(names)}
    number = at.get("line", text)

    def key(row: Row) -> tuple[str, str]:
        return row[1][number], row[1][text]

    for _, several in groupby(rows, key):
        yield from _text_of(list(several), at, text, path)


def _text_of(
    rows: list[Row], at: dict[str, int], text: int, path: str
) -> Iterator[Found]:
    spans: list[LabeledSpan] = []
    is_whole = True
    for line, row in rows:
        try:
            spans += _spans_of(row, at, line)
        except ValueError as e:
            is_whole = False
            yield Fault(path, line, str(e))
    if is_whole:
        line, row = rows[0]
        own = {*NEEDED, "value", "confidence"}
        meta = {name: row[i] for name, i in at.items() if i != text and name not in own}
        yield AnnotatedText(row[text], tuple(spans), path, line, meta=meta)


def _spans_of(row: list[str], at: dict[str, int], line: int) -> list[LabeledSpan]:
    """RAISES (ValueError): The offsets are no numbers."""
    start, end, label = (row[at[name]].strip() for name in NEEDED)
    if not label and not start and not end:
        return []
    if not start.isdecimal() or not end.isdecimal():
        found = f"{shown(start)} and {shown(end)}"
        raise ValueError(f"expected whole numbers as start and end, found {found}")
    value = row[at["value"]] if "value" in at else None
    return [make_span(int(start), int(end), label, value, line)]
