"""Our JSON lines: `{"text", "spans"}` in characters, or `{"tokens", "spans"}`.

A span is `[start, end, label]`, or an object with these keys, and `value` or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..json_records import has_tokens, meta_of, spans_of, string_of, tokens_of
from ..texts import AnnotatedText, Found, from_tokens
from .base import ReaderSettings, object_reader
from .prodigy import is_task


def _is_ours(record: dict[str, Any]) -> bool:
    has_text = "text" in record or "tokens" in record
    return has_text and isinstance(record.get("spans"), list) and not is_task(record)


def _read(
    line: int, record: dict[str, Any], path: str, settings: ReaderSettings
) -> Iterator[Found]:
    if "spans" not in record:
        raise ValueError('the key "spans" is missing')
    spans = spans_of(record["spans"], ("start", "end"), line)
    key = settings.text_key or "text"
    if has_tokens(record, key):
        text = from_tokens(tokens_of(record), spans, path, line)
    else:
        text = AnnotatedText(string_of(record, key), spans, path, line)
    yield replace(text, meta=meta_of(record, key, "tokens", "spans"))


READER = object_reader("jsonl", _is_ours, _read)
