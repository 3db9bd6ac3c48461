"""Kinds of values that settings have, and the one check of all settings.

Every block of the config is checked by `read`: the settings of the component and those
of features, lists, tables, hierarchy, objective and fits. A kind says in words what it
expects; messages and the reference of the config are made of these words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from .errors import Errors

# A repr in a message is cut after this many characters.
_MAX_SHOWN = 200

# No count that a computer can reach is larger.
MANY = 10**9


class Unfit(Exception):
    """The value is not of the kind."""


class Kind(Protocol):
    """What a setting may be.

    type (str): The type in the reference of the config.
    expected (str): The values in words.
    """

    @property
    def type(self) -> str: ...

    @property
    def expected(self) -> str: ...

    def read(self, found: Any) -> Any:
        """RETURNS (Any): The value, as a plain number, text, tuple or dict.
        RAISES (Unfit): It is not of this kind."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    @property
    def type(self) -> str:
        """See `Kind`."""
        return "str" if isinstance(self.values[0], str) else "int"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        return "one of " + ", ".join(_quoted(value) for value in self.values)

    def read(self, found: Any) -> Any:
        """See `Kind`; True is not the value 1."""
        for value in self.values:
            if type(found) is type(value) and found == value:
                return value
        raise Unfit


@dataclass(frozen=True)
class Flag:
    """True or false."""

    type = "bool"
    expected = "true or false"

    def read(self, found: Any) -> bool:
        """See `Kind`."""
        if not isinstance(found, bool):
            raise Unfit
        return found


@dataclass(frozen=True)
class Whole:
    """A whole number; neither 1.0 nor "1" is one."""

    least: int = 0
    most: int = MANY

    type = "int"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        return f"a whole number from {self.least} to {self.most}"

    def read(self, found: Any) -> int:
        """See `Kind`."""
        is_whole = isinstance(found, Integral) and not isinstance(found, bool)
        if not is_whole or not self.least <= found <= self.most:
            raise Unfit
        return int(found)


@dataclass(frozen=True)
class Number:
    """A finite number, from `least` (or `above`) to `most` (or `below`)."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    type = "float"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        if self.least is not None and self.most is not None:
            return f"a number from {self.least:g} to {self.most:g}"
        parts = [
            f"{word} {limit:g}"
            for word, limit in (
                ("at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if limit is not None
        ]
        return " ".join(["a number", " and ".join(parts)]).strip()

    def read(self, found: Any) -> float:
        """See `Kind`."""
        if not isinstance(found, Real) or isinstance(found, bool):
            raise Unfit
        try:
            number = float(found)
        except OverflowError:
            raise Unfit from None
        is_within = (
            math.isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )
        if not is_within:
            raise Unfit
        return number


@dataclass(frozen=True)
class Text:
    """Text that is not empty, and that UTF-8 can encode: files are written in it."""

    type = "str"
    expected = "text that is not empty"

    def read(self, found: Any) -> str:
        """See `Kind`."""
        if not isinstance(found, str) or not found:
            raise Unfit
        try:
            found.encode("utf8")
        except UnicodeEncodeError:
            raise Unfit from None
        return found


@dataclass(frozen=True)
class ListOf:
    """A list of values of one kind."""

    kind: Kind

    @property
    def type(self) -> str:
        """See `Kind`."""
        return f"List[{self.kind.type}]"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        return f"a list, and in it {self.kind.expected}"

    def read(self, found: Any) -> tuple[Any, ...]:
        """See `Kind`."""
        if not isinstance(found, (list, tuple)):
            raise Unfit
        return tuple(self.kind.read(one) for one in found)


@dataclass(frozen=True)
class ByName:
    """One value for all names, or a block with one for some of them."""

    kind: Kind

    @property
    def type(self) -> str:
        """See `Kind`."""
        return f"Union[{self.kind.type}, Dict[str, {self.kind.type}]]"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        return f"{self.kind.expected}, or a block with one for each of some names"

    def read(self, found: Any) -> Any:
        """See `Kind`."""
        if not isinstance(found, Mapping):
            return self.kind.read(found)
        if not all(isinstance(name, str) for name in found):
            raise Unfit
        return {name: self.kind.read(one) for name, one in found.items()}


@dataclass(frozen=True)
class OrNull:
    """A value of a kind, or null."""

    kind: Kind

    @property
    def type(self) -> str:
        """See `Kind`."""
        return f"Optional[{self.kind.type}]"

    @property
    def expected(self) -> str:
        """See `Kind`."""
        return f"{self.kind.expected}, or null"

    def read(self, found: Any) -> Any:
        """See `Kind`."""
        return None if found is None else self.kind.read(found)


@dataclass(frozen=True)
class Setting:
    """One key of a block of the config.

    name (str): The key.
    kind (Kind): What it may be.
    default (Any): What it is if the config does not say.
    meaning (str): For the reference of the config.
    """

    name: str
    kind: Kind
    default: Any
    meaning: str


def read(name: str, kind: Kind, found: Any, message: str | None = None) -> Any:
    """Check one value.

    name (str): The key, for the message.
    kind (Kind): What it may be.
    found (Any): What it is.
    message (Optional[str]): With {name}, {found} and {expected}; by default HS042 for a
        choice, else HS043.
    RETURNS (Any): The value, as a plain number, text, tuple or dict.
    RAISES (ValueError): It is not of this kind.
    """
    try:
        return kind.read(found)
    except Unfit:
        pass
    if message is None and isinstance(kind, Choice):
        message, expected = Errors.HS042, str(kind.values)
    else:
        message, expected = message or Errors.HS043, kind.expected
    shown = _Shown(found)
    raise ValueError(message.format(name=name, found=shown, expected=expected))


def read_all(
    settings: Iterable[Setting],
    found: Mapping[str, Any],
    prefix: str = "",
    message: str | None = None,
) -> dict[str, Any]:
    """Check all values of a block.

    settings (Iterable[Setting]): Those of the block.
    found (Mapping[str, Any]): The values by key; it may have others, too.
    prefix (str): Stands before the keys in messages.
    message (Optional[str]): See `read`.
    RETURNS (Dict[str, Any]): By key, see `read`.
    RAISES (ValueError): See `read`.
    """
    return {
        x.name: read(prefix + x.name, x.kind, found[x.name], message) for x in settings
    }


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


class _Shown:
    """A value in a message: its repr, which is cut if it is long."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __repr__(self) -> str:
        try:
            text = repr(self._found)
        except ValueError:  # of a whole number of thousands of digits
            text = f"a value of type {type(self._found).__name__}"
        return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 2] + ".."

    __str__ = __repr__
