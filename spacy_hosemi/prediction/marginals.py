"""Marginals of documents: joined from those of sentences, moved from clean words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..core import Potentials
from ..features.clean_docs import WordPlaces

# Segments that are less probable are not counted.
_LEAST = 1e-12


def document_marginals(parts: Sequence[Any], words: WordPlaces | None) -> Any:
    """Returns the marginals of a document: those of its only instance, if that is read
    by its tokens, or `DocMarginals`."""
    is_as_read = len(parts) == 1 and words is None
    return parts[0] if is_as_read else DocMarginals(parts, words)


class DocMarginals:
    """Joins the marginals of consecutive, independent instances by the tokens of their
    document, or by the places of clean words, which the instances have for tokens; with
    labels in a tree there is no gradient. A token between two clean words, such as
    whitespace, is covered by a segment that has both; otherwise it is outside."""

    def __init__(self, parts: Sequence[Any], words: WordPlaces | None) -> None:
        self._parts, self._words = parts, words
        sizes = [len(part.tokens) for part in parts]
        self._starts = [0, *np.cumsum(sizes).tolist()]
        self.log_z = float(sum(part.log_z for part in parts))

    @cached_property
    def gradient(self) -> Potentials:
        """Returns the gradient of log Z by the tokens or clean words that were read."""
        gradients = [part.gradient for part in self._parts]
        roles = {
            role: np.concatenate([getattr(g, role) for g in gradients])
            for role in ("inside", "start", "end")
        }
        sums = {
            name: np.sum([getattr(g, name) for g in gradients], axis=0)
            for name in ("length", "tail", "pattern")
        }
        cells = self._joined([g.cells for g in gradients], ("start", "end"))
        entries = [g.entries for g in gradients if g.entries is not None]
        return Potentials(
            cells=cells,
            entries=self._joined(entries, ("position",)) if entries else None,
            **roles,
            **sums,
        )

    @cached_property
    def tokens(self) -> Floats:
        """Returns P(token covered by label), float64 [n, L]."""
        of_words: Floats = np.concatenate([part.tokens for part in self._parts])
        if (words := self._words) is None:
            return of_words
        of_tokens = np.zeros((words.n_tokens, of_words.shape[1]))
        of_tokens[:, 0] = 1.0
        for start, end, of_word in zip(words.starts, words.ends, of_words):
            of_tokens[start:end] = of_word
        if all(hasattr(part, "gradient") for part in self._parts):
            ends = self.gradient.end[:, : of_tokens.shape[1]]
        else:
            ends = np.zeros_like(of_words)
            for _, end, label, p in self._segments_above(_LEAST):
                ends[end - 1, label] += p
        # P(label at a word) - P(a segment of it ends there) = P(it goes on).
        goes_on = np.maximum(of_words - ends, 0.0)
        goes_on[:, 0] = 1.0 - goes_on[:, 1:].sum(axis=1)
        for k, (end, start) in enumerate(zip(words.ends, words.starts[1:])):
            of_tokens[end:start] = goes_on[k]
        return of_tokens

    def segment(self, start: int, end: int, label: int) -> float:
        """Returns the probability of exactly this segment, as `Marginals.segment` does;
        0 if it crosses instances, or begins or ends between words."""
        if (words := self._words) is not None:
            here = words.to_words((start, end, label))
            if here is None or words.to_tokens(here) != (start, end, label):
                return 0.0
            start, end, _ = here
        part = max(bisect_right(self._starts[:-1], start) - 1, 0)
        low, high = self._starts[part : part + 2]
        if high < end <= self._starts[-1]:
            return 0.0
        return float(self._parts[part].segment(start - low, end - low, label))

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """Returns all segments with at least a given probability, as of Marginals."""
        segments = self._segments_above(p)
        if (words := self._words) is None:
            return segments
        return [(*words.to_tokens((i, j, y)), q) for i, j, y, q in segments]

    def _segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """Returns the same by the tokens that the instances have."""
        return [
            (i + low, j + low, label, prob)
            for low, part in zip(self._starts, self._parts)
            for i, j, label, prob in part.segments_above(p)
        ]

    def _joined(
        self, arrays: Iterable[NDArray[np.void]], offsets: Sequence[str]
    ) -> NDArray[np.void]:
        """Returns records of all parts; these fields become offsets in the document."""
        joined = []
        for low, array in zip(self._starts, arrays):
            moved = array.copy()
            for name in offsets:
                moved[name] += low
            joined.append(moved)
        return np.concatenate(joined)
