"""Documents as features read them: their words in a clean form, without whitespace.

Text that was copied from a PDF has double spaces, line breaks, hyphens at the ends of
lines, ligatures and characters that nobody sees. Features read a document of clean
words instead, and spans are moved from one to the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import NORM, ORTH, SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..text.clean import LINE_END, clean_joined, clean_word
from .word_cache import Keys, WordCache

_AnySpan = tuple[int, int, Any]

# Attributes that components set.
_COPIED = ("lemma_", "pos_", "tag_", "dep_")

# Kinds of words: as they are; with another clean form; with an empty one.
_PLAIN, _DIRTY, _EMPTY = 0, 1, 2


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
        start = bisect_right(self.ends, span[0])
        end = bisect_left(self.starts, span[1])
        return (start, end, span[2]) if start < end else None

    def by_token(self, of_words: Sequence[list[Any]]) -> list[list[Any]]:
        """RETURNS (List[List[Any]] [n]): Of each token what its word has; of tokens
        between words nothing."""
        found: list[list[Any]] = [[] for _ in range(self.n_tokens)]
        for start, end, of_word in zip(self.starts, self.ends, of_words):
            found[start:end] = [of_word] * (end - start)
        return found


def are_clean(docs: Sequence[Doc]) -> list[bool]:
    """Whether all tokens of each document are words in their clean form.

    docs (Sequence[Doc]): Documents of one vocabulary.
    """
    parts = [doc.to_array(ORTH) for doc in docs]
    if not sum(map(len, parts)):
        return [True] * len(docs)
    orths = np.concatenate(parts).astype(np.uint64, copy=False)
    numbers, kinds = _KINDS.find(docs[0].vocab, orths)
    is_other = kinds[numbers] != _PLAIN
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
    groups, words = _hold(doc, _group(doc, borders), ents)
    starts, ends = [i for i, _ in groups], [j for _, j in groups]
    if doc.has_annotation(SENT_START):
        is_start = doc.to_array(SENT_START).astype(np.int64) == 1
        before = [0, *ends[:-1]]
        sents = [bool(is_start[i : j + 1].any()) for i, j in zip(before, starts)]
    tags = ["O"] * len(words)
    found = CleanDoc(doc, starts, ends, len(doc))
    moved = [span for ent in ents if (span := found.to_words(ent))]
    for start, end, label in moved:
        tags[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    clean = Doc(
        doc.vocab,
        words=words,
        spaces=_spaces(doc, groups),
        sent_starts=sents if doc.has_annotation(SENT_START) else None,  # type: ignore[arg-type]
        ents=tags if moved else None,
    )
    _copy_attributes(doc, starts, clean)
    return CleanDoc(clean, starts, ends, len(doc))


def _kinds(vocab: Vocab, orths: Keys) -> NDArray[np.uint8]:
    strings = vocab.strings
    words = [strings[orth] for orth in orths.tolist()]
    cleaned = [clean_word(word) for word in words]
    return np.array(
        [
            _PLAIN if word == clean else _DIRTY if clean else _EMPTY
            for word, clean in zip(words, cleaned)
        ],
        np.uint8,
    )


_KINDS = WordCache(_kinds, 2**22)


_Words = tuple[list[tuple[int, int]], list[str]]


def _hold(doc: Doc, found: _Words, ents: Sequence[_AnySpan]) -> _Words:
    """Words, and a word for entities between two words of which neither is within an
    entity."""
    groups, words = found
    starts, ends = [i for i, _ in groups], [j for _, j in groups]
    taken: set[int] = set()
    between: dict[int, int] = {}  # the word after it, and its first token
    for start, end, _ in ents:
        first, last = bisect_right(ends, start), bisect_left(starts, end)
        taken.update(range(first, last))
        if 0 < first == last < len(groups):
            between.setdefault(first, start)
    for k in sorted(between, reverse=True):
        if not {k - 1, k} & taken:
            i = between[k]
            groups.insert(k, (i, i + 1))
            words.insert(k, doc[i].text)
    return found


def _group(doc: Doc, borders: Collection[int]) -> _Words:
    """The tokens of each word, half-open, and the words."""
    groups: list[tuple[int, int]] = []
    words: list[str] = []
    joined = _joined(doc, borders)
    i = 0
    while i < len(doc):
        j = joined.get(i, i + 1)
        text = doc[i].text if j == i + 1 else doc[i:j].text
        if word := clean_word(text) if j == i + 1 else clean_joined(text):
            groups.append((i, j))
            words.append(word)
        i = j
    return groups, words


def _joined(doc: Doc, borders: Collection[int]) -> dict[int, int]:
    """First and last token, exclusive, of words with hyphens at the ends of lines."""
    found: dict[int, int] = {}
    starts = [token.idx for token in doc]
    first = -1  # of the last word
    for match in LINE_END.finditer(doc.text):
        i = bisect_right(starts, match.start() - 1) - 1
        j = bisect_right(starts, match.end())
        i = first if found.get(first, -1) > i else i
        if not any(i < border < j for border in borders):
            found[i], first = j, i
    return found


def _spaces(doc: Doc, groups: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether there is whitespace between each word and the next one."""
    text, found = doc.text, []
    after = [*(doc[i].idx for i, _ in groups[1:]), len(text)]
    for (_, end), next_start in zip(groups, after):
        last = doc[end - 1]
        between = text[last.idx + len(last) : next_start]
        found.append(any(c.isspace() for c in between))
    return found


def _copy_attributes(doc: Doc, starts: Sequence[int], clean: Doc) -> None:
    """What components and people have set of the tokens."""
    copied = [x for x in _COPIED if doc.has_annotation(x.rstrip("_").upper())]
    norms = doc.to_array(NORM).tolist()
    for token, i in zip(clean, starts):
        of_doc = doc[i]
        if token.orth == of_doc.orth and token.norm != norms[i]:
            token.norm_ = of_doc.norm_
        for name in copied:
            setattr(token, name, getattr(of_doc, name))
        if of_doc.has_morph():  # none is not the same as an empty one
            token.morph = of_doc.morph
    if len(doc.tensor) == len(doc):
        clean.tensor = doc.tensor[np.array(starts, np.intp)]
    if doc.user_data:
        places = {doc[i].idx: token.idx for i, token in zip(starts, clean)}
        for key, value in doc.user_data.items():
            # Extension attributes of tokens, which have a start and no end.
            if isinstance(key, tuple) and len(key) == 4 and key[0] == "._.":
                if key[2] is not None and key[3] is None and key[2] in places:
                    moved = (*key[:2], places[key[2]], None)
                    clean.user_data[moved] = value
                elif key[2] is None:
                    clean.user_data[key] = value
            elif not isinstance(key, tuple):
                clean.user_data[key] = value
