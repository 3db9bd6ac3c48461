"""Losses of documents whose tokens are all known, four documents side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..core.algorithms.likelihoods import GoldPaths, Likelihoods
from ..core.parallel.team import Team
from ..labels.gold import Gold
from ..model.weights.state import Floats, WeightState
from .objectives import Objective, log_likelihood


class Complete:
    """The documents of a corpus that `core.algorithms.likelihoods` can do.

    state (WeightState): Says how many lengths have weights of their own: with more than
        one there are no such documents, either.
    automaton (PatternAutomaton): Of the component.
    objective (Callable): Of the component: for others than `log_likelihood` there are
        no such documents.
    sizes (Sequence[int]), golds (Sequence[Gold]): Tokens, and what is known, of each of
        D documents.
    is_plain (Sequence[bool]): Whether each has potentials of tokens alone.
    borders (Sequence[int]): Of blocks of documents.

    is_chosen (bool [D]): Which documents these are.
    """

    def __init__(
        self,
        state: WeightState,
        automaton: PatternAutomaton,
        objective: Objective,
        sizes: Sequence[int],
        golds: Sequence[Gold],
        is_plain: Sequence[bool],
        borders: Sequence[int],
    ) -> None:
        self.is_chosen = np.zeros(len(sizes), bool)
        self._gold: GoldPaths | None = None
        if (
            objective is not log_likelihood
            or automaton.grammar is not None
            or automaton.observed
            or state.length.shape[1] != 1
        ):
            return
        segments = [x.segments if y else None for x, y in zip(golds, is_plain)]
        self._gold = GoldPaths(automaton, sizes, segments, borders)
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
        losses: Floats,
        pattern: Floats,
        length: Floats,
        team: Team,
    ) -> NDArray[np.bool_]:
        """From scores to derivatives, of blocks `begin` to `end` - 1.

        at (int): Their first token.
        scores (Dict[str, float64 [n, L]]): Of their tokens, by role; those of documents
            that are done become derivatives.
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
        if len(self._tasks) != team.n:
            self._tasks = [Likelihoods(self._gold, k, team.n) for k in range(team.n)]
        for task in self._tasks:
            task.take(begin, end, at, *by_role, *of_blocks)
        team.run(self._tasks)
        for of_patterns, of_lengths in zip(patterns, lengths):  # in this order
            pattern += of_patterns
            length[:, 0] += of_lengths
        return is_done.view(bool)
