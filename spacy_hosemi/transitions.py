"""Features of tokens that speak for label patterns.

They have weights in the columns of *observed* patterns, the label patterns that are
seen in training: one counts where the segment that reads it completes the pattern. In
the role transition the first token of the segment is read, in the role
transition_inside each of them. Features times patterns are many, so there are weights
only for the pairs that occur in the gold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
Slots = Callable[[Ints], tuple[Ints, Ints, NDArray[np.int64]]]


@dataclass(frozen=True)
class Places:
    """Known features that speak for label patterns, and their weights.

    row (int32 [K]): The row of each.
    entries (ENTRIES [N]): What their weights are added to; scores are 0.
    slot (int64 [N]): Where the weight of each entry is.
    """

    row: Ints
    entries: NDArray[Any]
    slot: NDArray[np.int64]

    def with_weights(self, weights: NDArray[np.float64]) -> NDArray[Any]:
        """RETURNS (ENTRIES [N]): A copy with these scores."""
        entries = self.entries.copy()
        entries["score"] = weights[self.slot]
        return entries


NO_PLACES = Places(np.zeros(0, np.int32), np.zeros(0, ENTRIES), np.zeros(0, np.int64))


def find_places(found: Mapping[str, tuple[Ints, Ints]], slots: Slots) -> Places:
    """Features of a document that speak for label patterns.

    found (Dict[str, Tuple[int32 [n + 1], int32 [K]]]): Of each role first and row:
        those of token i are row[first[i]:first[i + 1]].
    slots (Callable): Rows -> for each of their weights which of the rows it is of, its
        column, and where it is.
    RETURNS (Places): Those of all roles.
    """
    if not found:
        return NO_PLACES
    sizes = [len(row) for _, row in found.values()]
    row = np.concatenate([row for _, row in found.values()])
    position = np.concatenate(
        [np.arange(len(x) - 1).repeat(np.diff(x)) for x, _ in found.values()]
    )
    which, column, slot = slots(row)
    entries = np.zeros(len(slot), ENTRIES)
    entries["position"], entries["column"] = position[which], column
    entries["role"] = np.repeat([_READ_AS[role] for role in found], sizes)[which]
    return Places(row, entries, slot)


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
