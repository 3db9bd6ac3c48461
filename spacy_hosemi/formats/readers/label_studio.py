"""Exports of Label Studio: JSON (a list of tasks) and JSON-MIN.

A task has `data`, which holds the text, and `annotations` (`completions` before version
1.0), each with a list of regions: `{"value": {"start", "end", "text", "labels"}}`. In
JSON-MIN a task has the text, and its regions under the name of the labeling control.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..json_records import Record, make_span, meta_of, sample, string_of
from ..sources import Source
from ..texts import AnnotatedText, Found, LabeledSpan, Skipped, shown
from .base import Reader, Settings, read_records

ANNOTATIONS = ("annotations", "completions")
MINIMAL = ("annotation_id", "annotator", "lead_time")


def _recognizes(source: Source) -> bool:
    return any(_is_task(x) or _is_minimal(x) for x in sample(source))


def _is_task(record: dict[str, Any]) -> bool:
    # A task that was predicted, and not annotated yet, is a task as well.
    keys = (*ANNOTATIONS, "predictions")
    has_list = any(isinstance(record.get(key), list) for key in keys)
    return has_list and isinstance(record.get("data"), dict)


def _is_minimal(record: dict[str, Any]) -> bool:
    return any(key in record for key in MINIMAL) or bool(_control_of(record))


def _control_of(record: dict[str, Any]) -> str | None:
    """The key of JSON-MIN under which the regions stand."""
    for key, value in record.items():
        if isinstance(value, list) and value and all(map(_is_region, value)):
            return key
    return None


def _is_region(value: Any) -> bool:
    return isinstance(value, dict) and "start" in value and "labels" in value


def _read(source: Source, settings: Settings) -> Iterator[Found]:
    def make(_: int, found: Record) -> Iterator[Found]:
        line, record = found
        if _is_task(record):
            yield from _from_task(record, line, source, settings)
        else:
            yield _from_minimal(record, line, source, settings)

    return read_records(source, make)


def _from_task(
    record: dict[str, Any], line: int, source: Source, settings: Settings
) -> Iterator[Found]:
    data = record["data"]
    chosen, skipped = _chosen(record)
    yield from skipped
    if chosen is None:
        return
    results = chosen.get("result")
    if not isinstance(results, list):
        raise ValueError(f'expected a list as "result", found {shown(results)}')
    key = settings.text_key or _text_key(data, results)
    regions = [x for x in results if _is_span_result(x)]
    text = string_of(data, key)
    spans = tuple(span for x in regions for span in _spans(x["value"], line, text))
    meta = {**meta_of(record, "data", *ANNOTATIONS), **meta_of(data, key)}
    yield AnnotatedText(text, spans, source.path, line, meta=meta)


def _chosen(record: dict[str, Any]) -> tuple[dict[str, Any] | None, list[Skipped]]:
    """The annotation of a task that counts: the ground truth, or the last one; and
    what does not."""
    lists = (record[key] for key in ANNOTATIONS if isinstance(record.get(key), list))
    made = [x for x in next(lists, []) if isinstance(x, dict)]
    if not made:
        what = "predicted, not annotated" if record.get("predictions") else ""
        return None, [Skipped(what or "without annotation")]
    kept = [x for x in made if not (x.get("was_cancelled") or x.get("skipped"))]
    skipped = [Skipped("cancelled")] * (len(made) - len(kept))
    if not kept:
        return None, skipped
    skipped += [Skipped("of another annotator")] * (len(kept) - 1)
    true = [x for x in kept if x.get("ground_truth")]
    return (true or kept)[-1], skipped


def _is_span_result(result: Any) -> bool:
    """Whether a result is a region; relations and choices are something else."""
    if not isinstance(result, dict):
        raise ValueError(f"expected a region as an object, found {shown(result)}")
    value = result.get("value")
    return isinstance(value, dict) and "start" in value


def _spans(value: Any, line: int, text: str) -> Iterator[LabeledSpan]:
    kind = value.get("labels", value.get("hypertextlabels"))
    if "startOffset" in value:
        raise ValueError(
            "a region of HyperText has paths, not offsets into a text; expected a Text "
            "tag: convert the HTML to text before it is annotated"
        )
    if not isinstance(kind, list) or not kind:
        raise ValueError(f"a region has no label: {shown(value)}")
    if len(kind) > 1:
        raise ValueError(f"a region has {len(kind)} labels: {shown(kind)}; expected 1")
    part = value.get("text")
    if not isinstance(part, str):
        part = None
    elif part not in text:
        # Older versions write a line break as the two characters \n.
        part = part.replace("\\n", "\n")
    yield make_span(value["start"], value.get("end"), kind[0], part, line)


def _text_key(data: dict[str, Any], results: list[Any]) -> str:
    """The key of the text: "text", or the only one with a string."""
    strings = [key for key, value in data.items() if isinstance(value, str)]
    if "text" in data or len(strings) != 1:
        if "text" not in data:
            keys = ", ".join(map(shown, strings)) or "none"
            raise ValueError(
                f"expected one text in data, found {keys}; give --text-key"
            )
        return "text"
    return strings[0]


def _from_minimal(
    record: dict[str, Any], line: int, source: Source, settings: Settings
) -> Found:
    if not _is_minimal(record):
        keys = ", ".join(map(shown, list(record)[:6])) or "none"
        raise ValueError(
            f'expected a task with "data" and "annotations", or one of JSON-MIN; its '
            f"keys are {keys}"
        )
    key = settings.text_key or "text"
    text = string_of(record, key)
    control = _control_of(record)
    regions = record[control] if control else []
    spans = tuple(span for value in regions for span in _spans(value, line, text))
    meta = meta_of(record, key, *([control] if control else []))
    return AnnotatedText(text, spans, source.path, line, meta=meta)


READER = Reader("label-studio", _recognizes, _read)
