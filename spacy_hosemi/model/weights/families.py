"""Families of weights: what each may be penalised for of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ...features import ROLES, TRANSITION_ROLES

# What a regularisation weight may be given for: one for both roles of transitions.
_FAMILY = {role: role for role in ROLES} | dict.fromkeys(TRANSITION_ROLES, "transition")
FAMILIES = (*dict.fromkeys(_FAMILY.values()), "pattern", "length")
TRANSITIONS = FAMILIES.index("transition")


def family_values(
    name: str, value: float | Mapping[str, float], default: float = 0.0
) -> dict[str, float]:
    """One value for each family; the default for those that are not named.

    RAISES (ValueError): HS054 if a family is unknown.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(FAMILIES, float(value))
    for family in value:
        if family not in FAMILIES:
            raise ValueError(
                Errors.HS054.format(name=name, found=family, expected=FAMILIES)
            )
    return {family: float(value.get(family, default)) for family in FAMILIES}


def families_of(names: Iterable[str]) -> NDArray[np.uint8]:
    """The family of each feature."""
    index = {role: FAMILIES.index(family) for role, family in _FAMILY.items()}
    return np.array([index[name.split(":", 1)[0]] for name in names], np.uint8)
