"""Readers of annotated texts, one module for each format; `ALL` has them by name."""

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
from .base import Reader, Settings

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
ALL: dict[str, Reader] = {reader.name: reader for reader in _READERS}

__all__ = ["ALL", "Reader", "Settings"]
