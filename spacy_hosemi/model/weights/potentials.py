"""From a `WeightState` and documents to potentials, and the transpose of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Counts, Floats, Ints
from ...core import CELLS, Potentials
from ..active_features import PlaceRows, RoleRows, Rows, SegmentRows
from ..kernels.gather import (
    gather,
    gather_cells,
    gather_entries,
    scatter,
    scatter_cells,
    scatter_entries,
)
from .packing import to_single
from .state import WeightState

_NO_CELLS = np.zeros(0, CELLS)
_NO_INTS = np.zeros(0, np.int32)


def zeros(state: WeightState, n_tokens: int) -> Potentials:
    """Returns scores of 0, of as many labels as a state has."""
    inside, start, end = np.zeros((3, n_tokens, len(state.tail)))
    rest = np.zeros_like(state.length), np.zeros_like(state.tail), _NO_CELLS
    return Potentials(inside, start, end, *rest, np.zeros_like(state.pattern))


def split(
    state: WeightState, scores: Mapping[str, Floats], rows: Rows, is_single: bool
) -> list[Potentials]:
    """Returns the potentials of each of D documents, from the scores of all tokens by
    role [n, L]."""
    # Most documents are short: all of them together take as many calls as one.
    inside, start, end = _by_position(**scores)
    segments = rows.segments
    cells = _by_document(state, segments, cells_of(state, segments, is_single))
    entries: Sequence[NDArray[Any] | None] = [None] * len(cells)
    if state.n_observed:
        joined = _entries(state, rows.places)
        if is_single:
            joined["score"] = to_single(joined["score"])
        entries = _by_document(state, rows.places, joined)
    potentials = []
    for d, (i, j) in enumerate(pairwise(rows.first.tolist())):
        scored = inside[i:j], start[i:j], end[i:j], state.length, state.tail, cells[d]
        potentials.append(Potentials(*scored, state.pattern, entries[d]))
    return potentials


def _by_document(
    state: WeightState, rows: SegmentRows | PlaceRows, records: NDArray[Any]
) -> list[NDArray[Any]]:
    """Returns the cells or entries of each document."""
    borders = n_weights_before(state, rows)[rows.first].tolist()
    return [records[i:j] for i, j in pairwise(borders)]


def n_weights_before(state: WeightState, rows: SegmentRows | PlaceRows) -> Counts:
    """Returns how many weights the first k of K features have, int64 [K + 1]."""
    if state.pairs is None:
        return np.arange(len(rows.row) + 1) * len(state.tail)
    return np.append(0, np.cumsum(state.pairs.sizes_of(rows.row), dtype=np.int64))


def score_rows(state: WeightState, rows: Rows) -> list[Potentials]:
    """Returns the potentials of each of D documents with these active features."""
    shape = int(rows.first[-1]), len(state.tail)
    scores = {role: np.zeros(shape) for role in rows.tokens}
    add_scores(state, rows.tokens, scores)
    if rows.vectors is not None and state.of_vectors is not None:
        state.of_vectors.add_scores(rows.vectors, scores)
    return split(state, scores, rows, False)


def add_scores(
    state: WeightState, tokens: Mapping[str, RoleRows], scores: Mapping[str, Floats]
) -> None:
    """Adds to scores by role [n, L] the weights of the features of each token."""
    *pairs, weights = of_tokens(state, state.matrix)
    for role, rows in tokens.items():
        gather(*rows, *pairs, weights, scores[role])


def join_scores(
    state: WeightState,
    scores: Mapping[str, Floats],
    cells: NDArray[Any],
    places: PlaceRows,
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
    weights, pairs = state.of_features.reshape(-1), pair_arrays(state)
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
        *pair_arrays(state),
        state.of_features.reshape(-1),
        len(state.tail),
        is_single,
    )


def pair_arrays(state: WeightState) -> tuple[Ints, Ints]:
    """Returns the arrays of `pairs`, [R + 1] and [N], or empty ones."""
    pairs = state.pairs
    return (_NO_INTS, _NO_INTS) if pairs is None else (pairs.first, pairs.columns)


def of_tokens(state: WeightState, matrix: Floats) -> tuple[Ints, Ints, Floats]:
    """Returns `pair_arrays`, and the weights of a matrix of the shape of
    `state.matrix`, as a view, as `gather` reads them for features of tokens."""
    if (dense := dense_rows(state, matrix)) is None:
        return *pair_arrays(state), matrix.reshape(-1)
    return _NO_INTS, _NO_INTS, dense.reshape(-1)


def dense_rows(state: WeightState, matrix: NDArray[Any]) -> NDArray[Any] | None:
    """Returns the part of a matrix, of the shape of `state.matrix`, that has a weight
    in each of L columns, as a view [R', L]; None if some rows need `pairs`."""
    if state.pairs is None:
        return matrix
    if not state.n_whole:
        return None
    n_labels = len(state.tail)
    return matrix[: state.n_whole * n_labels].reshape(state.n_whole, n_labels)


def role_gradients(
    gradients: Sequence[Potentials], roles: Iterable[str]
) -> dict[str, Floats]:
    """Returns the derivatives by the scores of tokens of concatenated documents, by
    role [n, L]."""
    columns = {
        role: np.concatenate([getattr(x, role) for x in gradients])
        for role in ("inside", "start", "end")
    }
    columns["within"] = columns["inside"] - columns["start"]
    return {role: columns[role] for role in roles}


def add_gradients(
    state: WeightState, rows: Rows, gradients: Sequence[Potentials], d_matrix: Floats
) -> None:
    """Transposes `score_rows`, but for patterns and lengths: adds to derivatives by the
    weights of features, in the shape of `state.matrix`, as the functions below do."""
    d_scores = role_gradients(gradients, rows.tokens)
    add_gradient(state, rows.tokens, d_scores, d_matrix)
    if len(rows.segments.row):
        d_cells = np.concatenate([x.cells for x in gradients])
        add_cell_gradient(state, rows.segments, d_cells, d_matrix)
    d_entries = [x.entries for x in gradients if x.entries is not None]
    if d_entries:
        joined = np.concatenate(d_entries)
        add_entry_gradient(state, rows.places, joined, d_matrix)


def add_gradient(
    state: WeightState,
    tokens: Mapping[str, RoleRows],
    d_scores: Mapping[str, Floats],
    d_matrix: Floats,
) -> None:
    """Transposes `add_scores`."""
    *pairs, d_weights = of_tokens(state, d_matrix)
    for role, rows in tokens.items():
        scatter(*rows, *pairs, d_scores[role], d_weights)


def add_cell_gradient(
    state: WeightState, segments: SegmentRows, d_cells: NDArray[Any], d_matrix: Floats
) -> None:
    """Transposes `cells_of`."""
    if len(segments.row):
        first, _ = pair_arrays(state)
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
        first, _ = pair_arrays(state)
        scatter_entries(places.row, first, d_entries, d_matrix.reshape(-1))
