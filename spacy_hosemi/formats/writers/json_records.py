"""Records as JSON: one a line, or all of them in a list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any

from ..records import ExtractedRecord, Segmentation
from .base import RecordFormat, WriterOptions

# Digits of a probability.
DIGITS = 6


def rounded(confidence: float | None) -> float | None:
    """Rounds to `DIGITS` digits, which are enough to compare and keep files short."""
    return None if confidence is None else float(f"{confidence:.{DIGITS}g}")


def to_json(value: Any) -> str:
    """Returns JSON on one line, readable for people."""
    return json.dumps(value, ensure_ascii=False)


def write_jsonl(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes an object a line; see `as_object`."""
    for record in records:
        file.write(to_json(as_object(record)) + "\n")


def write_json(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes a list of objects; see `as_object`."""
    write_list(map(as_object, records), file)


def write_list(objects: Iterable[Any], file: IO[Any]) -> None:
    """Writes a JSON list with one object a line, as they come."""
    before = "[\n"
    for item in objects:
        file.write(before + to_json(item))
        before = ",\n"
    file.write("[]\n" if before == "[\n" else "\n]\n")


def as_object(record: ExtractedRecord) -> dict[str, Any]:
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
    spans = [
        {
            **field._asdict(),
            "start": borders.get(field.start, field.start),
            "end": borders.get(field.end, field.end),
            "confidence": rounded(field.confidence),
        }
        for field in segmentation.fields
    ]
    return {"record_confidence": rounded(segmentation.confidence), "spans": spans}


FORMATS = (
    RecordFormat("jsonl", write_jsonl, has_alternatives=True),
    RecordFormat("json", write_json, has_alternatives=True, is_one_document=True),
)
