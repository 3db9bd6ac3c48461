"""`span._.confidence`: the posterior probability of exactly that span.

A component leaves a record in `doc.user_data["hosemi"][name]`:

    {"component": id, "spans": {"start:end:label": probability or None}}

with character offsets. None means not computed yet: then the component, if it still
lives in this process, is asked when somebody reads the attribute. Plain numbers and
strings only, so that the record travels with Doc.to_bytes and DocBin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from spacy.tokens import Doc, Span

from .core import (
    Constraints,
    PatternAutomaton,
    Potentials,
    log_partition,
    marginals,
)
from .labels import OUTSIDE, LabelInventory
from .labels import Span as SpanTriple
from .segmentation import before_trimming, exactly

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
    paths: dict[str, Any] | None = None,
) -> None:
    """Replace the record of one component; the latest one stands last."""
    records = doc.user_data.setdefault(KEY, {})
    records.pop(name, None)
    records[name] = {"component": component, "spans": spans}
    if paths is not None:
        records[name]["paths"] = paths


def get_confidence(span: Span) -> float | None:
    """Posterior of a predicted span; None for any other.

    If two components predicted it, the one that ran last has the word.

    span (Span): With its label.
    RETURNS (Optional[float]): In [0, 1].
    """
    key = span_key(span)
    for record in reversed(span.doc.user_data.get(KEY, {}).values()):
        if key not in record["spans"]:
            continue
        if record["spans"][key] is None and record["component"] in components:
            components[record["component"]].score_spans(span.doc)
        return record["spans"][key]
    return None


def get_label_path(span: Span) -> list[tuple[str, float | None]] | None:
    """The names from the top of the label tree to the label, and the posterior of
    exactly this span with a label below each; None for a span that was not predicted.

    span (Span): With its label.
    RETURNS (Optional[List[Tuple[str, float]]]): Of labels without a tree the label
        alone. Where min_confidence ended the way earlier, the rest of it comes too.
    """
    key = span_key(span)
    for record in reversed(span.doc.user_data.get(KEY, {}).values()):
        if key in record["spans"]:
            if key in record.get("paths", {}):
                return [(name, p) for name, p in record["paths"][key]]
            return [(span.label_, get_confidence(span))]
    return None


def span_probabilities(
    spans: Sequence[SpanTriple],
    doc: Doc,
    automaton: PatternAutomaton,
    inventory: LabelInventory,
    potentials: Potentials,
    constraints: Constraints | None,
) -> list[float]:
    """Posterior probability of each span.

    spans (Sequence[Tuple[int, int, str]]): Any spans of the document.
    doc (Doc): n tokens.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    potentials (Potentials), constraints (Optional[Constraints]): Of the document.
    RETURNS (List[float]): In [0, 1].
    """
    posterior = marginals(automaton, potentials, constraints, counts=False)
    if not inventory.on_tokens:
        index = {name: y for y, name in enumerate(inventory.names)}
        return [min(posterior.segment(i, j, index[y]), 1.0) for i, j, y in spans]
    # P(span) = Z(tag sequences with that span) / Z, summed over what is trimmed to it
    return [
        min(
            sum(
                math.exp(log_partition(automaton, potentials, given) - posterior.log_z)
                for raw in before_trimming(span, doc)
                for given in [exactly([raw], inventory, constraints, len(doc))]
            ),
            1.0,
        )
        for span in spans
    ]


def register_extension() -> None:
    """Register `span._.confidence` and `label_path`, never over a user's own."""
    getters = {"confidence": get_confidence, "label_path": get_label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)
