"""Entries of a list that resemble segments of a document.

A segment and an entry are compared as bags of words, as bags of character 3-grams (of
the text with a space before and after it), or as strings. The text is made of the words
that the list compares, with a space between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]

from ...errors import Errors
from ...values import choice, number, read, shown
from ..kernels.ngram_windows import GRAM, BagIndex
from ..kernels.trie import SHARED

SIMILARITIES = ("jaccard", "cosine", "edit")
UNITS = ("words", "chars")

# Texts less similar than this share so few 3-grams that nearly all entries would have
# to be compared.
LEAST_EDIT = 0.75

Ints = NDArray[np.int32]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Fuzzy:
    """When an entry resembles a segment.

    similarity (str): "jaccard" or "cosine" of bags; or "edit": 1 - the Levenshtein
        distance of the texts / the length of the longer one.
    threshold (float): The least similarity; at most 1, for "edit" .75 or more.
    units (str): The elements of the bags: "words", or "chars": character 3-grams.
    """

    similarity: str = "jaccard"
    threshold: float = 0.8
    units: str = "chars"


def make_fuzzy(settings: Mapping[str, Any] | None) -> Fuzzy | None:
    """Returns the setting `fuzzy` of a list, with all fields, or None for exact matches
    only. Raises HS034 if a field is unknown or out of range, HS089 if rapidfuzz is not
    installed."""
    if settings is None:
        return None
    names = tuple(Fuzzy.__dataclass_fields__)
    if not isinstance(settings, Mapping) or not set(settings) <= set(names):
        args = {"found": shown(settings), "expected": f"null, or a block of {names}"}
        raise ValueError(Errors.HS034.format(name="fuzzy", **args))
    fuzzy = Fuzzy(**settings)
    is_edit = fuzzy.similarity == "edit"
    least = {"least": LEAST_EDIT} if is_edit else {"above": 0.0}
    for name, kind in (
        ("similarity", choice(SIMILARITIES)),
        ("units", choice(UNITS[1:] if is_edit else UNITS)),
        ("threshold", number(**least, most=1.0)),
    ):
        read(f"fuzzy.{name}", kind, getattr(fuzzy, name), Errors.HS034)
    if is_edit:
        _rapidfuzz()
    return fuzzy


def _rapidfuzz() -> Any:
    try:
        import rapidfuzz
    except ImportError:
        raise ValueError(Errors.HS089) from None
    return rapidfuzz


@dataclass(frozen=True)
class SimilarEntries:
    """Has K segments and the entries that they resemble: start and end in words,
    half-open, the number of the entry, all int32, and the similarity."""

    start: Ints
    end: Ints
    entry: Ints
    similarity: NDArray[np.float64]

    def __getitem__(self, which: NDArray[Any]) -> SimilarEntries:
        arrays = (self.start, self.end, self.entry, self.similarity)
        return SimilarEntries(*(array[which] for array in arrays))

    def best(self) -> SimilarEntries:
        """Returns for each segment the most similar entry; of equals the first."""
        order = np.lexsort((self.entry, -self.similarity, self.end, self.start))
        start, end = self.start[order], self.end[order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        return self[order[is_first]]


class FuzzyIndex:
    """Finds the entries that resemble segments, in any number of threads. Bags are
    built when they are first needed: a saved model has the texts alone.

    texts (Sequence[str]): Distinct entries, a space between their words.
    source (Optional[uint64 [E]]): The only document that each entry comes from, or
        SHARED; None: all are SHARED.
    """

    def __init__(
        self, fuzzy: Fuzzy, texts: Sequence[str] = (), source: Words | None = None
    ) -> None:
        self.fuzzy = fuzzy
        self.texts = list(texts)
        self.source = np.full(len(texts), SHARED, "u8") if source is None else source
        self.source.setflags(write=False)
        self._index: BagIndex | None = None
        self._lock = Lock()  # one thread builds the index

    @classmethod
    def build(cls, fuzzy: Fuzzy, texts: Iterable[str], sources: Iterable[int]) -> Any:
        """Returns an index of distinct entries; one from several documents is
        SHARED."""
        source_of: dict[str, int] = {}
        for text, source in zip(texts, sources):
            if text and source_of.setdefault(text, source) != source:
                source_of[text] = SHARED
        return cls(fuzzy, list(source_of), np.array([*source_of.values()], np.uint64))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def index(self) -> BagIndex:
        """Returns the bags of all entries."""
        if self._index is None:
            with self._lock:
                if self._index is None:
                    self._index = self._make_index()
        return self._index

    def _make_index(self) -> BagIndex:
        if self.fuzzy.units == "words":
            bags = [text.split(" ") for text in self.texts]
            sizes = np.array([len(bag) for bag in bags], np.int64)
            elements = _hashes([word for bag in bags for word in bag])
        else:
            sizes = np.array([len(text) for text in self.texts], np.int64)
            elements = grams(self.texts)
        first = np.concatenate([[0], np.cumsum(sizes)])
        return BagIndex(elements, first, self.fuzzy.similarity, self.fuzzy.threshold)

    def find(
        self,
        words: Sequence[str],
        begins: NDArray[np.uint8],
        ends: NDArray[np.uint8],
        counts: Callable[[Ints], NDArray[np.bool_]] | None = None,
    ) -> SimilarEntries:
        """Returns the segments of W words that resemble entries, each with the most
        similar one, of equals the first; sorted by start and end. begins, ends (uint8
        [W]): where segments may do so; counts: from numbers of entries, int32 [K], to
        whether each counts, bool [K]; None: all do. `BagIndex` bounds work and
        memory."""
        if not self.texts or not words:
            return NO_ENTRIES
        if self.fuzzy.units == "words":
            begin = np.arange(len(words), dtype=np.int32)
            elements, end = _hashes(words), begin + np.int32(1)
        else:
            # A word begins with the space before it.
            border = np.cumsum([0, *(len(word) + 1 for word in words)], dtype=np.int32)
            elements = grams([" ".join(words)])
            begin, end = border[:-1], border[1:] - 1
        is_edit = self.fuzzy.similarity == "edit"
        only_best = not is_edit and counts is None
        where = elements, begin, end, begins, ends
        similar = SimilarEntries(*self.index.find(*where, only_best))
        if counts is not None:
            similar = similar[counts(similar.entry)]
        return (self._compared(words, similar) if is_edit else similar).best()

    def _compared(
        self, words: Sequence[str], similar: SimilarEntries
    ) -> SimilarEntries:
        """Returns those whose texts are similar enough as strings."""
        if not len(similar.start):
            return similar
        rapidfuzz = _rapidfuzz()
        spans = zip(similar.start.tolist(), similar.end.tolist())
        similarity = rapidfuzz.process.cpdist(
            [" ".join(words[i:j]) for i, j in spans],
            [self.texts[e] for e in similar.entry.tolist()],
            scorer=rapidfuzz.distance.Levenshtein.normalized_similarity,
            dtype=np.float64,
        )
        compared = replace(similar, similarity=similarity)
        return compared[similarity >= self.fuzzy.threshold]


def grams(texts: Sequence[str]) -> Words:
    """Returns the character 3-grams of concatenated texts, uint64, each text with a
    space before and after it: one for each character."""
    joined = "".join(f" {text} " for text in texts)
    encoded = joined.encode("utf-32-le", "surrogatepass")
    chars = np.frombuffer(encoded, np.uint32).astype(np.uint64)
    ngrams = chars.copy()
    for k in range(1, GRAM):  # a character takes 21 bits
        ngrams[:-k] |= chars[k:] << np.uint64(21 * k)
    ends = np.cumsum([len(text) + 2 for text in texts], dtype=np.int64)
    is_whole = np.ones(len(ngrams), bool)
    is_whole[ends - 1] = is_whole[ends - 2] = False
    return ngrams[is_whole]


def _hashes(words: Sequence[str]) -> Words:
    return np.array([hash_string(word) for word in words], np.uint64)


_NOTHING = np.zeros(0, np.int32)
NO_ENTRIES = SimilarEntries(_NOTHING, _NOTHING, _NOTHING, np.zeros(0))
