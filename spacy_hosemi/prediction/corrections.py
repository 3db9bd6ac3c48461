"""What a user knows of a document already: spans that are entities, or are none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan

from ..core import Constraints, PatternAutomaton, viterbi
from ..errors import Errors
from ..features.instances import instances
from ..labels.constraints import exactly
from ..labels.inventory import LabelInventory, Segment
from ..labels.partial import AnySpan, Fixed
from ..labels.whitespace import trim_whitespace
from .problem import Problem

Given = DocSpan | Sequence[Any]  # a span of the document, or (start, end, label)


def read_fixed(
    doc: Doc,
    keep: Iterable[Given],
    forbid: Iterable[Given],
    inventory: LabelInventory,
    scope: str,
    labels: Collection[str],
) -> Fixed:
    """Check what a user gave.

    doc (Doc): n tokens.
    keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
    forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are none.
    inventory (LabelInventory): Encoding.
    scope (str): "doc" or "sents".
    labels (Collection[str]): Those that there are.
    RETURNS (Fixed): In tokens, sorted.
    RAISES (ValueError): HS095 no span of the document; HS096 unknown label; HS097 two
        spans of keep overlap; HS098 a span is in both.
    """
    kept = [_read_span("keep", x, doc, inventory, labels) for x in keep]
    forbidden = [_read_span("forbid", x, doc, inventory, labels) for x in forbid]
    known = sorted((i, j, y) for i, j, y in dict.fromkeys(kept) if y is not None)
    fixed = Fixed(tuple(known), tuple(dict.fromkeys(forbidden)))
    for left, right in pairwise(fixed.keep):
        if right[0] < left[1]:
            raise ValueError(Errors.HS097.format(found=left, other=right))
    for span in fixed.keep:
        if fixed.forbids(span):
            raise ValueError(Errors.HS098.format(found=span))
        if not any(
            x.start <= span[0] and span[1] <= x.end for x in instances(doc, scope)
        ):
            reason = 'which crosses a sentence start in the scope "sents"'
            raise _no_span("keep", span, reason, doc)
    return fixed


def _no_span(name: str, span: Any, reason: str, doc: Doc) -> ValueError:
    return ValueError(
        Errors.HS095.format(name=name, found=span, reason=reason, n_tokens=len(doc))
    )


def _read_span(
    name: str,
    given: Given,
    doc: Doc,
    inventory: LabelInventory,
    labels: Collection[str],
) -> AnySpan:
    if isinstance(given, DocSpan):
        span: Any = (given.start, given.end, given.label_ or None)
        reason = "" if given.doc is doc else "a span of another document"
    else:
        span = tuple(given) if isinstance(given, Sequence) else (given,)
        reason = "" if len(span) == 3 else "which is no span"
    if not reason:
        reason = _wrong_place(span[0], span[1], doc)
    is_kept = name == "keep"
    if not reason and is_kept and (inventory.on_tokens or inventory.outside != "none"):
        if doc[span[0]].is_space or doc[span[1] - 1].is_space:
            reason = "which begins or ends with whitespace"
    if reason:
        raise _no_span(name, span, reason, doc)
    if span[2] not in labels and (is_kept or span[2] is not None):
        raise ValueError(Errors.HS096.format(name=name, found=span, expected=labels))
    return span


def _wrong_place(start: Any, end: Any, doc: Doc) -> str:
    if not all(isinstance(x, (int, np.integer)) for x in (start, end)):
        return "where start and end are no whole numbers"
    return "" if 0 <= start < end <= len(doc) else "which is out of range"


def best_permitted(
    problem: Problem, automaton: PatternAutomaton, inventory: LabelInventory
) -> list[Segment]:
    """The most probable tags that do not mean a span that is forbidden.

    Where the best tags mean one, all others are split by the first tag in which they
    differ from those of that span, and the best part is searched next. A part is not
    better than what it is part of, so what is found first is the best.

    problem (Problem): Its segments are tags on tokens.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the component.
    RETURNS (List[Tuple[int, int, int]]): As `viterbi`; [] if nothing is possible.
    """
    ticket = count()
    parts: list[tuple[float, int, list[Segment], Constraints | None]] = []
    split: Iterable[Constraints | None] = [problem.constraints]
    while True:
        for constraints in split:
            segments, score = viterbi(automaton, problem.potentials, constraints)
            if segments:
                heappush(parts, (-score, next(ticket), segments, constraints))
        if not parts:
            return []
        _, _, segments, constraints = heappop(parts)
        raw = next(_forbidden_spans(problem, segments, inventory), None)
        if raw is None:
            return segments
        split = _without(raw, constraints, inventory, len(problem.instance.tokens))


def _forbidden_spans(
    problem: Problem, segments: Sequence[Segment], inventory: LabelInventory
) -> Iterator[tuple[int, int, str]]:
    """Before whitespace is cut off."""
    for raw in inventory.decode(segments):
        if any(
            map(problem.fixed.forbids, trim_whitespace([raw], problem.instance.tokens))
        ):
            yield raw


def _without(
    span: tuple[int, int, str],
    constraints: Constraints | None,
    inventory: LabelInventory,
    n_tokens: int,
) -> Iterator[Constraints]:
    """Parts that together hold all tags that do not mean the span, without overlap."""
    given = exactly([], inventory, constraints, n_tokens)
    with_span = exactly([span], inventory, constraints, n_tokens)
    assert given.allowed is not None and with_span.allowed is not None
    for i in np.flatnonzero((given.allowed != with_span.allowed).any(axis=1)).tolist():
        allowed = given.allowed.copy()
        allowed[:i] = with_span.allowed[:i]
        allowed[i] &= ~with_span.allowed[i]
        yield replace(given, allowed=allowed)
