"""The weights of a sparse linear model, as data.

    inside[i, y] = sum of weight[row, y] over the rows of features active at token i
    start, end   : likewise, in their roles
    entries      : weights of transition features, for label patterns

Features in the role "within" count at all tokens of a segment but the first: they are
added to `inside` and subtracted from `start`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import Counts, Floats, Ints, Keys
from ...features import Extractor
from ...features.kernels.key_table import RowTable
from ..tok2vec import VectorWeights
from .packing import Names
from .pairs import WeightPairs
from .penalty_groups import TRANSITIONS, penalty_groups_of

T = TypeVar("T")

# One lock for all objects, because a lock in an object could not be pickled.
_COMPUTING = RLock()


@dataclass(frozen=True, eq=False)
class Cached:
    """Computes what follows from a frozen object once for all threads."""

    _results: dict[Callable[[Any], Any], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    def cached(self, make: Callable[[Any], T]) -> T:
        """Returns what a function of a module returns for this object. The first thread
        that asks computes it, others wait."""
        if make not in self._results:
            with _COMPUTING:
                if make not in self._results:
                    self._results[make] = make(self)
        result: T = self._results[make]
        return result


@dataclass(frozen=True, eq=False)
class WeightState(Cached):
    """R features and their weights, for L labels and M label patterns.

    Training replaces a state by another one. It changes arrays in place only until a
    prediction has seen them; from then on they are read-only, see `freeze`.
    """

    extractor: Extractor
    table: RowTable  # the row of each feature key
    names: Names  # "role:TEMPLATE=value" of each feature
    group: NDArray[np.uint8]  # [R], an index of `PENALTY_GROUPS`
    counts: Counts  # [R], training documents in which each feature occurs
    n_docs: int  # training documents
    pairs: WeightPairs | None  # which (row, column) pairs have a weight; None: all
    # [R, L], with `pairs` [N, 1]. Single precision where they were saved: the file may
    # be mapped, so that all processes share it.
    of_features: Floats | NDArray[np.float32]
    pattern: Floats  # [M]; -inf: forbidden, never trained
    length: Floats  # [L, D], of lengths up to D
    tail: Floats  # [L], of each further token; fixed
    learn_length: bool = False  # whether `length` is trained
    n_observed: int = 0  # columns of `pairs` beyond L, which only transitions have
    is_trained: bool = False  # whether any weight was ever trained or set
    grows: bool = True  # whether updates may add features
    # The first rows that have all L weights in order, if all other rows are those of
    # transitions; else 0. Only with `pairs`.
    n_whole: int = 0
    of_vectors: VectorWeights | None = None  # while a fit finds them; in no file

    @property
    def matrix(self) -> Floats:
        """`of_features` in double precision; where it is in single, a read-only copy,
        which is made once."""
        weights: Any = self.of_features
        return weights if weights.dtype == np.float64 else self.cached(_in_doubles)

    def matrix_rows(self, rows: Ints) -> Ints:
        """Returns the rows of `matrix` with the weights of these features, in their
        order."""
        return rows if self.pairs is None else self.pairs.slots(rows)

    def slots(self, rows: Ints) -> tuple[Ints, Ints, Counts]:
        """Returns for each weight of some rows the index of the row in `rows`, its
        column, and its place in `matrix.ravel()`."""
        index = np.arange(len(rows), dtype=np.int32)
        if self.pairs is None:
            n_columns = self.of_features.shape[1]
            feature = np.repeat(index, n_columns)
            column = np.tile(np.arange(n_columns, dtype=np.int32), len(rows))
            return feature, column, rows[feature].astype(np.int64) * n_columns + column
        slot = self.pairs.slots(rows).astype(np.int64)
        feature = np.repeat(index, self.pairs.sizes_of(rows))
        return feature, self.pairs.columns[slot], slot

    def weights_at(self, rows: Ints, columns: Ints) -> Floats:
        """Returns the weight of each of K features in a column of its own, as a saved
        model has it; 0 where there is none, and where the column is -1."""
        values, weights = np.zeros(len(rows)), self.of_features.reshape(-1)
        feature, column, place = self.slots(rows)
        is_wanted = column == columns[feature]
        values[feature[is_wanted]] = weights[place[is_wanted]].astype(np.float32)
        return values


def _in_doubles(state: WeightState) -> Floats:
    weights = state.of_features.astype(np.float64)
    weights.setflags(write=False)
    return weights


def empty_state(extractor: Extractor) -> WeightState:
    """Returns a state without features and labels."""
    return WeightState(
        extractor=extractor,
        **with_rows(np.zeros(0, np.uint64), Names([]), None, 0),
        counts=np.zeros(0, np.int64),
        n_docs=1,
        of_features=np.zeros((0, 0)),
        pattern=np.zeros(0),
        length=np.zeros((0, 1)),
        tail=np.zeros(0),
    )


def with_rows(
    keys: Keys,
    names: Names,
    pairs: WeightPairs | None,
    n_labels: int,
    group: NDArray[np.uint8] | None = None,
) -> dict[str, Any]:
    """Returns the fields table, names, group, pairs and n_whole of a `WeightState`. If
    `group` is None, it follows from the names."""
    if group is None:
        group = penalty_groups_of(names)
    return {
        "table": RowTable(np.asarray(keys, np.uint64)),
        "names": names,
        "group": group,
        "pairs": pairs,
        "n_whole": n_whole_rows(pairs, n_labels, group),
    }


def n_whole_rows(
    pairs: WeightPairs | None, n_labels: int, group: NDArray[np.uint8]
) -> int:
    """Returns `WeightState.n_whole`."""
    n_whole = 0 if pairs is None else pairs.n_whole(n_labels)
    return n_whole if (group[n_whole:] == TRANSITIONS).all() else 0


def freeze(state: WeightState) -> WeightState:
    """Makes the arrays of a state read-only; returns it."""
    arrays: list[NDArray[Any]] = [state.of_features, state.pattern, state.length]
    arrays += [state.tail, state.counts, state.group]
    if state.pairs is not None:
        arrays += [state.pairs.first, state.pairs.columns]
    if state.of_vectors is not None:
        arrays.append(state.of_vectors.matrix)
    for array in arrays:
        array.setflags(write=False)
    return state
