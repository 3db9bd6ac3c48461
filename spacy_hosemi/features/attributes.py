"""What can be read of a token: attributes of its lexeme, of the token, of its place,
and extension attributes.

A value is a string (then its 64-bit hash is used), or None where there is nothing to
read and no feature shall fire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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

# Read by Doc.to_array: they depend on the token, not only on its word.
SET_BY_COMPONENTS = ("LEMMA", "POS", "TAG", "DEP", "MORPH")
TOKEN_ATTRIBUTES = ("NORM", *SET_BY_COMPONENTS)

# Nearest end of the document in tokens, up to here; then which tenth of it.
_NEAR = 3

_YEAR = re.compile(r"\W*(1[5-9]\d\d|20\d\d)[a-z]?\W*")
_RANGE = re.compile(r"\W*[a-zA-Z]?\d+[a-z]?\s*[-–—/]+\s*[a-zA-Z]?\d+\W*")
_ROMAN = re.compile(
    r"\W*(?=[ivxlcdm])m{0,3}(c[md]|d?c{0,3})(x[cl]|l?x{0,3})(i[xv]|v?i{0,3})\W*", re.I
)
_ORDINAL = re.compile(r"\W*\d+(st|nd|rd|th|\.)\W*", re.I)
_INITIAL = re.compile(r"([A-Z]\.?[-,]?)+,?")

# Quotation marks: which of them opens and which closes depends on the language.
OPENING, CLOSING, QUOTES = "([{<", ")]}>", "\"'`“”„‘’‚«»"
_NO_MARK = re.compile(f"[^{re.escape(OPENING + CLOSING + QUOTES)}]+")


def number_kind(text: str) -> str | None:
    """Which kind of number a word is: year, range, ordinal, count of digits, roman.

    text (str): The word, punctuation around it allowed.
    RETURNS (Optional[str]): None if it has nothing of a number.
    """
    if _YEAR.fullmatch(text):
        return "year"
    if _RANGE.fullmatch(text):
        return "range"
    if _ORDINAL.fullmatch(text):
        return "ordinal"
    digits = sum(c.isdigit() for c in text)
    if digits:
        rest = sum(c.isalpha() for c in text)
        return f"{min(digits, 5)}{'+' if rest else ''}"
    if _INITIAL.fullmatch(text):
        return "initial"
    return "roman" if _ROMAN.fullmatch(text) else None


def short_shape(text: str) -> str:
    """Shape with runs of one kind written once: 'McDonald's,' -> "XxXx'x,"."""
    kinds = (
        "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        for c in text
    )
    shape = ""
    for kind in kinds:
        if not shape.endswith(kind):
            shape += kind
    return shape[:12]


def core_of(text: str) -> str | None:
    """The word in lower case without punctuation around it, if that differs."""
    lower = text.lower()
    core = lower.strip(".,;:()[]{}\"'“”‘’«»")
    return core if core and core != lower else None


def punctuation(text: str) -> str | None:
    """Punctuation around the word: 'Vol.,' -> '_.,'."""
    head = re.match(r"\W*", text)
    tail = re.search(r"\W*$", text)
    before = head.group() if head else ""
    after = tail.group() if tail and len(before) < len(text) else ""
    return f"{before}_{after}"[:6] if before or after else None


def marks(text: str) -> str | None:
    """Brackets and quotation marks of a word, an apostrophe within it not counted."""
    text = re.sub(r"(?<=\w)['’`](?=\w)", "", text)
    return _NO_MARK.sub("", text) or None


def case(text: str) -> str | None:
    """How a word is written: "upper", "title", "lower", "mixed"; None: no letters."""
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
    """Where in the document: first and last tokens one by one, between them by tenths.

    RETURNS (uint64 [n]): Small numbers from 10; those below stand for absent values
        and for what lies before and behind the document.
    """
    n = len(doc)
    i = np.arange(n)
    bucket = 20 + (10 * i) // max(n, 1)
    bucket = np.where(i < _NEAR, 10 + i, bucket)
    last = n - 1 - i
    return np.where((last < _NEAR) & (i >= _NEAR), 15 + last, bucket).astype(np.uint64)


def _space_behind(doc: Doc) -> NDArray[np.uint64]:
    return doc.to_array("SPACY").astype(np.uint64) * np.uint64(10)


def _sentence_start(doc: Doc) -> NDArray[np.uint64]:
    is_start = doc.to_array("SENT_START").astype(np.int64) == 1
    return is_start.astype(np.uint64) * np.uint64(10)


DOC_ATTRIBUTES: dict[str, Callable[[Doc], NDArray[np.uint64]]] = {
    "POSITION": position,
    "SPACY": _space_behind,
    "SENT_START": _sentence_start,
}

KNOWN = (*LEXEME_ATTRIBUTES, *TOKEN_ATTRIBUTES, *DOC_ATTRIBUTES)

# Types that an extension attribute may have; None is none of them but "not there".
_TYPES = ("str", "bool", "int")


def is_extension(attribute: str) -> bool:
    """Whether a template reads Token._; "_.x:IN" is a list."""
    return attribute.startswith("_.") and ":" not in attribute


class Extensions:
    """Extension attributes of tokens; each has values of one type.

    types (Mapping[str, str]): Known types by name, such as {"topic": "str"}.
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

    def texts(self, doc: Doc, name: str) -> list[str | None]:
        """The values of all tokens.

        doc (Doc): n tokens.
        name (str): Of the attribute, without "_.".
        RETURNS (List[Optional[str]]): None where it is None, False or "".
        RAISES (ValueError): HS039 if the attribute is not registered. (TypeError):
            HS048 if a value is of no known type, or of another one than those before.
        """
        if not Token.has_extension(name):
            raise ValueError(Errors.HS039.format(name=name))
        values = [token._.get(name) for token in doc]
        for i, value in enumerate(values):
            if value is not None:
                self._check(doc, i, name, value)
        return [_as_text(value) for value in values]

    def values(self, doc: Doc, name: str) -> NDArray[np.uint64]:
        """RETURNS (uint64 [n]): Hashes of `texts`, 0 for None."""
        return np.array([hash_or_0(text) for text in self.texts(doc, name)], np.uint64)

    def _check(self, doc: Doc, i: int, name: str, value: Any) -> None:
        # No subclasses: the text of an enumeration depends on the version of Python.
        kind = type(value)
        is_builtin = kind.__module__ == "builtins"
        found = kind.__name__ if is_builtin else f"{kind.__module__}.{kind.__name__}"
        expected = self.types.setdefault(name, found) if found in _TYPES else None
        if found != expected:
            raise TypeError(
                Errors.HS048.format(
                    name=name,
                    found=repr(value)[:40],
                    type=found,
                    token=doc[i].text,
                    expected=self.types.get(name) or " or ".join(_TYPES),
                )
            )


def _as_text(value: str | bool | int | None) -> str | None:
    if value is None or value is False or value == "":
        return None
    return "1" if value is True else str(value)


def hash_or_0(text: str | None) -> int:
    """The value of a text; 0 where there is nothing to read."""
    return hash_string(text) if text else 0
