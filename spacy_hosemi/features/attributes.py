"""What can be read of a token: attributes of its lexeme, of the token, of its place.

A value is a string (then its 64-bit hash is used), or None where there is nothing to
read and no feature shall fire.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from spacy.lexeme import Lexeme
from spacy.tokens import Doc

FLAGS = (
    "IS_ALPHA IS_ASCII IS_BRACKET IS_CURRENCY IS_DIGIT IS_LEFT_PUNCT IS_LOWER IS_PUNCT "
    "IS_QUOTE IS_RIGHT_PUNCT IS_SPACE IS_STOP IS_TITLE IS_UPPER LIKE_EMAIL LIKE_NUM "
    "LIKE_URL"
).split()

# Read by Doc.to_array: they depend on the token, not only on its word.
TOKEN_ATTRIBUTES = ("NORM", "LEMMA", "POS", "TAG", "DEP", "MORPH")

# Nearest end of the document in tokens, up to here; then which tenth of it.
_NEAR = 3

_YEAR = re.compile(r"\W*(1[5-9]\d\d|20\d\d)[a-z]?\W*")
_RANGE = re.compile(r"\W*[a-zA-Z]?\d+[a-z]?\s*[-–—/]+\s*[a-zA-Z]?\d+\W*")
_ROMAN = re.compile(
    r"\W*(?=[ivxlcdm])m{0,3}(c[md]|d?c{0,3})(x[cl]|l?x{0,3})(i[xv]|v?i{0,3})\W*", re.I
)
_ORDINAL = re.compile(r"\W*\d+(st|nd|rd|th|\.)\W*", re.I)
_INITIAL = re.compile(r"([A-Z]\.?[-,]?)+,?")


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


DOC_ATTRIBUTES: dict[str, Callable[[Doc], NDArray[np.uint64]]] = {"POSITION": position}

KNOWN = (*LEXEME_ATTRIBUTES, *TOKEN_ATTRIBUTES, *DOC_ATTRIBUTES)
