"""The words of a document as a gazetteer compares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, SPACY  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..doc_batch import DocBatch, borders_of
from ..kernels.alnum_words import find_words, word_rows, words_of_tokens
from ..kernels.trie import Trie, count_wordless
from ..word_cache import WordCache, words_of
from .matches import Ints, Words

ATTRIBUTES = ("ALNUM", "ORTH", "LOWER", "NORM", "LEMMA")

EMPTY = Trie(np.zeros(0, np.uint64), np.zeros(0, np.uint8))

# The number of tokens without letters and digits on each side of a match that a segment
# may include.
_AROUND = 3

# The most memory for what is known of words: that of 200,000.
CACHE_BYTES = 16_000_000

_ORTH_AND_SPACE: Any = (ORTH, SPACY)


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


def alnum_words(docs: Sequence[Doc], with_texts: bool = False) -> DocWords:
    """RETURNS (DocWords): By the attribute ALNUM. A word may cross borders of tokens:
    "Don't" is "don" and "t", also if its tokens are "Do" and "n't"."""
    texts: list[str] = []
    spaces = []
    for doc in docs:
        rows, strings = doc.to_array(_ORTH_AND_SPACE), doc.vocab.strings
        texts += [strings[orth] for orth in rows[:, 0].tolist()]
        spaces.append(rows[:, 1] != 0)
        spaces[-1][-1:] = True
    has_space = np.concatenate(spaces).view(np.uint8)
    values, first, last, words = find_words(texts, has_space, with_texts)
    borders = np.searchsorted(first, borders_of(docs)).astype(np.int32)
    return DocWords(values, first, last, words, borders)


class AlnumCache:
    """`alnum_words` of documents whose words were met before."""

    def __init__(self) -> None:
        self._rows = WordCache(_rows_of, CACHE_BYTES)

    def read(self, docs: Sequence[Doc]) -> DocWords:
        """RETURNS (DocWords): See `alnum_words`; docs: of one vocabulary."""
        vocab, (orths, first_token) = docs[0].vocab, words_of(docs)
        if isinstance(docs, DocBatch):
            has_space = (docs.spaces != 0).view(np.uint8)
        else:
            parts = [doc.to_array(SPACY) != 0 for doc in docs]
            has_space = np.concatenate(parts).view(np.uint8)
        has_space[first_token[1:][np.diff(first_token) > 0] - 1] = True
        known = self._rows.find(vocab, orths)
        found = words_of_tokens(vocab.strings, orths, has_space, *known)
        values, first, last, words = found
        borders = np.searchsorted(first, first_token).astype(np.int32)
        return DocWords(values, first, last, words, borders)


def _rows_of(vocab: Vocab, orths: Words) -> Words:
    rows: Words = word_rows([vocab.strings[orth] for orth in orths.tolist()])
    return rows


def words_of_text(text: str) -> list[str]:
    """RETURNS (List[str]): Those that the attribute ALNUM has of a text."""
    words: list[str] = find_words([text], np.ones(1, np.uint8), True)[3]
    return words


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
