"""`span._.confidence`: the posterior probability of exactly that span.

A component leaves a record in `doc.user_data["hosemi"][name]`:

    {"component": id, "spans": {"start:end:label": probability or None}}

with character offsets. None means not computed yet: then the component, if it still
lives in this process, is asked when somebody reads the attribute. Plain numbers and
strings only, so that the record travels with Doc.to_bytes and DocBin.
"""

from __future__ import annotations

from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from spacy.tokens import Doc, Span

from .labels import OUTSIDE

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


def leave_record(doc: Doc, name: str, component: str, spans: dict[str, Any]) -> None:
    """Replace the record of one component."""
    doc.user_data.setdefault(KEY, {})[name] = {"component": component, "spans": spans}


def get_confidence(span: Span) -> float | None:
    """Posterior of a predicted span; None for any other.

    span (Span): With its label.
    RETURNS (Optional[float]): In [0, 1].
    """
    key = span_key(span)
    for record in span.doc.user_data.get(KEY, {}).values():
        if key not in record["spans"]:
            continue
        if record["spans"][key] is None and record["component"] in components:
            components[record["component"]].score_spans(span.doc)
        return record["spans"][key]
    return None


def register_extension() -> None:
    """Register `span._.confidence`, never over a user's own."""
    if not Span.has_extension("confidence"):
        Span.set_extension("confidence", getter=get_confidence)
