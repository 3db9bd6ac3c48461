"""Penalty groups: weights that may have a penalty, or a rate, of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ...features import ROLES, TRANSITION_ROLES

# Both roles of transitions are one group.
_OF_ROLE = dict(zip(ROLES, ROLES)) | dict.fromkeys(TRANSITION_ROLES, "transition")
PENALTY_GROUPS = (*dict.fromkeys(_OF_ROLE.values()), "pattern", "length", "encoder")
TRANSITIONS = PENALTY_GROUPS.index("transition")


def by_penalty_group(
    name: str, value: float | Mapping[str, float], default: float = 0.0
) -> dict[str, float]:
    """Returns one value for each group, the default for those that the setting `name`
    leaves out. Raises ValueError HS054 if a group is unknown."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(PENALTY_GROUPS, float(value))
    for group in value:
        if group not in PENALTY_GROUPS:
            args = {"name": name, "found": group, "expected": PENALTY_GROUPS}
            raise ValueError(Errors.HS054.format(**args))
    return {group: float(value.get(group, default)) for group in PENALTY_GROUPS}


def penalty_groups_of(names: Iterable[str]) -> NDArray[np.uint8]:
    """Returns the group of each feature, as an index of `PENALTY_GROUPS`."""
    index = {role: PENALTY_GROUPS.index(group) for role, group in _OF_ROLE.items()}
    return np.array([index[name.split(":", 1)[0]] for name in names], np.uint8)
