"""What an export format is, and what writers need to know beside the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from ..records import ExtractedRecord


@dataclass(frozen=True)
class WriterOptions:
    """Holds what a user chooses for a file of records."""

    model: str = "hosemi"  # the name and version of the pipeline
    # For each label the field of BibTeX that it is, see `references.fields`; labels
    # that are not named are left out.
    fields: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()  # that have a column in a table of records
    has_verdicts: bool = False  # whether tables have a column for verdicts
    is_safe: bool = True  # whether cells of tables that would run get a mark
    continues: bool = False  # whether the file has a head already
    alternative: str = ""  # its name, if there is one at most; empty: they have numbers


RecordWriter = Callable[[Iterable[ExtractedRecord], IO[Any], WriterOptions], None]


@dataclass(frozen=True)
class RecordFormat:
    """Writes records in one format, as they come."""

    name: str  # as `--format` names it
    write: RecordWriter
    help: str = ""  # what the help of `parse` says beside the name
    has_alternatives: bool = False  # whether it has a place for them
    has_tokens: bool = False  # whether it wants them
    is_for_tools: bool = False  # whether people annotate what it writes
    is_one_document: bool = False  # whether half of it is worth nothing
    is_of_references: bool = False  # whether labels become fields of BibTeX
