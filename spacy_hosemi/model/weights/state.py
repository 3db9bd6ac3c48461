"""The weights of a sparse linear model, as data.

    inside[i, y] = sum of weight[row, y] over the rows of features active at token i
    start, end   : likewise, in their roles
    entries      : weights of transition features, for label patterns

Features in the role "within" count at all tokens of a segment but the first: they are
added to `inside` and subtracted from `start`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...features import Extractor
from ...features.kernels.key_table import RowTable
from ..cached import Cached
from .families import TRANSITIONS, families_of
from .names import Names
from .pairs import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class WeightState(Cached):
    """R features and their weights, for L labels and M label patterns.

    Training replaces a state by another one. It changes arrays in place only until a
    prediction has seen them; from then on they are read-only, see `freeze`.

    extractor (Extractor): Reads features from documents.
    table (RowTable): The row of each feature key.
    names (Names): "role:TEMPLATE=value" of each feature.
    family (uint8 [R]): Of each feature, an index of `FAMILIES`.
    counts (int64 [R]): Training documents in which each feature occurs.
    n_docs (int): Training documents.
    pairs (Optional[Pairs]): Which (row, column) pairs have a weight; None: all.
    of_features (float64 or float32 [R, L]): Weights of features; with `pairs` [N, 1].
        Single precision where they were saved: the file may be mapped, so that all
        processes share it.
    pattern (float64 [M]): Weights of label patterns; -inf: forbidden, never trained.
    length (float64 [L, D]): Weights of lengths up to D.
    tail (float64 [L]): Weight of each further token; fixed.
    learn_length (bool): Whether `length` is trained.
    n_observed (int): Columns of `pairs` beyond L, which only transitions have.
    is_trained (bool): Whether any weight was ever trained or set.
    grows (bool): Whether updates may add features.
    n_whole (int): The first rows that have all L weights in order, if all other rows
        are those of transitions; else 0. Only with `pairs`.
    """

    extractor: Extractor
    table: RowTable
    names: Names
    family: NDArray[np.uint8]
    counts: NDArray[np.int64]
    n_docs: int
    pairs: Pairs | None
    of_features: Floats | NDArray[np.float32]
    pattern: Floats
    length: Floats
    tail: Floats
    learn_length: bool = False
    n_observed: int = 0
    is_trained: bool = False
    grows: bool = True
    n_whole: int = 0

    @property
    def matrix(self) -> Floats:
        """RETURNS (float64): `of_features`; where these are in single precision, a
        read-only copy, which is made once."""
        found: Any = self.of_features
        return found if found.dtype == np.float64 else self.cached(_in_doubles)

    def matrix_rows(self, rows: Ints) -> Ints:
        """RETURNS (int32): Which rows of `matrix` have the weights of these features,
        in their order."""
        return rows if self.pairs is None else self.pairs.slots(rows)

    def slots(self, rows: Ints) -> tuple[Ints, Ints, NDArray[np.int64]]:
        """RETURNS (Tuple[int32, int32, int64]): For each weight of some rows the index
        of the row in `rows`, its column, and its place in `matrix.ravel()`."""
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
        """RETURNS (float64 [K]): The weight of each of some features in a column, as a
        saved model has it; 0 where there is none.

        rows (int32 [K]), columns (int32 [K]): The features, and a column of each; -1:
            none.
        """
        found, weights = np.zeros(len(rows)), self.of_features.reshape(-1)
        feature, column, place = self.slots(rows)
        is_asked = column == columns[feature]
        found[feature[is_asked]] = weights[place[is_asked]].astype(np.float32)
        return found


def _in_doubles(state: WeightState) -> Floats:
    found = state.of_features.astype(np.float64)
    found.setflags(write=False)
    return found


def empty_state(extractor: Extractor) -> WeightState:
    """RETURNS (WeightState): Without features and labels."""
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
    pairs: Pairs | None,
    n_labels: int,
    family: NDArray[np.uint8] | None = None,
) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): The fields of a `WeightState` that follow from the
    features and their pairs.

    family (Optional[uint8 [R]]): Of each feature; by default the names say it.
    """
    if family is None:
        family = families_of(names)
    return {
        "table": RowTable(np.asarray(keys, np.uint64)),
        "names": names,
        "family": family,
        "pairs": pairs,
        "n_whole": n_whole_rows(pairs, n_labels, family),
    }


def n_whole_rows(pairs: Pairs | None, n_labels: int, family: NDArray[np.uint8]) -> int:
    """RETURNS (int): See `WeightState.n_whole`."""
    n_whole = 0 if pairs is None else pairs.n_whole(n_labels)
    return n_whole if (family[n_whole:] == TRANSITIONS).all() else 0


def freeze(state: WeightState) -> WeightState:
    """RETURNS (WeightState): The same, with read-only arrays."""
    arrays: list[NDArray[Any]] = [state.of_features, state.pattern, state.length]
    arrays += [state.tail, state.counts, state.family]
    if state.pairs is not None:
        arrays += [state.pairs.first, state.pairs.columns]
    for array in arrays:
        array.setflags(write=False)
    return state
