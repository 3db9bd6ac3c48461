"""The clean form of words: without what a PDF, a web page or a font leaves in them."""

from __future__ import annotations

from unicodedata import normalize

import regex

# Not seen, wherever they stand; whitespace is not among them.
_IGNORED = regex.compile(
    r"[[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]--[\s\x1c-\x1f]]+", regex.V1
)

# Those of them that Python takes for printable: regular expressions are slow.
_IGNORED_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0").union(
    map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
)

# A hyphen with which a line ends, and the line break: the word goes on after them.
LINE_END = regex.compile(
    r"(?<=[\p{L}\p{M}])[-\u2010\xad][\p{Cf}[\s--[\r\n]]]*+(?:\r\n|[\r\n\u2028])\s*+(?=\p{Ll})",
    regex.V1,
)

# Dashes, which fonts and programs exchange, and what stands for one that got lost.
_DASHES = regex.compile(r"[\p{Pd}\u2212]|(?<![^\p{Nd}])\ufffd(?![^\p{Nd}])", regex.V1)
_MAYBE_DASHES = frozenset(
    "\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e17\u2e1a"
    "\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d\ufffd"
    "\U00010d6e\U00010ead"
)


def with_hyphens(word: str) -> str:
    """Returns a word with a hyphen in the place of each dash, and of U+FFFD that has
    digits, or nothing, on both sides."""
    return word if _MAYBE_DASHES.isdisjoint(word) else _DASHES.sub("-", word)


def clean_word(word: str) -> str:
    """Returns a word without characters that are not seen, and as Unicode's NFKC has
    it: with one form of each accented letter, ligature and full-width character; "" if
    nothing is left, as of whitespace."""
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    if not (word.isprintable() and _IGNORED_LETTERS.isdisjoint(word)):
        word = _IGNORED.sub("", word)
    folded = normalize("NFKC", word)
    parts = folded.split()
    # A space that an accent stood on leaves the accent to the letter before it.
    return folded if parts == [folded] else normalize("NFKC", "".join(parts))


def clean_joined(text: str) -> str:
    """Returns `clean_word` of a word with line breaks after hyphens in it."""
    return clean_word(LINE_END.sub("", text))
