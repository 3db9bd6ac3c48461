"""Exports of DataTurks: JSON lines with `content` and `annotation`.

An annotation is `{"label": ["Name"], "points": [{"start", "end", "text"}]}`; the end is
the last character. Offsets count what the annotators saw, but the content may have
`&amp;` for `&`: such entities become characters, unless the texts of the points say
that they were counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from ..json_records import make_span, meta_of, object_of, sample, string_of
from ..sources import Source
from ..texts import AnnotatedText, Found, LabeledSpan, Skipped, same, shown
from .base import Reader, Settings, read_records

ENTITY = re.compile("&(?:amp|lt|gt|quot|#39);")


def _recognizes(source: Source) -> bool:
    return any("content" in x and "annotation" in x for x in sample(source))


def _read(source: Source, settings: Settings) -> Iterator[Found]:
    def make(line: int, record: dict[str, Any]) -> Iterator[Found]:
        if record.get("annotation", ()) is None:
            yield Skipped("without annotation")
            return
        key = settings.text_key or "content"
        text, spans = string_of(record, key), tuple(_spans(record, line))
        seen = ENTITY.sub(lambda match: unescape(match[0]), text)
        text = seen if _agrees(seen, spans) else text
        meta = meta_of(record, key, "annotation", "extras", "metadata")
        yield AnnotatedText(text, spans, source.path, line, meta=meta)

    return read_records(source, make)


def _spans(record: dict[str, Any], line: int) -> Iterator[LabeledSpan]:
    if "annotation" not in record:
        raise ValueError('the key "annotation" is missing')
    for one in map(object_of, _list_of(record["annotation"])):
        for point in map(object_of, _list_of(one.get("points"))):
            start, end, text = (point.get(key) for key in ("start", "end", "text"))
            value = text if isinstance(text, str) else None
            for label in _list_of(one.get("label")):
                span = make_span(start, end, label, value, line)
                yield span._replace(end=span.end + 1)


def _list_of(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, found {shown(value)}")
    return value


def _agrees(text: str, spans: tuple[LabeledSpan, ...]) -> bool:
    """Whether a text is at all spans what the file says that it is."""
    return all(x.value is None or same(text[x.start : x.end], x.value) for x in spans)


READER = Reader("dataturks", _recognizes, _read)
