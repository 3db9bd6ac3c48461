"""From one `WeightState` to another: other features, labels or columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...features import Extractor
from .families import TRANSITIONS
from .names import Names
from .pairs import Counts, Pairs, Selection
from .potentials import dense_rows
from .state import Floats, Ints, WeightState, n_whole_rows, with_rows

# Store weights as sparse (row, column) pairs once fewer than 1/8 of the matrix is
# nonzero: from there the sparse form is smaller and no slower.
SPARSE = 1 / 8


def allocate(
    extractor: Extractor,
    selection: Selection,
    pattern: Floats,
    length: Floats,
    tail: Floats,
    *,
    learn_length: bool = False,
    n_observed: int = 0,
) -> WeightState:
    """Zero weights.

    extractor (Extractor): Reads the features.
    selection (Selection): Features, and in which columns they have weights.
    pattern (float64 [M]): 0, or -inf where forbidden.
    length (float64 [L, D]), tail (float64 [L]): 0, or -inf where forbidden.
    learn_length (bool): Whether lengths have weights, too.
    n_observed (int): Label patterns for which transitions have weights.
    """
    n_labels, pairs = len(tail), selection.pairs
    n_rows = len(selection.keys)
    shape = (n_rows, n_labels) if pairs is None else (len(pairs.columns), 1)
    return WeightState(
        extractor=extractor,
        **with_rows(selection.keys, Names(selection.names), pairs, n_labels),
        counts=selection.counts,
        n_docs=selection.n_docs,
        of_features=np.zeros(shape),
        pattern=pattern,
        length=np.array(length, np.float64),
        tail=tail,
        learn_length=learn_length,
        n_observed=n_observed,
        grows=not selection.is_limited,
    )


def columns(state: WeightState, columns: Ints) -> Floats:
    """RETURNS (float64 [R, K]): Weights of all features in these columns, which may be
    given more than once; 0 where there is none. Row by row."""
    if state.pairs is None:
        return state.matrix.take(columns, axis=1)
    n_rows = len(state.table)
    row, column, slot = state.slots(np.arange(n_rows, dtype=np.int32))
    dense = np.zeros((n_rows, len(state.tail) + state.n_observed))
    dense[row, column] = state.matrix[slot, 0]
    return dense.take(columns, axis=1)


def with_labels(
    state: WeightState, matrix: Floats, pattern: Floats, length: Floats, tail: Floats
) -> WeightState:
    """RETURNS (WeightState): The same features with weights for other labels, for
    prediction; arguments as the fields of a `WeightState`."""
    return replace(
        state,
        pairs=None,
        n_whole=0,
        n_observed=0,
        of_features=matrix,
        pattern=pattern,
        length=length,
        tail=tail,
    )


def add_labels(
    state: WeightState, is_forbidden: NDArray[np.bool_], length: Floats, tail: Floats
) -> WeightState:
    """Weights for more labels, which come last: as low as the lowest of the others.

    is_forbidden (bool [K]): Of the patterns that are added.
    length (float64 [L, D]), tail (float64 [L]): Of all labels, as for `allocate`.
    """
    n_old, n_new = len(state.tail), len(tail) - len(state.tail)
    pairs = state.pairs
    if pairs is None:
        least = state.matrix.min(axis=1, keepdims=True, initial=0.0)
        matrix = np.hstack([state.matrix, least.repeat(n_new, axis=1)])
    else:
        pairs, weights = pairs.with_columns(
            state.matrix[:, 0], n_old, n_new, state.family != TRANSITIONS
        )
        matrix = weights[:, None]
    pattern = state.pattern
    lowest = pattern.min(initial=0.0, where=np.isfinite(pattern))
    return replace(
        state,
        pairs=pairs,
        n_whole=n_whole_rows(pairs, len(tail), state.family),
        of_features=matrix,
        pattern=np.concatenate([pattern, np.where(is_forbidden, -np.inf, lowest)]),
        length=np.vstack([state.length, length[n_old:]]),
        tail=tail,
    )


def keep(state: WeightState, is_kept: NDArray[np.bool_]) -> WeightState:
    """Without the other weights of features, and features that have none left.

    The result has `pairs` where few weights are left; otherwise features that are left
    have weights for all labels, some of them 0. It does not grow if features were
    removed.

    is_kept (bool): In the shape of `matrix`.
    """
    if is_kept.all():
        return state
    n_labels, n_rows = len(state.tail), len(state.table)
    row, column, slot = state.slots(np.arange(n_rows, dtype=np.int32))
    kept = is_kept.ravel()[slot]
    sizes = np.bincount(row[kept], minlength=n_rows)
    rows = np.flatnonzero(sizes)
    values = np.where(kept, state.matrix.ravel()[slot], 0.0)
    dense = dense_rows(state, state.matrix)
    if dense is not None:
        is_dense = row < len(dense)
        n_dense = np.count_nonzero(sizes[: len(dense)]) * n_labels
        if np.count_nonzero(kept & is_dense) >= SPARSE * n_dense:
            kept |= is_dense & (sizes[row] > 0)
    names = Names([state.names[r] for r in rows.tolist()])
    sizes = np.bincount(row[kept], minlength=n_rows)[rows]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    matrix = values[kept, None]
    found = Pairs(first, column[kept])
    pairs: Pairs | None = found
    if state.pairs is None and found.n_whole(n_labels) == len(rows):
        pairs, matrix = None, matrix.reshape(len(rows), n_labels)
    return replace(
        state,
        **with_rows(state.table.keys[rows], names, pairs, n_labels),
        counts=state.counts[rows],
        of_features=matrix,
        grows=state.grows and len(names) == len(state.names),
    )


def keep_observed(state: WeightState) -> tuple[WeightState, Ints]:
    """Without the columns of observed patterns for which no weight is left.

    RETURNS (Tuple[WeightState, int32]): And which are left, of 0 to n_observed - 1.
    """
    pairs = state.pairs
    if not state.n_observed or pairs is None:
        return state, np.zeros(0, np.int32)
    n_labels = len(state.tail)
    left = np.unique(pairs.columns[pairs.columns >= n_labels])
    new = np.arange(n_labels + state.n_observed, dtype=np.int32)
    new[left] = n_labels + np.arange(len(left))
    pairs = Pairs(pairs.first, new[pairs.columns])
    found = replace(state, pairs=pairs, n_observed=len(left))
    return found, (left - n_labels).astype(np.int32)


def count_docs(
    state: WeightState, rows: Ints, in_docs: Counts, n_docs: int
) -> WeightState:
    """More training documents.

    rows (int32 [K]), in_docs (int64 [K]): Features, and in how many of these documents
        each occurs.
    n_docs (int): How many documents.
    """
    counts = state.counts if state.counts.flags.writeable else state.counts.copy()
    counts[rows] += in_docs
    return replace(state, counts=counts, n_docs=state.n_docs + n_docs)
