"""The words of the entries of a list.

Each distinct piece between white space is tokenized once: tokenizers divide at white
space first, and a list of a million names has 300,000 distinct pieces.
"""

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

from ...text.clean import LINE_END, clean_word
from ..clean_docs import clean_doc
from ..kernels.alnum_words import find_words


@dataclass(frozen=True)
class EntryWords:
    """The words of concatenated entries.

    values (uint64 [T]): The hash of each word.
    first (int64 [E + 1]): Words first[e]:first[e + 1] belong to entry e.
    texts (List[str]): The words of each entry, joined by spaces; empty if not asked
        for.
    """

    values: NDArray[np.uint64]
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
    """Divide entries into words.

    entries (Iterable[str]): E texts.
    attr (str): What is compared; see `Gazetteer`.
    nlp (Language): Its tokenizer divides them, unless attr is "ALNUM".
    with_texts (bool): Whether to return the words as texts, too.
    clean_text (bool): Whether words are compared in their clean form, see `clean_doc`.
    RETURNS (EntryWords): All words.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    pieces, first = array("q"), array("q", [0])
    for entry in entries:
        entry = LINE_END.sub("", entry) if clean_text else entry
        pieces.extend(map(numbers.__getitem__, entry.split()))
        first.append(len(pieces))
    if attr == "ALNUM":
        words = _alnum_words(numbers, with_texts, clean_text)
    else:
        read = _token_reader(attr, nlp, clean_text)
        with nlp.memory_zone():  # forgets the words that this adds to the vocabulary
            words = _words_of(numbers, read, with_texts)
    return _compose(words, np.array(pieces, np.int64), np.array(first, np.int64))


def _alnum_words(
    pieces: Iterable[str], with_texts: bool, clean_text: bool
) -> EntryWords:
    texts = [clean_word(piece) if clean_text else piece for piece in pieces]
    is_apart = np.ones(len(texts), np.uint8)
    values, piece, _, words = find_words(texts, is_apart, with_texts)
    first = np.searchsorted(piece, np.arange(len(texts) + 1))
    borders = pairwise(first.tolist() if with_texts else [])
    joined = [" ".join(words[i:j]) for i, j in borders]
    return EntryWords(values, first.astype(np.int64), joined)


# From a piece to the hashes and texts of its words.
Read = Callable[[str], tuple[Iterable[int], Iterable[str]]]


def _token_reader(attr: str, nlp: Language, clean_text: bool) -> Read:
    """Values as in documents: for some words spaCy has symbols instead of hashes."""
    attr = "orth" if attr == "LEMMA" else attr.lower()  # the entries are lemmas
    value, text = attrgetter(attr), attrgetter(f"{attr}_")

    def read(piece: str) -> tuple[Iterable[int], Iterable[str]]:
        doc = nlp.make_doc(piece)
        # Parts of a piece in its clean form are in theirs.
        if clean_text and clean_word(piece) != piece:
            doc = clean_doc(doc).doc
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
    """Words of entries from words of pieces; first: the first piece of each entry."""
    sizes = np.diff(words.first)[pieces]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    index = np.repeat(words.first[pieces] - ends[:-1], sizes) + np.arange(ends[-1])
    texts = []
    if words.texts:
        for i, j in pairwise(first.tolist()):
            of_entry = (words.texts[p] for p in pieces[i:j].tolist())
            texts.append(" ".join(filter(None, of_entry)))
    return EntryWords(words.values[index], ends[first], texts)
