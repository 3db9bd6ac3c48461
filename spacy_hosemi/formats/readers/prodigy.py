"""Exports of Prodigy (`db-out`): tasks with `spans`. The accepted tasks are read.

The text is read anew, not from the tokens of Prodigy, which those of a pipeline may
differ from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..json_records import Record, meta_of, sample, spans_of, string_of
from ..sources import Source
from ..texts import AnnotatedText, Found, Skipped, shown
from .base import Reader, Settings, read_records

ANSWERS = {"reject": "rejected", "ignore": "ignored"}
MARKS = ("answer", "_task_hash", "_input_hash")


def _recognizes(source: Source) -> bool:
    return any(map(is_task, sample(source)))


def is_task(record: dict[str, Any]) -> bool:
    """RETURNS (bool): Whether an object has what only Prodigy writes."""
    tokens = record.get("tokens")
    has_objects = isinstance(tokens, list) and any(isinstance(x, dict) for x in tokens)
    return "text" in record and (has_objects or any(x in record for x in MARKS))


def _read(source: Source, settings: Settings) -> Iterator[Found]:
    def make(_: int, found: Record) -> Iterator[Found]:
        line, record = found
        answer = record.get("answer", "accept")
        if answer in ANSWERS:
            yield Skipped(ANSWERS[answer])
            return
        if answer != "accept":
            expected = "accept, reject or ignore"
            raise ValueError(f'"answer" is {shown(answer)}; expected {expected}')
        key = settings.text_key or "text"
        text = string_of(record, key)
        # A task without spans was accepted with none in it.
        spans = spans_of(record.get("spans") or [], ("start", "end"), line)
        meta = meta_of(record, key, "spans", "tokens")
        yield AnnotatedText(text, spans, source.path, line, meta=meta)

    return read_records(source, make)


READER = Reader("prodigy", _recognizes, _read)
