"""Pairs of a text and its entities, and documents, as programs around spaCy write them.

`["Frege 1879", {"entities": [[0, 5, "author"]]}]` is how spaCy 2 was trained; a list of
such pairs, or an object that has one under "annotations", as annotators for spaCy write
it. `["Frege 1879", [[0, 5, "author"]]]` is what `hosemi.fit` takes. `{"text": ..,
"ents": [{"start", "end", "label"}]}` is `Doc.to_json()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..json_records import N_SAMPLED, meta_of, spans_of, string_of, values
from ..sources import SourceText
from ..texts import AnnotatedText, Fault, Found, Skipped, shown
from .base import FormatReader, ReaderSettings

KEYS = ("ents", "entities")


def _recognizes(source: SourceText) -> bool:
    if source.text.lstrip()[:1] not in ("[", "{"):
        return False
    values = (value for _, value in islice(_values(source), N_SAMPLED))
    return any(_is_pair(value) or _is_document(value) for value in values)


def _values(source: SourceText) -> Iterator[tuple[int, Any]]:
    for line, value in values(source):
        pairs = value.get("annotations") if isinstance(value, dict) else None
        if isinstance(pairs, list) and "data" not in value:
            yield from ((line, pair) for pair in pairs)
        else:
            yield line, value


def _is_pair(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        return False
    spans = value[1]
    if isinstance(spans, dict):
        return "entities" in spans
    return isinstance(spans, list) and all(
        isinstance(span, list) and len(span) == 3 for span in spans
    )


def _is_document(value: Any) -> bool:
    if not isinstance(value, dict) or "text" not in value or "relations" in value:
        return False
    lists = [value[key] for key in KEYS if isinstance(value.get(key), list)]
    spans = [span for some in lists for span in some]
    return bool(lists) and all(isinstance(x, dict) and "start" in x for x in spans)


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    for line, value in _values(source):
        if isinstance(value, Fault):
            yield value
        elif value is None:  # annotators leave it for a text that was skipped
            yield Skipped("without annotation")
        else:
            try:
                yield _text(value, line, source.path, settings.text_key or "text")
            except ValueError as e:
                yield Fault(source.path, line, str(e))


def _text(value: Any, line: int, path: str, key: str) -> AnnotatedText:
    if _is_pair(value):
        more = value[1] if isinstance(value[1], dict) else {"entities": value[1]}
        value = {key: value[0], **more}
    name = next((x for x in KEYS if isinstance(value, dict) and x in value), None)
    if name is None:
        pairs = '[text, {"entities": [..]}], [text, [[start, end, label]]]'
        expected = f'{pairs}, or an object with "text" and "ents"'
        raise ValueError(f"expected {expected}, found {shown(value)}")
    groups = value.get("spans")
    if not value[name] and isinstance(groups, dict) and any(groups.values()):
        found = ", ".join(map(shown, groups))
        raise ValueError(f"spans are in groups, {found}; expected them as entities")
    spans = spans_of(value[name], ("start", "end"), line)
    meta = meta_of(value, key, *KEYS, "tokens", "sents", "spans", "links")
    return AnnotatedText(string_of(value, key), spans, path, line, meta=meta)


READER = FormatReader("spacy", _recognizes, _read)
