"""The words of a document as a gazetteer compares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, SPACY  # type: ignore[import-not-found]
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ..kernels.trie import Trie, count_wordless
from ..word_cache import borders_of
from .entry_words import CJK, WORD
from .matches import Ints, Words

ATTRIBUTES = ("ALNUM", "ORTH", "LOWER", "NORM", "LEMMA")

EMPTY = Trie(np.zeros(0, np.uint64), np.zeros(0, np.uint8))

# The number of tokens without letters and digits on each side of a match that a segment
# may include.
_AROUND = 3

_ORTH_AND_SPACE: Any = (ORTH, SPACY)

# A character at which a word continues across tokens; a CJK character is a word alone.
_JOINING = re.compile(rf"[^\W_{CJK}]")

# The most tokens that are cached, and their characters together: about 50 MB.
_CACHE_SIZE, _CACHE_CHARACTERS = 200_000, 4_000_000


@dataclass(frozen=True)
class DocWords:
    """The words of concatenated documents.

    values (uint64 [W]): The hash of each word.
    first, last (int32 [W]): The tokens in which each begins and ends.
    texts (List[str]): The words; empty if not asked for.
    docs (int32 [D + 1]): The first word of each document, and W.
    """

    values: Words
    first: Ints
    last: Ints
    texts: list[str]
    docs: Ints

    @property
    def borders(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Whether each word begins a token, and whether it ends one."""
        is_border = np.ones(len(self.first) + 1, np.uint8)
        is_border[1:-1] = self.first[1:] != self.last[:-1]
        return is_border[:-1], is_border[1:]

    def locate(
        self, lists: Ints, start: Ints, end: Ints, before: Ints, after: Ints
    ) -> NDArray[np.int32]:
        """RETURNS (int32 [6, K]): The arrays of `Matches`, from matches in words."""
        i, j = self.first[start], self.last[end - 1] + 1
        found = np.empty((6, len(lists)), np.int32)  # np.stack takes longer
        found[0], found[1], found[2], found[3] = lists, i, j, end - start
        found[4], found[5] = i - before[i], j + after[j]
        return found


class WordReader:
    """Reads the words of documents by the attribute ALNUM, and caches those of tokens.

    Any number of threads may read: cached words never change, and a full cache is
    replaced by an empty one.
    """

    def __init__(self) -> None:
        self._known: dict[int, _TokenWords] = {}
        self._n_characters = 0

    def read(self, docs: Sequence[Doc], with_texts: bool = False) -> DocWords:
        """RETURNS (DocWords): A word may cross borders of tokens: "Don't" is "don" and
        "t", also if its tokens are "Do" and "n't"."""
        values: list[int] = []
        texts: list[str] = []
        sizes: list[int] = []  # the number of words that begin in each token
        joined: list[_Joined] = []
        borders = [0]
        for doc in docs:
            strings = doc.vocab.strings
            open_text = ""  # the last word, if it may continue in the next token
            for orth, space in zip(*doc.to_array(_ORTH_AND_SPACE).T.tolist()):
                token = self._known.get(orth) or self._add(strings[orth], orth)
                words, hashes, may_go_on, last = token
                if open_text and may_go_on:
                    at = len(values) - 1
                    if not joined or joined[-1].word != at:
                        joined.append(_Joined(at, [open_text], []))
                    joined[-1].parts.append(words[0])
                    joined[-1].tokens.append(len(sizes))
                    words, hashes = words[1:], hashes[1:]
                values += hashes
                sizes.append(len(hashes))
                open_text = "" if space else last
                if with_texts:
                    texts += words
            borders.append(len(values))
        first = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        ends = first.copy()
        for at, parts, tokens in joined:
            text = "".join(parts)
            values[at], ends[at] = hash_string(text), tokens[-1]
            if with_texts:
                texts[at] = text
        hashed = np.array(values, np.uint64)
        return DocWords(hashed, first, ends, texts, np.array(borders, np.int32))

    def _add(self, text: str, orth: int) -> _TokenWords:
        self._n_characters += len(text)
        if len(self._known) > _CACHE_SIZE or self._n_characters > _CACHE_CHARACTERS:
            self._known, self._n_characters = {}, len(text)
        words = tuple(match.group().lower() for match in WORD.finditer(text))
        token = _TokenWords(
            words,
            tuple(hash_string(word) for word in words),
            goes_on=bool(_JOINING.match(text[:1])),
            last=words[-1] if _JOINING.match(text[-1:]) else "",
        )
        self._known[orth] = token
        return token


class _TokenWords(NamedTuple):
    """The words of a token; whether it begins with a character that continues a word;
    the word that it ends with, or ""."""

    words: tuple[str, ...]
    hashes: tuple[int, ...]
    goes_on: bool
    last: str


class _Joined(NamedTuple):
    """A word in several tokens: its number, its parts, and the tokens of all parts but
    the first."""

    word: int
    parts: list[str]
    tokens: list[int]


def token_words(docs: Sequence[Doc], attr: str, with_texts: bool = False) -> DocWords:
    """RETURNS (DocWords): Each token is one word, by an attribute of tokens."""
    found = [doc.to_array(attr) for doc in docs]
    values = np.concatenate(found).astype(np.uint64)
    every = np.arange(len(values), dtype=np.int32)
    texts = []
    if with_texts:
        texts = [d.vocab.strings[v] for d, of in zip(docs, found) for v in of.tolist()]
    return DocWords(values, every, every, texts, borders_of(docs))


def wordless(words: DocWords, docs: Sequence[Doc]) -> tuple[Ints, Ints]:
    """RETURNS (Tuple[int32 [n + 1], int32 [n + 1]]): The number of adjacent tokens
    without a word before and after each border of tokens, at most three."""
    return count_wordless(words.first, words.last, borders_of(docs), _AROUND)
