"""Writers of records, by the name of the format. They write as records come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from ..records import ExtractedRecord
from .annotation_tools import write_doccano, write_label_studio, write_prodigy
from .json_records import write_json, write_jsonl
from .options import WriterOptions
from .references import write_bibtex, write_csl
from .tables import write_csv, write_table

__all__ = ["WRITERS", "RecordFormat", "WriterOptions"]


@dataclass(frozen=True)
class RecordFormat:
    """One format.

    write (Callable): (records, file, options) writes all of them.
    has_alternatives (bool): Whether it has a place for alternatives.
    has_tokens (bool): Whether it wants tokens.
    is_for_tools (bool): Whether annotation tools read it.
    """

    write: Callable[[Iterable[ExtractedRecord], IO[Any], WriterOptions], None]
    has_alternatives: bool = False
    has_tokens: bool = False
    is_for_tools: bool = False


WRITERS: Mapping[str, RecordFormat] = {
    "csv": RecordFormat(write_csv),
    "table": RecordFormat(write_table),
    "jsonl": RecordFormat(write_jsonl, has_alternatives=True),
    "json": RecordFormat(write_json, has_alternatives=True),
    "label-studio": RecordFormat(
        write_label_studio, has_alternatives=True, is_for_tools=True
    ),
    "prodigy": RecordFormat(
        write_prodigy, has_alternatives=True, has_tokens=True, is_for_tools=True
    ),
    "doccano": RecordFormat(write_doccano, has_alternatives=True, is_for_tools=True),
    "bib": RecordFormat(write_bibtex),
    "csl": RecordFormat(write_csl),
}
