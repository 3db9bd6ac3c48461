"""From a `WeightState` and documents to potentials, and the transpose of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...core import CELLS, Potentials
from ...core.parallel.coroutines import Steps, finish
from ...core.potentials import ManyPotentials
from ..active_features import (
    NO_ROWS,
    RoleRows,
    Rows,
    SegmentRows,
    in_documents,
    known_segments,
    no_rows,
    read_docs,
    split_records,
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
from ..observed_features import NO_PLACES, PlaceRows, place_rows
from .packing import to_single
from .state import Floats, Ints, WeightState
from .token_scores import TokenScores

# Whether predictions sum the weights of a word once; tests compare with and without.
CACHES_WORDS = True

_NO_CELLS = np.zeros(0, CELLS)
_NO_INTS = np.zeros(0, np.int32)


def score_docs(state: WeightState, docs: Sequence[Doc]) -> list[Potentials]:
    """RETURNS (List[Potentials]): See `DocScorer`."""
    return [*finish(DocScorer(state).steps(docs))]


class DocScorer:
    """Potentials for prediction: those of `score_rows`, but the scores of a word are
    summed only once, and weights are in single precision, as in a saved model.

    state (WeightState): The weights.
    is_single (bool): Whether a saved model has these weights. If they are sums of what
        it has, only those of tokens are in single precision.
    """

    def __init__(self, state: WeightState, is_single: bool = True) -> None:
        self._of_tokens = state.cached(_token_scores) if state.is_trained else None
        self._is_single = is_single
        if is_single:
            names = "pattern", "length", "tail"
            single: dict[str, Any] = {x: to_single(getattr(state, x)) for x in names}
            state = replace(state, **single)
        self.state = state

    def steps(self, docs: Sequence[Doc]) -> Steps[Sequence[Potentials]]:
        """RETURNS (Sequence[Potentials]): Of documents of the same vocabulary."""
        state, of_tokens = self.state, self._of_tokens
        if of_tokens is None or not docs or not CACHES_WORDS:
            rows = [read_docs(state, [doc]) for doc in docs]
            return [score_rows(state, x, len(doc)) for x, doc in zip(rows, docs)]
        extractor, table, roles = state.extractor, state.table, of_tokens.roles
        # Roles of transitions read all attributes.
        asked = None if state.n_observed else of_tokens.asked
        found = extractor.values_of(docs, asked=asked)
        task, scores = of_tokens.task(found)
        yield task
        for listed in found.listed:
            rows_of_role = with_listed(no_rows(len(found.orths)), listed, table)
            add_scores(state, rows_of_role, scores[roles.index(listed.role)])
        segments, places = NO_ROWS, NO_PLACES
        if len(found.segments.keys):
            segments = known_segments(found.segments, table)
        if state.n_observed:
            places = place_rows(
                {
                    role: table.rows(extractor.keys(found.values, role, found.first))
                    for role in extractor.features.transition_roles
                }
            )
        by_role = dict(zip(roles, scores))
        if not state.n_observed:
            return _together(state, by_role, segments, found.first, self._is_single)
        args = segments, places, found.first, self._is_single
        return _split(state, by_role, *args)

    def using(self, state: WeightState) -> DocScorer:
        """RETURNS (DocScorer): The same with other weights."""
        return DocScorer(state, self._is_single)

    def of_encoder(self, docs: Sequence[Doc]) -> None:
        """There is no tok2vec."""


def zeros(state: WeightState, n_tokens: int) -> Potentials:
    """RETURNS (Potentials): Scores of 0, of as many labels as a state has."""
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
    """See `_split`; without observed patterns, and with one cell for all rows of a
    segment and label."""
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
    places: PlaceRows,
    first: Ints,
    is_single: bool = False,
) -> Sequence[Potentials]:
    """The potentials of each of some concatenated documents.

    scores (Dict[str, float64 [n, L]]): Of all tokens, by role.
    first (int32 [D + 1]): The first token of each document, and n.
    is_single (bool): Whether weights of cells and entries are in single precision.
    """
    # Most documents are short: all of them together take as many calls as one.
    inside, start, end = _by_position(**scores)
    length, tail, pattern = state.length, state.tail, state.pattern
    borders = first.tolist()
    if not len(segments.row) and not state.n_observed:
        shared = length, tail, pattern, borders
        return ManyPotentials(inside, start, end, *shared)
    n_docs = len(borders) - 1
    cells: Sequence[NDArray[Any]] = [_NO_CELLS] * n_docs
    if len(segments.row):
        segments, of_doc = in_documents(segments, first)
        joined = cells_of(state, segments, is_single)
        cells = _of_docs(state, joined, segments.row, of_doc, n_docs)
    entries: Sequence[NDArray[Any] | None] = [None] * n_docs
    if state.n_observed:
        places, of_doc = in_documents(places, first)
        joined = _entries(state, places)
        if is_single:
            joined["score"] = to_single(joined["score"])
        entries = _of_docs(state, joined, places.row, of_doc, n_docs)
    potentials = []
    for d, (i, j) in enumerate(pairwise(borders)):
        scored = inside[i:j], start[i:j], end[i:j], length, tail, cells[d]
        potentials.append(Potentials(*scored, pattern, entries[d]))
    return potentials


def _of_docs(
    state: WeightState, records: NDArray[Any], rows: Ints, doc: Ints, n_docs: int
) -> list[NDArray[Any]]:
    """The records of each document, see `split_records`."""
    if not len(records):
        return [records] * n_docs
    if state.pairs is None:
        sizes = np.full_like(rows, state.of_features.shape[1])
    else:
        sizes = state.pairs.sizes_of(rows)
    return split_records(records, doc, sizes, n_docs)


def score_together(
    state: WeightState, rows: Rows, docs: Sequence[Doc]
) -> list[Potentials]:
    """RETURNS (List[Potentials]): Of each document; rows are those of all of them."""
    first = np.cumsum([0, *map(len, docs)], dtype=np.int32)
    scores = {role: np.zeros((first[-1], len(state.tail))) for role in rows.tokens}
    for role, of_role in rows.tokens.items():
        add_scores(state, of_role, scores[role])
    return [*_split(state, scores, rows.segments, rows.places, first)]


def score_rows(state: WeightState, rows: Rows, n_tokens: int) -> Potentials:
    """RETURNS (Potentials): Of a document of n tokens, with these active features."""
    scores = {role: np.zeros((n_tokens, len(state.tail))) for role in rows.tokens}
    for role, of_role in rows.tokens.items():
        add_scores(state, of_role, scores[role])
    return join_scores(state, scores, cells_of(state, rows.segments), rows.places)


def add_scores(state: WeightState, rows: RoleRows, scores: Floats) -> None:
    """Add to scores [n, L] the weights of the features of each token."""
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
    """All potentials of a document.

    scores (Dict[str, float64 [n, L]]): Of its tokens, by role.
    cells (CELLS): From `cells_of`.
    places (PlaceRows): Features of transitions.
    """
    scored = *_by_position(**scores), state.length, state.tail
    entries = _entries(state, places) if state.n_observed else None
    return Potentials(*scored, cells, state.pattern, entries)


def _by_position(
    inside: Floats, start: Floats, end: Floats, within: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """From scores by role to the potentials inside, start and end."""
    if within is None:
        return inside, start, end
    return inside + within, start - within, end


def _entries(state: WeightState, places: PlaceRows) -> NDArray[Any]:
    weights, pairs = state.of_features.reshape(-1), _pair_arrays(state)
    return gather_entries(places.position, places.row, places.role, *pairs, weights)


def cells_of(
    state: WeightState, segments: SegmentRows, is_single: bool = False
) -> NDArray[Any]:
    """RETURNS (CELLS): One for each weight of each active feature of a segment."""
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
    """RETURNS (Tuple[int32 [R + 1], int32 [N]]): Those of `pairs`, or empty."""
    pairs = state.pairs
    return (_NO_INTS, _NO_INTS) if pairs is None else (pairs.first, pairs.columns)


def dense_rows(state: WeightState, matrix: NDArray[Any]) -> NDArray[Any] | None:
    """The part of a matrix that has a weight in each of L columns, as a view.

    matrix (NDArray): In the shape of `state.matrix`.
    RETURNS (Optional[NDArray [R', L]]): None: some rows need `pairs`.
    """
    if state.pairs is None:
        return matrix
    if not state.n_whole:
        return None
    n_labels = len(state.tail)
    return matrix[: state.n_whole * n_labels].reshape(state.n_whole, n_labels)


# transposes


def role_gradient(gradient: Potentials, role: str) -> Floats:
    """RETURNS (float64 [n, L]): Derivatives by the scores of a role of tokens."""
    if role == "within":
        return gradient.inside - gradient.start
    found: Floats = getattr(gradient, role)
    return found


def add_gradients(
    state: WeightState,
    rows: Rows,
    gradients: Sequence[Potentials],
    d_matrix: Floats,
) -> None:
    """Transpose of `score_together`, but for patterns and lengths.

    rows (Rows): Of concatenated documents.
    gradients (Sequence[Potentials]): Of each document.
    d_matrix (float64): In the shape of `matrix`; added to.
    """
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
    """Transpose of `add_scores`."""
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
    """Transpose of `cells_of`."""
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
    """Transpose of the entries that `join_scores` makes."""
    if d_entries is not None:
        first, _ = _pair_arrays(state)
        scatter_entries(places.row, first, d_entries, d_matrix.reshape(-1))
