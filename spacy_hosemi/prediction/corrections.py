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
    """RETURNS (PartialLabels): The arguments of `redecode`, in tokens.

    labels (Collection[str]): Known ones.
    clean_text (bool): Whether spans begin and end with words that can be seen.
    RAISES (ValueError): HS095 no span of the document; HS096 unknown label; HS097 two
        spans of keep overlap; HS098 a span is in both.
    RAISES (TypeError): HS043 keep or forbid is no list.
    """
    for name, spans in (("keep", keep), ("forbid", forbid)):
        if not isinstance(spans, Iterable):
            expected = "a list of spans, each a Span or (start, end, label) in tokens"
            args = {"name": name, "found": shown(spans), "expected": expected}
            raise TypeError(Errors.HS043.format(**args))
    args = doc, inventory, labels, clean_text
    to_keep = dict.fromkeys(read_span("keep", x, *args) for x in keep)
    forbidden = dict.fromkeys(read_span("forbid", x, *args) for x in forbid)
    required = sorted((i, j, y) for i, j, y in to_keep if y is not None)
    corrections = PartialLabels(tuple(required), tuple(forbidden))
    for left, right in pairwise(required):
        if right[0] < left[1]:
            raise ValueError(Errors.HS097.format(found=left, other=right))
    starts = [instance.start for instance in divide(doc, scope)]
    for span in required:
        if corrections.excludes(span):
            raise ValueError(Errors.HS098.format(found=span))
        if bisect_right(starts, span[0]) != bisect_right(starts, span[1] - 1):
            reason = 'which crosses a sentence start in the scope "sents"'
            raise no_span("keep", span, reason, doc)
    return corrections


def no_span(name: str, span: Any, reason: str, doc: Doc) -> ValueError:
    """RETURNS (ValueError): HS095."""
    return ValueError(
        Errors.HS095.format(name=name, found=span, reason=reason, n_tokens=len(doc))
    )


def unknown_label(
    name: str, found: Any, labels: Collection[str], more: str = ""
) -> ValueError:
    """RETURNS (ValueError): HS096; more: what else may stand in place of a label."""
    return ValueError(
        Errors.HS096.format(name=name, found=found, expected=labels, more=more)
    )


def read_span(
    name: str,
    value: GivenSpan,
    doc: Doc,
    inventory: LabelInventory,
    labels: Collection[str],
    clean_text: bool = False,
) -> AnySpan:
    """RETURNS (Tuple[int, int, Optional[str]]): A span that a user gives, in tokens.

    name (str): What it is; "forbid": it need not be possible, nor have a label.
    RAISES (ValueError): HS095 no span of the document; HS096 unknown label.
    """
    if isinstance(value, DocSpan):
        span: Any = (value.start, value.end, value.label_ or None)
        reason = "" if value.doc is doc else "a span of another document"
    else:
        span = tuple(value) if isinstance(value, Sequence) else (value,)
        reason = "" if len(span) == 3 else "which is no span"
    if not reason:
        reason = _wrong_place(span[0], span[1], doc)
    is_kept = name != "forbid"
    if not reason and is_kept:
        ends = doc[span[0]], doc[span[1] - 1]
        may_begin = not inventory.on_tokens and inventory.outside == "none"
        if not may_begin and any(token.is_space for token in ends):
            reason = "which begins or ends with whitespace"
        elif clean_text and not all(clean_word(token.text) for token in ends):
            reason = "which begins or ends with whitespace or what cannot be seen"
    if reason:
        raise no_span(name, span, reason, doc)
    if span[2] not in labels and (is_kept or span[2] is not None):
        more = "" if is_kept else ", or in forbid None for any label"
        raise unknown_label(name, span, labels, more)
    return span


def _wrong_place(start: Any, end: Any, doc: Doc) -> str:
    if not (is_whole(start) and is_whole(end)):
        return "where start and end are no whole numbers"
    return "" if 0 <= start < end <= len(doc) else "which is out of range"
