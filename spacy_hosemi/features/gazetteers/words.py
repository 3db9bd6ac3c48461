"""The words that a list compares: those of documents, and those of its entries."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count, pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.vocab import Vocab

from ...text.clean import LINE_END, clean_word
from ..clean_docs import clean_doc
from ..instances import Instances
from ..kernels.alnum_words import (
    N_OF_ROW,
    find_words,
    word_ends,
    word_rows,
    words_of_tokens,
)
from ..kernels.trie import Trie
from ..word_cache import WordCache
from .matches import Ints, Words

ATTRIBUTES = ("ALNUM", "ORTH", "LOWER", "NORM", "LEMMA")

EMPTY = Trie(*(np.zeros(0, x) for x in (np.uint64, np.uint8, np.uint32)))

# The number of tokens without letters and digits on each side of a match that a segment
# may include.
AROUND = 3

# The most memory for cached words: that of 200,000.
CACHE_BYTES = 16_000_000


@dataclass(frozen=True)
class DocWords:
    """The W words of concatenated documents.

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


def alnum_words(docs: Instances, cache: WordCache | None = None) -> DocWords:
    """Divides documents of one vocabulary into words by the attribute ALNUM. A word may
    cross borders of tokens: "Don't" is "don" and "t", also if its tokens are "Do" and
    "n't". With an `alnum_cache` there are no texts."""
    strings, orths, first_token = docs[0].vocab.strings, docs.orths, docs.first
    has_space = word_ends(docs.spaces, first_token)
    if cache is None:
        texts = [strings[orth] for orth in orths.tolist()]
        words = find_words(texts, has_space, True)
    else:
        rows = cache.find(docs[0].vocab, orths)
        words = words_of_tokens(strings, orths, has_space, *rows)
    values, first, last, texts = words
    borders = np.searchsorted(first, first_token).astype(np.int32)
    return DocWords(values, first, last, texts, borders)


def alnum_cache() -> WordCache:
    """Returns a cache for `alnum_words`."""
    return WordCache(_write_rows, (np.uint64, (N_OF_ROW,)), CACHE_BYTES)


def _write_rows(vocab: Vocab, orths: Words, rows: Words) -> None:
    word_rows([vocab.strings[orth] for orth in orths.tolist()], rows)


def words_of_text(text: str) -> list[str]:
    """Returns the words that the attribute ALNUM has of a text."""
    words: list[str] = find_words([text], np.ones(1, np.uint8), True)[3]
    return words


def token_words(docs: Instances, attr: str, with_texts: bool = False) -> DocWords:
    """Makes each token one word, by an attribute of tokens."""
    by_doc = [doc.to_array(attr) for doc in docs]
    values = np.concatenate(by_doc).astype(np.uint64)
    tokens = np.arange(len(values), dtype=np.int32)
    texts = []
    if with_texts:
        texts = [d.vocab.strings[v] for d, of in zip(docs, by_doc) for v in of.tolist()]
    return DocWords(values, tokens, tokens, texts, docs.first)


@dataclass(frozen=True)
class EntryWords:
    """The words of E concatenated entries.

    values (uint64 [T]): The hash of each word.
    first (int64 [E + 1]): Words first[e]:first[e + 1] belong to entry e.
    texts (List[str]): The words of each entry, joined by spaces; empty if not asked
        for.
    """

    values: Words
    first: NDArray[np.int64]
    texts: list[str]


def entry_words(
    entries: Iterable[str],
    attr: str,
    nlp: Language,
    *,
    with_texts: bool = False,
    clean_text: bool = False,
) -> EntryWords:
    """Divides entries into words, by the tokenizer of nlp unless attr is "ALNUM"; with
    clean_text in their clean form.

    Each distinct piece between white space is tokenized once: tokenizers divide at
    white space first, and a list of a million names has 300,000 distinct pieces.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    pieces, first = array("q"), array("q", [0])
    for entry in entries:
        entry = LINE_END.sub("", entry) if clean_text else entry
        pieces.extend(map(numbers.__getitem__, entry.split()))
        first.append(len(pieces))
    with nlp.memory_zone():  # forgets the words that this adds to the vocabulary
        if attr == "ALNUM":
            words = _alnum_words(numbers, nlp, with_texts, clean_text)
        else:
            read = _token_reader(attr, nlp, clean_text)
            words = _words_of(numbers, read, with_texts)
    return _compose(words, np.array(pieces, np.int64), np.array(first, np.int64))


def _alnum_words(
    pieces: Iterable[str], nlp: Language, with_texts: bool, clean_text: bool
) -> EntryWords:
    """Reads pieces that are not clean token by token, as documents: an accent may be in
    another token than its letter."""
    texts, is_apart, first_text = [], array("B"), array("q", [0])
    for piece in pieces:
        if clean_text and clean_word(piece) != piece:
            doc, _ = clean_doc(nlp.make_doc(piece))
            texts += [token.text for token in doc]
            is_apart.extend(bool(token.whitespace_) for token in doc)
            if len(doc):  # none is left of a soft hyphen
                is_apart[-1] = True
        else:
            texts.append(piece)
            is_apart.append(True)
        first_text.append(len(texts))
    values, text, _, words = find_words(texts, is_apart, with_texts)
    first = np.searchsorted(text, first_text)
    borders = pairwise(first.tolist() if with_texts else [])
    joined = [" ".join(words[i:j]) for i, j in borders]
    return EntryWords(values, first.astype(np.int64), joined)


# From a piece to the hashes and texts of its words.
Read = Callable[[str], tuple[Iterable[int], Iterable[str]]]


def _token_reader(attr: str, nlp: Language, clean_text: bool) -> Read:
    """Reads values as in documents: for some words spaCy has symbols, not hashes."""
    attr = "orth" if attr == "LEMMA" else attr.lower()  # the entries are lemmas
    value, text = attrgetter(attr), attrgetter(f"{attr}_")

    def read(piece: str) -> tuple[Iterable[int], Iterable[str]]:
        doc = nlp.make_doc(piece)
        # Parts of a piece in its clean form are in theirs.
        if clean_text and clean_word(piece) != piece:
            doc, _ = clean_doc(doc)
        return map(value, doc), map(text, doc)

    return read


def _words_of(pieces: Iterable[str], read: Read, with_texts: bool) -> EntryWords:
    values, first = array("Q"), array("q", [0])
    texts = []
    for piece in pieces:
        of_piece, words = read(piece)
        values.extend(of_piece)
        first.append(len(values))
        if with_texts:
            texts.append(" ".join(words))
    return EntryWords(np.array(values, np.uint64), np.array(first, np.int64), texts)


def _compose(
    words: EntryWords, pieces: NDArray[np.int64], first: NDArray[np.int64]
) -> EntryWords:
    """Returns words of entries from words of pieces; first: that of each entry."""
    sizes = np.diff(words.first)[pieces]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    index = np.repeat(words.first[pieces] - ends[:-1], sizes) + np.arange(ends[-1])
    texts = []
    if words.texts:
        for i, j in pairwise(first.tolist()):
            of_entry = (words.texts[p] for p in pieces[i:j].tolist())
            texts.append(" ".join(filter(None, of_entry)))
    return EntryWords(words.values[index], ends[first], texts)
