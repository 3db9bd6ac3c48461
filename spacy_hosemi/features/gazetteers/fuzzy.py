"""Entries of a list that resemble segments of a document.

A segment and an entry are compared as bags of words, as bags of character 3-grams (of
the text with a space before and after it), or as strings. The text is made of the words
that the list compares, with a space between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import hash_string  # type: ignore[attr-defined]

from ...errors import Errors
from ...values import Choice, Number, read
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
    """Check the setting `fuzzy` of a list.

    settings (Optional[Mapping[str, Any]]): Those fields of `Fuzzy` that the config
        sets; None: exact matches only.
    RETURNS (Optional[Fuzzy]): All fields; None: exact matches only.
    RAISES (ValueError): HS034 a setting is unknown or out of range; HS089 rapidfuzz is
        not installed.
    """
    if settings is None:
        return None
    known = tuple(Fuzzy.__dataclass_fields__)
    if not isinstance(settings, Mapping) or not set(settings) <= set(known):
        expected = f"null, or a block of {known}"
        raise ValueError(
            Errors.HS034.format(name="fuzzy", found=settings, expected=expected)
        )
    fuzzy = Fuzzy(**settings)
    is_edit = fuzzy.similarity == "edit"
    threshold = Number(above=0.0, most=1.0)
    if is_edit:
        threshold = Number(least=LEAST_EDIT, most=1.0)
    for name, kind in (
        ("similarity", Choice(SIMILARITIES)),
        ("units", Choice(UNITS[1:] if is_edit else UNITS)),
        ("threshold", threshold),
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
class Pairs:
    """Segments and the entries that they resemble.

    start, end (int32 [K]): The words of each segment, half-open.
    entry (int32 [K]): The number of the entry.
    similarity (float64 [K]): From the threshold to 1.
    """

    start: Ints
    end: Ints
    entry: Ints
    similarity: NDArray[np.float64]

    def __getitem__(self, which: NDArray[Any]) -> Pairs:
        arrays = (self.start, self.end, self.entry, self.similarity)
        return Pairs(*(array[which] for array in arrays))

    def best(self) -> Pairs:
        """RETURNS (Pairs): For each segment the most similar entry; of equals the
        first."""
        order = np.lexsort((self.entry, -self.similarity, self.end, self.start))
        start, end = self.start[order], self.end[order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        return self[order[is_first]]


class FuzzyIndex:
    """Finds the entries that resemble segments, in any number of threads.

    fuzzy (Fuzzy): When an entry resembles a segment.
    texts (Sequence[str]): Distinct entries, a space between their words.
    source (Optional[uint64 [E]]): The only document that each entry comes from, or
        SHARED; None: all are SHARED.

    The index is built when it is first needed: a saved model has the texts alone.
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
        """RETURNS (FuzzyIndex): Of distinct entries; one from several documents is
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
        """The bags of all entries."""
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
    ) -> Pairs:
        """Segments of a document, and the entry that each resembles most.

        words (Sequence[str]): W words.
        begins, ends (uint8 [W]): Whether a segment may begin and end with the word.
        counts (Optional[Callable]): From the numbers of entries, int32 [K], to whether
            each counts, bool [K]; None: all do.
        RETURNS (Pairs): Sorted by start and end; of equal entries the first. Work and
            memory are bounded by the text's length: see `BagIndex`.
        """
        if not self.texts or not words:
            return NO_PAIRS
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
        pairs = Pairs(*self.index.find(*where, only_best))
        if counts is not None:
            pairs = pairs[counts(pairs.entry)]
        return (self._compared(words, pairs) if is_edit else pairs).best()

    def _compared(self, words: Sequence[str], pairs: Pairs) -> Pairs:
        """The pairs whose texts are similar enough as strings."""
        if not len(pairs.start):
            return pairs
        rapidfuzz = _rapidfuzz()
        spans = zip(pairs.start.tolist(), pairs.end.tolist())
        segments = [" ".join(words[i:j]) for i, j in spans]
        similarity = rapidfuzz.process.cpdist(
            segments,
            [self.texts[e] for e in pairs.entry.tolist()],
            scorer=rapidfuzz.distance.Levenshtein.normalized_similarity,
            dtype=np.float64,
        )
        found = Pairs(pairs.start, pairs.end, pairs.entry, similarity)
        return found[similarity >= self.fuzzy.threshold]


def grams(texts: Sequence[str]) -> Words:
    """RETURNS (uint64): The character 3-grams of concatenated texts, each text with a
    space before and after it: one for each character."""
    joined = "".join(f" {text} " for text in texts)
    chars = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    chars = chars.astype(np.uint64)
    found = chars.copy()
    for k in range(1, GRAM):  # a character takes 21 bits
        found[:-k] |= chars[k:] << np.uint64(21 * k)
    ends = np.cumsum([len(text) + 2 for text in texts], dtype=np.int64)
    is_whole = np.ones(len(found), bool)
    is_whole[ends - 1] = is_whole[ends - 2] = False
    return found[is_whole]


def _hashes(words: Sequence[str]) -> Words:
    return np.array([hash_string(word) for word in words], np.uint64)


_NOTHING = np.zeros(0, np.int32)
NO_PAIRS = Pairs(_NOTHING, _NOTHING, _NOTHING, np.zeros(0))
