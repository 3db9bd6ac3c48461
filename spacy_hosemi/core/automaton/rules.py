"""The sentences of a grammar: their forms, and how they are read.

A label may have several words, and these may be words of a form: a rule is read in all
ways, and taken if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import Errors
from ..arguments import shown

NO = -1  # the next state where a label is not permitted
COUNTS = {"once": 1, "twice": 2}
COUNTED = ("at most", "at least", "exactly")
# The next state for a label that the rule names (neither, left, right, on both sides),
# from state 0 and from state 1; then whether a document may end in them.
ORDERED = {
    # 1: a left one was there
    "never before": ([[0, 1, 0, 1], [1, 1, NO, NO]], [True, True]),
    # 1: a right one was there
    "never after": ([[0, 0, 1, 1], [1, NO, 1, NO]], [True, True]),
    "only after": ([[0, NO, 1, NO], [1, 1, 1, 1]], [True, True]),
    # 1: a left one waits for a right one
    "only before": ([[0, 1, 0, 1], [1, 1, 0, 1]], [True, False]),
    # 1: the neighbour is a left one
    "never directly before": ([[0, 1, 0, 1], [0, 1, NO, NO]], [True, True]),
    "only directly before": ([[0, 1, 0, 1], [NO, NO, 0, 1]], [True, False]),
    # 1: the neighbour is a right one
    "never directly after": ([[0, 0, 1, 1], [0, NO, 1, NO]], [True, True]),
    "only directly after": ([[0, NO, 1, NO], [0, 0, 1, 1]], [True, True]),
}

# An error looks at no more ways to split a rule than these.
_MOST_SPLITS = 20


class Rule(NamedTuple):
    """A rule that was read: `right` are labels, or empty where it counts."""

    left: tuple[int, ...]
    form: str
    right: tuple[int, ...]
    number: int


def read_rule(name: str, rule: str, labels: tuple[str, ...]) -> Rule:
    """The one reading of a rule. RAISES (ValueError): HS070 to HS072."""
    readings: list[Rule] = []
    unread: list[list[str]] = []
    words = rule.split() if isinstance(rule, str) else []
    names = [label.split() for label in labels]
    lefts, rights = _readings_up_to(words, names), _readings_from(words, names)
    for i, form, j in splits(words):
        left = lefts[i]
        if form in COUNTED:
            n = _count(words[j])
            found = [Rule(_unlinked(y)[::-1], form, (), n) for y in left]
        else:
            pairs = [(y, z) for y in left for z in rights[j]]
            found = [Rule(_unlinked(y)[::-1], form, _unlinked(z), 0) for y, z in pairs]
        readings += found
        if len(readings) > 1:
            break
        if not found and len(unread) < _MOST_SPLITS:
            is_right = bool(left) and form not in COUNTED
            unread.append(words[j:] if is_right else words[:i])
    if len(readings) > 1:
        two = " and ".join(_shown(x, labels) for x in sorted(readings)[:2])
        raise ValueError(Errors.HS072.format(name=name, found=rule, readings=two))
    unknown = [*filter(None, (_stray(some, names) for some in unread))]
    if not readings and unknown:
        # Where a rule can be split in several ways, the one that leaves least unread.
        label = min(unknown, key=len)
        text = Errors.HS071.format(name=name, found=rule, label=label, expected=labels)
        raise ValueError(text)
    if not readings:
        found_rule = shown(rule)
        message = Errors.HS070.format(name=name, found=found_rule, expected="a rule")
        raise ValueError(message)
    return readings[0]


def splits(words: list[str]) -> Iterator[tuple[int, str, int]]:
    """Each way to find a form with words on either side: (where it begins, the form,
    where the words after it begin)."""
    for form in (*COUNTED, *ORDERED):
        phrase = form.split()
        for i in range(1, len(words) - len(phrase)):
            if words[i : i + len(phrase)] == phrase:
                j = i + len(phrase)
                is_last = j + 1 == len(words)
                if form not in COUNTED or (is_last and _count(words[j]) >= 0):
                    yield i, form, j


def _count(word: str) -> int:
    """The number that a word stands for, or -1."""
    # Nine digits are more than any limit of states and never slow to convert.
    return int(word) if re.fullmatch("[0-9]{1,9}", word) else COUNTS.get(word, -1)


# Labels that are joined by "or", the one that was read last first: (index, the others).
# Long rules share what they have in common, and are read in linear time.
_Linked = tuple[int, Any]


def _readings_from(words: list[str], names: list[list[str]]) -> list[list[_Linked]]:
    """Returns up to two readings of words[i:] for each i; two tell that there is not
    only one. A label (words of each: `names`) may contain "or" itself."""
    found: list[list[_Linked]] = [[] for _ in range(len(words) + 1)]
    for i in reversed(range(len(words))):
        for y, end in _labels_at(words, i, names):
            if end == len(words):
                found[i].append((y, None))
            elif words[end] == "or":
                found[i] += [(y, rest) for rest in found[end + 1]]
        del found[i][2:]
    return found


def _readings_up_to(words: list[str], names: list[list[str]]) -> list[list[_Linked]]:
    """Returns readings of words[:i] as `_readings_from`, the last label first."""
    found: list[list[_Linked]] = [[] for _ in range(len(words) + 1)]
    for i in range(len(words)):
        before: list[Any] = found[i - 1] if i and words[i - 1] == "or" else []
        for y, end in _labels_at(words, i, names) if before or not i else ():
            found[end] += [(y, rest) for rest in before or [None]]
            del found[end][2:]
    return found


def _unlinked(reading: Any) -> tuple[int, ...]:
    """RETURNS (Tuple[int]): Labels, in the order of the links."""
    found = []
    while reading is not None:
        y, reading = reading
        found.append(y)
    return tuple(found)


def _labels_at(
    words: list[str], i: int, names: list[list[str]]
) -> Iterator[tuple[int, int]]:
    """The labels that stand at words[i:], as (label index, end)."""
    for y, name in enumerate(names):
        if name and words[i : i + len(name)] == name:
            yield y, i + len(name)


def _stray(words: list[str], names: list[list[str]]) -> str:
    """The words after the last "or" before which all labels are known."""
    starts, known = [0], {0}
    for start in starts:
        for _, end in _labels_at(words, start, names):
            if words[end : end + 1] == ["or"] and end + 1 not in known:
                starts.append(end + 1)
                known.add(end + 1)
    found = words[max(starts) :]
    return " ".join(found[: found.index("or", 1)] if "or" in found[1:] else found)


def _shown(rule: Rule, labels: tuple[str, ...]) -> str:
    left, right = (
        " or ".join(repr(labels[y]) for y in side) for side in (rule.left, rule.right)
    )
    return f"{left} {rule.form} {right or rule.number}"
