"""What gold, other components, a user or sentence starts say of the spans of tokens."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

import numpy as np

from ..arrays import Bools, Places
from ..features.clean_docs import WordPlaces
from .inventory import Span

AnySpan = tuple[int, int, str | None]  # None: any label


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Says what is known of the spans of n tokens. Arrays are never changed."""

    required: tuple[Span, ...] = ()  # that are entities, sorted; no two overlap
    excluded: tuple[AnySpan, ...] = ()  # that are no entities
    # Tokens that only a required span may cover [n]; None: there are none. All other
    # tokens outside of required spans are unknown.
    blocked: Bools | None = None
    # Tokens that begin sentences [K]: only required spans cross these borders.
    borders: Places | None = None

    def __bool__(self) -> bool:
        return bool(self.required or self.excluded or self.blocked is not None)

    def excludes(self, span: AnySpan) -> bool:
        """Says whether a span is excluded."""
        excluded = self._excluded_set
        return bool(excluded) and (span in excluded or (*span[:2], None) in excluded)

    def permits(self, span: Span) -> bool:
        """Says whether a span can be an entity beside the required ones."""
        # Of those that begin before its end only the last one may reach into it.
        k = bisect_left(self._required_starts, span[1])
        if k and self.required[k - 1][1] > span[0] and self.required[k - 1] != span:
            return False
        return not self.excludes(span)

    def is_free(self, span: Span) -> bool:
        """Says whether no token of a span is blocked."""
        return self.blocked is None or not self.blocked[span[0] : span[1]].any()

    def outside(self) -> Bools | None:
        """Returns blocked tokens that no required span covers, bool [n]; None if there
        are none."""
        if self.blocked is None:
            return None
        is_outside = self.blocked.copy()
        for start, end, _ in self.required:
            is_outside[start:end] = False
        return is_outside if is_outside.any() else None

    def unknown(self, n_tokens: int = 0) -> Bools:
        """Returns tokens without annotation, bool [n]; `blocked`, if set, tells n."""
        is_unknown = np.ones(n_tokens, bool) if self.blocked is None else ~self.blocked
        for start, end, _ in self.required:
            is_unknown[start:end] = False
        return is_unknown

    def part(self, start: int, end: int) -> PartialLabels:
        """Returns what is known of the tokens from start to end, as of a document of
        its own. Spans that cross an end of the part are left out."""
        i, j = (bisect_left(self._required_starts, x) for x in (start, end))
        required = [x for x in self.required[i:j] if x[1] <= end]
        starts, spans = self._excluded_by_start
        i, j = (bisect_left(starts, x) for x in (start, end))
        excluded = [x for x in spans[i:j] if x[1] <= end]
        blocked, borders = self.blocked, self.borders
        if borders is not None:
            borders = borders[(borders > start) & (borders < end)] - start
        return PartialLabels(
            tuple((i - start, j - start, y) for i, j, y in required),
            tuple((i - start, j - start, y) for i, j, y in excluded),
            None if blocked is None else blocked[start:end],
            borders,
        )

    def of_words(self, clean: WordPlaces) -> PartialLabels:
        """Returns what is known of the words of a clean document, from what is known of
        its tokens. A word is blocked if one of its tokens is."""
        blocked = self.blocked
        if blocked is not None:
            pairs = zip(clean.starts, clean.ends)
            of_words = [bool(blocked[i:j].any()) for i, j in pairs]
            blocked = np.array(of_words, np.bool_)
        borders = self.borders
        if borders is not None:
            ends = np.array(clean.ends, np.intp)
            borders = np.unique(np.searchsorted(ends, borders, side="right"))
            borders = borders[(borders > 0) & (borders < len(ends))]
        required, excluded = (
            tuple(words for span in spans if (words := clean.to_words(span)))
            for spans in (self.required, self.excluded)
        )
        return PartialLabels(required, excluded, blocked, borders)

    @cached_property
    def _required_starts(self) -> list[int]:
        return [span[0] for span in self.required]

    @cached_property
    def _excluded_by_start(self) -> tuple[list[int], list[AnySpan]]:
        spans = sorted(self.excluded, key=itemgetter(0))
        return [span[0] for span in spans], spans

    @cached_property
    def _excluded_set(self) -> frozenset[AnySpan]:
        return frozenset(self.excluded)

    def beside(self, other: PartialLabels) -> PartialLabels:
        """Returns what remains if the other overrides this: spans that it permits, and
        blocked tokens that neither its required spans nor dropped ones cover."""
        required = tuple(span for span in self.required if other.permits(span))
        blocked = self.blocked
        if blocked is not None:
            blocked = blocked.copy()
            for start, end, _ in (*self.required, *other.required):
                blocked[start:end] = False
            for start, end, _ in required:
                blocked[start:end] = self.blocked[start:end]  # type: ignore[index]
        return replace(self, required=required, blocked=blocked)

    def merge(self, other: PartialLabels) -> PartialLabels:
        """Returns both, where this overrides the other: corrections of a user override
        existing entities, and these override sentence starts."""
        rest = other.beside(self)
        required = tuple(sorted({*self.required, *rest.required}))
        excluded = (*self.excluded, *rest.excluded)
        both = [x for x in (self.blocked, rest.blocked) if x is not None]
        blocked = np.logical_or.reduce(both) if both else None
        borders = None
        if arrays := [x for x in (self.borders, rest.borders) if x is not None]:
            borders = np.unique(np.concatenate(arrays))
            crossed = [(i < borders) & (borders < j) for i, j, _ in required]
            borders = borders[~np.logical_or.reduce(crossed)] if crossed else borders
        return PartialLabels(required, excluded, blocked, borders)


NOTHING = PartialLabels()
