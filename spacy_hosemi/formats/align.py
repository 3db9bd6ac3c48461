"""Finds values in a text: as they stand, or but for white space, case and NFKC."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect, insort
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import accumulate, chain

import regex


def occurrences(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Yields where a value stands in a text, overlapping or not; "" nowhere at all."""
    at = text.find(value) if value else -1
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)


class Aligner:
    """Places values in a text one after the other, each where no other one is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._taken: list[tuple[int, int]] = []  # sorted

    def place(self, value: str) -> tuple[int, int] | None:
        """Takes the next free occurrence of a value, one that cuts no word if there is
        any, and returns its start and end in characters."""
        chosen = self.next_place(value)
        if chosen is not None:
            insort(self._taken, chosen)
        return chosen

    def next_place(self, value: str) -> tuple[int, int] | None:
        """Returns what `place` would take."""
        for find in (partial(occurrences, self.text), lambda x: self._folded.find(x)):
            free = (place for place in find(value) if self._is_free(*place))
            if first := next(free, None):
                places = chain([first], free)
                whole = (x for x in places if not cuts_word(self.text, *x))
                return next(whole, first)
        return None

    @cached_property
    def _folded(self) -> Folded:
        return Folded(self.text)

    def _is_free(self, start: int, end: int) -> bool:
        at = bisect(self._taken, (start, start))
        is_free = not at or self._taken[at - 1][1] <= start
        return is_free and (at == len(self._taken) or end <= self._taken[at][0])


class Folded:
    """A text in NFKC, without case, with single blanks, that knows its old places."""

    def __init__(self, text: str) -> None:
        pieces = list(_fold(text))
        self.text = "".join(piece for piece, _, _ in pieces)
        borders = [*accumulate((len(piece) for piece, _, _ in pieces), initial=0)]
        self._starts = {at: start for at, (_, start, _) in zip(borders, pieces)}
        self._ends = {at: end for at, (*_, end) in zip(borders[1:], pieces)}

    def find(self, value: str) -> Iterator[tuple[int, int]]:
        """Yields where in the text a value stands."""
        wanted = "".join(piece for piece, _, _ in _fold(value.strip()))
        for start, end in occurrences(self.text, wanted):
            # Not within what one character became, such as a ligature.
            if start in self._starts and end in self._ends:
                yield self._starts[start], self._ends[end]


CLUSTER = re.compile(r"\s+|\S[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\ufe20-\ufe2f]*")


def _fold(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields clusters of a text, folded, with their start and end."""
    for match in CLUSTER.finditer(text):
        cluster = match[0]
        folded = unicodedata.normalize("NFKC", cluster).casefold()
        yield (" " if cluster.isspace() else folded), match.start(), match.end()


# Between letters of scripts that have blanks between words, unless a word begins there
# as in SmithJohn; or between digits.
_SCRIPTS = "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar".split()
_LETTER = r"[\p{L}--[" + "".join(rf"\p{{{x}}}" for x in _SCRIPTS) + "]]"
_BREAK = regex.compile(
    rf"(?<={_LETTER})(?={_LETTER})(?!(?<=\p{{Ll}})\p{{Lu}})|(?<=\d)(?=\d)", regex.V1
)


def cuts_word(text: str, start: int, end: int) -> bool:
    """Returns whether a span begins or ends between two letters or digits."""
    places = (at for at in (start, end) if 0 < at < len(text))
    return any(text[at - 1].isalnum() and text[at].isalnum() for at in places)


def breaks_word(text: str, start: int, end: int) -> bool:
    """Returns whether a span begins or ends where nobody ends a word."""
    return any(_BREAK.match(text, at) for at in (start, end))
