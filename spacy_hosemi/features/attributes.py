"""Attributes that templates read: of a lexeme, a token, a place in the document, and
extension attributes.

A value is the 64-bit hash of a string. Where it is None, no template that reads the
attribute is active.

The forms of words are described where they are computed, in `kernels/word_forms.pyx`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from ..errors import Errors
from .kernels.word_forms import FORMS

# Attributes of words that the vocabulary has: strings, and true or false.
STRINGS = ("ORTH", "LOWER", "SHAPE", "PREFIX", "SUFFIX")
FLAGS = (
    "IS_ALPHA IS_ASCII IS_BRACKET IS_CURRENCY IS_DIGIT IS_LEFT_PUNCT IS_LOWER IS_PUNCT "
    "IS_QUOTE IS_RIGHT_PUNCT IS_SPACE IS_STOP IS_TITLE IS_UPPER LIKE_EMAIL LIKE_NUM "
    "LIKE_URL"
).split()

# Attributes of the token, not only of its word; components set them.
SET_BY_COMPONENTS = ("LEMMA", "POS", "TAG", "DEP", "MORPH")
TOKEN_ATTRIBUTES = ("NORM", *SET_BY_COMPONENTS)

# POSITION has a value for each of the first and last 3 tokens of a document, and one
# for each tenth of the tokens between them.
_NEAR = 3


def position(doc: Doc) -> NDArray[np.uint64]:
    """Returns the place of each token in the document, uint64 [n], from 10: smaller
    values mean an absent value, or a place before or after the document."""
    n = len(doc)
    i = np.arange(n)
    bucket = 20 + (10 * i) // max(n, 1)
    bucket = np.where(i < _NEAR, 10 + i, bucket)
    last = n - 1 - i
    return np.where((last < _NEAR) & (i >= _NEAR), 15 + last, bucket).astype(np.uint64)


# The value of SPACY where a space follows.
SPACE_AFTER = np.uint64(10)


def _space_after(doc: Doc) -> NDArray[np.uint64]:
    return doc.to_array("SPACY").astype(np.uint64) * SPACE_AFTER


def _sentence_start(doc: Doc) -> NDArray[np.uint64]:
    is_start = doc.to_array("SENT_START").astype(np.int64) == 1
    return is_start.astype(np.uint64) * np.uint64(10)


DOC_ATTRIBUTES: dict[str, Callable[[Doc], NDArray[np.uint64]]] = {
    "POSITION": position,
    "SPACY": _space_after,
    "SENT_START": _sentence_start,
}

LEXEME_ATTRIBUTES = (*STRINGS, *FLAGS, *FORMS)
KNOWN = (*LEXEME_ATTRIBUTES, *TOKEN_ATTRIBUTES, *DOC_ATTRIBUTES)

# The types of extension attributes; None is an absent value of any type.
_TYPES = ("str", "bool", "int")


def is_extension(attribute: str) -> bool:
    """Says whether an attribute of a template is one of Token._ ("_.x:IN" reads a
    list)."""
    return attribute.startswith("_.") and ":" not in attribute


class Extensions:
    """Reads extension attributes of tokens; training fixes the type of each. types
    (Mapping[str, str]): by name, such as {"topic": "str"}."""

    def __init__(self, types: Mapping[str, str] | None = None) -> None:
        self.types = dict(types or {})

    def __bool__(self) -> bool:
        return bool(self.types)

    def to_dict(self) -> dict[str, str]:
        """Returns the types, for `load`."""
        return dict(self.types)

    def load(self, data: Mapping[str, str]) -> None:
        """Takes types from `to_dict`; ValueError if it is not of ours."""
        if not all(isinstance(x, str) for pair in data.items() for x in pair):
            raise ValueError(f"types of extension attributes are {data}")
        self.types = dict(data)

    def texts(self, doc: Doc, name: str, is_train: bool = False) -> list[str | None]:
        """Returns the value of an attribute for each of n tokens, None for None, False
        and "". In training an attribute gets the type of its values. Raises HS039 if it
        is not registered, HS048 (TypeError) if a value has another type."""
        if not Token.has_extension(name):
            raise ValueError(Errors.HS039.format(name=name))
        values = [token._.get(name) for token in doc]
        expected = self.types.get(name)
        for i, value in enumerate(values):
            if value is not None:
                expected = _type_of(doc, i, name, value, expected)
        if is_train and expected and name not in self.types:
            self.types = {**self.types, name: expected}
        return [_as_text(value) for value in values]

    def values(self, doc: Doc, name: str, is_train: bool = False) -> NDArray[np.uint64]:
        """Returns hashes of `texts`, uint64 [n], 0 for None."""
        texts = self.texts(doc, name, is_train)
        return np.array([hash_or_0(text) for text in texts], np.uint64)


def _type_of(doc: Doc, i: int, name: str, value: Any, expected: str | None) -> str:
    """Returns the type of a value of the i-th token; raises HS048 unless it is the
    expected one."""
    # No subclasses: str() of an enumeration member depends on the version of Python.
    kind = type(value)
    is_builtin = kind.__module__ == "builtins"
    type_name = kind.__name__ if is_builtin else f"{kind.__module__}.{kind.__name__}"
    if type_name not in _TYPES or (expected and type_name != expected):
        found = {"found": repr(value)[:40], "type": type_name, "token": doc[i].text}
        types = expected or " or ".join(_TYPES)
        raise TypeError(Errors.HS048.format(name=name, expected=types, **found))
    return type_name


def _as_text(value: str | bool | int | None) -> str | None:
    if value is None or value is False or value == "":
        return None
    return "1" if value is True else str(value)


def hash_or_0(text: str | None) -> int:
    """Returns the hash of a text; 0 for None and ""."""
    return hash_string(text) if text else 0
