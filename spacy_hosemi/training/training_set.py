"""All training documents at once: their summed loss, its gradient, all weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Counts, Floats
from ..core import PatternAutomaton, Potentials
from ..core.algorithms.gold_paths import GoldPaths
from ..core.algorithms.likelihoods import Likelihoods
from ..core.parallel.team import ALONE, Team, team_of
from ..labels.gold import Gold
from ..model.active_features import Rows
from ..model.kernels.sparse_steps import Freedom
from ..model.weights.potentials import (
    add_cell_gradient,
    add_entry_gradient,
    cells_of,
    join_scores,
    n_weights_before,
    role_gradients,
    score_rows,
)
from ..model.weights.state import WeightState
from ..model.weights.vector import (
    empty_gradient,
    of_long_patterns,
    size_of_vectors,
    write_dense_gradient,
)
from ..model.weights.weights import Weights
from .blocks import add_tokens, cut_blocks
from .checkpoint import digest, of_documents
from .objectives import Objective, log_likelihood
from .rows import choose_rows

# Called with the current weights every few iterations; returns values for the log.
Watch = Callable[[Any], dict[str, Any]]


class Trained(Protocol):
    """Weights as one vector."""

    def vector(self) -> Floats: ...

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None: ...

    def vector_values(self, values: Mapping[str, float]) -> Floats: ...

    def round(self) -> None: ...

    def pruned_size(self, share: float) -> dict[str, float]: ...


class Trainable(Protocol):
    """What can be minimised: a `TrainingSet`, level 1, or a lower level of a tree."""

    level: int
    watch: Watch | None

    @property
    def weights(self) -> Trained: ...

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]: ...

    def value_and_gradient(self) -> tuple[float, Floats]: ...

    def identity(self) -> dict[str, str]: ...


# A fit, and the documents to use.
Levels = Callable[[Callable[[Any], Any], Sequence[int]], AbstractContextManager[None]]


class TrainingSet:
    """Computes value and gradient of a corpus, whose features are read, for weights.

    The rows have frozen vectors of tokens, too, whose weights the state has, if there
    are some; `levels`, if there are some, fits the levels of a tree below.
    """

    level = 1
    share = 0.0  # of the squares of the weights: so much becomes 0 when a fit is over

    def __init__(
        self,
        weights: Weights,
        automaton: PatternAutomaton,
        objective: Objective,
        rows: Rows,
        golds: Sequence[Gold],
        levels: Levels | None = None,
    ) -> None:
        self.weights, self.automaton, self.objective = weights, automaton, objective
        self.rows, self.golds = rows, golds
        # Called by a fit with a log or patience, such as for scores on other documents.
        self.watch: Watch | None = None
        self._levels = levels
        self._chosen: Sequence[int] = range(len(rows))
        self._cut()

    def _cut(self) -> None:
        """Cuts the documents into blocks and chunks."""
        n_labels = len(self.weights.state.tail)
        sizes = np.diff(self.rows.first).tolist()
        self._blocks, self._chunks = cut_blocks(sizes, n_labels)
        self.share_with(ALONE)
        vars(self).pop("_lanes", None)  # those of the set that this is a part of

    def share_with(self, team: Team) -> None:
        """Lets a team share the evaluations from now on, to the same bits. Frees the
        scores and tasks of those before, which the next one would use again."""
        self.team, self._scores = team, np.empty(0)
        self._tasks: list[Likelihoods] = []

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.rows)

    @property
    def is_last(self) -> bool:
        """Whether there is no level of a tree below it, which the same fit trains."""
        return self._levels is None

    def with_levels(self, fit: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """Returns a context in which the levels below, if there are any, have weights
        that are fitted to the same documents; outside of it they have none."""
        if self._levels is None:
            return nullcontext()
        return self._levels(fit, self._chosen)

    def part(self, chosen: Sequence[int]) -> TrainingSet:
        """Returns some of the documents, and the same weights."""
        part = copy(self)
        part._chosen = [self._chosen[k] for k in chosen]
        part.golds = [self.golds[k] for k in chosen]
        part.rows = choose_rows(self.rows, chosen)
        part._cut()
        return part

    def loss(self, k: int, rows: Rows) -> tuple[float, Potentials]:
        """Returns the loss of one document, with these rows, at the present weights,
        and its derivatives by the potentials."""
        (potentials,) = score_rows(self.weights.state, rows)
        return self.objective(self.automaton, potentials, self.golds[k])

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """Returns how each weight of the vector may change, uint8 [N]: NONNEGATIVE, if
        that is wanted, for label patterns of three or more names, else FREE."""
        is_bounded = of_long_patterns(self.weights.state, self.automaton) & nonnegative
        return np.where(is_bounded, Freedom.NONNEGATIVE, Freedom.FREE).astype(np.uint8)

    def identity(self) -> dict[str, str]:
        """Returns what tells whether weights mean the same, and were fitted to the
        same: labels, features, label patterns and annotation."""
        state, automaton = self.weights.state, self.automaton
        keys = [state.table.keys]
        if state.pairs is not None:
            keys += [state.pairs.first, state.pairs.columns]
        patterns = [*automaton.patterns, *automaton.observed]
        of_patterns = digest(repr(patterns), repr(state.length.shape))
        vectors = self.rows.vectors
        of_vectors = {} if vectors is None else {"vectors": digest(vectors)}
        return of_vectors | {
            "labels": ", ".join(automaton.labels),
            "features": f"{len(state.names)} ({digest(*keys)})",
            "label patterns": f"{len(patterns)} ({of_patterns})",
            "annotation": of_documents(gold.content() for gold in self.golds),
            "weights": f"{len(self.weights.vector())}",
        }

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Returns the summed loss at the present weights in nats, and its gradient,
        float64 [N]. Documents are summed in their order, always to the same bits."""
        state = self.weights.state
        if (gold_paths := self._lanes[1]) is not None:
            gold_paths.set_weights(state.pattern, state.length, state.tail)
        pattern = np.zeros(len(state.pattern))
        length = np.zeros(state.length.shape)
        vector, d_matrix = empty_gradient(state)
        d_vectors = vector[len(vector) - size_of_vectors(state) :]
        losses = np.zeros(len(self))
        for begin, end in self._chunks:
            args = losses, d_matrix, pattern, length, d_vectors
            self._add_chunk(state, begin, end, *args)
        write_dense_gradient(state, vector, pattern, length)
        # rounded at each document
        return float(np.cumsum(losses)[-1]) if len(losses) else 0.0, vector

    @cached_property
    def _lanes(self) -> tuple[Counts, GoldPaths | None]:
        """The first cell of each document among all cells, int64 [D + 1]; and the
        documents whose losses lanes can do: none with another objective than
        `log_likelihood`, observed patterns, or weights of several lengths."""
        state, segments = self.weights.state, self.rows.segments
        # How many cells the segments of each document have, how many tokens these have
        # after their first ones, and how many cells have more than one token, [D, 3].
        n_cells = np.diff(n_weights_before(state, segments))
        more = (segments.end - segments.start).astype(np.int64) - 1
        counts = np.stack([n_cells, n_cells * more, n_cells * (more > 0)], axis=-1)
        sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(counts, axis=0)])
        needs = np.diff(sums[segments.first], axis=0)
        first_cell = np.append(0, np.cumsum(needs[:, 0]))
        has_one_length = state.length.shape[1] == 1
        is_plain = self.objective is log_likelihood and not self.automaton.observed
        if not (is_plain and has_one_length):
            return first_cell, None
        golds = [x.segments or x.constraints if x.n_known else None for x in self.golds]
        sizes = np.diff(self.rows.first).tolist()
        args = self.automaton, sizes, golds, self._blocks, needs
        return first_cell, GoldPaths(*args)

    def _solve_lanes(
        self,
        begin: int,
        end: int,
        scores: Mapping[str, Floats],
        cells: NDArray[Any],
        losses: Floats,
        pattern: Floats,
        length: Floats,
    ) -> Bools:
        """Turns scores of tokens and cells into derivatives where lanes can, for blocks
        `begin` to `end` - 1; adds those by pattern and length, and sets losses. Returns
        which documents are done, bool [D]; the others keep their scores."""
        is_done = np.zeros(len(losses), np.uint8)
        _, gold_paths = self._lanes
        if gold_paths is None:
            return is_done.view(bool)
        patterns = np.zeros((end - begin, len(pattern)))
        lengths = np.zeros((end - begin, len(length)))
        within = scores.get("within", np.zeros((0, len(length))))
        by_role = scores["start"], scores["inside"], scores["end"], within
        of_blocks = losses, is_done, patterns, lengths
        if len(self._tasks) != (n := self.team.n):
            self._tasks = [Likelihoods(gold_paths, k, n) for k in range(n)]
        for task in self._tasks:
            task.take(begin, end, *by_role, cells, *of_blocks)
        self.team.run(self._tasks)
        for task in self._tasks:
            task.finish()
        for block_pattern, block_length in zip(patterns, lengths):  # in this order
            pattern += block_pattern
            length[:, 0] += block_length
        return is_done.view(bool)

    def _add_chunk(
        self,
        state: WeightState,
        begin: int,
        end: int,
        losses: Floats,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        d_vectors: Floats,
    ) -> None:
        """Adds the gradients of blocks `begin` to `end` - 1, and sets their losses."""
        first, last = self._blocks[begin], self._blocks[end]
        rows = self.rows[first:last]
        borders, vectors = rows.first.tolist(), rows.vectors
        shape = len(rows.tokens), borders[-1], len(state.tail)
        if self._scores.size < (size := np.prod(shape)):
            self._scores = np.empty(size)
        by_role = self._scores[:size].reshape(shape)
        by_role[:] = 0.0
        scores = dict(zip(rows.tokens, by_role))
        add_tokens(state, rows.tokens, scores, state.matrix, False, self.team)
        of_vectors = state.of_vectors
        if of_vectors is not None and vectors is not None:
            of_vectors.add_scores(vectors, scores)
        cells = cells_of(state, rows.segments)
        of_all = losses, pattern, length
        is_done = self._solve_lanes(begin, end, scores, cells, *of_all)[first:last]
        first_cell, _ = self._lanes
        cell_at = (first_cell[first : last + 1] - first_cell[first]).tolist()
        for d in np.flatnonzero(~is_done).tolist():
            k, here = first + d, slice(borders[d], borders[d + 1])
            piece = {role: s[here] for role, s in scores.items()}
            doc_cells = cells[cell_at[d] : cell_at[d + 1]]
            places = rows[d : d + 1].places
            potentials = join_scores(state, piece, doc_cells, places)
            loss, gradient = self.objective(self.automaton, potentials, self.golds[k])
            losses[k] = loss
            # The scores have been read: their place is free.
            for role, d_scores in role_gradients([gradient], piece).items():
                piece[role][:] = d_scores
            doc_cells["score"] = gradient.cells["score"]
            pattern += gradient.pattern
            length += gradient.length
            add_entry_gradient(state, places, gradient.entries, d_matrix)
        add_cell_gradient(state, rows.segments, cells, d_matrix)
        add_tokens(state, rows.tokens, scores, d_matrix, True, self.team)
        if of_vectors is not None and vectors is not None:
            d_vectors += of_vectors.gradient(vectors, scores).ravel()


@contextmanager
def sharing(batch: Trainable, threads: int) -> Iterator[Team]:
    """Lets threads share the evaluations of a batch, to the same bits."""
    with team_of(threads) as team:
        if not isinstance(batch, TrainingSet):
            yield team
            return
        batch.share_with(team)
        try:
            yield team
        finally:
            batch.share_with(ALONE)
