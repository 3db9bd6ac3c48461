"""Marginals of documents: joined from those of sentences, moved from clean words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Marginals, Potentials
from ..features.clean_docs import WordPlaces

# Segments that are less probable are not added up.
_LEAST = 1e-12


class JointMarginals:
    """The marginals of consecutive instances, which do not depend on each other.

    parts (Sequence[Marginals]): One or more, from left to right.

    log_z (float), gradient (Potentials), tokens (float64 [n, L]): As of Marginals.
    """

    def __init__(self, parts: Sequence[Marginals]) -> None:
        self._parts = parts
        sizes = [len(part.tokens) for part in parts]
        self._starts = [0, *np.cumsum(sizes).tolist()]
        self.log_z = float(sum(part.log_z for part in parts))
        self.tokens = np.concatenate([part.tokens for part in parts])
        gradients = [part.gradient for part in parts]
        self.gradient = Potentials(
            inside=np.concatenate([g.inside for g in gradients]),
            start=np.concatenate([g.start for g in gradients]),
            end=np.concatenate([g.end for g in gradients]),
            length=np.sum([g.length for g in gradients], axis=0),
            tail=np.sum([g.tail for g in gradients], axis=0),
            cells=self._joined((g.cells for g in gradients), ("start", "end")),
            pattern=np.sum([g.pattern for g in gradients], axis=0),
            entries=self._joined_entries([g.entries for g in gradients]),
        )

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment; 0 if it crosses instances.

        RAISES (ValueError): As `Marginals.segment`.
        """
        part = max(bisect_right(self._starts[:-1], start) - 1, 0)
        low, high = self._starts[part : part + 2]
        if high < end <= self._starts[-1]:
            return 0.0
        return self._parts[part].segment(start - low, end - low, label)

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability, as of Marginals."""
        return [
            (i + low, j + low, label, prob)
            for low, part in zip(self._starts, self._parts)
            for i, j, label, prob in part.segments_above(p)
        ]

    def _joined_entries(
        self, arrays: Sequence[NDArray[np.void] | None]
    ) -> NDArray[np.void] | None:
        present = [array for array in arrays if array is not None]
        return self._joined(present, ("position",)) if present else None

    def _joined(
        self, arrays: Iterable[NDArray[np.void]], offsets: Sequence[str]
    ) -> NDArray[np.void]:
        """Records of all parts; these fields become offsets in the document."""
        joined = []
        for low, array in zip(self._starts, arrays):
            moved = array.copy()
            for name in offsets:
                moved[name] += low
            joined.append(moved)
        return np.concatenate(joined)


class WordMarginals:
    """The marginals of the words of a document, by its tokens.

    A token between two words, such as whitespace, is covered by a segment that has
    both; otherwise it is outside.

    words (Marginals): Of W words, see `HighOrderSemiCRF.marginals`.
    clean (WordPlaces): Of n tokens.

    log_z (float), gradient (Potentials): Those of the words, see `Marginals`; with
        labels in a tree there is no gradient, as there.
    """

    def __init__(self, words: Any, clean: WordPlaces) -> None:
        self.words, self._clean = words, clean
        self.log_z = words.log_z

    @property
    def gradient(self) -> Any:
        """RETURNS (Potentials): Of the words."""
        return self.words.gradient

    @cached_property
    def tokens(self) -> Any:
        """RETURNS (float64 [n, L]): P(token covered by label)."""
        of_words, clean = self.words.tokens, self._clean
        of_tokens = np.zeros((clean.n_tokens, of_words.shape[1]))
        of_tokens[:, 0] = 1.0
        for start, end, of_word in zip(clean.starts, clean.ends, of_words):
            of_tokens[start:end] = of_word
        ends = self._ends()[:, : of_tokens.shape[1]]
        # P(label at a word) - P(a segment of it ends there) = P(it goes on).
        goes_on = np.maximum(of_words - ends, 0.0)
        goes_on[:, 0] = 1.0 - goes_on[:, 1:].sum(axis=1)
        for k, (end, start) in enumerate(zip(clean.ends, clean.starts[1:])):
            of_tokens[end:start] = goes_on[k]
        return of_tokens

    def _ends(self) -> Any:
        """RETURNS (float64 [W, L]): P(a segment with the label ends with the word)."""
        if hasattr(self.words, "gradient"):
            return self.words.gradient.end
        ends = np.zeros_like(self.words.tokens)
        for _, end, label, p in self.words.segments_above(_LEAST):
            ends[end - 1, label] += p
        return ends

    def segment(self, start: int, end: int, label: int) -> float:
        """Probability of exactly this segment of tokens; 0 if it begins or ends between
        words."""
        words = self._clean.to_words((start, end, label))
        if words is None or self._clean.to_tokens(words) != (start, end, label):
            return 0.0
        return float(self.words.segment(*words))

    def segments_above(self, p: float) -> list[tuple[int, int, int, float]]:
        """All segments with at least a given probability, in tokens."""
        return [
            (*self._clean.to_tokens((i, j, y)), q)
            for i, j, y, q in self.words.segments_above(p)
        ]
