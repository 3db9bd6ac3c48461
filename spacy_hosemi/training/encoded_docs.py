"""Documents with their features read: their losses, and the gradient, for any weights.

Documents stand in blocks, and blocks in chunks, all by position: sums are formed block
by block, so that they are the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core import PatternAutomaton
from ..core.parallel.team import ALONE, Team
from ..labels.gold import Gold
from ..model.active_features import PlaceRows, RoleRows, Rows, cut_rows
from ..model.weights.potentials import (
    add_cell_gradient,
    add_entry_gradient,
    add_gradient,
    add_scores,
    cells_of,
    dense_rows,
    join_scores,
    role_gradient,
    score_rows,
)
from ..model.weights.state import Floats, WeightState
from .kernels.token_sums import TokenSums
from .lane_losses import LaneLosses
from .objectives import Objective
from .row_store import SegmentStore, join_rows

# At most this many tokens have their scores in memory at the same time, in all roles,
# if a block of documents has not more; with these, the cost of a call does not count.
_CHUNK = 20_000

# At most this many documents and tokens are in a block, so that threads have many; and
# at most this many scores in a role, 16 MB: new memory takes longer, by 10 % of an
# evaluation with 3,000 labels. Sums are formed by block: other numbers, other bits.
_DOCS, _TOKENS, _SCORES = 64, 4_000, 2_000_000

_NONE = np.zeros(0, np.int32)


class EncodedDocs:
    """A corpus whose features are rows of weights.

    golds (Sequence[Gold]), sizes (Sequence[int]): What is known of each of D documents,
        and its tokens.
    rows (Dict[str, RoleRows]): Features of tokens of all documents, by role.
    places (Sequence[PlaceRows]): Features of transitions, of each document.
    n_labels (int): Columns of scores.

    blocks (List[int]): Block b has the documents blocks[b] to blocks[b + 1] - 1.
    chunks (List[Tuple[int, int]]): Blocks begin to end - 1 that have their scores in
        memory at the same time.
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
    ) -> None:
        self.automaton, self.objective = automaton, objective
        self.golds, self.sizes = golds, sizes
        self.tokens, self.segments, self.places = rows, segments, places
        self.n_labels = n_labels
        self._borders = [0, *np.cumsum(sizes).tolist()]
        self.blocks, self.chunks = cut_blocks(sizes, n_labels)
        self._lanes: LaneLosses | None = None

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self.sizes)

    def rows(self, k: int) -> Rows:
        """Returns the known features of one document, as views."""
        at = slice(self._borders[k], self._borders[k + 1] + 1)
        tokens = {
            role: part._replace(first=part.first[at])
            for role, part in self.tokens.items()
        }
        return Rows(tokens, self.segments.of(k, k + 1), self.places[k])

    def part(self, chosen: Sequence[int]) -> EncodedDocs:
        """Returns some of the documents."""
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

    def add_gradient(
        self,
        state: WeightState,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        team: Team = ALONE,
    ) -> Floats:
        """Adds the gradient of all documents to d_matrix, pattern and length, which
        have the shapes of the weights; returns their losses in nats, float64 [D]."""
        if self._lanes is None:
            about = self.golds, self.segments, self.blocks
            self._lanes = LaneLosses(
                state, self.automaton, self.objective, self.sizes, *about
            )
        self._lanes.set_weights(state)
        losses = np.zeros(len(self))
        for begin, end in self.chunks:
            gradient = losses, d_matrix, pattern, length
            self._add_chunk(self._lanes, state, begin, end, *gradient, team)
        return losses

    def _add_chunk(
        self,
        lanes: LaneLosses,
        state: WeightState,
        begin: int,
        end: int,
        losses: Floats,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
        team: Team,
    ) -> None:
        """Adds the gradients of blocks `begin` to `end` - 1, and sets their losses."""
        docs = range(self.blocks[begin], self.blocks[end])
        at = self._borders[docs.start]
        tokens = slice(at, self._borders[docs.stop] + 1)
        rows_of = {
            role: rows._replace(first=rows.first[tokens])
            for role, rows in self.tokens.items()
        }
        shape = self._borders[docs.stop] - at, len(state.tail)
        scores = {role: np.zeros(shape) for role in rows_of}
        _add_tokens(state, rows_of, scores, state.matrix, False, team)
        segments = self.segments.of(docs.start, docs.stop)
        cells = cells_of(state, segments)
        of_all = losses, pattern, length, team
        is_done = lanes.solve(begin, end, at, scores, cells, *of_all)
        is_done[: docs.start] = is_done[docs.stop :] = True
        first_cell = lanes.first_cell
        cell_at = first_cell[docs.start]
        for k in np.flatnonzero(~is_done).tolist():
            here = slice(self._borders[k] - at, self._borders[k + 1] - at)
            piece = {role: s[here] for role, s in scores.items()}
            doc_cells = cells[first_cell[k] - cell_at : first_cell[k + 1] - cell_at]
            places = self.places[k]
            if lanes.is_chosen[k]:  # it was tried: its scores are not there
                potentials = score_rows(state, self.rows(k), self.sizes[k])
            else:
                potentials = join_scores(state, piece, doc_cells, places)
            loss, gradient = self.objective(self.automaton, potentials, self.golds[k])
            losses[k] = loss
            for role in piece:  # the scores have been read: their place is free
                piece[role][:] = role_gradient(gradient, role)
            doc_cells["score"] = gradient.cells["score"]
            pattern += gradient.pattern
            length += gradient.length
            add_entry_gradient(state, places, gradient.entries, d_matrix)
        add_cell_gradient(state, segments, cells, d_matrix)
        _add_tokens(state, rows_of, scores, d_matrix, True, team)


def _add_tokens(
    state: WeightState,
    rows: Mapping[str, RoleRows],
    scores: Mapping[str, Floats],
    matrix: Floats,
    is_transpose: bool,
    team: Team,
) -> None:
    """Adds to the scores of each role, [n, L], from the weights of features;
    transposed, to the derivatives by these weights from those by scores. Threads share
    it unless there is one alone, or features have values."""
    if team.n == 1 or any(x.strength is not None for x in rows.values()):
        for role, of_role in rows.items():
            if is_transpose:
                add_gradient(state, of_role, scores[role], matrix)
            else:
                add_scores(state, of_role, scores[role])
        return
    roles = [(x.first, x.row, scores[role]) for role, x in rows.items()]
    dense, pairs = dense_rows(state, matrix), (_NONE, _NONE)
    if dense is None and state.pairs is not None:
        pairs = state.pairs.first, state.pairs.columns
    weights = (matrix if dense is None else dense).reshape(-1)
    tasks = [TokenSums(k, team.n) for k in range(team.n)]
    for task in tasks:
        task.take(roles, *pairs, weights, len(state.tail), is_transpose)
    team.run(tasks)


def cut_blocks(
    sizes: Sequence[int], n_labels: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """Returns `blocks` and `chunks` of documents with these numbers of tokens."""
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
    return [*borders, len(sizes)], chunks
