"""Checks the spans of a text, and brings them to characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import regex

from ..text.tokenizer import INVISIBLE, SPACE
from .offsets import Offsets
from .texts import AnnotatedText, Annotations, Fault, LabeledSpan, has_half, same, shown

UNSEEN = regex.compile(rf"{SPACE}|{INVISIBLE}", regex.V1)  # one character
OVERLAPS = ("fault", "longest")
LONGEST = 1_000_000  # characters: spaCy's own limit, nlp.max_length


def add_checked(
    annotations: Annotations, text: AnnotatedText, offsets: Offsets, overlaps: str
) -> None:
    """Brings the spans of a text to characters, checks them, and adds the text with its
    spans sorted, or its faults. The text stays if a span is given twice, and the rest
    of a partial annotation does. Wrong spans may overlap others, but are no right
    ones."""
    if not text.text.strip() and not text.judged:
        annotations.skipped["empty text(s)"] += 1
        return
    broken = ""
    if len(text.text) > LONGEST:
        n = f"{len(text.text):,} characters"
        broken = f"the text has {n}; expected at most {LONGEST:,}: divide it"
    elif has_half(text.text):
        broken = "the text has half a character (a lone surrogate); expected whole "
        broken += "ones: export the file again"
    if broken:
        annotations.faults.append(text.fault(broken))
        return
    faults: list[Fault] = []
    lost: list[Fault] = []
    good: list[LabeledSpan] = []
    wrong: list[LabeledSpan] = []
    starts = None
    if text.in_tokens and text.tokens:  # of tokens joined by blanks, and of one more
        starts = [*accumulate((len(x) + 1 for x in text.tokens), initial=0)]
    for k, raw in enumerate(text.judged):
        try:
            span = _in_characters(text, raw, offsets, starts)
        except ValueError as e:
            of_span = text.fault(str(e), raw.line)
            (lost if text.is_partial else faults).append(of_span)
            continue
        inner = trimmed(text.text, span)
        if starts is not None:  # given tokens stay whole
            first = starts[bisect_left(starts, inner.start + 1) - 1]
            end = starts[bisect_left(starts, inner.end + 1)] - 1
            inner = inner._replace(start=first, end=end)
        ends = text.text[span.start : inner.start] + text.text[inner.end : span.end]
        annotations.n_trimmed += any(map(str.isspace, ends))
        annotations.n_unseen += not all(map(str.isspace, ends))
        (good if k < len(text.spans) else wrong).append(inner)
    good.sort(key=lambda span: (span.start, span.end, span.label))
    spans, doubled = _without_doubles(text, good)
    if overlaps == "longest":
        annotations.n_shorter += len(spans) - len(spans := _longest(spans))
    faults += _overlaps(text, spans)
    right = {span[:3] for span in spans}
    for span in wrong:
        if span[:3] in right:
            what = f"the span {_described(text, span)} is accepted and rejected"
            faults.append(text.fault(f"{what}; expected one of both", span.line))
    annotations.faults += [*faults, *lost, *doubled]
    if not faults and (spans or wrong or not lost):
        judged: dict[str, Any] = {"spans": tuple(spans), "wrong": tuple(wrong)}
        annotations.texts.append(replace(text, **judged, in_tokens=False))


def _in_characters(
    text: AnnotatedText,
    span: LabeledSpan,
    offsets: Offsets,
    starts: Sequence[int] | None,
) -> LabeledSpan:
    """Returns a span in characters, from one in tokens if there are starts of them.
    Raises a ValueError that says what is wrong with the span."""
    if not span.label.strip():
        raise ValueError("a span has an empty label; expected a name")
    if span.label != span.label.strip() or not span.label.isprintable():
        raise ValueError(
            f"a span has the label {shown(span.label)}; expected printable characters, "
            "without white space at its ends"
        )
    raw = f"the span [{span.start}, {span.end}, {shown(span.label)}]"
    mended = offsets.mend(text, span) if text.has_offsets else span
    n = len(text.text) if starts is None else len(starts) - 1
    unit = "characters" if starts is None else "tokens"
    if mended.start == mended.end and 0 <= mended.start <= n:
        raise ValueError(f"{raw} is empty; expected its end after its start")
    if not 0 <= mended.start < mended.end <= n:
        raise ValueError(f"{raw} is not inside the {n} {unit} of the text")
    if starts is not None:
        mended = mended._replace(start=starts[mended.start], end=starts[mended.end] - 1)
    part = text.text[mended.start : mended.end]
    if all(map(UNSEEN.match, part)):
        raise ValueError(f"{raw} has white space alone; expected a word")
    if span.value is not None and not same(part, span.value):
        wanted = f"the file says {shown(span.value)}"
        raise ValueError(f"{raw} is {shown(part)}, {wanted}; correct one of the two")
    return mended


def trimmed(text: str, span: LabeledSpan) -> LabeledSpan:
    """Returns the span without whitespace, and what is not seen, at its ends."""
    start, end = span[:2]
    while end > start and UNSEEN.match(text, end - 1):
        end -= 1
    while start < end and UNSEEN.match(text, start):
        start += 1
    return span._replace(start=start, end=end)


def _without_doubles(
    text: AnnotatedText, spans: list[LabeledSpan]
) -> tuple[list[LabeledSpan], list[Fault]]:
    single: dict[tuple[int, int, str], LabeledSpan] = {}
    faults: list[Fault] = []
    for span in spans:
        if single.setdefault(span[:3], span) is not span:
            what = f"the span {_described(text, span)} is given twice"
            message = f"{what}; expected once, and read once"
            faults.append(text.fault(message, span.line))
    return [*single.values()], faults


def _longest(spans: list[LabeledSpan]) -> list[LabeledSpan]:
    """Returns the longest spans that do not overlap, the first of equals, sorted."""
    chosen: list[LabeledSpan] = []
    for span in sorted(spans, key=lambda span: span.start - span.end):
        i = bisect_left(chosen, span.start, key=lambda x: x.start)
        is_after = i == 0 or chosen[i - 1].end <= span.start
        if is_after and (i == len(chosen) or span.end <= chosen[i].start):
            chosen.insert(i, span)
    return chosen


def _overlaps(text: AnnotatedText, spans: list[LabeledSpan]) -> list[Fault]:
    faults: list[Fault] = []
    last: LabeledSpan | None = None
    for span in spans:
        if last is not None and span.start < last.end:
            pair = f"{_described(text, last)} and {_described(text, span)}"
            message = f"the spans {pair} overlap; expected one of them"
            faults.append(text.fault(message, span.line))
        if last is None or span.end > last.end:
            last = span
    return faults


def _described(text: AnnotatedText, span: LabeledSpan) -> str:
    part = shown(text.text[span.start : span.end], 30)
    return f"[{span.start}, {span.end}, {shown(span.label)}] {part}"
