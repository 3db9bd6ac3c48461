"""Records as tables: a row for each field, or a row for each record."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import IO, Any

from ...text.rows import marked
from ..records import ExtractedRecord
from .base import RecordFormat, WriterOptions

COLUMNS = tuple("line text start end label value confidence record_confidence".split())

# Columns of a table of records, before and after those of the labels.
FIRST, LAST = ("line", "record_confidence"), ("text",)
# The last column, where something is promised of records or fields.
VERDICT = "verdict"
# Between the values of a label that a record has several times.
SEPARATOR = " | "


def write_csv(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes a row for each field, or with an empty label for a record without any."""
    write_row = _row_writer(file, options.is_safe)
    n_columns = len(COLUMNS) + options.has_verdicts
    if not options.continues:
        write_row((*COLUMNS, VERDICT)[:n_columns])
    for record in records:
        confidence = _cell(record.best.confidence)
        before = record.line, record.text
        verdicts = record.verdicts or repeat(record.verdict)
        for x, verdict in zip(record.best.fields, verdicts):
            here = *x[:4], _cell(x.confidence), confidence, verdict
            write_row((*before, *here)[:n_columns])
        if not record.best.fields:
            write_row((*before, *[""] * 5, confidence, record.verdict)[:n_columns])


def write_table(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes a row for each record, with a column for each of `options.labels`: its
    values, joined by " | ". Other labels, and verdicts of fields, have no place."""
    write_row = _row_writer(file, options.is_safe)
    last = (*LAST, VERDICT) if options.has_verdicts else LAST
    if not options.continues:
        write_row((*FIRST, *label_columns(options.labels, last), *last))
    for record in records:
        values: dict[str, list[str]] = {label: [] for label in options.labels}
        for field in record.best.fields:
            if field.label in values:
                values[field.label].append(field.value)
        cells = map(SEPARATOR.join, values.values())
        confidence = _cell(record.best.confidence)
        row = (record.line, confidence, *cells, record.text)
        write_row((*row, record.advice) if options.has_verdicts else row)


def _cell(confidence: float | None) -> str:
    """Returns a probability that is sorted rightly as a text, too."""
    return "" if confidence is None else f"{confidence:.6f}"


def label_columns(labels: Iterable[str], last: Sequence[str] = LAST) -> Iterator[str]:
    """Yields the names of the columns of labels, all different, before the last ones: a
    label named like another column, such as "text", gets "_label" at its end."""
    labels = [*labels]
    reserved = *FIRST, *last
    taken = {*reserved, *labels}
    for label in labels:
        name = label
        while name in reserved or (name != label and name in taken):
            name += "_label"
        taken.add(name)
        yield name


# Whether `csv` can write the character U+0000; if not, U+FFFD stands in its place.
HAS_NULL = sys.version_info >= (3, 11)


def _row_writer(file: IO[Any], is_safe: bool) -> Callable[[tuple[Any, ...]], None]:
    """Returns what writes a row, with quotes, and with marks, where they are needed."""
    plain = csv.writer(file, lineterminator="\n")
    # Python does not see that a carriage return needs quotes.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(row: tuple[Any, ...]) -> None:
        if is_safe:
            row = tuple(map(marked, row))
        texts = {k: x for k, x in enumerate(row) if isinstance(x, str)}
        if not HAS_NULL:
            clean = {k: x.replace("\0", "\ufffd") for k, x in texts.items()}
            row = tuple(clean.get(k, x) for k, x in enumerate(row))
        has_return = any("\r" in x for x in texts.values())
        (quoted if has_return else plain).writerow(row)

    return write


_TABLE_HELP = "a row for each record, with a column for each label"
FORMATS = (
    RecordFormat("csv", write_csv, "a row for each field"),
    RecordFormat("table", write_table, _TABLE_HELP),
)
