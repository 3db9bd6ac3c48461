"""Losses of documents, each in a lane of its own."""

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
from .row_store import SegmentStore


class LaneLosses:
    """The documents of a corpus that `core.algorithms.likelihoods` can do: none with
    another objective than `log_likelihood`, observed patterns, or weights of several
    lengths.

    blocks (Sequence[int]): Block b has the documents blocks[b] to blocks[b + 1] - 1.

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
        blocks: Sequence[int],
    ) -> None:
        needs = segments.needs(state)
        self.first_cell = np.append(0, np.cumsum(needs[:, 0]))
        self.is_chosen = np.zeros(len(sizes), bool)
        self._blocks = blocks
        self._gold: GoldPaths | None = None
        self._tasks: list[Likelihoods] = []
        if (
            objective is log_likelihood
            and not automaton.observed
            and state.length.shape[1] == 1
        ):
            paths = [
                (x.segments or x.constraints) if x.n_known else None for x in golds
            ]
            self._gold = GoldPaths(automaton, sizes, paths, blocks, needs)
            self.is_chosen = self._gold.is_chosen

    def set_weights(self, state: WeightState) -> None:
        """Takes other weights of label patterns and lengths."""
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
        """Turns scores into derivatives, for blocks `begin` to `end` - 1.

        at (int): Their first token.
        scores (Dict[str, float64 [n, L]]), cells (CELLS): Of their tokens, by role, and
            of their segments; those of documents that are done become derivatives.
        losses (float64 [D]): In nats; those of documents that are done are set.
        pattern (float64 [M]), length (float64 [L, 1]): Derivatives; added to.
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
        of_cells = cells, self.first_cell, self.first_cell[self._blocks[begin]]
        if len(self._tasks) != team.n:
            self._tasks = [Likelihoods(self._gold, k, team.n) for k in range(team.n)]
        for task in self._tasks:
            task.take(begin, end, at, *by_role, *of_blocks, *of_cells)
        team.run(self._tasks)
        for block_pattern, block_length in zip(patterns, lengths):  # in this order
            pattern += block_pattern
            length[:, 0] += block_length
        return is_done.view(bool)
