"""Writers of records; `WRITERS` has their formats by name."""

from collections.abc import Mapping

from . import annotation_tools, json_records, references, tables
from .base import RecordFormat, WriterOptions

_MODULES = (tables, json_records, annotation_tools, references)
WRITERS: Mapping[str, RecordFormat] = {
    format.name: format for module in _MODULES for format in module.FORMATS
}

__all__ = ["WRITERS", "RecordFormat", "WriterOptions", "in_words", "tool_names"]


def tool_names() -> list[str]:
    """Returns the names of formats for annotation tools."""
    return [format.name for format in WRITERS.values() if format.is_for_tools]


def in_words() -> str:
    """Returns the names of all formats, those that need one with an explanation."""
    explained = [f"{x.name}: {x.help}; " for x in WRITERS.values() if x.help]
    *names, last = (x.name for x in WRITERS.values() if not x.help)
    return f"{''.join(explained)}{', '.join(names)} or {last}"
