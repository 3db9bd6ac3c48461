"""Exports of Label Studio: JSON (a list of tasks) and JSON-MIN.

A task has `data`, which holds the text, and `annotations` (`completions` before version
1.0), each with a list of regions: `{"value": {"start", "end", "text", "labels"}}`. In
JSON-MIN a task has the text, and its regions under the name of the labeling control.
Regions of a `HyperText` tag have paths into an HTML page: they are faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..json_records import make_span, meta_of, string_of
from ..texts import AnnotatedText, Found, LabeledSpan, Skipped, same, shown
from .base import ReaderSettings, object_reader

ANNOTATIONS = ("annotations", "completions")
MINIMAL = ("annotation_id", "annotator", "lead_time")


def _is_task(record: dict[str, Any]) -> bool:
    # A task that was predicted, and not annotated yet, is a task as well.
    keys = (*ANNOTATIONS, "predictions")
    has_list = any(isinstance(record.get(key), list) for key in keys)
    return has_list and isinstance(record.get("data"), dict)


def _is_minimal(record: dict[str, Any]) -> bool:
    return any(key in record for key in MINIMAL) or bool(_controls_of(record))


def _controls_of(record: dict[str, Any]) -> list[str]:
    """Returns the keys of JSON-MIN under which regions stand."""
    lists = ((key, value) for key, value in record.items() if isinstance(value, list))
    return [key for key, value in lists if value and all(map(_is_region, value))]


def _is_region(value: Any) -> bool:
    """Returns whether a value is a stretch of a text with labels; choices are none."""
    is_part = isinstance(value, dict) and "start" in value
    return is_part and _labels_of(value) is not None


def _labels_of(value: dict[str, Any]) -> Any:
    """Returns what stands under "labels", "hypertextlabels" or the like."""
    return next((x for key, x in value.items() if key.endswith("labels")), None)


def _read(
    line: int, record: dict[str, Any], path: str, settings: ReaderSettings
) -> Iterator[Found]:
    if not _is_task(record):
        yield _from_minimal(record, line, path, settings.text_key or "text")
        return
    data = record["data"]
    chosen, skipped = _chosen(record)
    yield from skipped
    if chosen is None:
        return
    results = chosen.get("result")
    if not isinstance(results, list):
        raise ValueError(f'expected a list as "result", found {shown(results)}')
    for x in results:
        if not isinstance(x, dict):
            raise ValueError(f"expected a region as an object, found {shown(x)}")
    results = [x for x in results if _is_region(x.get("value"))]
    regions = [x["value"] for x in results]
    if len(names := {*map(shown, (x.get("to_name") for x in results))}) > 1:
        found = ", ".join(sorted(names))
        raise ValueError(f"regions are of several texts, {found}; expected one text")
    key = settings.text_key or _text_key(data, regions)
    meta = {**meta_of(record, "data", *ANNOTATIONS), **meta_of(data, key)}
    yield _text(string_of(data, key), regions, path, line, meta)


def _chosen(record: dict[str, Any]) -> tuple[dict[str, Any] | None, list[Skipped]]:
    """Returns the annotation to read (the ground truth, else the last one), and what
    is left out."""
    lists = (record[key] for key in ANNOTATIONS if isinstance(record.get(key), list))
    annotations = [x for x in next(lists, []) if isinstance(x, dict)]
    if not annotations:
        what = "predicted, not annotated" if record.get("predictions") else ""
        return None, [Skipped(what or "without annotation")]
    complete = [
        x for x in annotations if not (x.get("was_cancelled") or x.get("skipped"))
    ]
    skipped = [Skipped("cancelled")] * (len(annotations) - len(complete))
    if not complete:
        return None, skipped
    skipped += [Skipped("of another annotator")] * (len(complete) - 1)
    true = [x for x in complete if x.get("ground_truth")]
    return (true or complete)[-1], skipped


def _span(value: dict[str, Any], line: int, text: str) -> LabeledSpan:
    if "startOffset" in value or "channel" in value:
        raise ValueError(
            "a region is of sound, or has paths into an HTML page; expected a project "
            "with a Text tag: convert the HTML to text before it is annotated"
        )
    labels = _labels_of(value)
    if not isinstance(labels, list) or not labels:
        raise ValueError(f"a region has no label: {shown(value)}")
    if len(labels) > 1:
        n = len(labels)
        raise ValueError(f"a region has {n} labels: {shown(labels)}; expected 1")
    start, end = value["start"], value.get("end")
    part = value.get("text")
    if not isinstance(part, str):
        part = None
    elif part not in text:
        # Older versions write a line break as the two characters \n.
        part = part.replace("\\n", "\n")
    return make_span(start, end, labels[0], part, line)


def _text_key(data: dict[str, Any], regions: list[Any]) -> str:
    """Returns the key of the text: "text", the only one with a string, or the only one
    whose string has what the regions say."""
    if "text" in data:
        return "text"
    keys = strings = [key for key, value in data.items() if isinstance(value, str)]
    if len(strings) > 1 and regions:
        keys = [key for key in strings if all(_is_in(data[key], x) for x in regions)]
    if len(keys) != 1:
        names = ", ".join(map(shown, strings)) or "none"
        raise ValueError(f"expected one text in data, found {names}; give --text-key")
    return keys[0]


def _is_in(text: str, region: dict[str, Any]) -> bool:
    start, end = region["start"], region.get("end")
    are_offsets = type(start) is type(end) is int
    return are_offsets and same(text[start:end], str(region.get("text")))


def _from_minimal(record: dict[str, Any], line: int, path: str, key: str) -> Found:
    if not _is_minimal(record):
        keys = ", ".join(map(shown, list(record)[:6])) or "none"
        raise ValueError(
            f'expected a task with "data" and "annotations", or one of JSON-MIN; its '
            f"keys are {keys}"
        )
    text, controls = string_of(record, key), _controls_of(record)
    regions = [region for control in controls for region in record[control]]
    return _text(text, regions, path, line, meta_of(record, key, *controls))


def _text(
    text: str, regions: list[Any], path: str, line: int, meta: dict[str, Any]
) -> AnnotatedText:
    spans = tuple(_span(region, line, text) for region in regions)
    return AnnotatedText(text, spans, path, line, meta=meta)


READER = object_reader("label-studio", lambda x: _is_task(x) or _is_minimal(x), _read)
