"""Features of the first token of a segment that speak for label patterns.

A feature in the role transition has weights in the columns of *observed* patterns, the
label patterns that are seen in training: one counts where a segment that starts at the
token completes the pattern. Features times patterns are many, so there are weights only
for the pairs that occur in the gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .core import ENTRIES, PatternAutomaton
from .core.potentials import ROLES
from .features import Extractor
from .segmentation import Gold

ROLE = "transition"

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class PlaceRows:
    """Known features in the role transition: the token and the row."""

    position: Ints
    row: Ints


_NOTHING = np.zeros(0, np.int32)
NO_PLACES = PlaceRows(_NOTHING, _NOTHING)


def place_rows(first: Ints, rows: Ints) -> PlaceRows:
    """From rows[first[i]:first[i + 1]] of token i."""
    tokens = np.arange(len(first) - 1, dtype=np.int32)
    return PlaceRows(np.repeat(tokens, np.diff(first)), rows)


def make_entries(
    position: Ints, column: Ints, score: NDArray[np.float64]
) -> NDArray[Any]:
    """RETURNS (ENTRIES): These scores, at the start of segments."""
    entries = np.empty(len(score), ENTRIES)
    entries["position"], entries["column"], entries["score"] = position, column, score
    entries["role"] = ROLES.index("start")
    return entries


def mine_transitions(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    keys: Keys,
    automaton: PatternAutomaton,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Features in the role transition, and pairs (row, column) that occur in the gold.

    keys (uint64 [R]): Sorted; all that the documents have.
    automaton (PatternAutomaton): C columns.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether a row is one of theirs; row * C +
        column, ascending. Documents of which some is not known have no pairs.
    """
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    is_theirs = np.zeros(len(keys), bool)
    found = [np.zeros(0, np.int64)]
    for doc, gold in zip(docs, golds):
        read = extractor.read(doc, is_train=True).keys[ROLE]
        rows = np.searchsorted(keys, read)
        is_theirs[rows[read != 0]] = True
        if gold.segments is None:
            continue
        columns = automaton.columns_read([y for _, _, y in gold.segments])
        for (start, _, _), of_segment in zip(gold.segments, columns):
            fired = rows[start, read[start] != 0].astype(np.int64)
            observed = np.array([c for c in of_segment if c >= n_labels], np.int64)
            found.append((fired[:, None] * n_columns + observed).ravel())
    return is_theirs, np.unique(np.concatenate(found))
