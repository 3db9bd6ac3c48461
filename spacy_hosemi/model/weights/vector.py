"""All trained weights as one vector: the matrix, then patterns and lengths, and in a
fit with frozen vectors the weights of these.

Of the weights of patterns and lengths, those that are not finite are not trained and
not in the vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Bools, Floats
from ...core import PatternAutomaton
from ...errors import Errors
from ..tok2vec import UNIT
from .packing import to_single
from .penalty_groups import PENALTY_GROUPS
from .state import WeightState


def is_learnt(state: WeightState) -> Bools:
    """Returns which weights of patterns and lengths are trained [M + L * D]."""
    lengths = np.isfinite(state.length) & state.learn_length
    return np.concatenate([np.isfinite(state.pattern), lengths.ravel()])


def as_vector(state: WeightState) -> Floats:
    """Returns the weights in a new array [N]."""
    of_vectors = np.zeros(0) if state.of_vectors is None else state.of_vectors.matrix
    of_dense = dense(state)[is_learnt(state)]
    return np.concatenate([state.matrix.ravel(), of_dense, of_vectors.ravel()])


def size_of_vectors(state: WeightState) -> int:
    """Returns how many weights frozen vectors have: the last ones."""
    return 0 if state.of_vectors is None else state.of_vectors.matrix.size


def with_vector(
    state: WeightState, vector: Floats, *, copy: bool = True
) -> WeightState:
    """Inverts `as_vector`; without a copy the weights of features are a view of the
    vector. Raises ValueError HS055 if it has another length."""
    size = state.matrix.size
    end = size + int(is_learnt(state).sum())
    expected = end + size_of_vectors(state)
    if vector.shape != (expected,):
        raise ValueError(Errors.HS055.format(found=vector.shape, expected=expected))
    matrix = vector[:size].reshape(state.matrix.shape)
    if copy:
        matrix = matrix.copy()
    state = replace(state, of_features=matrix, is_trained=True)
    if (of_vectors := state.of_vectors) is not None:
        matrix = vector[end:].reshape(of_vectors.matrix.shape)
        of_vectors = replace(of_vectors, matrix=matrix.copy() if copy else matrix)
        state = replace(state, of_vectors=of_vectors)
    return with_learnt(state, vector[size:end])


def with_learnt(state: WeightState, values: Floats) -> WeightState:
    """Returns a state with other weights of patterns and lengths, as `as_vector` has
    them behind those of features."""
    learnt = is_learnt(state)
    all_values = np.zeros(len(learnt))
    all_values[learnt] = values
    return with_dense(state, all_values)


def rounded(state: WeightState) -> WeightState:
    """Returns a state with the weights that a saved model will have."""
    of_vectors = state.of_vectors
    if of_vectors is not None:
        of_vectors = replace(of_vectors, matrix=to_single(of_vectors.matrix))
    return replace(
        state,
        of_vectors=of_vectors,
        of_features=to_single(state.matrix),
        pattern=to_single(state.pattern),
        length=to_single(state.length),
        tail=to_single(state.tail),
    )


def without_least(state: WeightState, share: float) -> WeightState:
    """Returns a state whose weights of features are 0 where they are nearest to it: as
    many as have this share of the sum of their squares, at most."""
    size = np.abs(state.matrix)
    sizes = np.sort(size, axis=None)
    squares = np.cumsum(sizes**2)
    n_least = squares.searchsorted(share * squares.max(initial=0.0), side="right")
    below = sizes[:n_least].max(initial=0.0)
    return replace(state, of_features=np.where(size > below, state.matrix, 0.0))


def dense(state: WeightState) -> Floats:
    """Returns the weights of patterns and lengths [M + L * D], 0 where none is
    trained."""
    values = np.concatenate([state.pattern, state.length.ravel()])
    return np.where(is_learnt(state), values, 0.0)


def with_dense(state: WeightState, values: Floats) -> WeightState:
    """Inverts `dense`."""
    split = len(state.pattern)
    pattern = np.where(np.isfinite(state.pattern), values[:split], state.pattern)
    if not state.learn_length:
        return replace(state, pattern=pattern)
    length = values[split:].reshape(state.length.shape)
    length = np.where(np.isfinite(state.length), length, state.length)
    return replace(state, pattern=pattern, length=length)


def dense_values(state: WeightState, values: Mapping[str, float]) -> Floats:
    """Returns for each weight of `dense` the value of its penalty group."""
    sizes = [state.pattern.size, state.length.size]
    return np.repeat([values["pattern"], values["length"]], sizes)


def row_values(state: WeightState, values: Mapping[str, float]) -> Floats:
    """Returns for each feature the value of its penalty group [R]."""
    return np.array([values[group] for group in PENALTY_GROUPS])[state.group]


def by_slot(state: WeightState, of_row: NDArray[Any]) -> NDArray[Any]:
    """Returns one value for each row of `matrix`, from one for each feature."""
    return of_row if state.pairs is None else of_row.repeat(state.pairs.sizes)


def by_weight(state: WeightState, of_row: NDArray[Any]) -> NDArray[Any]:
    """Returns one value for each weight of `matrix`, from one for each feature."""
    return by_slot(state, of_row).repeat(state.matrix.shape[1])


def vector_values(state: WeightState, values: Mapping[str, float]) -> Floats:
    """Returns for each weight the value of its penalty group [N], those of vectors by
    standard deviation."""
    rows = by_weight(state, row_values(state, values))
    of_vectors = np.full(size_of_vectors(state), values["encoder"] / UNIT**2)
    of_dense = dense_values(state, values)[is_learnt(state)]
    return np.concatenate([rows, of_dense, of_vectors])


def of_long_patterns(state: WeightState, automaton: PatternAutomaton) -> Bools:
    """Returns which weights [N] belong to label patterns of three or more names, or to
    features of such patterns: `core.viterbi` is faster where none of them is negative.
    The automaton has the same patterns."""
    is_long = np.zeros(state.matrix.size, bool)
    if state.pairs is not None:
        of_column = [False] * len(state.tail)
        of_column += [len(z) > 2 for z in automaton.observed]
        is_long = np.array(of_column, bool)[state.pairs.columns]
    of_length = np.zeros(state.length.size, bool)
    of_dense = np.concatenate([automaton.pattern_length > 2, of_length])
    of_vectors = np.zeros(size_of_vectors(state), bool)
    return np.concatenate([is_long, of_dense[is_learnt(state)], of_vectors])


def empty_gradient(state: WeightState) -> tuple[Floats, Floats]:
    """Returns zeros in the order of `as_vector`, and a view of their part that has the
    shape of `matrix`."""
    size = state.matrix.size
    vector = np.zeros(size + int(is_learnt(state).sum()) + size_of_vectors(state))
    return vector, vector[:size].reshape(state.matrix.shape)


def write_dense_gradient(
    state: WeightState, vector: Floats, pattern: Floats, length: Floats
) -> None:
    """Writes derivatives by patterns and lengths into an `empty_gradient`."""
    derivatives = np.concatenate([pattern, length.ravel()])[is_learnt(state)]
    begin = state.matrix.size
    vector[begin : begin + len(derivatives)] = derivatives
