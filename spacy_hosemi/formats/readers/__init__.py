"""Readers of annotated texts, a module for each format; `READERS` has them by name."""

from typing import Any

from . import (
    brat,
    columns,
    doccano,
    inline,
    jsonl,
    label_studio,
    prodigy,
    spacy_json,
    tables,
)
from .base import FormatReader, ReaderSettings

# In the order in which messages name them.
_JSON = jsonl, doccano, prodigy, label_studio, spacy_json
_MODULES: Any = (*_JSON, brat, columns, tables, inline)
READERS: dict[str, FormatReader] = {x.READER.name: x.READER for x in _MODULES}

__all__ = ["READERS", "FormatReader", "ReaderSettings"]
