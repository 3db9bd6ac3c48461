"""The difference of the scores of two segmentations of an instance: where they
differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import numpy as np
from spacy.tokens import Doc

from ..arrays import Ints
from ..core import PatternAutomaton, Potentials
from ..features.gazetteers.matches import FuzzyMatches, Matches
from ..labels.inventory import Segment
from ..model.active_features import FIRST, Rows, read_docs
from ..model.weights.state import WeightState


@dataclass(frozen=True)
class Scoring:
    """Has the scores of an instance, and what they are made of."""

    tokens: Doc
    automaton: PatternAutomaton
    state: WeightState
    potentials: Potentials  # all scores, divided by the temperature
    temperature: float
    encoder: Potentials | None = None  # the scores of a tok2vec, not divided
    alone: Potentials | None = None  # `potentials` without what equal words add, if any

    @cached_property
    def rows(self) -> Rows:
        """Returns the active features of its tokens."""
        return read_docs(self.state, [self.tokens])

    @cached_property
    def exact(self) -> Matches:
        """Returns the entries of lists that match in it."""
        return self.state.extractor.gazetteers.matches([self.tokens])

    @cached_property
    def similar(self) -> FuzzyMatches:
        """Returns the entries of lists with fuzzy matches that resemble parts of it."""
        return self.state.extractor.gazetteers.similar([self.tokens])


class ScoreDifference:
    """Says where two segmentations differ: `sides` has for each the sign, the segments
    that only it has, and the segments with the columns of observed patterns that only
    it completes; start and end are those of all these segments."""

    def __init__(
        self, scoring: Scoring, first: Sequence[Segment], second: Sequence[Segment]
    ) -> None:
        self.scoring, self.first, self.second = scoring, first, second
        columns = self._completed(first), self._completed(second)
        self.sides = (
            (1.0, sorted({*first} - {*second}), sorted(columns[0] - columns[1])),
            (-1.0, sorted({*second} - {*first}), sorted(columns[1] - columns[0])),
        )
        read: list[Segment] = []
        for _, segments, completed in self.sides:
            read += (*segments, *(segment for segment, _ in completed))
        self.start = min(start for start, _, _ in read)
        self.end = max(end for _, end, _ in read)

    def _completed(self, segments: Sequence[Segment]) -> set[tuple[Segment, int]]:
        """Returns the segments that complete observed patterns, with the columns of
        these."""
        automaton = self.scoring.automaton
        if not automaton.observed:
            return set()
        labels = np.array([y for *_, y in segments], np.int32)
        first = np.array([0, len(segments)], np.intp)
        where, columns = automaton.observed_read(labels, first)
        return {(segments[k], c) for k, c in zip(where.tolist(), columns.tolist())}

    def labels(self) -> tuple[list[int], list[int]]:
        """Returns the labels where the segmentations differ, and their common labels
        beside these, as far as patterns reach."""
        longest = max(map(len, self.scoring.automaton.patterns), default=0)
        paths = self.first, self.second
        before = _n_common(*paths) - longest
        behind = _n_common(*(path[::-1] for path in paths)) - longest
        parts = (path[max(before, 0) : len(path) - max(behind, 0)] for path in paths)
        first, second = ([y for *_, y in part] for part in parts)
        return first, second

    def columns(self, role: str) -> tuple[Ints, Ints]:
        """Returns the columns of labels that each segmentation reads at each token from
        `start` on, int32 [K]; -1: none."""
        columns = np.full((2, self.end - self.start), -1, np.int32)
        for row, (_, segments, _) in zip(columns, self.sides):
            for i, j, y in segments:
                row[places(role, i, j, self.start)] = y
        return columns[0], columns[1]


def _n_common(first: Sequence[Segment], second: Sequence[Segment]) -> int:
    """Returns how many segments at their beginning are the same."""
    pairs = zip(first, second)
    return len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])


def places(role: str, start: int, end: int, first: int) -> slice:
    """Returns where a segment reads a role, in tokens from `first` on."""
    start, end = start - first, end - first
    if role in ("start", FIRST):
        return slice(start, start + 1)
    if role == "end":
        return slice(end - 1, end)
    return slice(start + 1, end) if role == "within" else slice(start, end)
