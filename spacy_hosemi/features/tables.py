"""Tables: a value for each word of a file, such as its cluster or its kind.

Settings are in the model block of the config, the file is named in `[initialize]`, and
the model stores its content. A table is an attribute of lexemes, and cached like these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]

from ..errors import Errors
from ..text.clean import clean_word
from ..values import Setting, choice, integer, list_of, read_all

ATTRIBUTES = ("ORTH", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX")
VALUE, PREFIX = "VALUE", "PREFIX"

_KIND = re.compile(rf"{VALUE}|{PREFIX}[1-9][0-9]{{0,3}}")


@dataclass(frozen=True)
class Table:
    """How a table is used; its rows come at initialization.

    attr, prefixes: See SETTINGS. A prefix of the path of a cluster is a larger cluster.
    """

    attr: str = "LOWER"
    prefixes: tuple[int, ...] = ()


# The longest prefix, in characters.
MAX_PREFIX = 1000

# The block of a table in [components.hosemi.model.tables].
SETTINGS = (
    Setting(
        "attr", choice(ATTRIBUTES), "LOWER", "Which attribute of a word is looked up."
    ),
    Setting(
        "prefixes",
        list_of(integer(1, MAX_PREFIX)),
        (),
        "Numbers of first characters of a value, each read as a feature of its own.",
    ),
)


def make_table(
    attr: str = "LOWER",
    prefixes: list[int] = [],  # noqa: B006 - the registry shows it in configs
) -> Table:
    """Registered as "spacy_hosemi.table.v1" in `misc`.

    attr, prefixes: See `Table`.
    RETURNS (Table): Settings, without rows.
    RAISES (ValueError): HS077 a setting is out of range.
    """
    return Table(**read_all(SETTINGS, locals(), message=Errors.HS077))


@dataclass(frozen=True)
class _TableRows:
    """Has hashes of words, ascending, and the index of the value of each word."""

    words: NDArray[np.uint64]
    value: NDArray[np.int32]
    values: Sequence[str]

    def __post_init__(self) -> None:
        words, value = self.words, self.value
        is_sound = (
            (words.dtype, value.dtype) == (np.uint64, np.int32)
            and words.ndim == 1
            and words.shape == value.shape
            and (words[1:] > words[:-1]).all()
            and ((value >= 0) & (value < len(self.values))).all()
            and all(isinstance(text, str) for text in self.values)
        )
        if not is_sound:
            raise ValueError("a table has no ascending words, each with a value")
        words.setflags(write=False)
        value.setflags(write=False)

    def find(self, words: NDArray[np.uint64]) -> list[str | None]:
        """Returns the value of each word, None if it has none."""
        if not len(self.words):
            return [None] * len(words)
        at = np.minimum(np.searchsorted(self.words, words), len(self.words) - 1)
        values, is_known = self.value[at].tolist(), (self.words[at] == words).tolist()
        return [self.values[v] if yes else None for v, yes in zip(values, is_known)]


_NO_ROWS = _TableRows(np.zeros(0, np.uint64), np.zeros(0, np.int32), [])


class Tables:
    """Has all tables of a component, with settings by name. A table is replaced as a
    whole."""

    def __init__(self, settings: Mapping[str, Table] | None = None) -> None:
        self.settings = dict(settings or {})
        self._rows = dict.fromkeys(self.settings, _NO_ROWS)

    def __len__(self) -> int:
        return len(self.settings)

    def compile(
        self, name: str, rows: Iterable[tuple[str, str]], clean_text: bool = False
    ) -> None:
        """Replaces the rows of a table by words and their values; the first row of a
        word counts. clean_text: whether documents are read by their words in a clean
        form."""
        # Words of a file that differ in case only are one word.
        is_lower = self.settings[name].attr == "LOWER"
        words, value = [], []
        numbers: dict[str, int] = {}
        for word, text in rows:
            word = clean_word(word) if clean_text else word
            words.append(hash_string(word.lower() if is_lower else word))
            value.append(numbers.setdefault(text, len(numbers)))
        keys, first = np.unique(np.array(words, np.uint64), return_index=True)
        table = _TableRows(keys, np.array(value, np.int32)[first], list(numbers))
        self._rows = {**self._rows, name: table}

    def size(self, name: str) -> int:
        """Returns the number of words in a table."""
        return len(self._rows[name].words)

    def reader(
        self, attribute: str
    ) -> tuple[str, Callable[[NDArray[np.uint64]], list[str | None]]]:
        """Returns how an attribute such as "clusters:PREFIX4" is read: the attribute of
        words that is looked up, and a function from K of these, uint64 [K], to their
        values."""
        name, _, kind = attribute.partition(":")
        size = int(kind.removeprefix(PREFIX)) if kind != VALUE else None

        def read(words: NDArray[np.uint64]) -> list[str | None]:
            return [value and value[:size] for value in self._rows[name].find(words)]

        return self.settings[name].attr, read

    def to_dict(self) -> dict[str, Any]:
        """Returns the rows, for `load`."""
        return {
            name: {"words": rows.words, "value": rows.value, "values": rows.values}
            for name, rows in self._rows.items()
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Takes rows from `to_dict`; KeyError or ValueError if it is not of ours."""
        tables = {}
        for name in self.settings:
            rows = data[name]
            arrays = np.array(rows["words"]), np.array(rows["value"])
            tables[name] = _TableRows(*arrays, list(rows["values"]))
        self._rows = tables


def reads_table(attribute: str, tables: Iterable[str]) -> bool:
    """Says whether an attribute of a template reads one of these tables."""
    name, _, kind = attribute.partition(":")
    return name in tables and bool(_KIND.fullmatch(kind))
