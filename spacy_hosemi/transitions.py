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
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .core import ENTRIES, PatternAutomaton
from .core.potentials import ROLES
from .features import TRANSITION_ROLES, Extractor
from .segmentation import Gold

# How entries are read that stand for the features of each role.
_READ_AS = dict(zip(TRANSITION_ROLES, (ROLES.index("start"), ROLES.index("inside"))))

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class PlaceRows:
    """Known features that speak for label patterns.

    position, row (int32 [K]): The token and the row of each.
    role (uint8 [K]): That of its entries: the number of start or inside.
    """

    position: Ints
    row: Ints
    role: NDArray[np.uint8]


_NOTHING = np.zeros(0, np.int32)
NO_PLACES = PlaceRows(_NOTHING, _NOTHING, np.zeros(0, np.uint8))


def place_rows(found: Mapping[str, tuple[Ints, Ints]]) -> PlaceRows:
    """RETURNS (PlaceRows): From first and rows of each role: rows[first[i]:
    first[i + 1]] of token i."""
    parts = [
        (
            np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first)),
            rows,
            np.full(len(rows), _READ_AS[role], np.uint8),
        )
        for role, (first, rows) in found.items()
    ]
    return PlaceRows(*map(np.concatenate, zip(*parts))) if parts else NO_PLACES


def make_entries(
    places: PlaceRows, which: Ints, column: Ints, score: NDArray[np.float64]
) -> NDArray[Any]:
    """Scores in columns of label patterns.

    places (PlaceRows): K features.
    which (int32 [N]): Of which of them each score is.
    column (int32 [N]), score (float64 [N]): What it adds, and where.
    RETURNS (ENTRIES): N.
    """
    entries = np.empty(len(score), ENTRIES)
    entries["position"], entries["role"] = places.position[which], places.role[which]
    entries["column"], entries["score"] = column, score
    return entries


def mine_transitions(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    keys: Keys,
    automaton: PatternAutomaton,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Features that speak for label patterns, and pairs (row, column) that occur in the
    gold.

    keys (uint64 [R]): Sorted; all that the documents have.
    automaton (PatternAutomaton): C columns.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether a row is one of theirs; row * C +
        column, ascending. Documents of which some is not known have no pairs.
    """
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    is_theirs = np.zeros(len(keys), bool)
    found = [np.zeros(0, np.int64)]
    for doc, gold in zip(docs, golds):
        reading = extractor.read(doc, is_train=True)
        columns = []
        if gold.segments is not None:
            columns = automaton.columns_read([y for _, _, y in gold.segments])
        for role in extractor.features.transition_roles:
            read = reading.keys[role]
            rows = np.searchsorted(keys, read)
            is_theirs[rows[read != 0]] = True
            for (start, end, _), of_segment in zip(gold.segments or (), columns):
                at = slice(start, start + 1 if role == "transition" else end)
                fired = np.unique(rows[at][read[at] != 0]).astype(np.int64)
                observed = np.array([c for c in of_segment if c >= n_labels], np.int64)
                found.append((fired[:, None] * n_columns + observed).ravel())
    return is_theirs, np.unique(np.concatenate(found))
