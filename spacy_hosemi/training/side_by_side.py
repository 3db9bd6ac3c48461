"""Losses of documents, four documents side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..core.algorithms.gold_paths import GoldPaths
from ..core.algorithms.likelihoods import Likelihoods
from ..core.parallel.team import Team
from ..labels.gold import Gold
from ..model.weights.state import Floats, WeightState
from .objectives import Objective, log_likelihood
from .segment_store import SegmentStore


class SideBySide:
    """The documents of a corpus that `core.algorithms.likelihoods` can do.

    state (WeightState): Says how many lengths have weights of their own: with more than
        one there are no such documents, either.
    automaton (PatternAutomaton): Of the component.
    objective (Callable): Of the component: for others than `log_likelihood` there are
        no such documents.
    sizes (Sequence[int]), golds (Sequence[Gold]): Tokens, and what is known, of each of
        D documents.
    segments (SegmentStore): Their active features of segments.
    borders (Sequence[int]): Of blocks of documents.

    is_chosen (bool [D]): Which documents these are.
    first_cell (int64 [D + 1]): Of each document, in the cells of all of them.
    """

    def __init__(
        self,
        state: WeightState,
        automaton: PatternAutomaton,
        objective: Objective,
        sizes: Sequence[int],
        golds: Sequence[Gold],
        segments: SegmentStore,
        borders: Sequence[int],
    ) -> None:
        needs = segments.needs(state)
        self.first_cell = np.append(0, np.cumsum(needs[:, 0]))
        self.is_chosen = np.zeros(len(sizes), bool)
        self._borders = borders
        self._gold: GoldPaths | None = None
        if (
            objective is not log_likelihood
            or automaton.observed
            or state.length.shape[1] != 1
        ):
            return
        known = [(x.segments or x.constraints) if x.n_known else None for x in golds]
        self._gold = GoldPaths(automaton, sizes, known, borders, needs)
        self.is_chosen = self._gold.is_chosen
        self._tasks: list[Likelihoods] = []

    def set_weights(self, state: WeightState) -> None:
        """Take other weights of label patterns and lengths."""
        if self._gold is not None:
            self._gold.set_weights(state.pattern, state.length, state.tail)

    def solve(
        self,
        begin: int,
        end: int,
        at: int,
        scores: Mapping[str, Floats],
        cells: NDArray[Any],
        losses: Floats,
        pattern: Floats,
        length: Floats,
        team: Team,
    ) -> NDArray[np.bool_]:
        """From scores to derivatives, of blocks `begin` to `end` - 1.

        at (int): Their first token.
        scores (Dict[str, float64 [n, L]]): Of their tokens, by role; those of documents
            that are done become derivatives.
        cells (CELLS): Likewise, of their segments.
        losses (float64 [D]): In nats; those of documents that are done are set.
        pattern (float64 [M]), length (float64 [L, 1]): Derivatives; added to.
        team (Team): Threads that share the blocks.
        RETURNS (bool [D]): Which documents are done.
        """
        is_done = np.zeros(len(losses), np.uint8)
        if self._gold is None:
            return is_done.view(bool)
        patterns = np.zeros((end - begin, len(pattern)))
        lengths = np.zeros((end - begin, len(length)))
        within = scores.get("within")
        if within is None:
            within = np.zeros((0, len(length)))
        by_role = scores["start"], scores["inside"], scores["end"], within
        of_blocks = losses, is_done, patterns, lengths
        first_document = self._borders[begin]
        of_cells = cells, self.first_cell, self.first_cell[first_document]
        if len(self._tasks) != team.n:
            self._tasks = [Likelihoods(self._gold, k, team.n) for k in range(team.n)]
        for task in self._tasks:
            task.take(begin, end, at, *by_role, *of_blocks, *of_cells)
        team.run(self._tasks)
        for of_patterns, of_lengths in zip(patterns, lengths):  # in this order
            pattern += of_patterns
            length[:, 0] += of_lengths
        return is_done.view(bool)
