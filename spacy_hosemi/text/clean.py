"""The clean form of words: without what a PDF, a web page or a font leaves in them."""

from __future__ import annotations

from unicodedata import normalize

import regex

# Not seen, wherever they stand; whitespace is not among them.
_IGNORED = regex.compile(
    r"[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]--[\s\x1c-\x1f]]+", regex.V1
)

# A hyphen with which a line ends, and the line break: the word goes on after them.
LINE_END = regex.compile(
    r"(?<=[\p{L}\p{M}])[-\u2010\xad][\p{Cf}[\s--[\r\n]]]*+(?:\r\n|[\r\n\u2028])\s*+(?=\p{Ll})",
    regex.V1,
)

# Dashes, which fonts and programs exchange, and what stands for one that got lost.
_DASHES = regex.compile(r"[\p{Pd}\u2212]|(?<![^\p{Nd}])\ufffd(?![^\p{Nd}])", regex.V1)


def with_hyphens(word: str) -> str:
    """Returns a word with a hyphen in the place of each dash, and of U+FFFD that has
    digits, or nothing, on both sides."""
    return word if word.isascii() else _DASHES.sub("-", word)


def clean_word(word: str) -> str:
    """Returns a word without characters that are not seen, and as Unicode's NFKC has
    it: with one form of each accented letter, ligature and full-width character; "" if
    nothing is left, as of whitespace."""
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    folded = normalize("NFKC", _IGNORED.sub("", word))
    parts = folded.split()
    # A space that an accent stood on leaves the accent to the letter before it.
    return folded if parts == [folded] else normalize("NFKC", "".join(parts))


def clean_joined(text: str) -> str:
    """Returns `clean_word` of a word with line breaks after hyphens in it."""
    return clean_word(LINE_END.sub("", text))
