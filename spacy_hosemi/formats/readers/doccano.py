"""Exports of doccano: JSON lines with `label` or `labels`, or with `entities`.

Projects for sequence labeling write lists, `"label": [[0, 5, "author"]]`; those with
relations write objects, `"entities": [{"label", "start_offset", "end_offset"}]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..json_records import meta_of, spans_of, string_of
from ..texts import AnnotatedText, Found
from .base import ReaderSettings, object_reader

KEYS = ("label", "labels", "entities")


def _is_doccano(record: dict[str, Any]) -> bool:
    if "text" not in record and "data" not in record:
        return False
    # Without relations, an empty list of entities may be of any program.
    keys = KEYS if record.get("entities") or "relations" in record else KEYS[:2]
    lists = (record[key] for key in keys if isinstance(record.get(key), list))
    return any(all(map(_is_span, values)) for values in lists)


def _is_span(value: Any) -> bool:
    if isinstance(value, dict):
        return "start_offset" in value
    return isinstance(value, list) and len(value) == 3


def _read(
    line: int, record: dict[str, Any], path: str, settings: ReaderSettings
) -> Iterator[Found]:
    # A text is under "data" when it was imported so, in projects of version 1.
    key = settings.text_key or ("text" if "text" in record else "data")
    text = string_of(record, key if key in record else "text")
    places = [x for x in KEYS if record.get(x)] or [x for x in KEYS if x in record]
    if len(places) != 1 and any(map(record.get, KEYS)) or not places:
        raise ValueError('one of the keys "label", "labels" and "entities" is expected')
    spans = spans_of(record[places[0]], ("start_offset", "end_offset"), line)
    meta = meta_of(record, key, *KEYS, "relations", "Comments")
    yield AnnotatedText(text, spans, path, line, meta=meta)


READER = object_reader("doccano", _is_doccano, _read)
