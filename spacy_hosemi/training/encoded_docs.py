"""Documents with their features read: their losses, and the gradient, for any weights.

Documents stand in blocks, blocks in chunks, chunks in shards, all by position. A shard
has a sum of its own, and the sums of shards are added up in their order: wherever they
are computed, the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core import PatternAutomaton
from ..core.parallel.team import ALONE, Team
from ..labels.gold import Gold
from ..model.active_features import Ints, RoleRows, Rows, cut_rows
from ..model.observed_features import PlaceRows
from ..model.weights.potentials import (
    add_cell_gradient,
    add_entry_gradient,
    cells_of,
    join_scores,
    role_gradient,
    score_rows,
)
from ..model.weights.state import Floats, WeightState
from .objectives import Objective
from .row_store import join_rows
from .segment_store import SegmentStore
from .shared_sums import SharedSums
from .side_by_side import SideBySide

# At most this many tokens have their scores in memory at the same time, in all roles,
# if a block of documents has not more; with these, the cost of a call does not count.
_CHUNK = 20_000

# At most this many documents and tokens are in a block, so that threads have many; and
# at most this many scores in a role, 16 MB: new memory takes longer, by 10 % of an
# evaluation with 3,000 labels. Sums are formed by block: other numbers, other bits.
_DOCS, _TOKENS, _SCORES = 64, 4_000, 2_000_000

# A shard has _SHARD chunks, or more where these would be more than _MOST_SHARDS shards:
# each shard adds a whole gradient to the sum, so a few large ones cost less.
_SHARD, _MOST_SHARDS = 16, 1024


class ShardSum(NamedTuple):
    """What is added up over the documents of a shard.

    losses (float64 [D]): Of each document, in nats.
    matrix (float64): Derivatives by the weights of the rows that the shard reads, in
        the order of `rows_of_shard`; in the shape of a `matrix` of these rows.
    pattern (float64 [M]), length (float64 [L, D']): By those of all patterns, lengths.
    """

    losses: Floats
    matrix: Floats
    pattern: Floats
    length: Floats


# From a state to the sums of all shards, in their order.
ShardSums = Callable[[WeightState], Iterator[ShardSum]]


class EncodedDocs:
    """A corpus whose features are rows of weights.

    automaton (PatternAutomaton): Of the component.
    objective (Callable): Loss of one document.
    golds (Sequence[Gold]): What is known of each of D documents.
    sizes (Sequence[int]): Their tokens.
    rows (Dict[str, RoleRows]): Features of tokens of all documents, by role.
    segments (SegmentStore): Features of segments.
    places (Sequence[PlaceRows]): Features of transitions, of each document.
    n_labels (int): Columns of scores.
    blocks (Optional[Blocks]): If they are cut already.
    """

    def __init__(
        self,
        automaton: PatternAutomaton,
        objective: Objective,
        golds: Sequence[Gold],
        sizes: Sequence[int],
        rows: dict[str, RoleRows],
        segments: SegmentStore,
        places: Sequence[PlaceRows],
        n_labels: int,
        blocks: Blocks | None = None,
    ) -> None:
        self.automaton, self.objective = automaton, objective
        self.golds, self.sizes = golds, sizes
        self.tokens, self.segments, self.places = rows, segments, places
        self.n_labels = n_labels
        self._borders = [0, *np.cumsum(sizes).tolist()]
        self.blocks = blocks_of(sizes, n_labels) if blocks is None else blocks
        self._side_by_side: SideBySide | None = None
        self._sums = SharedSums()
        self._rows_of_shards: dict[int, Ints] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without tables for threads, which are made again."""
        nothing: dict[str, Any]
        nothing = {"_side_by_side": None, "_sums": SharedSums(), "_rows_of_shards": {}}
        return vars(self) | nothing

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.sizes)

    def rows(self, k: int) -> Rows:
        """RETURNS (Rows): The known features of one document: views."""
        at = slice(self._borders[k], self._borders[k + 1] + 1)
        tokens = {
            role: part._replace(first=part.first[at])
            for role, part in self.tokens.items()
        }
        return Rows(tokens, self.segments.of(k, k + 1), self.places[k])

    def part(self, chosen: Sequence[int]) -> EncodedDocs:
        """RETURNS (EncodedDocs): Some of the documents."""
        spans = [(self._borders[k], self._borders[k + 1]) for k in chosen]
        return EncodedDocs(
            self.automaton,
            self.objective,
            [self.golds[k] for k in chosen],
            [self.sizes[k] for k in chosen],
            {
                role: join_rows(cut_rows(rows, i, j) for i, j in spans)
                for role, rows in self.tokens.items()
            },
            self.segments.part(chosen),
            [self.places[k] for k in chosen],
            self.n_labels,
        )

    # shards

    @property
    def n_shards(self) -> int:
        """RETURNS (int): One or more."""
        return len(self.blocks.shards)

    def rows_of_shard(self, k: int) -> Ints:
        """RETURNS (int32 [R']): The rows that the documents of shard k read."""
        if k not in self._rows_of_shards:
            begin, end = self._docs_of(k)
            at = slice(self._borders[begin], self._borders[end] + 1)
            found = [self.segments.of(begin, end).row]
            found += [places.row for places in self.places[begin:end]]
            for rows in self.tokens.values():
                first = rows.first[at]
                found.append(rows.row[first[0] : first[-1]])
            self._rows_of_shards[k] = np.unique(np.concatenate(found))
        return self._rows_of_shards[k]

    def shard(self, k: int) -> EncodedDocs:
        """RETURNS (EncodedDocs): A copy of shard k, for weights of `rows_of_shard`."""
        begin, end = self._docs_of(k)
        rows, i, j = self.rows_of_shard(k), self._borders[begin], self._borders[end]

        def renumbered(found: Ints) -> Ints:
            return np.searchsorted(rows, found).astype(np.int32)

        tokens = {}
        for role, of_role in self.tokens.items():
            cut = cut_rows(of_role, i, j)
            tokens[role] = cut._replace(row=renumbered(cut.row))
        documents = range(begin, end)
        return EncodedDocs(
            self.automaton,
            self.objective,
            self.golds[begin:end],
            self.sizes[begin:end],
            tokens,
            self.segments.part(documents, renumbered),
            [replace(x, row=renumbered(x.row)) for x in self.places[begin:end]],
            self.n_labels,
            self.blocks.of_shard(k),
        )

    def sum(self, state: WeightState) -> ShardSum:
        """RETURNS (ShardSum): Of these documents, which are one shard, and read all
        rows of the state."""
        found = np.zeros(state.matrix.shape), *_zeros(state)
        losses = np.zeros(len(self))
        self._add_shard(state, 0, losses, *found, ALONE)
        return ShardSum(losses, *found)

    def _docs_of(self, k: int) -> tuple[int, int]:
        """RETURNS (Tuple[int, int]): The first document of shard k, and the next."""
        begin, end = self.blocks.shards[k]
        borders, chunks = self.blocks.borders, self.blocks.chunks
        return borders[chunks[begin][0]], borders[chunks[end - 1][1]]

    # gradients

    def add_gradient(
        self,
        state: WeightState,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        team: Team = ALONE,
    ) -> Floats:
        """Add the gradient of all documents.

        state (WeightState): The weights.
        d_matrix, pattern, length (float64): 0, in the shapes of the weights.
        team (Team): Threads that share the work; the same bits for any number.
        RETURNS (float64 [D]): The loss of each document, in nats.
        """
        losses = np.zeros(len(self))
        of_all = of_shard = d_matrix, pattern, length
        for k in range(self.n_shards):
            if k == 1:
                of_shard = np.zeros(d_matrix.shape), *_zeros(state)
            self._add_shard(state, k, losses, *of_shard, team)
            if k:
                for total, part in zip(of_all, of_shard):
                    total += part
                    part.fill(0.0)
        return losses

    def _add_shard(
        self,
        state: WeightState,
        k: int,
        losses: Floats,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        team: Team,
    ) -> None:
        """Add the gradient of the documents of shard k, and set their losses."""
        if self._side_by_side is None:
            about = self.golds, self.segments, self.blocks.borders
            self._side_by_side = SideBySide(
                state, self.automaton, self.objective, self.sizes, *about
            )
        self._side_by_side.set_weights(state)
        for begin, end in self.blocks.chunks[slice(*self.blocks.shards[k])]:
            of_chunk = losses, d_matrix, pattern, length, team
            self._add_gradient(state, begin, end, *of_chunk)

    def _add_gradient(
        self,
        state: WeightState,
        begin: int,
        end: int,
        losses: Floats,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        team: Team,
    ) -> None:
        """Add the gradients of blocks `begin` to `end` - 1, and set their losses."""
        borders = self.blocks.borders
        docs = range(borders[begin], borders[end])
        at = self._borders[docs.start]
        tokens = slice(at, self._borders[docs.stop] + 1)
        rows_of = {
            role: rows._replace(first=rows.first[tokens])
            for role, rows in self.tokens.items()
        }
        shape = self._borders[docs.stop] - at, len(state.tail)
        scores = {role: np.zeros(shape) for role in rows_of}
        self._sums.add_scores(state, rows_of, scores, team)
        segments = self.segments.of(docs.start, docs.stop)
        cells = cells_of(state, segments)
        side_by_side = self._side_by_side
        assert side_by_side is not None
        of_all = losses, pattern, length, team
        is_done = side_by_side.solve(begin, end, at, scores, cells, *of_all)
        is_done[: docs.start] = is_done[docs.stop :] = True
        first_cell = side_by_side.first_cell
        cell_at = first_cell[docs.start]
        for k in np.flatnonzero(~is_done).tolist():
            here = slice(self._borders[k] - at, self._borders[k + 1] - at)
            piece = {role: s[here] for role, s in scores.items()}
            own = cells[first_cell[k] - cell_at : first_cell[k + 1] - cell_at]
            places = self.places[k]
            if side_by_side.is_chosen[k]:  # it was tried: its scores are not there
                potentials = score_rows(state, self.rows(k), self.sizes[k])
            else:
                potentials = join_scores(state, piece, own, places)
            loss, gradient = self.objective(self.automaton, potentials, self.golds[k])
            losses[k] = loss
            for role in piece:  # the scores have been read: their place is free
                piece[role][:] = role_gradient(gradient, role)
            own["score"] = gradient.cells["score"]
            pattern += gradient.pattern
            length += gradient.length
            add_entry_gradient(state, places, gradient.entries, d_matrix)
        add_cell_gradient(state, segments, cells, d_matrix)
        self._sums.add_gradient(state, rows_of, scores, d_matrix, team)


def _zeros(state: WeightState) -> tuple[Floats, Floats]:
    """RETURNS (Tuple[float64 [M], float64 [L, D]]): For patterns and lengths."""
    return np.zeros(len(state.pattern)), np.zeros(state.length.shape)


class Blocks(NamedTuple):
    """Documents in fixed blocks by position: sums are formed block by block.

    borders (List[int]): Block b has the documents borders[b] to borders[b + 1] - 1.
    chunks (List[Tuple[int, int]]): Blocks begin to end - 1 that have their scores in
        memory at the same time.
    shards (List[Tuple[int, int]]): Chunks begin to end - 1 that have a sum of their
        own.
    """

    borders: list[int]
    chunks: list[tuple[int, int]]
    shards: list[tuple[int, int]]

    def of_shard(self, k: int) -> Blocks:
        """RETURNS (Blocks): Of the documents of shard k alone."""
        chunks = self.chunks[slice(*self.shards[k])]
        begin, end = chunks[0][0], chunks[-1][1]
        first = self.borders[begin]
        borders = [x - first for x in self.borders[begin : end + 1]]
        moved = [(i - begin, j - begin) for i, j in chunks]
        return Blocks(borders, moved, [(0, len(chunks))])


def blocks_of(sizes: Sequence[int], n_labels: int) -> Blocks:
    """RETURNS (Blocks): Of documents with these numbers of tokens."""
    most = min(_TOKENS, _SCORES // max(n_labels, 1))
    borders, of_block = [0], [0]
    for k, size in enumerate(sizes):
        n_docs = k - borders[-1]
        if n_docs and (n_docs == _DOCS or of_block[-1] + size > most):
            borders.append(k)
            of_block.append(0)
        of_block[-1] += size
    chunks, begin, n_tokens = [], 0, 0
    most = min(_CHUNK, _SCORES // max(n_labels, 1))
    for b, size in enumerate(of_block):
        if n_tokens + size > most and b > begin:
            chunks.append((begin, b))
            begin, n_tokens = b, 0
        n_tokens += size
    chunks.append((begin, len(of_block)))
    n = max(_SHARD, -(-len(chunks) // _MOST_SHARDS))
    shards = [(i, min(i + n, len(chunks))) for i in range(0, len(chunks), n)]
    return Blocks([*borders, len(sizes)], chunks, shards)
