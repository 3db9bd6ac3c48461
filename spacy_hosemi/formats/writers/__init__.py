"""Writers of records; `WRITERS` has their formats by name."""

from collections.abc import Mapping

from . import annotation_tools, json_records, references, tables
from .base import RecordFormat, WriterOptions

_MODULES = (tables, json_records, annotation_tools, references)
WRITERS: Mapping[str, RecordFormat] = {
    format.name: format for module in _MODULES for format in module.FORMATS
}

__all__ = ["WRITERS", "RecordFormat", "WriterOptions"]
