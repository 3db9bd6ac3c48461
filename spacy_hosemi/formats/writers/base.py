"""What an export format is, and what writers need to know beside the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from ..records import ExtractedRecord


@dataclass(frozen=True)
class WriterOptions:
    """Holds choices of a user.

    model (str): The name and version of the pipeline.
    fields (Mapping[str, str]): For each label the field of BibTeX that it is, see
        `references.fields`; labels that are not named are left out.
    labels (Sequence[str]): The labels that have a column in a table of records.
    alternative (str): What an alternative is called, if there is one at most; empty:
        they have numbers.
    has_verdicts (bool): Whether tables have a column for the verdicts of records, or of
        fields.
    """

    model: str = "hosemi"
    fields: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    has_verdicts: bool = False
    alternative: str = ""


@dataclass(frozen=True)
class RecordFormat:
    """Writes records in one format, as they come.

    name (str): As `--format` names it.
    write (Callable): (records, file, options) writes all of them.
    help (str): What the help of `parse` says beside the name.
    has_alternatives (bool): Whether it has a place for alternatives.
    has_tokens (bool): Whether it wants tokens.
    is_for_tools (bool): Whether annotation tools read it.
    is_of_references (bool): Whether records are references: labels become fields of
        BibTeX.
    """

    name: str
    write: Callable[[Iterable[ExtractedRecord], IO[Any], WriterOptions], None]
    help: str = ""
    has_alternatives: bool = False
    has_tokens: bool = False
    is_for_tools: bool = False
    is_of_references: bool = False
