"""Where entries of lists occur in a document, and what templates read of that.

Of each list: NAME:BEGIN, :IN and :END of a token, :MATCH of a segment, with the number
of words of the match. Of lists with fuzzy matches also NAME:FUZZY_BEGIN, :FUZZY_IN,
:FUZZY_END and :FUZZY_MATCH, with the similarity by tenths, and :SIMILARITY of a
segment, the similarity itself as the strength of one feature.
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

# Words of a match, from which on they are not told apart.
_LONGEST = 6

# Values of features: below 10 are others, then sizes, then similarities by tenths.
_SIZES, _SIMILARITIES = 10, 100

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]
AnyMatches = TypeVar("AnyMatches", bound="Matches")


@dataclass(frozen=True)
class Matches:
    """Where the entries of lists occur in a document of n tokens.

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
        """RETURNS (float64 [K]): How good each match is, at most 1."""
        return np.ones(len(self.start))

    def on_tokens(self, n_tokens: int) -> Words:
        """What the lists say of each token.

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
        """What the lists say of each token.

        RETURNS (uint64 [n, 3 lists]): As of Matches, with similarities; only the `best`
            matches count.
        """
        found = self.best(n_tokens)
        where = found.lists, found.start, found.end, found.values
        return columns_of_matches(*where, n_tokens, len(self.names))

    def best(self, n_tokens: int) -> FuzzyMatches:
        """Those that overlap no other of the same list that is more similar or, if
        equally similar, longer: around each there are others of a word more or less."""
        if not len(self.start):
            return self
        order = np.lexsort((self.start, -self.size, -self.similarity))
        is_taken = np.zeros((len(self.names), n_tokens), bool)
        kept = []
        for k in order.tolist():
            span = is_taken[self.lists[k], self.start[k] : self.end[k]]
            if not span.any():
                span[:] = True
                kept.append(k)
        return self.where(np.array(kept, np.intp))


NO_MATCHES = Matches((), *np.zeros((6, 0), np.int32))


def nothing_similar(names: tuple[str, ...]) -> FuzzyMatches:
    """RETURNS (FuzzyMatches): No matches of these lists."""
    none = np.zeros(0, np.int32)
    places = none, none, none, none, none, none
    return FuzzyMatches(names, *places, similarity=np.zeros(0), entry=none)


def join_similar(parts: Sequence[FuzzyMatches], first: Ints) -> FuzzyMatches:
    """RETURNS (FuzzyMatches): Those of documents that begin at these tokens (and end at
    the last one), as of one."""
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
    """What templates can read of these lists."""
    return tuple(f"{name}:{kind}" for name in lists for kind in kinds)
