"""What a component leaves in `doc.user_data` about its predicted spans."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from spacy.tokens import Doc, Span

from ..labels.inventory import OUTSIDE
from ..labels.inventory import Span as SpanTriple

KEY = "hosemi"


class Scorer(Protocol):
    """A component that can compute what is missing."""

    def score_spans(self, doc: Doc) -> None: ...


components: WeakValueDictionary[str, Scorer] = WeakValueDictionary()


def register_component(component: Scorer, key: str) -> str:
    """Let records find a component of this process.

    component (Scorer): The component.
    key (str): The key it has, from before it was copied perhaps.
    RETURNS (str): The same key, which a copy in another process shares; a new one if
        in this process it belongs to another component.
    """
    if components.setdefault(key, component) is component:
        return key
    key = uuid4().hex
    components[key] = component
    return key


def span_key(span: Span) -> str:
    """RETURNS (str): The key of a span in a record."""
    return f"{span.start_char}:{span.end_char}:{span.label_ or OUTSIDE}"


def key_at(doc: Doc, start: int, end: int, label: str) -> str:
    """RETURNS (str): `span_key` of these tokens; no Span is made."""
    last = doc[end - 1]
    return f"{doc[start].idx}:{last.idx + len(last)}:{label}"


def find_span(doc: Doc, key: str) -> SpanTriple | None:
    """The span of a key, in tokens; None if the tokens have changed since."""
    start, end, label = key.split(":", 2)
    span = doc.char_span(int(start), int(end))
    return None if span is None else (span.start, span.end, label)


def leave_record(
    doc: Doc,
    name: str,
    component: str,
    spans: dict[str, Any],
    **more: Any,
) -> None:
    """Replace the record of one component; the latest one stands last."""
    records = doc.user_data.setdefault(KEY, {})
    records.pop(name, None)
    records[name] = {"component": component, "spans": spans, **more}


def _record_of(span: Span) -> dict[str, Any] | None:
    """The latest record that has a span, with its probability if that can be."""
    key = span_key(span)
    for record in reversed(span.doc.user_data.get(KEY, {}).values()):
        if key not in record["spans"]:
            continue
        if record["spans"][key] is None and record["component"] in components:
            components[record["component"]].score_spans(span.doc)
        found: dict[str, Any] = record
        return found
    return None
