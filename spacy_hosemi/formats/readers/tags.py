"""Tags of tokens to spans of tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..texts import AnnotatedText, Fault, LabeledSpan, from_tokens, shown

OUTSIDE = "O"
# As in OntoNotes: (ORG* begins a span, *) ends it, * is inside or outside.
BRACKETS = re.compile(r"\*\)?|\(([^()*]+)(?:\*|\)|\*\))")
LAST, UNIT = "LE", "US"  # BILUO and BIOES have two names for each
# Tags without a prefix are plain labels if they are more than this share, else faults.
MOST_FAULTY = 0.05


class Row(NamedTuple):
    """One token: its line, its word, its tag."""

    line: int
    word: str
    tag: str


class TagError(ValueError):
    """A tag that may not stand where it stands.

    index (int): Which one.
    """

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def find_scheme(tags: Sequence[str]) -> str:
    """Returns "plain", "biluo", "bio", "iob1" or "brackets": how tags are to be
    read."""
    if tags and all(map(BRACKETS.fullmatch, tags)):
        return "brackets"
    inside = [tag for tag in tags if tag != OUTSIDE]
    n_plain = sum(not _has_prefix(tag) for tag in inside)
    if not inside or n_plain > MOST_FAULTY * len(inside):
        return "plain"
    tags = [tag for tag in tags if tag == OUTSIDE or _has_prefix(tag)]
    kinds = {split_tag(tag)[0] for tag in tags if tag != OUTSIDE}
    if kinds & set("LUESM"):
        return "biluo"
    return "iob1" if _is_iob1(tags) else "bio"


def _has_prefix(tag: str) -> bool:
    return len(tag) > 2 and tag[0] in "BILUESM" and tag[1] in "-_"


def split_tag(tag: str) -> tuple[str, str]:
    """Returns "B-author" -> ("B", "author")."""
    return (tag[0], tag[2:]) if tag != OUTSIDE and len(tag) > 2 else (tag, "")


def _is_iob1(tags: Sequence[str]) -> bool:
    """Returns whether B stands only where a span follows another one of its label."""
    before = OUTSIDE
    for tag in tags:
        kind, label = split_tag(tag)
        if kind == "B" and (before == OUTSIDE or split_tag(before)[1] != label):
            return False
        before = tag
    return True


def spans_of(tags: Sequence[str], scheme: str) -> list[LabeledSpan]:
    """Returns spans in tokens, from left to right. Raises TagError if a tag may not
    stand where it stands."""
    if scheme == "plain":
        return _runs([tag if tag != OUTSIDE else "" for tag in tags], set())
    if scheme == "brackets":
        return _closed(_of_brackets(tags))
    _check_prefixes(tags)
    pairs = [split_tag(tag) for tag in tags]
    if scheme == "biluo":
        return _closed(pairs)
    begins = {i for i, (kind, _) in enumerate(pairs) if kind == "B"}
    if scheme == "bio":
        _check_begins(pairs)
    return _runs([label for _, label in pairs], begins)


def text_of_rows(
    rows: Sequence[Row], scheme: str, path: str, meta: Mapping[str, Any]
) -> AnnotatedText | Fault:
    """Returns the text of some tokens."""
    try:
        spans = spans_of([row.tag for row in rows], scheme)
    except TagError as e:
        return Fault(path, rows[e.index].line, str(e))
    spans = [span._replace(line=rows[span.start].line) for span in spans]
    words = tuple(row.word for row in rows)
    text = from_tokens(words, tuple(spans), path, rows[0].line)
    return replace(text, has_offsets=False, meta=meta)


def _of_brackets(tags: Sequence[str]) -> list[tuple[str, str]]:
    """Returns tags of BILUO for those with brackets."""
    pairs: list[tuple[str, str]] = []
    label = ""
    for tag in tags:
        match = BRACKETS.fullmatch(tag)
        begins, ends = bool(match and match[1]), tag.endswith(")")
        label = match[1] if match and match[1] else label
        kind = ("U" if ends else "B") if begins else "L" if ends else "I"
        pairs.append((kind, label) if label or ends else (OUTSIDE, ""))
        label = "" if ends else label
    return pairs


def _runs(labels: list[str], begins: set[int]) -> list[LabeledSpan]:
    """Returns a span for equal labels side by side, but where another begins."""
    spans: list[LabeledSpan] = []
    for i, label in enumerate(labels):
        before = labels[i - 1] if i else ""
        if not label:
            continue
        if label == before and i not in begins:
            spans[-1] = spans[-1]._replace(end=i + 1)
        else:
            spans.append(LabeledSpan(i, i + 1, label))
    return spans


def _check_prefixes(tags: Sequence[str]) -> None:
    for i, tag in enumerate(tags):
        if tag != OUTSIDE and not _has_prefix(tag):
            expected = f"B-{tag} or another prefix, as nearly all tags have"
            raise TagError(i, f"has the tag {shown(tag)}; expected {expected}")


def _check_begins(pairs: list[tuple[str, str]]) -> None:
    before = ("", "")
    for i, (kind, label) in enumerate(pairs):
        if kind == "I" and before[1] != label:
            last = "-".join(filter(None, before)) or "the begin"
            raise TagError(i, f"has I-{label} after {last}; expected B-{label}")
        before = (kind, label)


def _closed(pairs: list[tuple[str, str]]) -> list[LabeledSpan]:
    """Returns spans that have an end of their own."""
    spans: list[LabeledSpan] = []
    start, label = -1, ""
    for i, (kind, name) in enumerate(pairs):
        is_inside = kind in "IM" + LAST
        if start >= 0 and (not is_inside or name != label):
            tag = f"{kind}-{name}" if name else kind
            raise TagError(i, f"has {tag}; expected I-{label} or the last of {label}")
        if start < 0 and is_inside:
            raise TagError(i, f"has {kind}-{name}; expected B-{name} before it")
        start, label = (i, name) if kind == "B" else (start, label)
        if kind in LAST + UNIT:
            spans.append(LabeledSpan(i if kind in UNIT else start, i + 1, name))
            start = -1
    if start >= 0:
        raise TagError(len(pairs) - 1, f"ends within {shown(label)}; expected its last")
    return spans
