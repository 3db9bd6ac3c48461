"""`span._.confidence`: the posterior probability of exactly that span.

A component leaves a record in `doc.user_data["hosemi"][name]`:

    {"component": id, "spans": {"start:end:label": probability or None}}

with character offsets; with labels in a tree under "paths" for each span the names from
the top with their probabilities. None means not computed yet: then the component, if it
still lives in this process, is asked when somebody reads an attribute; it finds under
"given" what limited the prediction, see `preset`. Plain numbers and strings only, so
that the record travels with Doc.to_bytes and DocBin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from spacy.tokens import Doc, Span

from .core import PatternAutomaton, log_partition
from .core.lanes import probability_steps
from .core.steps import Steps, finish
from .labels import OUTSIDE, LabelInventory
from .labels import Span as SpanTriple
from .problems import Problem
from .segmentation import before_trimming, exactly
from .units import shift

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


def get_confidence(span: Span) -> float | None:
    """Posterior of a predicted span; None for any other.

    If two components predicted it, the one that ran last has the word.

    span (Span): With its label.
    RETURNS (Optional[float]): In [0, 1].
    """
    key, record = span_key(span), _record_of(span)
    return None if record is None else record["spans"][key]


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


def get_label_path(span: Span) -> list[tuple[str, float | None]] | None:
    """The names from the top of the label tree to the label, and the posterior of
    exactly this span with a label below each; None for a span that was not predicted.

    span (Span): With its label.
    RETURNS (Optional[List[Tuple[str, float]]]): Of labels without a tree the label
        alone. Where min_confidence ended the way earlier, the rest of it comes too. A
        label that has others below it comes twice: with all of them, and as itself.
    """
    key, record = span_key(span), _record_of(span)
    if record is None:
        return None
    path = record.get("paths", {}).get(key, [(span.label_, record["spans"][key])])
    return [(name, p) for name, p in path]


def span_probabilities(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[SpanTriple]],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> list[list[float]]:
    """Posterior probabilities of spans of units, all work done by this thread; see
    `confidence_steps`."""
    return finish(confidence_steps(problems, spans, automaton, inventory))


def confidence_steps(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[SpanTriple]],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Steps[list[list[float]]]:
    """Posterior probabilities of spans of units.

    problems (Sequence[Problem]): Units, of one document or several.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Any of each unit, in tokens of its
        document.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (List[List[float]]): In [0, 1].
    """
    moved = [shift(some, -x.unit.start) for x, some in zip(problems, spans)]
    if inventory.on_tokens:
        pairs = zip(problems, moved)
        found = [_of_tags(*pair, automaton, inventory) for pair in pairs]
    else:
        index = {name: y for y, name in enumerate(inventory.names)}
        found = yield from probability_steps(
            automaton,
            [problem.potentials for problem in problems],
            [[(i, j, index[label]) for i, j, label in some] for some in moved],
            [problem.constraints for problem in problems],
        )
    for problem, some, probs in zip(problems, moved, found):
        # What is kept has 1 up to rounding, which min_confidence = 1 would see.
        if kept := problem.fixed.keep:
            probs[:] = [1.0 if x in kept else p for x, p in zip(some, probs)]
    return [[min(p, 1.0) for p in probs] for probs in found]


def _of_tags(
    problem: Problem,
    spans: Sequence[SpanTriple],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> list[float]:
    """P(span) = Z(tag sequences with it) / Z, summed over what is trimmed to it."""
    doc, potentials, limits = (
        problem.unit.tokens,
        problem.potentials,
        problem.constraints,
    )
    log_z = log_partition(automaton, potentials, limits) if spans else 0.0
    return [
        sum(
            math.exp(log_partition(automaton, potentials, given) - log_z)
            for raw in before_trimming(span, doc)
            for given in [exactly([raw], inventory, limits, len(doc))]
        )
        for span in spans
    ]


def register_extension() -> None:
    """Register `span._.confidence` and `label_path`, never over a user's own."""
    getters = {"confidence": get_confidence, "label_path": get_label_path}
    for name, getter in getters.items():
        if not Span.has_extension(name):
            Span.set_extension(name, getter=getter)
