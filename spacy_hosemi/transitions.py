"""Features of tokens that speak for label patterns.

They have weights in the columns of *observed* patterns, the label patterns that are
seen in training: one counts where the segment that reads it completes the pattern. In
the role transition the first token of the segment is read, in the role
transition_inside each of them. Features times patterns are many, so there are weights
only for the pairs that occur in the gold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .core import PatternAutomaton
from .core.potentials import ROLES
from .core.rows import RowTable
from .features import TRANSITION_ROLES
from .segmentation import Gold

FIRST, EACH = TRANSITION_ROLES
# What the entries of each role add to.
_ADDS_TO = {FIRST: ROLES.index("start"), EACH: ROLES.index("inside")}

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class PlaceRows:
    """Known features that speak for label patterns, token by token.

    position, row (int32 [K]): The token and the row of each.
    role (uint8 [K]): That of its entries.
    """

    position: Ints
    row: Ints
    role: NDArray[np.uint8]


_NOTHING = np.zeros(0, np.int32)
NO_PLACES = PlaceRows(_NOTHING, _NOTHING, np.zeros(0, np.uint8))


def place_rows(found: Mapping[str, tuple[Ints, Ints]]) -> PlaceRows:
    """Those of a document.

    found (Dict[str, Tuple[int32 [n + 1], int32 [K]]]): Of each role first and row:
        those of token i are row[first[i]:first[i + 1]].
    RETURNS (PlaceRows): Of all roles.
    """
    parts = [
        (
            np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first)),
            rows,
            np.full(len(rows), _ADDS_TO[role], np.uint8),
        )
        for role, (first, rows) in found.items()
    ]
    if len(parts) < 2:
        return PlaceRows(*parts[0]) if parts else NO_PLACES
    joined = [*map(np.concatenate, zip(*parts))]
    order = np.argsort(joined[0], kind="stable")
    return PlaceRows(*(of_places[order] for of_places in joined))


def mine_transitions(
    read: Mapping[str, Keys],
    golds: Sequence[Gold],
    sizes: Sequence[int],
    table: RowTable,
    automaton: PatternAutomaton,
    min_count: int = 1,
    max_patterns: int | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Features that speak for label patterns, and pairs (row, column) that occur in the
    gold.

    read (Dict[str, uint64 [n, T]]): By role, of documents one behind the other.
    golds (Sequence[Gold]), sizes (Sequence[int]): Of each document, and its tokens.
    table (RowTable): All R that the documents have.
    automaton (PatternAutomaton): C columns.
    min_count (int): How often a pair must occur.
    max_patterns (Optional[int]): Keep the most frequent of each row, of equals the
        shorter ones, then those of the first labels.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether a row is one of theirs; row * C +
        column, ascending. Documents of which some is not known have no pairs.
    """
    n_columns = automaton.n_columns
    is_theirs = np.zeros(len(table), bool)
    found = [np.zeros(0, np.int64)]
    start, size, column = _observed(golds, sizes, automaton)
    for role, keys in read.items():
        rows = table.find(keys.ravel()).reshape(keys.shape).astype(np.int64)
        is_theirs[rows[rows >= 0]] = True
        n_read = np.ones_like(size) if role == FIRST else size
        at = start.repeat(n_read) + _within(n_read)
        columns = column.repeat(n_read)[:, None]
        found.append((rows[at] * n_columns + columns)[rows[at] >= 0])
    pairs, counts = np.unique(np.concatenate(found), return_counts=True)
    is_kept = counts >= min_count
    if max_patterns is not None:
        is_kept &= _ranks(pairs // n_columns, counts) < max_patterns
    return is_theirs, pairs[is_kept]


def _ranks(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same row, ascending, have a higher count, or come first."""
    order = np.lexsort((-counts, rows))
    _, sizes = np.unique(rows, return_counts=True)
    ranks = np.empty_like(rows)
    ranks[order] = _within(sizes)
    return ranks


def _observed(
    golds: Sequence[Gold], sizes: Sequence[int], automaton: PatternAutomaton
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Where observed patterns are complete in documents that are known.

    RETURNS (Tuple[intp [N], intp [N], int64 [N]]): Start and size of a segment, in
        tokens of documents that stand one behind the other; the column of a pattern
        that it completes.
    """
    known = [gold.segments or [] for gold in golds]
    n_segments = np.fromiter(map(len, known), np.intp, len(known))
    first = np.concatenate([[0], np.cumsum(n_segments)])
    flat = np.fromiter(
        chain.from_iterable(chain.from_iterable(known)), np.int32, 3 * first[-1]
    )
    start, end, label = flat.reshape(-1, 3).T
    segment, column = automaton.observed_read(label, first)
    before = (np.cumsum(sizes) - sizes).repeat(n_segments)
    return (before + start)[segment], (end - start)[segment], column


def _within(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """0, 1, .. size - 1 for each size."""
    return np.arange(sizes.sum()) - (np.cumsum(sizes) - sizes).repeat(sizes)
