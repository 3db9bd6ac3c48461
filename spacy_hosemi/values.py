"""Kinds of values that settings have, and the one check of all settings.

`read` checks every block of the config: the settings of the component and those of
features, gazetteers, tables, hierarchy, objective and fits. A kind says in words which
values it takes; messages and the reference of the config quote these words.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, Protocol

from .errors import Errors

# A repr in a message is cut after this many characters.
_MAX_SHOWN = 200

# The largest whole number, unless a setting says otherwise.
MANY = 10**9


class Unfit(Exception):
    """The value is not of the kind."""


class Kind(Protocol):
    """What a setting may be."""

    @property
    def expected(self) -> str:
        """The values in words, for messages and the reference of the config."""
        ...

    def read(self, value: Any) -> Any:
        """Returns the value, as a plain number, text, tuple or dict. Raises Unfit if it
        is not of this kind."""
        ...


class Choice:
    """One of a few values."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        one_of = "one of " if len(values) > 1 else ""
        self.expected = one_of + ", ".join(map(_quoted, values))

    def read(self, value: Any) -> Any:
        for choice in self.values:
            if type(value) is type(choice) and value == choice:  # True is not 1
                return choice
        raise Unfit


class Flag:
    """True or false."""

    expected = "true or false"

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise Unfit
        return value


class Whole:
    """A whole number; neither 1.0 nor "1" is one."""

    def __init__(self, least: int = 0, most: int = MANY) -> None:
        self.least, self.most = least, most
        self.expected = f"a whole number from {least} to {most}"

    def read(self, value: Any) -> int:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_whole or not self.least <= value <= self.most:
            raise Unfit
        return int(value)


class Number:
    """A finite number, from `least` (or `above`) to `most` (or `below`)."""

    def __init__(
        self,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
        below: float | None = None,
    ) -> None:
        self.limits = {"at least": least, "above": above}
        self.limits |= {"at most": most, "below": below}
        if least is not None and most is not None:
            self.expected = f"a number from {least:g} to {most:g}"
        else:
            limits = (f"{x} {y:g}" for x, y in self.limits.items() if y is not None)
            self.expected = f"a number {' and '.join(limits)}".strip()

    def read(self, value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise Unfit
        try:
            number = float(value)
        except OverflowError:
            raise Unfit from None
        least, above, most, below = self.limits.values()
        is_within = (
            math.isfinite(number)
            and (least is None or number >= least)
            and (above is None or number > above)
            and (most is None or number <= most)
            and (below is None or number < below)
        )
        if not is_within:
            raise Unfit
        return number


class Text:
    """Text that is not empty, and that UTF-8 can encode: files are written in it."""

    expected = "text that is not empty"

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise Unfit
        try:
            value.encode("utf8")
        except UnicodeEncodeError:
            raise Unfit from None
        return str.__str__(value)  # of a subclass, plain text


class FilePath:
    """The path of a file, as text or as a `Path`; it is read as text."""

    expected = "the path of a file"

    def read(self, value: Any) -> str:
        text = Text().read(os.fspath(value) if isinstance(value, PathLike) else value)
        if "\0" in text:
            raise Unfit
        return text


class ListOf:
    """A list of values of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.expected = f"a list, and in it {kind.expected}"

    def read(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise Unfit
        return tuple(map(self.kind.read, value))


class ByName:
    """One value for all names, or a block with one for some of them."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.expected = f"{kind.expected}, or a block with one for each of some names"

    def read(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return self.kind.read(value)
        if not all(isinstance(name, str) for name in value):
            raise Unfit
        return {name: self.kind.read(x) for name, x in value.items()}


class OrWord:
    """A value of a kind, or one word."""

    def __init__(self, word: str, kind: Kind) -> None:
        self.word, self.kind = word, kind
        self.expected = f'{kind.expected}, or "{word}"'

    def read(self, value: Any) -> Any:
        if isinstance(value, str) and value == self.word:
            return self.word
        return self.kind.read(value)


class OrNull:
    """A value of a kind, or null."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.expected = f"{kind.expected}, or null"

    def read(self, value: Any) -> Any:
        return None if value is None else self.kind.read(value)


@dataclass(frozen=True)
class Setting:
    """One key of a block of the config: the values it takes, that of a config without
    the key, and its meaning for the reference of the config."""

    name: str
    kind: Kind
    default: Any
    meaning: str


def read(name: str, kind: Kind, value: Any, message: str | None = None) -> Any:
    """Returns the value of a key, checked, as a plain number, text, tuple or dict.
    Raises ValueError if it is not of the kind: with HS042 for a choice, HS043 for
    others, or with a message that has {name}, {found} and {expected}."""
    try:
        return kind.read(value)
    except Unfit:
        pass
    if message is None and isinstance(kind, Choice):
        message, expected = Errors.HS042, str(kind.values)
    else:
        message, expected = message or Errors.HS043, kind.expected
    raise ValueError(message.format(name=name, found=_Shown(value), expected=expected))


def read_all(
    settings: Iterable[Setting],
    values: Mapping[str, Any],
    prefix: str = "",
    message: str | None = None,
) -> dict[str, Any]:
    """Returns the values of a block by key, checked as by `read`; other keys are
    ignored. The prefix stands before the keys in messages."""
    return {
        x.name: read(prefix + x.name, x.kind, values[x.name], message) for x in settings
    }


def map_values(change: Callable[[Any], Any], value: Any) -> Any:
    """Returns a nested value whose scalars are changed; tuples become lists."""
    if isinstance(value, Mapping):
        return {key: map_values(change, x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_values(change, x) for x in value]
    return change(value)


def as_lists(value: Any) -> Any:
    """Returns a nested value with lists in place of its tuples."""
    return map_values(lambda x: x, value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


class _Shown:
    """A value in a message: its repr, cut after _MAX_SHOWN characters."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        try:
            text = repr(self._value)
        except ValueError:  # Python does not print integers of thousands of digits
            text = f"a value of type {type(self._value).__name__}"
        return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 2] + ".."
