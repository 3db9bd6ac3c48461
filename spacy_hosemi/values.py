"""Kinds of values that settings have, and the one check of all settings.

`read` checks every block of the config: the settings of the component and those of
features, gazetteers, tables, hierarchy, objective and fits. A kind is the values it
takes in words, which messages and the reference of the config quote, and a function.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any

from .errors import Errors

# The largest whole number, unless a setting says otherwise.
MANY = 10**9


class Unfit(Exception):
    """The value is not of the kind."""


@dataclass(frozen=True)
class Kind:
    """Says what a setting may be. `read` returns a value as a plain number, text, tuple
    or dict, and raises Unfit if it is not of this kind."""

    expected: str  # the values in words, for messages and the reference of the config
    read: Callable[[Any], Any]
    choices: tuple[Any, ...] | None = None  # all values, if it is a choice


def choice(values: tuple[Any, ...]) -> Kind:
    """Returns the kind: one of a few values."""

    def read(value: Any) -> Any:
        for x in values:
            if type(value) is type(x) and value == x:  # True is not 1
                return x
        raise Unfit

    one_of = "one of " if len(values) > 1 else ""
    return Kind(one_of + ", ".join(map(_quoted, values)), read, values)


def integer(least: int = 0, most: int = MANY) -> Kind:
    """Returns the kind: a whole number; neither 1.0 nor "1" is one."""

    def read(value: Any) -> int:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_whole or not least <= value <= most:
            raise Unfit
        return int(value)

    return Kind(f"a whole number from {least} to {most}", read)


def number(
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> Kind:
    """Returns the kind: a finite number within limits."""

    def read(value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool):
            raise Unfit
        try:
            x = float(value)
        except OverflowError:
            raise Unfit from None
        if not (least <= x <= most and above < x < below):
            raise Unfit
        return x

    if math.isfinite(least) and math.isfinite(most):
        return Kind(f"a number from {least:g} to {most:g}", read)
    limits = {"at least": least, "above": above, "at most": most, "below": below}
    texts = [f"{word} {x:g}" for word, x in limits.items() if math.isfinite(x)]
    return Kind(f"a number {' and '.join(texts)}".strip(), read)


def _read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Unfit
    return value


def _read_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Unfit
    try:
        value.encode("utf8")  # files are written in it
    except UnicodeEncodeError:
        raise Unfit from None
    return str.__str__(value)  # of a subclass, plain text


def _read_path(value: Any) -> str:
    text = _read_text(os.fspath(value) if isinstance(value, PathLike) else value)
    if "\0" in text:
        raise Unfit
    return text


FLAG = Kind("true or false", _read_flag)
TEXT = Kind("text that is not empty", _read_text)
FILE_PATH = Kind("the path of a file", _read_path)  # text or a `Path`, read as text


def list_of(kind: Kind) -> Kind:
    """Returns the kind: a list of values of one kind."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise Unfit
        return tuple(map(kind.read, value))

    return Kind(f"a list, and in it {kind.expected}", read)


def by_name(kind: Kind) -> Kind:
    """Returns the kind: one value for all names, or a block with some of them."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return kind.read(value)
        if not all(isinstance(name, str) for name in value):
            raise Unfit
        return {name: kind.read(x) for name, x in value.items()}

    words = f"{kind.expected}, or a block with one for each of some names"
    return Kind(words, read)


def or_word(word: str, kind: Kind) -> Kind:
    """Returns the kind: a value of another kind, or one word."""
    words = f'{kind.expected}, or "{word}"'

    def read(value: Any) -> Any:
        is_word = isinstance(value, str) and value == word
        return word if is_word else kind.read(value)

    return Kind(words, read)


def or_null(kind: Kind) -> Kind:
    """Returns the kind: a value of another kind, or null."""
    words = f"{kind.expected}, or null"
    return Kind(words, lambda value: None if value is None else kind.read(value))


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
    if message is None and kind.choices is not None:
        message, expected = Errors.HS042, str(kind.choices)
    else:
        message, expected = message or Errors.HS043, kind.expected
    raise ValueError(message.format(name=name, found=shown(value), expected=expected))


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


def shown(value: object) -> str:
    """Returns a value as messages show it: its repr, cut after 100 characters."""
    try:
        text = repr(value)
    except Exception:  # such as a number of more than 4,300 digits
        return f"of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."
