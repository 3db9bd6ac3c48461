"""Documents as features read them: their words in a clean form, without whitespace.

Text that was copied from a PDF has double spaces, line breaks, hyphens at the ends of
lines, ligatures and characters that nobody sees. Features read a document of clean
words instead, and spans are moved from one to the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import (  # type: ignore[import-not-found]
    MORPH,
    NORM,
    ORTH,
    SENT_START,
    SPACY,
)
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..text.clean import LINE_END, clean_joined, clean_word
from .word_cache import Keys, WordCache

_AnySpan = tuple[int, int, Any]

# Attributes that components set.
_COPIED = ("lemma_", "pos_", "tag_", "dep_")

# Kinds of words: as they are; with another clean form; with none, unseen or whitespace.
_PLAIN, _DIRTY, _UNSEEN, _SPACE = 0, 1, 2, 3


@dataclass(frozen=True)
class CleanDoc:
    """The words of a document in their clean form.

    doc (Doc): Of W words.
    starts, ends (List[int] [W]): The tokens of the original document that are each
        word: several where a hyphen at the end of a line divides it. Tokens between
        words are whitespace, or not seen.
    n_tokens (int): Of the original document.
    """

    doc: Doc
    starts: list[int]
    ends: list[int]
    n_tokens: int

    def to_tokens(self, span: _AnySpan) -> _AnySpan:
        """RETURNS (Tuple[int, int, Any]): A span of words in tokens."""
        return self.starts[span[0]], self.ends[span[1] - 1], span[2]

    def to_words(self, span: _AnySpan) -> _AnySpan | None:
        """RETURNS (Optional[Tuple[int, int, Any]]): The words of a span of tokens; None
        if it has none."""
        start, end = _touched(self.starts, self.ends, span)
        return (start, end, span[2]) if start < end else None

    def by_token(self, of_words: Sequence[list[Any]]) -> list[list[Any]]:
        """RETURNS (List[List[Any]] [n]): Of each token what its word has; of tokens
        between words nothing."""
        found: list[list[Any]] = [[] for _ in range(self.n_tokens)]
        for start, end, of_word in zip(self.starts, self.ends, of_words):
            found[start:end] = [of_word] * (end - start)
        return found


def _touched(
    starts: Sequence[int], ends: Sequence[int], span: _AnySpan
) -> tuple[int, int]:
    """The words with a token of a span, half-open; equal if there are none."""
    return bisect_right(ends, span[0]), bisect_left(starts, span[1])


def are_clean(docs: Sequence[Doc]) -> list[bool]:
    """Whether all tokens of each document are words in their clean form.

    docs (Sequence[Doc]): Documents of one vocabulary.
    """
    parts = [doc.to_array(ORTH) for doc in docs]
    if not sum(map(len, parts)):
        return [True] * len(docs)
    is_other = _kinds_of(docs[0].vocab, np.concatenate(parts)) != _PLAIN
    if not is_other.any():
        return [True] * len(docs)
    borders = np.cumsum([0, *map(len, parts)])
    return [not is_other[i:j].any() for i, j in zip(borders, borders[1:])]


def clean_doc(
    doc: Doc, borders: Collection[int] = (), ents: Sequence[_AnySpan] = ()
) -> CleanDoc:
    """A document of clean words.

    Extension attributes and those that components set are those of the first token of
    each word. Span groups are not copied.

    doc (Doc): n tokens.
    borders (Collection[int]): Tokens with which a span may begin or end: words are not
        joined across them.
    ents (Sequence[Tuple[int, int, str]]): Entities of the new document, in tokens,
        sorted. One that has no word gets one, as it is, where a span could cover it.
    RETURNS (CleanDoc): Its words.
    """
    tokens = _Tokens(doc)
    groups, words = _hold(doc, _group(tokens, borders), ents)
    starts, ends = [i for i, _ in groups], [j for _, j in groups]
    sents = None
    if doc.has_annotation(SENT_START):
        is_start = doc.to_array(SENT_START).astype(np.int64) == 1
        before = [0, *ends[:-1]]
        sents = [bool(is_start[i : j + 1].any()) for i, j in zip(before, starts)]
    tags = ["O"] * len(words)
    for ent in ents:
        start, end = _touched(starts, ends, ent)
        tags[start:end] = [
            f"{'I' if i > start else 'B'}-{ent[2]}" for i in range(start, end)
        ]
    clean = Doc(
        doc.vocab,
        words=words,  # type: ignore[arg-type]
        spaces=_spaces(tokens, starts, ends),
        sent_starts=sents,  # type: ignore[arg-type]
        ents=tags if any(tag != "O" for tag in tags) else None,
    )
    _copy_attributes(doc, starts, clean)
    return CleanDoc(clean, starts, ends, len(doc))


def _kinds(vocab: Vocab, orths: Keys) -> NDArray[np.uint8]:
    words = [vocab.strings[orth] for orth in orths.tolist()]
    return np.array([*map(_kind, words)], np.uint8)


def _kind(word: str) -> int:
    clean = clean_word(word)
    if clean:
        return _PLAIN if word == clean else _DIRTY
    return _SPACE if any(c.isspace() for c in word) else _UNSEEN


_KINDS = WordCache(_kinds, 2**22)


def _kinds_of(vocab: Vocab, orths: NDArray[Any]) -> NDArray[np.uint8]:
    """RETURNS (uint8 [n]): The kind of each word."""
    numbers, kinds = _KINDS.find(vocab, np.ascontiguousarray(orths, np.uint64))
    found: NDArray[np.uint8] = kinds[numbers]
    return found


class _Tokens:
    """What is read of the tokens of a document: arrays, since a `Token` takes a
    microsecond."""

    def __init__(self, doc: Doc) -> None:
        orths, spaces = doc.to_array(_READ).reshape(-1, 2).T
        self.orths = orths.tolist()
        self.kinds = _kinds_of(doc.vocab, orths).tolist() if len(doc) else []
        self.texts = [doc.vocab.strings[orth] for orth in self.orths]
        # Whether there is whitespace in, or after, each token.
        self.has_space = [
            bool(space) or kind == _SPACE
            for space, kind in zip(spaces.tolist(), self.kinds)
        ]
        self.parts = [
            text + " " if space else text
            for text, space in zip(self.texts, spaces.tolist())
        ]

    def text(self, start: int, end: int) -> str:
        """RETURNS (str): The text of some tokens."""
        return "".join([*self.parts[start : end - 1], self.texts[end - 1]])


_READ: Any = (ORTH, SPACY)


_Words = tuple[list[tuple[int, int]], list[int | str]]


def _hold(doc: Doc, found: _Words, ents: Sequence[_AnySpan]) -> _Words:
    """Words, and one more for entities between two words if no entity has either of
    the two."""
    groups, words = found
    starts, ends = [i for i, _ in groups], [j for _, j in groups]
    taken: set[int] = set()
    between: dict[int, int] = {}  # the word after it, and its first token
    for ent in ents:
        first, last = _touched(starts, ends, ent)
        taken.update(range(first, last))
        if 0 < first == last < len(groups):
            between.setdefault(first, ent[0])
    added = {k: i for k, i in between.items() if not {k - 1, k} & taken}
    if not added:
        return found
    more: _Words = [], []
    for k, pair in enumerate(zip(groups, words)):
        if k in added:
            i = added[k]
            more[0].append((i, i + 1))
            more[1].append(doc[i].text)
        more[0].append(pair[0])
        more[1].append(pair[1])
    return more


def _group(tokens: _Tokens, borders: Collection[int]) -> _Words:
    """The tokens of each word, half-open, and the words, or their numbers in the
    vocabulary."""
    joined = _joined(tokens, borders)
    groups: list[tuple[int, int]] = []
    words: list[int | str] = []
    end = 0
    for i, kind in enumerate(tokens.kinds):
        if i in joined:
            end = joined[i]
            groups.append((i, end))
            words.append(clean_joined(tokens.text(i, end)))
        elif i >= end and kind in (_PLAIN, _DIRTY):
            groups.append((i, i + 1))
            word = tokens.orths[i]
            words.append(word if kind == _PLAIN else clean_word(tokens.texts[i]))
    return groups, words


def _joined(tokens: _Tokens, borders: Collection[int]) -> dict[int, int]:
    """First and last token, exclusive, of words with hyphens at the ends of lines."""
    if _SPACE not in tokens.kinds:
        return {}
    found: dict[int, int] = {}
    kept = sorted(borders)
    starts = [0, *accumulate(map(len, tokens.parts))]
    first = -1  # of the last word
    for match in LINE_END.finditer("".join(tokens.parts)):
        i = bisect_right(starts, match.start() - 1) - 1
        j = bisect_right(starts, match.end())
        i = first if found.get(first, -1) > i else i
        if bisect_right(kept, i) == bisect_left(kept, j):  # none is between
            found[i], first = j, i
    return found


def _spaces(tokens: _Tokens, starts: Sequence[int], ends: Sequence[int]) -> list[bool]:
    """Whether there is whitespace between each word and the next one."""
    n_before = [0, *accumulate(tokens.has_space)]
    after = [*starts[1:], len(tokens.kinds)]
    return [n_before[j] > n_before[end - 1] for end, j in zip(ends, after)]


def _copy_attributes(doc: Doc, starts: Sequence[int], clean: Doc) -> None:
    """What components and people have set of the tokens."""
    at = np.array(starts, np.intp)
    read: Any = (ORTH, NORM)
    before, after = (x.to_array(read).reshape(-1, 2) for x in (doc, clean))
    orth, norm = (before[at] == after).T
    for k in np.flatnonzero(orth & ~norm).tolist():
        clean[k].norm_ = doc[starts[k]].norm_
    for name in _COPIED:
        if doc.has_annotation(name.rstrip("_").upper()):
            for token, i in zip(clean, starts):
                setattr(token, name, getattr(doc[i], name))
    if doc.has_annotation(MORPH):
        for token, i in zip(clean, starts):
            if doc[i].has_morph():  # none is not the same as an empty one
                token.morph = doc[i].morph
    if len(doc.tensor) == len(doc):
        clean.tensor = doc.tensor[at]
    if doc.user_data:
        _copy_user_data(doc, starts, clean)


def _copy_user_data(doc: Doc, starts: Sequence[int], clean: Doc) -> None:
    """All but what is of spans, which a clean document does not have."""
    places = {doc[i].idx: token.idx for i, token in zip(starts, clean)}
    for key, value in doc.user_data.items():
        if not isinstance(key, tuple) or len(key) != 4 or key[0] != "._.":
            clean.user_data[key] = value
            continue
        mark, name, start, end = key
        if start is None:
            clean.user_data[key] = value
        elif end is None and start in places:
            clean.user_data[(mark, name, places[start], None)] = value
