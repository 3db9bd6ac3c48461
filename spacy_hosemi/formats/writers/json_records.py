"""Records as JSON, and what writes JSON: an object a line, or all objects in a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from ..records import ExtractedRecord, Segmentation
from .base import RecordFormat, RecordWriter, WriterOptions

# Makes an object of a record; None: it is left out.
ObjectMaker = Callable[[ExtractedRecord, WriterOptions], dict[str, Any] | None]

# Digits of a probability.
DIGITS = 6


def rounded(confidence: float | None) -> float | None:
    """Rounds to `DIGITS` digits, which are enough to compare and keep files short."""
    return None if confidence is None else float(f"{confidence:.{DIGITS}g}")


def to_json(value: Any) -> str:
    """Returns JSON on one line, readable for people."""
    return json.dumps(value, ensure_ascii=False)


def in_lines(make: ObjectMaker) -> RecordWriter:
    """Returns what writes an object of each record on a line; None is left out."""

    def write(
        records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
    ) -> None:
        for record in records:
            if (item := make(record, options)) is not None:
                file.write(to_json(item) + "\n")

    return write


def in_list(make: ObjectMaker) -> RecordWriter:
    """Returns what writes a JSON list, an object a line, as they come, without None."""

    def write(
        records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
    ) -> None:
        before = "[\n"
        for record in records:
            if (item := make(record, options)) is not None:
                file.write(before + to_json(item))
                before = ",\n"
        file.write("[]\n" if before == "[\n" else "\n]\n")

    return write


def as_object(
    record: ExtractedRecord, options: WriterOptions | None = None
) -> dict[str, Any]:
    """Returns "line", "text", "record_confidence", "spans", each with "start", "end",
    "label", "value", "confidence"; "alternatives" if there are any; "is_unusual" if it
    is; "verdict" of the record or of each span, if something is promised. Where tokens
    were given, these stand for the text, and "start" and "end" count them."""
    borders: dict[int, int] = {}
    at = 0
    for i, word in enumerate(record.words):
        borders |= {at: i, at + len(word): i + 1}
        at += len(word) + 1
    text = {"tokens": record.words} if record.words else {"text": record.text}
    item = {"line": record.line, **text, **_segmentation(record.best, borders)}
    if record.is_unusual:
        item["is_unusual"] = True
    if record.verdict is not None:
        item["verdict"] = record.verdict
    for span, verdict in zip(item["spans"], record.verdicts):
        span["verdict"] = verdict
    if record.alternatives:
        item["alternatives"] = [_segmentation(x, borders) for x in record.alternatives]
    return item


def _segmentation(
    segmentation: Segmentation, borders: Mapping[int, int]
) -> dict[str, Any]:
    """Returns an object; borders: the places in tokens of offsets, if these count."""
    spans = []
    for field in segmentation.fields:
        start, end = (borders.get(at, at) for at in field[:2])
        confidence = rounded(field.confidence)
        moved = field._replace(start=start, end=end, confidence=confidence)
        spans.append(moved._asdict())
    return {"record_confidence": rounded(segmentation.confidence), "spans": spans}


_WHOLE: dict[str, Any] = {"has_alternatives": True, "is_one_document": True}
FORMATS = (
    RecordFormat("jsonl", in_lines(as_object), has_alternatives=True),
    RecordFormat("json", in_list(as_object), **_WHOLE),
)
