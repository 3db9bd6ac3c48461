"""Readers of annotated texts, a module for each format; `READERS` has them by name."""

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

_READERS = (
    jsonl.READER,
    doccano.READER,
    prodigy.READER,
    label_studio.READER,
    spacy_json.READER,
    brat.READER,
    columns.READER,
    tables.READER,
    inline.READER,
)
READERS: dict[str, FormatReader] = {reader.name: reader for reader in _READERS}

__all__ = ["READERS", "FormatReader", "ReaderSettings"]
