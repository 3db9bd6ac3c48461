"""Records as a table: one row for each field."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any

from ..records import ExtractedRecord
from .json_records import rounded
from .options import WriterOptions

COLUMNS = (
    "line",
    "text",
    "start",
    "end",
    "label",
    "value",
    "confidence",
    "record_confidence",
)


def write_csv(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Write a row for each field; of a record without fields one with an empty
    label."""
    plain = csv.writer(file, lineterminator="\n")
    # Python does not see that a carriage return needs quotes.
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(COLUMNS)
    for record in records:
        rows = quoted if "\r" in record.text else plain
        whole = rounded(record.best.confidence)
        before = record.line, record.text
        for x in record.best.fields:
            here: tuple[Any, ...] = x.start, x.end, x.label, x.value
            rows.writerow((*before, *here, rounded(x.confidence), whole))
        if not record.best.fields:
            rows.writerow((*before, "", "", "", "", "", whole))
