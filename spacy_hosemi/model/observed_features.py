"""Features of tokens that speak for label patterns.

They have weights in the columns of *observed* patterns, the label patterns that are
seen in training: one counts where the segment that reads it completes the pattern. In
the role transition the first token of the segment is read, in the role
transition_inside each of them. Features times patterns are many, so there are weights
only for the pairs that occur in the gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.potentials import ROLES
from ..features import TRANSITION_ROLES

FIRST, EACH = TRANSITION_ROLES
# What the entries of each role add to.
ADDS_TO = {FIRST: ROLES.index("start"), EACH: ROLES.index("inside")}

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
            np.full(len(rows), ADDS_TO[role], np.uint8),
        )
        for role, (first, rows) in found.items()
    ]
    if len(parts) < 2:
        return PlaceRows(*parts[0]) if parts else NO_PLACES
    joined = [*map(np.concatenate, zip(*parts))]
    order = np.argsort(joined[0], kind="stable")
    return PlaceRows(*(of_places[order] for of_places in joined))
