"""From a `WeightState` and documents to potentials, and the transpose of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model

from ...core import CELLS, Potentials
from ...core.parallel.coroutines import Steps
from ...core.potentials import ManyPotentials
from .. import tok2vec
from ..active_features import (
    NO_PLACES,
    NO_ROWS,
    PlaceRows,
    RoleRows,
    Rows,
    SegmentRows,
    in_documents,
    known_segments,
    no_rows,
    place_rows,
    read_docs,
    with_listed,
)
from ..kernels.gather import (
    gather,
    gather_cells,
    gather_entries,
    gather_merged_cells,
    gather_pairs,
    gather_strengths,
    scatter,
    scatter_cells,
    scatter_entries,
    scatter_pairs,
    scatter_strengths,
)
from .packing import to_single
from .state import Floats, Ints, WeightState
from .token_scores import TokenScores

# Whether predictions sum the weights of a word once; tests compare with and without.
CACHES_WORDS = True

_NO_CELLS = np.zeros(0, CELLS)
_NO_INTS = np.zeros(0, np.int32)


class DocScorer:
    """Computes potentials for prediction: those of `score_rows`, but the scores of a
    word are summed only once, and weights are in single precision, as in a saved model.

    state (WeightState): The weights.
    is_single (bool): Whether a saved model has these weights. If they are sums of what
        it has, only those of tokens are in single precision.
    model (Optional[Model]): A span scorer, whose tok2vec adds its scores if it has one.
    """

    def __init__(
        self,
        state: WeightState,
        is_single: bool = True,
        model: Model[list[Doc], list[Potentials]] | None = None,
    ) -> None:
        self._of_tokens = state.cached(_token_scores) if state.is_trained else None
        self._is_single = is_single
        self._neural = model if model is not None and model.layers else None
        self.has_encoder = self._neural is not None
        if is_single:
            names = "pattern", "length", "tail"
            single: dict[str, Any] = {x: to_single(getattr(state, x)) for x in names}
            state = replace(state, **single)
        self.state = state

    def steps(self, docs: Sequence[Doc]) -> Steps[Sequence[Potentials]]:
        """Returns the potentials of documents of the same vocabulary."""
        state, of_tokens = self.state, self._of_tokens
        if of_tokens is None or not docs or not CACHES_WORDS:
            rows = [read_docs(state, [doc]) for doc in docs]
            each = [score_rows(state, x, len(doc)) for x, doc in zip(rows, docs)]
            return self._add_neural(docs, each) if self.has_encoder else each
        extractor, table, roles = state.extractor, state.table, of_tokens.roles
        # Roles of transitions read all attributes.
        subset = None if state.n_observed else of_tokens.subset
        values = extractor.values_of(docs, subset=subset)
        task, scores = of_tokens.task(values)
        yield task
        for listed in values.listed:
            rows_of_role = with_listed(no_rows(len(values.orths)), listed, table)
            add_scores(state, rows_of_role, scores[roles.index(listed.role)])
        segments = NO_ROWS
        if len(values.segments.keys):
            segments = known_segments(values.segments, table)
        args = state, dict(zip(roles, scores)), segments, values.first, self._is_single
        if state.n_observed:
            rows_by_role = {
                role: table.rows(extractor.keys(values.values, role, values.first))
                for role in extractor.features.transition_roles
            }
            potentials: Sequence[Potentials] = _split(*args, place_rows(rows_by_role))
        else:
            potentials = _together(*args)
        return self._add_neural(docs, potentials) if self.has_encoder else potentials

    def _add_neural(
        self, docs: Sequence[Doc], potentials: Sequence[Potentials]
    ) -> Sequence[Potentials]:
        """Adds the scores of the tok2vec; returns the potentials of each document."""
        assert self._neural is not None
        each = [*potentials]
        with tok2vec.taking_turns(self._neural):
            tok2vec.add_scores(self._neural, docs, each, is_train=False)
        return each

    def using(self, state: WeightState) -> DocScorer:
        """Returns a scorer of the same kind with other weights."""
        return DocScorer(state, self._is_single, self._neural)

    def of_encoder(self, docs: Sequence[Doc]) -> Sequence[Potentials] | None:
        """Returns the tok2vec's scores of documents, or of all their sentences; None
        without a tok2vec."""
        if not self.has_encoder:
            return None
        return self._add_neural(docs, [zeros(self.state, len(doc)) for doc in docs])


def zeros(state: WeightState, n_tokens: int) -> Potentials:
    """Returns scores of 0, of as many labels as a state has."""
    inside, start, end = np.zeros((3, n_tokens, len(state.tail)))
    rest = np.zeros_like(state.length), np.zeros_like(state.tail), _NO_CELLS
    return Potentials(inside, start, end, *rest, np.zeros_like(state.pattern))


def _token_scores(state: WeightState) -> TokenScores:
    weights, pairs = state.of_features, state.pairs
    dense = dense_rows(state, weights)
    if dense is not None:
        weights, pairs = dense, None
    n_labels = len(state.tail)
    return TokenScores(state.extractor, state.table, weights, pairs, n_labels)


def _together(
    state: WeightState,
    scores: Mapping[str, Floats],
    segments: SegmentRows,
    first: Ints,
    is_single: bool,
) -> ManyPotentials:
    """Returns what `_split` does, without observed patterns, and with one cell for all
    rows of a segment and label."""
    shared = state.length, state.tail, state.pattern, first.tolist()
    inside, start, end = _by_position(**scores)
    if not len(segments.row):
        return ManyPotentials(inside, start, end, *shared)
    cells, borders = gather_merged_cells(
        segments.start,
        segments.end,
        segments.row,
        segments.strength,
        first,
        *_pair_arrays(state),
        state.of_features.reshape(-1),
        len(state.tail),
        is_single,
    )
    return ManyPotentials(inside, start, end, *shared, cells, borders.tolist())


def _split(
    state: WeightState,
    scores: Mapping[str, Floats],
    segments: SegmentRows,
    first: Ints,
    is_single: bool,
    places: PlaceRows,
) -> list[Potentials]:
    """Returns the potentials of each of D concatenated documents, from the scores of
    all tokens by role [n, L]; `first` [D + 1] ends in n."""
    # Most documents are short: all of them together take as many calls as one.
    inside, start, end = _by_position(**scores)
    n_docs = len(first) - 1
    cells: Sequence[NDArray[Any]] = [_NO_CELLS] * n_docs
    if len(segments.row):
        segments, doc = in_documents(segments, first)
        joined = cells_of(state, segments, is_single)
        cells = _by_document(state, joined, segments.row, doc, n_docs)
    entries: Sequence[NDArray[Any] | None] = [None] * n_docs
    if state.n_observed:
        places, doc = in_documents(places, first)
        joined = _entries(state, places)
        if is_single:
            joined["score"] = to_single(joined["score"])
        entries = _by_document(state, joined, places.row, doc, n_docs)
    potentials = []
    for d, (i, j) in enumerate(pairwise(first.tolist())):
        scored = inside[i:j], start[i:j], end[i:j], state.length, state.tail, cells[d]
        potentials.append(Potentials(*scored, state.pattern, entries[d]))
    return potentials


def _by_document(
    state: WeightState, records: NDArray[Any], rows: Ints, doc: Ints, n_docs: int
) -> list[NDArray[Any]]:
    """Returns the cells or entries of each document; doc [K], which ascends, is that of
    each row."""
    if not len(records):
        return [records] * n_docs
    if state.pairs is None:
        sizes = np.full_like(rows, state.of_features.shape[1])
    else:
        sizes = state.pairs.sizes_of(rows)
    ends = np.append(0, np.cumsum(sizes))
    borders = ends[np.searchsorted(doc, np.arange(n_docs + 1))].tolist()
    return [records[i:j] for i, j in pairwise(borders)]


def score_together(
    state: WeightState, rows: Rows, docs: Sequence[Doc]
) -> list[Potentials]:
    """Returns the potentials of each document; the rows are those of all of them."""
    first = np.cumsum([0, *map(len, docs)], dtype=np.int32)
    scores = _scores_by_role(state, rows, first[-1])
    return _split(state, scores, rows.segments, first, False, rows.places)


def score_rows(state: WeightState, rows: Rows, n_tokens: int) -> Potentials:
    """Returns the potentials of a document of n tokens with these active features."""
    scores = _scores_by_role(state, rows, n_tokens)
    return join_scores(state, scores, cells_of(state, rows.segments), rows.places)


def _scores_by_role(state: WeightState, rows: Rows, n_tokens: int) -> dict[str, Floats]:
    scores = {role: np.zeros((n_tokens, len(state.tail))) for role in rows.tokens}
    for role, of_role in rows.tokens.items():
        add_scores(state, of_role, scores[role])
    return scores


def add_scores(state: WeightState, rows: RoleRows, scores: Floats) -> None:
    """Adds to scores [n, L] the weights of the features of each token."""
    first, row, strength = rows
    matrix, pairs = state.matrix, _pair_arrays(state)
    dense = dense_rows(state, matrix)
    if strength is not None:
        gather_strengths(first, row, strength, *pairs, matrix.reshape(-1), scores)
    elif dense is not None:
        gather(first, row, dense, scores)
    else:
        gather_pairs(first, row, *pairs, matrix[:, 0], scores)


def join_scores(
    state: WeightState,
    scores: Mapping[str, Floats],
    cells: NDArray[Any],
    places: PlaceRows = NO_PLACES,
) -> Potentials:
    """Returns all potentials of a document: scores of its tokens by role [n, L], cells
    from `cells_of`, and features of transitions."""
    scored = *_by_position(**scores), state.length, state.tail
    entries = _entries(state, places) if state.n_observed else None
    return Potentials(*scored, cells, state.pattern, entries)


def _by_position(
    inside: Floats, start: Floats, end: Floats, within: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Returns the potentials inside, start and end, from scores by role."""
    if within is None:
        return inside, start, end
    return inside + within, start - within, end


def _entries(state: WeightState, places: PlaceRows) -> NDArray[Any]:
    weights, pairs = state.of_features.reshape(-1), _pair_arrays(state)
    return gather_entries(places.position, places.row, places.role, *pairs, weights)


def cells_of(
    state: WeightState, segments: SegmentRows, is_single: bool = False
) -> NDArray[Any]:
    """Returns a cell for each weight of each active feature of a segment."""
    if not len(segments.row):
        return _NO_CELLS
    return gather_cells(
        segments.start,
        segments.end,
        segments.row,
        segments.strength,
        *_pair_arrays(state),
        state.of_features.reshape(-1),
        len(state.tail),
        is_single,
    )


def _pair_arrays(state: WeightState) -> tuple[Ints, Ints]:
    """Returns the arrays of `pairs`, [R + 1] and [N], or empty ones."""
    pairs = state.pairs
    return (_NO_INTS, _NO_INTS) if pairs is None else (pairs.first, pairs.columns)


def dense_rows(state: WeightState, matrix: NDArray[Any]) -> NDArray[Any] | None:
    """Returns the part of a matrix, of the shape of `state.matrix`, that has a weight
    in each of L columns, as a view [R', L]; None if some rows need `pairs`."""
    if state.pairs is None:
        return matrix
    if not state.n_whole:
        return None
    n_labels = len(state.tail)
    return matrix[: state.n_whole * n_labels].reshape(state.n_whole, n_labels)


# transposes; d_matrix has the shape of `matrix`, and is added to


def role_gradient(gradient: Potentials, role: str) -> Floats:
    """Returns the derivatives by the scores of a role of tokens [n, L]."""
    if role == "within":
        return gradient.inside - gradient.start
    of_role: Floats = getattr(gradient, role)
    return of_role


def add_gradients(
    state: WeightState,
    rows: Rows,
    gradients: Sequence[Potentials],
    d_matrix: Floats,
) -> None:
    """Transposes `score_together`, but for patterns and lengths: the rows are those of
    concatenated documents, the gradients of each."""
    for role, of_role in rows.tokens.items():
        d_scores = np.concatenate([role_gradient(x, role) for x in gradients])
        add_gradient(state, of_role, d_scores, d_matrix)
    d_cells = np.concatenate([x.cells for x in gradients])
    add_cell_gradient(state, rows.segments, d_cells, d_matrix)
    d_entries = [x.entries for x in gradients if x.entries is not None]
    if d_entries:
        joined = np.concatenate(d_entries)
        add_entry_gradient(state, rows.places, joined, d_matrix)


def add_gradient(
    state: WeightState, rows: RoleRows, d_scores: Floats, d_matrix: Floats
) -> None:
    """Transposes `add_scores`."""
    first, row, strength = rows
    pairs, d_weights = _pair_arrays(state), d_matrix.reshape(-1)
    dense = dense_rows(state, d_matrix)
    if strength is not None:
        scatter_strengths(first, row, strength, *pairs, d_scores, d_weights)
    elif dense is not None:
        scatter(first, row, d_scores, dense)
    else:
        scatter_pairs(first, row, *pairs, d_scores, d_weights)


def add_cell_gradient(
    state: WeightState, segments: SegmentRows, d_cells: NDArray[Any], d_matrix: Floats
) -> None:
    """Transposes `cells_of`."""
    if len(segments.row):
        first, _ = _pair_arrays(state)
        d_weights = d_matrix.reshape(-1)
        row, strength = segments.row, segments.strength
        scatter_cells(row, strength, first, d_cells, len(state.tail), d_weights)


def add_entry_gradient(
    state: WeightState,
    places: PlaceRows,
    d_entries: NDArray[Any] | None,
    d_matrix: Floats,
) -> None:
    """Transposes the entries that `join_scores` makes."""
    if d_entries is not None:
        first, _ = _pair_arrays(state)
        scatter_entries(places.row, first, d_entries, d_matrix.reshape(-1))
