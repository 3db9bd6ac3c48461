"""Attributes that templates read: of a lexeme, a token, a place in the document, and
extension attributes.

A value is the 64-bit hash of a string. Where it is None, no template that reads the
attribute is active.

Every function here takes time linear in the length of the word: no two neighbouring
parts of a pattern match the same character, so a match never backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.lexeme import Lexeme
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from ..errors import Errors

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

# Kinds of numbers; these match a word without the punctuation around it.
_YEAR = re.compile(r"(1[5-9]\d\d|20\d\d)[a-z]?")
_RANGE = re.compile(r"[a-zA-Z]?\d+[a-z]?\s*[-–—/]+\s*[a-zA-Z]?\d+")
_ROMAN = re.compile(
    r"m{0,3}(c[md]|d?c{0,3})(x[cl]|l?x{0,3})(i[xv]|v?i{0,3})", re.IGNORECASE
)
_ORDINAL = re.compile(r"\d+(st|nd|rd|th)", re.IGNORECASE)

# This matches a whole word.
_INITIAL = re.compile(r"([A-Z]\.?[-,]?)+,?")
_WORD_CHARACTER = re.compile(r"\w")

# Which quotation marks open and which close depends on the language.
OPENING, CLOSING, QUOTES = "([{<", ")]}>", "\"'`“”„‘’‚«»"
_NO_MARK = re.compile(f"[^{re.escape(OPENING + CLOSING + QUOTES)}]+")


def number_kind(text: str) -> str | None:
    """The kind of number that a word is, with or without punctuation around it.

    RETURNS (Optional[str]): "year", "range", "ordinal", the number of digits (up to 5,
        with "+" if there are letters), "initial", "roman"; None if it is no number.
    """
    start, end = _without_punctuation(text)
    core = text[start:end]
    if _YEAR.fullmatch(core):
        return "year"
    if _RANGE.fullmatch(core):
        return "range"
    is_numbered = core.isdecimal() and text[end : end + 1] == "."
    if is_numbered or _ORDINAL.fullmatch(core):
        return "ordinal"
    digits = sum(c.isdigit() for c in text)
    if digits:
        rest = sum(c.isalpha() for c in text)
        return f"{min(digits, 5)}{'+' if rest else ''}"
    if _INITIAL.fullmatch(text):
        return "initial"
    return "roman" if core and _ROMAN.fullmatch(core) else None


def short_shape(text: str) -> str:
    """The shape with each run of one kind of character as one: "McDonald's," ->
    "XxXx'x,". At most 12 characters."""
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        for c in text
    )
    return "".join(islice((kind for kind, _ in groupby(kinds)), 12))


def core_of(text: str) -> str | None:
    """The word in lower case without punctuation around it; None if it has none."""
    lower = text.lower()
    core = lower.strip(".,;:()[]{}\"'“”‘’«»")
    return core if core and core != lower else None


def punctuation(text: str) -> str | None:
    """Punctuation around the word: 'Vol.,' -> '_.,'."""
    start, end = _without_punctuation(text)
    if (start, end) == (0, len(text)):
        return None
    return f"{text[:start][:6]}_{text[end:][:6]}"[:6]


def _without_punctuation(text: str) -> tuple[int, int]:
    """Start and end of the word without punctuation; (n, n) if it has no word."""
    # Two searches: `\W*$` would be tried at each character, in quadratic time.
    first = _WORD_CHARACTER.search(text)
    last = _WORD_CHARACTER.search(text[::-1]) if first else None
    if first is None or last is None:
        return len(text), len(text)
    return first.start(), len(text) - last.start()


def marks(text: str) -> str | None:
    """The brackets and quotation marks of a word; no apostrophe between letters."""
    text = re.sub(r"(?<=\w)['’`](?=\w)", "", text)
    return _NO_MARK.sub("", text) or None


def case(text: str) -> str | None:
    """The case of the letters of a word: "upper", "title", "lower", "mixed"."""
    letters = "".join(c for c in text if c.isalpha())
    if not letters:
        return None
    if letters.isupper() and len(letters) > 1:
        return "upper"
    if letters[0].isupper() and not any(c.isupper() for c in letters[1:]):
        return "title"
    return "mixed" if any(c.isupper() for c in letters) else "lower"


def _flag(name: str) -> Callable[[Lexeme], str | None]:
    attribute = name.lower()
    return lambda lexeme: "1" if getattr(lexeme, attribute) else None


def _prefix(size: int) -> Callable[[Lexeme], str | None]:
    return lambda x: x.lower_[:size] if len(x.lower_) > size else None


def _suffix(size: int) -> Callable[[Lexeme], str | None]:
    return lambda x: x.lower_[-size:] if len(x.lower_) > size else None


LEXEME_ATTRIBUTES: dict[str, Callable[[Lexeme], str | None]] = {
    "BIAS": lambda lexeme: "1",
    "ORTH": lambda lexeme: lexeme.orth_,
    "LOWER": lambda lexeme: lexeme.lower_,
    "CORE": lambda lexeme: core_of(lexeme.orth_),
    "SHAPE": lambda lexeme: lexeme.shape_,
    "SHORT_SHAPE": lambda lexeme: short_shape(lexeme.orth_),
    "NUMBER": lambda lexeme: number_kind(lexeme.orth_),
    "PUNCTUATION": lambda lexeme: punctuation(lexeme.orth_),
    "MARKS": lambda lexeme: marks(lexeme.orth_),
    "CASE": lambda lexeme: case(lexeme.orth_),
    "LENGTH": lambda lexeme: str(len(lexeme.orth_)),
    "PREFIX": lambda lexeme: lexeme.prefix_,
    "SUFFIX": lambda lexeme: lexeme.suffix_,
    **{f"PREFIX{size}": _prefix(size) for size in range(1, 5)},
    **{f"SUFFIX{size}": _suffix(size) for size in range(1, 5)},
    **{flag: _flag(flag) for flag in FLAGS},
}


def position(doc: Doc) -> NDArray[np.uint64]:
    """RETURNS (uint64 [n]): The place of each token in the document, from 10: smaller
    values mean an absent value, or a place before or after the document."""
    n = len(doc)
    i = np.arange(n)
    bucket = 20 + (10 * i) // max(n, 1)
    bucket = np.where(i < _NEAR, 10 + i, bucket)
    last = n - 1 - i
    return np.where((last < _NEAR) & (i >= _NEAR), 15 + last, bucket).astype(np.uint64)


def _space_after(doc: Doc) -> NDArray[np.uint64]:
    return doc.to_array("SPACY").astype(np.uint64) * np.uint64(10)


def _sentence_start(doc: Doc) -> NDArray[np.uint64]:
    is_start = doc.to_array("SENT_START").astype(np.int64) == 1
    return is_start.astype(np.uint64) * np.uint64(10)


DOC_ATTRIBUTES: dict[str, Callable[[Doc], NDArray[np.uint64]]] = {
    "POSITION": position,
    "SPACY": _space_after,
    "SENT_START": _sentence_start,
}

KNOWN = (*LEXEME_ATTRIBUTES, *TOKEN_ATTRIBUTES, *DOC_ATTRIBUTES)

# The types of extension attributes; None is an absent value of any type.
_TYPES = ("str", "bool", "int")


def is_extension(attribute: str) -> bool:
    """Whether an attribute of a template is one of Token._ ("_.x:IN" reads a list)."""
    return attribute.startswith("_.") and ":" not in attribute


class Extensions:
    """Extension attributes of tokens; training fixes the type of each.

    types (Mapping[str, str]): Types by name, such as {"topic": "str"}.
    """

    def __init__(self, types: Mapping[str, str] | None = None) -> None:
        self.types = dict(types or {})

    def __bool__(self) -> bool:
        return bool(self.types)

    def to_dict(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): The types, for `load`."""
        return dict(self.types)

    def load(self, data: Mapping[str, str]) -> None:
        """Take types from `to_dict`."""
        self.types = dict(data)

    def texts(self, doc: Doc, name: str, is_train: bool = False) -> list[str | None]:
        """The values of all tokens.

        doc (Doc): n tokens.
        name (str): Of the attribute, without "_.".
        is_train (bool): Whether an attribute without a type gets the type of its
            values.
        RETURNS (List[Optional[str]]): None for the values None, False and "".
        RAISES (ValueError): HS039 the attribute is not registered. (TypeError): HS048 a
            value has another type than the attribute or than the values before.
        """
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
        """RETURNS (uint64 [n]): Hashes of `texts`, 0 for None."""
        texts = self.texts(doc, name, is_train)
        return np.array([hash_or_0(text) for text in texts], np.uint64)


def _type_of(doc: Doc, i: int, name: str, value: Any, expected: str | None) -> str:
    """The type of a value of the i-th token; HS048 unless it is the expected one."""
    # No subclasses: str() of an enumeration member depends on the version of Python.
    kind = type(value)
    is_builtin = kind.__module__ == "builtins"
    found = kind.__name__ if is_builtin else f"{kind.__module__}.{kind.__name__}"
    if found not in _TYPES or (expected and found != expected):
        raise TypeError(
            Errors.HS048.format(
                name=name,
                found=repr(value)[:40],
                type=found,
                token=doc[i].text,
                expected=expected or " or ".join(_TYPES),
            )
        )
    return found


def _as_text(value: str | bool | int | None) -> str | None:
    if value is None or value is False or value == "":
        return None
    return "1" if value is True else str(value)


def hash_or_0(text: str | None) -> int:
    """RETURNS (int): The hash of a text; 0 for None and ""."""
    return hash_string(text) if text else 0
