"""Checks of arguments that are no arrays."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..errors import Errors
from ..values import shown as shown  # for all of core

# Threads of one call: more only wait for each other.
MOST_THREADS = 1024

# Segments that one call returns: one to two gigabytes.
MOST_SEGMENTS = 10_000_000


def _refusal(message: str, name: str, value: object, expected: object) -> str:
    return message.format(name=name, found=shown(value), expected=expected)


def is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_flag(name: str, value: object) -> None:
    """RAISES (TypeError): HS026 neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(_refusal(Errors.HS026, name, value, "True or False"))


def check_whole(
    name: str, value: object, low: int, high: int, message: str = Errors.HS026
) -> int:
    """Returns an int. Raises HS026, or `message`, unless it is from low to high."""
    if is_whole(value) and low <= value <= high:  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload]
    kind = ValueError if is_whole(value) else TypeError
    expected = f"a whole number from {low:,} to {high:,}"
    raise kind(_refusal(message, name, value, expected))


def check_number(
    name: str, value: object, low: float, high: float, message: str = Errors.HS026
) -> float:
    """Returns a float. Raises HS026, or `message`, unless it is from low to high."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and low <= value <= high:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    kind = ValueError if is_number else TypeError
    raise kind(_refusal(message, name, value, f"a number from {low:g} to {high:g}"))


def check_word(name: str, value: object, expected: Sequence[str]) -> str:
    """RAISES (ValueError): HS023 not one of those expected."""
    if not isinstance(value, str) or value not in expected:
        raise ValueError(_refusal(Errors.HS023, name, value, expected))
    return value


def check_kind(name: str, value: object, kind: type[Any]) -> None:
    """RAISES (TypeError): HS019 an object of another class."""
    if not isinstance(value, kind):
        found = f"{shown(value)}, of type {type(value).__name__}"
        message = Errors.HS019.format(name=name, found=found, expected=kind.__name__)
        raise TypeError(message)


def check_list(name: str, value: object, expected: str) -> list[Any]:
    """RAISES (TypeError): HS019 nothing that can be iterated, or a string."""
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return list(value)  # type: ignore[call-overload]
        except TypeError:
            pass
    raise TypeError(_refusal(Errors.HS019, name, value, expected))
