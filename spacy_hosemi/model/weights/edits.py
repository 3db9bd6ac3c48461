"""From one `WeightState` to another: other features, labels or columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Bools, Counts, Floats, Ints
from ...features import Extractor
from .packing import Names
from .pairs import Selection, WeightPairs, pairs_of
from .penalty_groups import TRANSITIONS
from .state import WeightState, n_whole_rows, with_rows


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
    """Returns weights of 0 for the selected features; those of patterns [M], lengths
    [L, D] and tails [L] are -inf where forbidden. See `WeightState`."""
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
    """Returns the weights of all features in K columns, which may be repeated, [R, K];
    0 where there is none."""
    if state.pairs is None:
        return state.matrix.take(columns, axis=1)
    n_rows = len(state.table)
    row, column, slot = state.slots(np.arange(n_rows, dtype=np.int32))
    weights = np.zeros((n_rows, len(state.tail) + state.n_observed))
    weights[row, column] = state.matrix[slot, 0]
    return weights.take(columns, axis=1)


def with_labels(
    state: WeightState, matrix: Floats, pattern: Floats, length: Floats, tail: Floats
) -> WeightState:
    """Returns the same features with weights for other labels, for prediction."""
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
    state: WeightState, is_forbidden: Bools, length: Floats, tail: Floats
) -> WeightState:
    """Returns weights for more labels, which come last: as low as the lowest of the
    others. The lengths [L, D] and tails [L] are of all labels, `is_forbidden` of the
    patterns that are added."""
    n_old, n_new = len(state.tail), len(tail) - len(state.tail)
    pairs = state.pairs
    if pairs is None:
        least = state.matrix.min(axis=1, keepdims=True, initial=0.0)
        matrix = np.hstack([state.matrix, least.repeat(n_new, axis=1)])
    else:
        pairs, weights = pairs.with_columns(
            state.matrix[:, 0], n_old, n_new, state.group != TRANSITIONS
        )
        matrix = weights[:, None]
    pattern = state.pattern
    lowest = pattern.min(initial=0.0, where=np.isfinite(pattern))
    return replace(
        state,
        pairs=pairs,
        n_whole=n_whole_rows(pairs, len(tail), state.group),
        of_features=matrix,
        pattern=np.concatenate([pattern, np.where(is_forbidden, -np.inf, lowest)]),
        length=np.vstack([state.length, length[n_old:]]),
        tail=tail,
    )


def keep(state: WeightState, is_kept: Bools) -> WeightState:
    """Returns a state without the other weights of `matrix`, and without features that
    have none left. Rows with weights in all columns keep them, some of them 0: that is
    faster than a part of the columns, and these weights may be trained again."""
    if is_kept.all():
        return state
    matrix, pairs = np.where(is_kept, state.matrix, 0.0), state.pairs
    if pairs is None:
        rows = np.flatnonzero(is_kept.any(axis=1))
        matrix = matrix[rows]
    else:
        row = np.arange(len(state.table)).repeat(pairs.sizes)
        sizes = np.bincount(row, is_kept[:, 0], len(state.table))
        rows, new_row = np.flatnonzero(sizes), np.cumsum(sizes > 0) - 1
        stays = is_kept[:, 0] | ((row < state.n_whole) & (sizes[row] > 0))
        matrix = matrix[stays]
        pairs = pairs_of(new_row[row[stays]], pairs.columns[stays], len(rows))
    names = Names([state.names[r] for r in rows.tolist()])
    return replace(
        state,
        **with_rows(state.table.keys[rows], names, pairs, len(state.tail)),
        counts=state.counts[rows],
        of_features=matrix,
    )


def keep_observed(state: WeightState) -> tuple[WeightState, Ints]:
    """Returns a state without the columns of observed patterns for which no weight is
    left, and which are left, of 0 to n_observed - 1."""
    pairs = state.pairs
    if not state.n_observed or pairs is None:
        return state, np.zeros(0, np.int32)
    n_labels = len(state.tail)
    observed = np.unique(pairs.columns[pairs.columns >= n_labels])
    new = np.arange(n_labels + state.n_observed, dtype=np.int32)
    new[observed] = n_labels + np.arange(len(observed))
    pairs = WeightPairs(pairs.first, new[pairs.columns])
    state = replace(state, pairs=pairs, n_observed=len(observed))
    return state, (observed - n_labels).astype(np.int32)


def count_docs(
    state: WeightState, rows: Ints, in_docs: Counts, n_docs: int
) -> WeightState:
    """Returns a state that counts `n_docs` more training documents; each feature of
    `rows` [K] occurs in `in_docs` [K] of them."""
    counts = state.counts if state.counts.flags.writeable else state.counts.copy()
    counts[rows] += in_docs
    return replace(state, counts=counts, n_docs=state.n_docs + n_docs)
