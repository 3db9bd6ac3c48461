"""What is known of the spans of a document, completely or in part."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .inventory import Span


@dataclass(frozen=True)
class Annotation:
    """Aligned annotation: spans, and which tokens have none at all; and spans of which
    only that is known that they are wrong."""

    spans: list[Span]
    is_missing: NDArray[np.bool_]
    incorrect: Sequence[Span] = ()

    def part(self, start: int, end: int) -> Annotation:
        """That of the tokens from start to end, as if they were a document.

        Tokens of a span that crosses one of the two borders are missing: no span of the
        part is right, and outside would be wrong.
        """
        spans = []
        is_missing = self.is_missing[start:end].copy()
        for i, j, label in self.spans:
            if start <= i and j <= end:
                spans.append((i - start, j - start, label))
            elif i < end and start < j:
                is_missing[max(i - start, 0) : j - start] = True
        incorrect = [
            (i - start, j - start, label)
            for i, j, label in self.incorrect
            if start <= i and j <= end
        ]
        return Annotation(spans, is_missing, incorrect)


Bools = NDArray[np.bool_]


AnySpan = tuple[int, int, str | None]  # None: of any label


@dataclass(frozen=True)
class Fixed:
    """What a user knows of a document, or of an instance of it.

    keep (Tuple[Tuple[int, int, str], ...]): Spans that are entities, sorted; no two
        overlap.
    forbid (Tuple[Tuple[int, int, Optional[str]], ...]): Spans that are none; without a
        label: whatever theirs is.
    """

    keep: tuple[Span, ...] = ()
    forbid: tuple[AnySpan, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keep or self.forbid)

    def forbids(self, span: Span) -> bool:
        """Whether it is no entity."""
        return span in self.forbid or (*span[:2], None) in self.forbid

    def permits(self, span: Span) -> bool:
        """Whether it may be an entity."""
        is_free = all(span[1] <= i or j <= span[0] for i, j, _ in self.keep)
        return (is_free or span in self.keep) and not self.forbids(span)

    def part(self, start: int, end: int) -> Fixed:
        """That of the tokens from start to end, as if they were a document."""
        return Fixed(
            tuple(
                (i - start, j - start, y)
                for i, j, y in self.keep
                if start <= i and j <= end
            ),
            tuple(
                (i - start, j - start, y)
                for i, j, y in self.forbid
                if start <= i and j <= end
            ),
        )


NOTHING = Fixed()


@dataclass(frozen=True)
class Preset:
    """What is preset in a document, or in a part of it.

    spans (List[Tuple[int, int, str]]): Entities.
    is_taken (bool [n]): Tokens of these, and blocked ones: no other entity covers them.
    """

    spans: list[Span]
    is_taken: Bools

    def part(self, start: int, end: int) -> Preset:
        """That of the tokens from start to end: an entity that crosses one of the two
        borders leaves its tokens taken."""
        within = [x for x in self.spans if start <= x[0] and x[1] <= end]
        spans = [(i - start, j - start, label) for i, j, label in within]
        return Preset(spans, self.is_taken[start:end])

    def beside(self, fixed: Fixed) -> Preset:
        """What stays where a user has fixed spans."""
        spans = [span for span in self.spans if fixed.permits(span)]
        is_taken = self.is_taken.copy()
        for start, end, _ in (*self.spans, *fixed.keep):
            is_taken[start:end] = False
        for start, end, _ in spans:
            is_taken[start:end] = True
        return Preset(spans, is_taken)

    def with_labels(self, labels: Collection[str]) -> Preset:
        """Without the entities of other labels, whose tokens stay taken."""
        return replace(self, spans=[span for span in self.spans if span[2] in labels])

    def borders(self) -> tuple[list[int], list[int]]:
        """RETURNS (Tuple[List[int], List[int]]): First and last token of each span."""
        return [i for i, _, _ in self.spans], [j - 1 for _, j, _ in self.spans]

    def is_free(self, span: Span) -> bool:
        """Whether no token of a span is taken."""
        return not self.is_taken[span[0] : span[1]].any()
