"""Matches of lists in a document, and the attributes that templates read of them.

Each list has the attributes NAME:BEGIN, :IN and :END of a token and :MATCH of a
segment, with the number of words of the match as their value. Lists with fuzzy matches
also have NAME:FUZZY_BEGIN, :FUZZY_IN, :FUZZY_END and :FUZZY_MATCH, with the similarity
by tenths, and :SIMILARITY of a segment, one feature with the similarity as strength.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.trie import columns_of_matches

ON_TOKEN = ("BEGIN", "IN", "END")
FUZZY_ON_TOKEN = ("FUZZY_BEGIN", "FUZZY_IN", "FUZZY_END")
MATCH, FUZZY_MATCH, SIMILARITY = "MATCH", "FUZZY_MATCH", "SIMILARITY"

# Matches of six words and more have one value.
_LONGEST = 6

# Values of attributes: sizes from 10, similarities by tenths from 100.
_SIZES, _SIMILARITIES = 10, 100

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]
AnyMatches = TypeVar("AnyMatches", bound="Matches")


@dataclass(frozen=True)
class Matches:
    """Occurrences of the entries of lists in a document of n tokens.

    names (Tuple[str, ...]): The lists.
    lists (int32 [K]): The list of each match.
    start, end (int32 [K]): Tokens, half-open.
    size (int32 [K]): Words.
    first, last (int32 [K]): start and end with the tokens without letters and digits
        around the match, up to three on each side: a segment may include them.
    """

    names: tuple[str, ...]
    lists: Ints
    start: Ints
    end: Ints
    size: Ints
    first: Ints
    last: Ints

    def __getitem__(self: AnyMatches, name: str) -> AnyMatches:
        """Those of one list."""
        return self.where(self.lists == self.names.index(name))

    def where(self: AnyMatches, which: NDArray[Any]) -> AnyMatches:
        """Those of this mask, or with these indices."""
        arrays = [field.name for field in fields(self)[1:]]
        return replace(self, **{name: getattr(self, name)[which] for name in arrays})

    @property
    def values(self) -> Words:
        """RETURNS (uint64 [K]): Sizes as values of features."""
        return (_SIZES + np.minimum(self.size, _LONGEST)).astype(np.uint64)

    @property
    def strength(self) -> NDArray[np.float64]:
        """RETURNS (float64 [K]): The strength of :SIMILARITY; 1 for exact matches."""
        return np.ones(len(self.start))

    def on_tokens(self, n_tokens: int) -> Words:
        """Attributes of tokens.

        RETURNS (uint64 [n, 3 lists]): For each list BEGIN, IN and END: the value of the
            longest match that begins at the token, covers it, ends with it; 0: none.
        """
        where = self.lists, self.start, self.end, self.values
        return columns_of_matches(*where, n_tokens, len(self.names))


@dataclass(frozen=True)
class FuzzyMatches(Matches):
    """Which segments of a document resemble entries of lists.

    similarity (float64 [K]): To the most similar entry.
    entry (int32 [K]): That entry, see `FuzzyIndex`.
    """

    similarity: NDArray[np.float64]
    entry: Ints

    @property
    def values(self) -> Words:
        """RETURNS (uint64 [K]): Similarities by tenths as values of features."""
        tenths = np.floor(10 * self.similarity + 1e-9)
        return (_SIMILARITIES + tenths).astype(np.uint64)

    @property
    def strength(self) -> NDArray[np.float64]:
        """RETURNS (float64 [K]): Similarities."""
        return self.similarity

    def on_tokens(self, n_tokens: int) -> Words:
        """Attributes of tokens.

        RETURNS (uint64 [n, 3 lists]): As of Matches, with similarities, of the `best`
            matches.
        """
        found = self.best(n_tokens)
        where = found.lists, found.start, found.end, found.values
        return columns_of_matches(*where, n_tokens, len(self.names))

    def best(self, n_tokens: int) -> FuzzyMatches:
        """RETURNS (FuzzyMatches): Those that overlap no more similar match of the same
        list, and no longer one that is as similar. (A match is surrounded by others of
        a word more or less.)"""
        if not len(self.start):
            return self
        order = np.lexsort((self.start, -self.size, -self.similarity))
        is_taken = np.zeros((len(self.names), n_tokens), bool)
        best = []
        for k in order.tolist():
            span = is_taken[self.lists[k], self.start[k] : self.end[k]]
            if not span.any():
                span[:] = True
                best.append(k)
        return self.where(np.array(best, np.intp))


NO_MATCHES = Matches((), *np.zeros((6, 0), np.int32))


def nothing_similar(names: tuple[str, ...]) -> FuzzyMatches:
    """RETURNS (FuzzyMatches): No matches of these lists."""
    none = np.zeros(0, np.int32)
    places = none, none, none, none, none, none
    return FuzzyMatches(names, *places, similarity=np.zeros(0), entry=none)


def join_similar(parts: Sequence[FuzzyMatches], first: Ints) -> FuzzyMatches:
    """RETURNS (FuzzyMatches): Of concatenated documents that begin at the tokens
    `first`, from those of each."""
    moved = np.repeat(first[:-1], [len(part.start) for part in parts])
    arrays = [field.name for field in fields(FuzzyMatches)[1:]]
    found = {n: np.concatenate([getattr(x, n) for x in parts]) for n in arrays}
    for name in ("start", "end", "first", "last"):
        found[name] = found[name] + moved
    return FuzzyMatches(parts[0].names, **found)


def size_name(value: int) -> str:
    """Readable form of one of `values`."""
    if value >= _SIMILARITIES:
        return f"{(value - _SIMILARITIES) / 10:.1f}"
    size = value - _SIZES
    return f"{size}{'+' if size == _LONGEST else ''}"


def names_of(lists: Iterable[str], kinds: Iterable[str] = ON_TOKEN) -> tuple[str, ...]:
    """RETURNS (Tuple[str, ...]): Attributes of these lists."""
    return tuple(f"{name}:{kind}" for name in lists for kind in kinds)
