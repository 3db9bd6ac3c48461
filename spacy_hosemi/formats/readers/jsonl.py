"""Our JSON lines: `{"text", "spans"}` in characters, or `{"tokens", "spans"}`.

A span is `[start, end, label]`, or an object with these keys, and `value` or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..json_records import has_tokens, meta_of, sample, spans_of, string_of, tokens_of
from ..sources import SourceText
from ..texts import AnnotatedText, Found, from_tokens
from .base import FormatReader, ReaderSettings, read_records
from .prodigy import is_task


def _recognizes(source: SourceText) -> bool:
    return any(map(_is_ours, sample(source)))


def _is_ours(record: dict[str, Any]) -> bool:
    has_text = "text" in record or "tokens" in record
    return has_text and isinstance(record.get("spans"), list) and not is_task(record)


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    def make(line: int, record: dict[str, Any]) -> Iterator[Found]:
        if "spans" not in record:
            raise ValueError('the key "spans" is missing')
        spans = spans_of(record["spans"], ("start", "end"), line)
        key = settings.text_key or "text"
        if has_tokens(record, key):
            text = from_tokens(tokens_of(record), spans, source.path, line)
        else:
            text = AnnotatedText(string_of(record, key), spans, source.path, line)
        yield replace(text, meta=meta_of(record, key, "tokens", "spans"))

    return read_records(source, make)


READER = FormatReader("jsonl", _recognizes, _read)
