"""Documents as features read them: their words in a clean form, without whitespace.

Text that was copied from a PDF has double spaces, line breaks, hyphens at the ends of
lines, ligatures and characters that nobody sees. Features read a document of clean
words instead, and spans are moved from one to the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import (  # type: ignore[import-not-found]
    DEP,
    LEMMA,
    MORPH,
    NORM,
    ORTH,
    POS,
    SENT_START,
    SPACY,
    TAG,
)
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..text.clean import LINE_END, clean_joined, clean_word
from .instances import Instances, doc_of
from .kernels.word_forms import read_texts
from .word_cache import Keys, WordCache

_AnySpan = tuple[int, int, Any]

# What is read of each token, all at once: a `Token` takes a microsecond. The last ones
# are what components set.
_READ: Any = (ORTH, SPACY, NORM, LEMMA, POS, TAG, DEP, MORPH)
_COPIED = ("lemma_", "pos_", "tag_", "dep_", "morph")

# Kinds of words: as they are, which is 0; with another clean form; with none, unseen or
# whitespace. The number of a word with a line break is higher by _BREAK.
_PLAIN, _DIRTY, _UNSEEN, _SPACE, _BREAK = 0, 1, 2, 3, 4


# Not frozen: one is made for each document.
@dataclass(slots=True)
class WordPlaces:
    """Where the words of a clean document stand in the original one.

    starts, ends (List[int] [W]): The tokens of the original document that are each
        word: several where a hyphen at the end of a line divides it. Tokens between
        words are whitespace, or not seen.
    n_tokens (int): Of the original document.
    """

    starts: list[int]
    ends: list[int]
    n_tokens: int

    def to_tokens(self, span: _AnySpan) -> _AnySpan:
        """RETURNS (Tuple[int, int, Any]): A span of words in tokens."""
        return self.starts[span[0]], self.ends[span[1] - 1], span[2]

    def to_words(self, span: _AnySpan) -> _AnySpan | None:
        """Returns the words of a span of tokens; None if it has none."""
        start, end = _touched(self.starts, self.ends, span)
        return (start, end, span[2]) if start < end else None

    def by_token(self, of_words: Sequence[list[Any]]) -> list[list[Any]]:
        """Returns of each token what its word has; of those between words nothing."""
        by_token: list[list[Any]] = [[] for _ in range(self.n_tokens)]
        for start, end, of_word in zip(self.starts, self.ends, of_words):
            by_token[start:end] = [of_word] * (end - start)
        return by_token


def _touched(
    starts: Sequence[int], ends: Sequence[int], span: _AnySpan
) -> tuple[int, int]:
    """The words with a token of a span, half-open; equal if there are none."""
    return bisect_right(ends, span[0]), bisect_left(starts, span[1])


def are_clean(docs: Sequence[Doc]) -> list[bool]:
    """Returns whether all tokens of each document, of one vocabulary, are words in
    their clean form."""
    if not docs:
        return []
    tokens = docs if isinstance(docs, Instances) else Instances(docs)
    if tokens.is_clean or not len(tokens.orths):
        return [True] * len(docs)
    of_docs = are_clean_texts(docs[0].vocab, tokens.orths, tokens.first)
    is_clean: list[bool] = of_docs.tolist()
    return is_clean


def are_clean_texts(
    vocab: Vocab, orths: Keys, first: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Returns `are_clean` of concatenated texts, bool [D], from the ORTH of each token
    (uint64 [n], n > 0) and the first token of each text, and n (int32 [D + 1])."""
    kinds, is_clean = _kinds_of(vocab, orths), np.ones(len(first) - 1, bool)
    if np.count_nonzero(kinds):  # not as of most documents
        is_clean[doc_of(np.flatnonzero(kinds), first)] = False
    return is_clean


def clean_doc(
    doc: Doc, borders: Collection[int] = (), ents: Sequence[_AnySpan] = ()
) -> tuple[Doc, WordPlaces]:
    """Makes a document of clean words.

    Extension attributes and those that components set are those of the first token of
    each word. Span groups are not copied.

    doc (Doc): n tokens.
    borders (Collection[int]): Tokens with which a span may begin or end: words are not
        joined across them.
    ents (Sequence[Tuple[int, int, str]]): Entities of the new document, in tokens,
        sorted. One that has no word gets one, as it is, where a span could cover it.
    RETURNS (Tuple[Doc, WordPlaces]): The new document, and where its words stand.
    """
    tokens = _TokenRows(doc)
    words = _hold(tokens, _group(tokens, borders), ents)
    starts, ends = words.starts, words.ends
    sents = None
    if doc.has_annotation(SENT_START):
        is_start = doc.to_array(SENT_START).astype(np.int64) == 1
        before = [0, *ends[:-1]]
        sents = [bool(is_start[i : j + 1].any()) for i, j in zip(before, starts)]
    tags = ["O"] * len(starts) if ents else []
    for ent in ents:
        start, end = _touched(starts, ends, ent)
        tags[start:end] = [
            f"{'I' if i > start else 'B'}-{ent[2]}" for i in range(start, end)
        ]
    last = np.array(ends, np.intp) - 1
    clean = Doc(
        doc.vocab,
        words=words.words,  # type: ignore[arg-type]
        spaces=np.logical_or.reduceat(tokens.has_space, last).tolist(),
        sent_starts=sents,  # type: ignore[arg-type]
        ents=tags if any(tag != "O" for tag in tags) else None,
    )
    _copy_attributes(doc, tokens, words, clean)
    return clean, WordPlaces(starts, ends, len(doc))


def _write_kinds(vocab: Vocab, orths: Keys, kinds: NDArray[np.uint8]) -> None:
    texts, others = read_texts(vocab.strings, orths)
    kinds[:] = _PLAIN  # as most words are
    for k in others:
        kinds[k] = _kind(texts[k])


def _kind(word: str) -> int:
    clean = clean_word(word)
    if clean and word == clean:
        return _PLAIN  # without whitespace, and so without a line break
    kind = _SPACE if any(c.isspace() for c in word) else _UNSEEN
    if clean:
        kind = _DIRTY
    return kind + (_BREAK if any(c in word for c in "\r\n\u2028") else 0)


def _clean(word: str) -> str:
    """RETURNS (str): `clean_word`; long words are not cached."""
    return _clean_cached(word) if len(word) <= 50 else clean_word(word)


# About 5 MB.
_clean_cached = lru_cache(2**14)(clean_word)


_KINDS = WordCache(_write_kinds, np.uint8, 2**22)


def _kinds_of(vocab: Vocab, orths: NDArray[Any]) -> NDArray[np.uint8]:
    """RETURNS (uint8 [n]): The kind of each word."""
    numbers, kinds = _KINDS.find(vocab, orths)
    of_words: NDArray[np.uint8] = kinds.take(numbers)
    return of_words


class _TokenRows:
    """What is read of the tokens of a document.

    orths (uint64 [n]), kinds (uint8 [n]), has_break (bool [n]): Of each token its word,
        its kind, and whether there is a line break in it.
    has_space (bool [n]): Whether there is whitespace in, or after, each token; within
        words, as they are joined, that does not count.
    norms (uint64 [n]), rest (uint64 [n, 5]): The other attributes of `_READ`.
    """

    def __init__(self, doc: Doc) -> None:
        self.strings = doc.vocab.strings
        rows = doc.to_array(_READ).reshape(-1, len(_READ))
        self.orths, self._spaces, self.norms = rows[:, 0], rows[:, 1], rows[:, 2]
        self.rest = rows[:, 3:]
        kinds = np.zeros(0, np.uint8)
        if len(doc):
            kinds = _kinds_of(doc.vocab, np.ascontiguousarray(self.orths))
        self.kinds, self.has_break = kinds % _BREAK, kinds >= _BREAK
        self.has_space = (self._spaces != 0) | (self.kinds == _SPACE)

    def text(self, i: int) -> str:
        """RETURNS (str): Of a token."""
        return self.strings[int(self.orths[i])]

    def parts(self) -> list[str]:
        """RETURNS (List[str]): The text of each token, with the space after it."""
        strings = self.strings
        return [
            strings[orth] + " " if space else strings[orth]
            for orth, space in zip(self.orths.tolist(), self._spaces.tolist())
        ]


@dataclass
class _CleanWords:
    """Words, or their numbers in the vocabulary, and the tokens of each, half-open."""

    starts: list[int]
    ends: list[int]
    words: list[int | str]


def _hold(
    tokens: _TokenRows, words: _CleanWords, ents: Sequence[_AnySpan]
) -> _CleanWords:
    """Words, and one more for entities between two words if no entity has either of
    the two."""
    taken: set[int] = set()
    between: dict[int, int] = {}  # the word after it, and its first token
    for ent in ents:
        first, last = _touched(words.starts, words.ends, ent)
        taken.update(range(first, last))
        if 0 < first == last < len(words.starts):
            between.setdefault(first, ent[0])
    for k in sorted(between, reverse=True):
        if not {k - 1, k} & taken:
            i = between[k]
            words.starts.insert(k, i)
            words.ends.insert(k, i + 1)
            words.words.insert(k, tokens.text(i))
    return words


def _group(tokens: _TokenRows, borders: Collection[int]) -> _CleanWords:
    """The words of a document."""
    joined = _joined(tokens, borders)
    is_word = tokens.kinds <= _DIRTY
    for i, (j, _) in joined.items():
        is_word[i + 1 : j] = False
        is_word[i] = True
        tokens.has_space[i : j - 1] = False
    at = np.flatnonzero(is_word)
    starts = at.tolist()
    orths: list[int] = tokens.orths[at].tolist()
    words: list[int | str] = [*orths]
    for k in np.flatnonzero(tokens.kinds[at] == _DIRTY).tolist():
        words[k] = _clean(tokens.strings[orths[k]])
    ends = [i + 1 for i in starts]
    for i, (j, text) in joined.items():
        k = bisect_left(starts, i)
        ends[k], words[k] = j, clean_joined(text)
    return _CleanWords(starts, ends, words)


def _joined(tokens: _TokenRows, borders: Collection[int]) -> dict[int, tuple[int, str]]:
    """First and last token, exclusive, and text of words with hyphens at the ends of
    lines."""
    if not tokens.has_break.any() or _SPACE not in tokens.kinds:
        return {}
    parts = tokens.parts()
    text = "".join(parts)
    fixed: list[int] = []
    starts: list[int] = []
    ends: dict[int, int] = {}
    first = -1  # of the last word
    for match in LINE_END.finditer(text):
        if not starts:
            fixed, starts = sorted(borders), [0, *accumulate(map(len, parts))]
        i = bisect_right(starts, match.start() - 1) - 1
        j = bisect_right(starts, match.end())
        i = first if ends.get(first, -1) > i else i
        if bisect_right(fixed, i) == bisect_left(fixed, j):  # none is between
            ends[i], first = j, i
    return {
        i: (j, "".join([*parts[i : j - 1], tokens.text(j - 1)]))
        for i, j in ends.items()
    }


def _copy_attributes(
    doc: Doc, tokens: _TokenRows, words: _CleanWords, clean: Doc
) -> None:
    """What components and people have set of the tokens."""
    at = np.array(words.starts, np.intp)
    is_other = tokens.norms[at] != clean.to_array(NORM)
    if is_other.any():
        # Of another word the norm is another one, too.
        is_other &= tokens.orths[at] == clean.to_array(ORTH)
        for k in np.flatnonzero(is_other).tolist():
            clean[k].norm_ = doc[words.starts[k]].norm_
    if tokens.rest.any():
        is_set: Any = tokens.rest.any(axis=0)
        for name in (name for name, is_there in zip(_COPIED, is_set) if is_there):
            for token, i in zip(clean, words.starts):
                if name != "morph" or doc[i].has_morph():  # none is not an empty one
                    setattr(token, name, getattr(doc[i], name))
    if len(doc.tensor) == len(doc):
        clean.tensor = doc.tensor[at]
    if doc.user_data:
        _copy_user_data(doc, words.starts, clean)


def _copy_user_data(doc: Doc, starts: Sequence[int], clean: Doc) -> None:
    """All but what is of spans, which a clean document does not have."""
    places: dict[int, int] = {}  # if an attribute of a token asks for them
    for key, value in doc.user_data.items():
        if not isinstance(key, tuple) or len(key) != 4 or key[0] != "._.":
            clean.user_data[key] = value
            continue
        mark, name, start, end = key
        if start is None:
            clean.user_data[key] = value
            continue
        if end is None and not places:
            places = {doc[i].idx: token.idx for i, token in zip(starts, clean)}
        if end is None and start in places:
            clean.user_data[(mark, name, places[start], None)] = value
