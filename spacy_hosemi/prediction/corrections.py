"""Corrections of a user: spans that are entities, and spans that are not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan

from ..core.arguments import is_whole
from ..errors import Errors
from ..features.instances import divide
from ..labels.inventory import LabelInventory
from ..labels.partial import AnySpan, PartialLabels
from ..text.clean import clean_word
from ..values import shown

GivenSpan = DocSpan | Sequence[Any]  # a span of the document, or (start, end, label)


def read_corrections(
    doc: Doc,
    keep: Iterable[GivenSpan],
    forbid: Iterable[GivenSpan],
    inventory: LabelInventory,
    scope: str,
    labels: Collection[str],
    clean_text: bool = False,
) -> PartialLabels:
    """Returns the arguments of `redecode` in tokens; with `clean_text` spans begin and
    end with words that can be seen. Raises ValueError for no span of the document
    (HS095), an unknown label (HS096), spans of keep that overlap (HS097), and a span in
    both (HS098); TypeError HS043 if one of them is no list."""
    args = doc, inventory, labels, clean_text
    required: list[Any] = read_spans("keep", keep, *args)
    forbidden = read_spans("forbid", forbid, *args)
    corrections = PartialLabels(tuple(required), tuple(forbidden))
    starts = [instance.start for instance in divide(doc, scope)]
    for span in required:
        if corrections.excludes(span):
            raise ValueError(Errors.HS098.format(found=span))
        if bisect_right(starts, span[0]) != bisect_right(starts, span[1] - 1):
            reason = 'which crosses a sentence start in the scope "sents"'
            raise no_span("keep", span, reason, doc)
    return corrections


def read_spans(
    name: str,
    spans: Iterable[GivenSpan],
    doc: Doc,
    inventory: LabelInventory,
    labels: Collection[str],
    clean_text: bool = False,
) -> list[AnySpan]:
    """Returns the spans of an argument, each once; sorted, but those of "forbid", which
    may overlap. Raises as `read_corrections`."""
    if not isinstance(spans, Iterable):
        expected = "a list of spans, each a Span or (start, end, label) in tokens"
        found = {"name": name, "found": shown(spans), "expected": expected}
        raise TypeError(Errors.HS043.format(**found))
    read = {read_span(name, x, doc, inventory, labels, clean_text): 0 for x in spans}
    if name == "forbid":
        return [*read]
    in_order: list[Any] = sorted(read)
    for left, right in pairwise(in_order):
        if right[0] < left[1]:
            raise ValueError(Errors.HS097.format(name=name, found=left, other=right))
    return in_order


def no_span(name: str, span: Any, reason: str, doc: Doc) -> ValueError:
    """Returns the error HS095."""
    text = Errors.HS095.format(name=name, found=span, reason=reason, n_tokens=len(doc))
    return ValueError(text)


def unknown_label(
    name: str, found: Any, labels: Collection[str], more: str = ""
) -> ValueError:
    """Returns the error HS096; `more` says what else may stand in place of a label."""
    message = Errors.HS096.format(name=name, found=found, expected=labels, more=more)
    return ValueError(message)


def read_span(
    name: str,
    value: GivenSpan,
    doc: Doc,
    inventory: LabelInventory,
    labels: Collection[str],
    clean_text: bool = False,
) -> AnySpan:
    """Returns a span that a user gives, in tokens. `name` says what it is; one of
    "forbid" or "spans" need not be possible, and one of "forbid" needs no label. Raises
    ValueError for no span of the document (HS095) and an unknown label (HS096)."""
    if isinstance(value, DocSpan):
        span: Any = (value.start, value.end, value.label_ or None)
        reason = "" if value.doc is doc else "a span of another document"
    else:
        span = tuple(value) if isinstance(value, Sequence) else (value,)
        reason = "" if len(span) == 3 else "which is no span"
    if not reason and not (is_whole(span[0]) and is_whole(span[1])):
        reason = "where start and end are no whole numbers"
    if not reason and not 0 <= span[0] < span[1] <= len(doc):
        reason = "which is out of range"
    is_kept = name != "forbid"
    if not reason and is_kept and name != "spans":
        reason = unseen_end(span, doc, inventory, clean_text)
    if reason:
        raise no_span(name, span, reason, doc)
    if span[2] not in labels and (is_kept or span[2] is not None):
        more = "" if is_kept else ", or in forbid None for any label"
        raise unknown_label(name, span, labels, more)
    return span


def unseen_end(
    span: AnySpan, doc: Doc, inventory: LabelInventory, clean_text: bool
) -> str:
    """Returns why no span can begin or end where a span does; else nothing."""
    ends = doc[span[0]], doc[span[1] - 1]
    may_begin = not inventory.on_tokens and inventory.outside == "none"
    if not may_begin and any(token.is_space for token in ends):
        return "which begins or ends with whitespace"
    if clean_text and not all(clean_word(token.text) for token in ends):
        return "which begins or ends with whitespace or what cannot be seen"
    return ""
