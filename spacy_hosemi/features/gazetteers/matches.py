"""Matches of lists in a document, and the attributes that templates read of them.

Each list has the attributes NAME:BEGIN, :IN and :END of a token and :MATCH of a
segment, with the number of words of the match as their value. Lists with fuzzy matches
also have NAME:FUZZY_BEGIN, :FUZZY_IN, :FUZZY_END and :FUZZY_MATCH, with the similarity
by tenths, and :SIMILARITY of a segment, one feature with the similarity as strength.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    """Has K occurrences of the entries of lists in a document of n tokens.

    lists (int32 [K]): The index in `names` of the list of each match.
    start, end (int32 [K]): Tokens, half-open.
    size (int32 [K]): The number of words.
    first, last (int32 [K]): As start and end, but with up to three tokens without
        letters and digits on each side: a segment may include them.
    """

    names: tuple[str, ...]
    lists: Ints
    start: Ints
    end: Ints
    size: Ints
    first: Ints
    last: Ints

    def __getitem__(self: AnyMatches, name: str) -> AnyMatches:
        """Returns the matches of one list."""
        return self.where(self.lists == self.names.index(name))

    def where(self: AnyMatches, which: NDArray[Any]) -> AnyMatches:
        """Returns the matches of a mask, or with some indices."""
        arrays = [field.name for field in fields(self)[1:]]
        return replace(self, **{name: getattr(self, name)[which] for name in arrays})

    @property
    def values(self) -> Words:
        """Returns sizes as values of attributes, uint64 [K]."""
        return (_SIZES + np.minimum(self.size, _LONGEST)).astype(np.uint64)

    @property
    def strength(self) -> NDArray[np.float64]:
        """Returns the strength of :SIMILARITY, float64 [K]; 1 for exact matches."""
        return np.ones(len(self.start))

    def on_tokens(self, n_tokens: int) -> NDArray[np.uint8]:
        """Returns for each list BEGIN, IN and END, uint8 [n, 3 lists]: the largest
        value of the `best` matches that begin at the token, cover it, end with it; 0:
        none."""
        best = self.best(n_tokens)
        where = best.lists, best.start, best.end, best.values, n_tokens
        columns: NDArray[np.uint8] = columns_of_matches(*where, len(self.names))
        return columns

    def best(self: AnyMatches, n_tokens: int) -> AnyMatches:
        """Returns all of them: the longest one counts."""
        return self


@dataclass(frozen=True)
class FuzzyMatches(Matches):
    """Has the segments of a document that resemble entries of lists: the similarity to
    the most similar entry, float64 [K], and its number in `FuzzyIndex`."""

    similarity: NDArray[np.float64]
    entry: Ints

    @property
    def values(self) -> Words:
        """Returns similarities by tenths as values of attributes, uint64 [K]."""
        tenths = np.floor(10 * self.similarity + 1e-9)
        return (_SIMILARITIES + tenths).astype(np.uint64)

    @property
    def strength(self) -> NDArray[np.float64]:
        """Returns similarities, float64 [K]."""
        return self.similarity

    def best(self, n_tokens: int) -> FuzzyMatches:
        """Returns the matches that overlap no better one of the same list: more
        similar, or as similar and longer. (Around a match there are others with a word
        more or less.)"""
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


def size_name(value: int) -> str:
    """Returns the readable form of one of `values`."""
    if value >= _SIMILARITIES:
        return f"{(value - _SIMILARITIES) / 10:.1f}"
    size = value - _SIZES
    return f"{size}{'+' if size == _LONGEST else ''}"


def names_of(lists: Iterable[str], kinds: Iterable[str] = ON_TOKEN) -> tuple[str, ...]:
    """Returns the attributes of some lists."""
    return tuple(f"{name}:{kind}" for name in lists for kind in kinds)
