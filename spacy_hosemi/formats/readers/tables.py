"""CSV and TSV with a row for each text, for each span, or for each token.

A row for a text has a column with the text, and a column for each field with its value,
or several with " | " between them, such as `hosemi parse --format table` writes it.
Values are found in the text; which occurrence is meant is not said, so that the longest
value is placed first, each where the text is still free; those with several such places
are counted.

A row for a span, such as `hosemi parse --format csv` writes it, has the columns
`start`, `end` and `label` beside that of the text, and perhaps `value`; rows side by
side with the same text, and the same `line` if there is such a column, are one text. An
empty label is a text without spans.

A row for a token has the columns `Sentence #`, `Word` and `Tag`. The number of a text
stands in each of its rows, or in the first one alone; without it, empty rows are
between texts.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby
from typing import Any

from ...errors import Errors
from ...text.rows import may_have_marks, next_row, unmarked
from ..align import Aligner, cuts_word
from ..json_records import make_span
from ..lines import delimiter_of
from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found, LabeledSpan, Skipped, shown
from ..writers.tables import FIRST, LAST, SEPARATOR, VERDICT, label_columns
from .base import FormatReader, ReaderSettings
from .tags import HEADER, NUMBERS, Row, named_columns, read_scheme, text_of_rows

TEXT = ("text", "raw", "reference", "string", "line")
# Columns of these names are not looked for in the text unless --fields names them.
META = frozenset(
    ("id", "doc_id", "docid", "doc", "group", "key", "source", "index", "")
)
SPAN_COLUMNS = ("start", "end", "label")
# What `hosemi parse --format table` writes beside labels, and how it names labels that
# are called like that.
OWN = (*FIRST, *LAST, VERDICT)
LABELS = {name: label for label, name in zip(OWN, label_columns(OWN, (*LAST, VERDICT)))}
# The first line of a table of Excel may name the delimiter of its cells.
SEP = re.compile(r'"?sep=([;,\t|])"?;*\r?(?:\n|$)', re.IGNORECASE)
NO_PYTHON = re.compile(r"\\.|\b(?:null|true|false)\b")  # in JSON
N_SAMPLED = 20

TableRow = tuple[int, list[str]]  # with its line
Table = list[TableRow]


def _recognizes(source: SourceText) -> bool:
    head = "\n".join(source.text.split("\n")[:N_SAMPLED])
    if head.lstrip()[:1] in ("{", "[", "<"):
        return False
    rows = _rows(head)
    names = [name.strip() for name in rows[0][1]] if rows else []
    is_header = len(names) > 1 and len(set(names)) > len(names) // 2 and all(names)
    fitting = [row for _, row in rows[1:] if len(row) == len(names)]
    texts = (cells for name, *cells in zip(names, *fitting) if name.casefold() in TEXT)
    # Not where all cells are numbers of lines; a header alone is a table, too.
    has_text = any(not x or not all(map(str.isdigit, x)) for x in texts)
    has_text |= bool(named_columns(names, HEADER))
    return is_header and has_text and 2 * len(fitting) >= len(rows) - 1


def _rows(text: str) -> Table:
    said = SEP.match(text)
    n_before = 0 if said is None else 1
    text = text[said.end() :] if said else text
    delimiter = said[1] if said else delimiter_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows, line = [], 1 + n_before
    while (row := next_row(reader)) is not None:
        if any(map(str.strip, row)):
            rows.append((line, row))
        line = reader.line_num + 1 + n_before
    return rows


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    try:
        rows = _rows(source.text)
    except csv.Error as e:
        yield Fault(source.path, None, f"is no table that can be read: {e}")
        return
    if not rows:
        return
    if settings.has_marks and may_have_marks(rows[0][1]):
        rows = [(line, [*map(unmarked, row)]) for line, row in rows]
    names = [name.strip() for name in rows[0][1]]
    complete = [(line, row) for line, row in rows[1:] if len(row) == len(names)]
    for line, row in rows[1:]:
        if len(row) != len(names):
            message = f"has {len(row)} cells; expected {len(names)}, as the header has"
            yield Fault(source.path, line, message)
    folded = {*map(str.casefold, names)}
    has_text = settings.text_key or {*TEXT} & folded
    if named_columns(names, HEADER) and not has_text:
        yield from _texts_of_tokens(names, complete, source.path)
        return
    at = _text_column(names, settings, source.path)
    if {*SPAN_COLUMNS} <= folded and not settings.fields:
        yield from _texts_of_spans(names, complete, at, source.path)
    else:
        yield from _texts_of_fields(names, complete, at, source.path, settings)


def _texts_of_fields(
    names: list[str], rows: Table, at: int, path: str, settings: ReaderSettings
) -> Iterator[Found]:
    """Yields texts of a table with a column for each field. Raises ValueError HS376 if
    most cells of a column have spans with offsets."""
    fields = _fields(names, at, settings, path)
    is_own = not settings.fields and _is_own(names)
    labels = [LABELS.get(name, name) if is_own else name for name in names]
    for i in () if settings.fields else fields:
        cells = [row[i] for _, row in rows if row[i].strip(" []")][:N_SAMPLED]
        structured = [*filter(_has_offsets, cells)]
        if 2 * len(structured) > len(cells):
            found = {"name": names[i], "found": shown(structured[0])}
            raise ValueError(Errors.HS376.format(path=path, **found))
    placed = [(line, row, _place(row, at, fields, labels)) for line, row in rows]
    silent = set() if settings.fields or is_own else _rarely_found(placed)
    for name in sorted(silent):
        yield Skipped(f"column {shown(name)}, whose values are rarely in their texts")
    for line, row, (spans, missed, unsure) in placed:
        spans = [span for span in spans if span.label not in silent]
        missed = [(name, value) for name, value in missed if name not in silent]
        for name, value in missed:
            what = f"{shown(name)} is {shown(value)}, which is not in the text"
            message = f"{what}, or not free; expected a part of the text"
            if re.search(r"\d", value):  # 1-11 becomes 01. Nov
                message += "; a spreadsheet may have changed it"
            yield Fault(path, line, message)
        if not missed:
            meta = {name: row[i] for i, name in enumerate(names) if i != at}
            args = row[at], tuple(spans), path, line
            n = sum(span.label not in silent for span in unsure)
            yield AnnotatedText(*args, has_offsets=False, meta=meta, n_ambiguous=n)


def _text_column(names: list[str], settings: ReaderSettings, path: str) -> int:
    """Raises ValueError: HS162 if no column has the text."""
    wanted = (settings.text_key,) if settings.text_key else TEXT
    if columns := named_columns(names, [[*map(str.casefold, wanted)]]):
        return columns[0]
    header = ", ".join(map(shown, names))
    args = {"path": path, "found": header, "name": settings.text_key or "text"}
    raise ValueError(Errors.HS162.format(**args))


def _fields(
    names: list[str], text: int, settings: ReaderSettings, path: str
) -> list[int]:
    """Raises ValueError: HS162 if there is no column of a field."""
    wanted, present = {*settings.fields}, {*names}
    for name in settings.fields:
        if name not in present:
            header = ", ".join(map(shown, names))
            raise ValueError(Errors.HS162.format(path=path, found=header, name=name))
    if wanted:
        return [i for i, name in enumerate(names) if name in wanted]
    if _is_own(names):
        # A verdict stands behind the text; before it is a label that is called so.
        before = names[: names.index(LAST[0])]
        own = {*OWN} - {*before} | {*FIRST}
        return [i for i, name in enumerate(names) if name not in own]
    other = META | {settings.group or ""}
    chosen = (i for i, name in enumerate(names) if name.casefold() not in other)
    return [i for i in chosen if i != text and names[i] not in other]


def _has_offsets(cell: str) -> bool:
    """Returns whether a cell has spans as JSON or Python write them."""
    if cell.lstrip()[:1] not in "[{(":
        return False
    with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return _has_span(ast.literal_eval(NO_PYTHON.sub("0", cell)))
    return False


def _has_span(value: Any) -> bool:
    if isinstance(value, dict):
        return {"start", "end"} <= {*value} or any(map(_has_span, value.values()))
    if not isinstance(value, (list, tuple)):
        return False
    kinds = [*map(type, value[:3])]
    return kinds == [int, int, str] or any(map(_has_span, value))


def _is_own(names: Sequence[str]) -> bool:
    """Returns whether `hosemi parse --format table` writes such columns."""
    return {*FIRST, *LAST} <= {*names}


Placed = tuple[list[LabeledSpan], list[tuple[str, str]], list[LabeledSpan]]


def _place(row: list[str], text: int, fields: list[int], labels: list[str]) -> Placed:
    """Returns the spans of a row's fields, (label, value) of those not found in its
    text, and the spans whose label or place is unsure."""
    aligner = Aligner(row[text])
    spans: list[LabeledSpan] = []
    missed: list[tuple[str, str]] = []
    values = [
        (labels[i], value) for i in fields for value in _values(row[i], row[text])
    ]
    n_labels: Counter[str | None] = Counter(value for _, value in {*values})
    for name, value in sorted(values, key=lambda pair: -len(pair[1])):
        place = aligner.place(value)
        if place is None:
            missed.append((name, value))
        else:
            spans.append(LabeledSpan(*place, name, value))
    unsure = [x for x in spans if n_labels[x.value] > 1 or _has_rival(aligner, x)]
    return sorted(x._replace(value=None) for x in spans), missed, unsure


def _has_rival(aligner: Aligner, span: LabeledSpan) -> bool:
    """Returns whether a value could as well be elsewhere, where nothing is yet."""
    text, other = aligner.text, aligner.next_place(span.value or "")
    if other is None:
        return False
    is_exact, is_other = (text[i:j] == span.value for i, j in (span[:2], other))
    is_cut = cuts_word(text, *other) and not cuts_word(text, *span[:2])
    return is_exact == is_other and not is_cut


def _values(cell: str, text: str) -> list[str]:
    """Returns the values of a cell: several, unless the text has them as they are; a
    mark that the text lacks is none of theirs."""
    cell = cell.strip()
    cell = cell if cell in text else unmarked(cell)
    parts = [cell] if cell in text else cell.split(SEPARATOR)
    return [part.strip() for part in parts if part.strip()]


def _rarely_found(placed: list[tuple[int, list[str], Placed]]) -> set[str]:
    """Returns the columns fewer than half of whose values are in their texts, if there
    are others: they are no fields."""
    counts = Counter(span.label for _, _, (spans, *_) in placed for span in spans)
    missed = Counter(name for _, _, (_, pairs, _) in placed for name, _ in pairs)
    silent = {name for name, n in missed.items() if counts[name] < n}
    return silent if {*counts} - silent else set()


def _texts_of_spans(
    names: Sequence[str], rows: Table, text: int, path: str
) -> Iterator[Found]:
    """Yields the texts of a table with a row for each span, and its faults."""
    at = {name.casefold(): i for i, name in enumerate(names)}
    number = at.get("line", text)
    used = {*SPAN_COLUMNS, "value", "confidence"}
    for _, several in groupby(rows, lambda row: (row[1][number], row[1][text])):
        spans: list[LabeledSpan] = []
        faults: list[Fault] = []
        first, *others = several
        for line, row in (first, *others):
            try:
                spans += _spans_of(row, at, line)
            except ValueError as e:
                faults.append(Fault(path, line, str(e)))
        yield from faults
        if not faults:
            line, row = first
            meta = {x: row[i] for x, i in at.items() if i != text and x not in used}
            yield AnnotatedText(row[text], tuple(spans), path, line, meta=meta)


def _spans_of(row: list[str], at: dict[str, int], line: int) -> list[LabeledSpan]:
    """Raises ValueError if the offsets are no numbers."""
    start, end, label = (row[at[name]].strip() for name in SPAN_COLUMNS)
    if not label and not start and not end:
        return []
    if not start.isdecimal() or not end.isdecimal():
        offsets = f"{shown(start)} and {shown(end)}"
        raise ValueError(f"expected whole numbers as start and end, found {offsets}")
    value = row[at["value"]] if "value" in at else None
    return [make_span(int(start), int(end), label, value, line)]


def _texts_of_tokens(names: Sequence[str], rows: Table, path: str) -> Iterator[Found]:
    """Yields the texts of a table, and its faults. Raises ValueError: HS375 if it does
    not say where texts end."""
    columns = named_columns(names, HEADER)
    numbers = named_columns(names, (NUMBERS,))
    gaps = [second > first + 1 for (first, _), (second, _) in zip(rows, rows[1:])]
    if not numbers and not any(gaps):
        header = ", ".join(map(shown, names))
        raise ValueError(Errors.HS375.format(path=path, found=header))
    cells = [row[numbers[0]].strip() for _, row in rows] if numbers else []
    keys: Iterator[Any] = accumulate(cells, lambda before, cell: cell or before)
    keys = keys if numbers else accumulate(gaps, initial=0)
    tokens = [Row(line, *(row[i].strip() for i in columns)) for line, row in rows]
    for row in tokens:
        if not row.word or not row.tag:
            message = "expected a token and a tag, found an empty cell"
            yield Fault(path, row.line, message)
    scheme = read_scheme([row.tag for row in tokens if row.tag], path)
    for _, pairs in groupby(zip(keys, tokens), lambda pair: pair[0]):
        of_text = [row for _, row in pairs]
        if all(row.word and row.tag for row in of_text):
            yield text_of_rows(of_text, scheme, path, {})


READER = FormatReader("csv", _recognizes, _read)
