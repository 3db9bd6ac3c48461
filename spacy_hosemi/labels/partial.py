"""What is known of the spans of some tokens: from gold, from other components, from a
user, from sentence starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .inventory import Span

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
AnySpan = tuple[int, int, str | None]  # None: any label


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """What is known of the spans of n tokens. Arrays are never changed.

    required (Tuple[Tuple[int, int, str], ...]): Spans that are entities, sorted; no two
        overlap.
    excluded (Tuple[Tuple[int, int, Optional[str]], ...]): Spans that are no entities,
        with this label or with any.
    blocked (Optional[bool [n]]): Tokens that no span but a required one covers; None:
        there are none. Of all others that no required span covers nothing is known.
    borders (Optional[int [K]]): Tokens with which sentences begin: only required spans
        have one of them and the token before it.
    """

    required: tuple[Span, ...] = ()
    excluded: tuple[AnySpan, ...] = ()
    blocked: Bools | None = None
    borders: Ints | None = None

    def __bool__(self) -> bool:
        return bool(self.required or self.excluded or self.blocked is not None)

    def excludes(self, span: AnySpan) -> bool:
        """Whether a span is known to be no entity."""
        return span in self.excluded or (*span[:2], None) in self.excluded

    def permits(self, span: Span) -> bool:
        """Whether a span can be an entity beside the required ones."""
        is_free = all(span[1] <= i or j <= span[0] for i, j, _ in self.required)
        return (is_free or span in self.required) and not self.excludes(span)

    def is_free(self, span: Span) -> bool:
        """Whether no token of a span is blocked."""
        return self.blocked is None or not self.blocked[span[0] : span[1]].any()

    def outside(self) -> Bools | None:
        """RETURNS (Optional[bool [n]]): Blocked tokens that no required span covers;
        None if there are none."""
        if self.blocked is None:
            return None
        found = self.blocked.copy()
        for start, end, _ in self.required:
            found[start:end] = False
        return found if found.any() else None

    def unknown(self, n_tokens: int = 0) -> Bools:
        """RETURNS (bool [n]): Tokens of which nothing is known.

        n_tokens (int): n, which `blocked` has if it is given.
        """
        found = np.ones(n_tokens, bool) if self.blocked is None else ~self.blocked
        for start, end, _ in self.required:
            found[start:end] = False
        return found

    def part(self, start: int, end: int) -> PartialLabels:
        """What is known of the tokens from start to end, as if they were a document.

        A span that crosses the end of the part is none of its spans; its tokens are
        blocked where they are blocked here, else nothing is known of them.
        """
        required = [x for x in self.required if start <= x[0] and x[1] <= end]
        excluded = [x for x in self.excluded if start <= x[0] and x[1] <= end]
        blocked, borders = self.blocked, self.borders
        if borders is not None:
            borders = borders[(borders > start) & (borders < end)] - start
        return PartialLabels(
            tuple((i - start, j - start, y) for i, j, y in required),
            tuple((i - start, j - start, y) for i, j, y in excluded),
            None if blocked is None else blocked[start:end],
            borders,
        )

    def beside(self, other: PartialLabels) -> PartialLabels:
        """What stays of this where something else is known that overrides it: spans
        that can stand beside the other's, and blocked tokens that these do not cover;
        tokens of a span that goes are no longer blocked."""
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
        """All that is known, where this overrides the other: a user's corrections
        override existing entities, and these override sentence starts."""
        rest = other.beside(self)
        required = tuple(sorted({*self.required, *rest.required}))
        excluded = (*self.excluded, *rest.excluded)
        both = [x for x in (self.blocked, rest.blocked) if x is not None]
        blocked = np.logical_or.reduce(both) if both else None
        borders = None
        if some := [x for x in (self.borders, rest.borders) if x is not None]:
            borders = np.unique(np.concatenate(some))
            crossed = [(i < borders) & (borders < j) for i, j, _ in required]
            borders = borders[~np.logical_or.reduce(crossed)] if crossed else borders
        return PartialLabels(required, excluded, blocked, borders)


NOTHING = PartialLabels()
