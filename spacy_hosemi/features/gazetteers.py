"""Lists of names, and where their entries occur in a document.

Entries and documents are compared word by word. With the attribute ALNUM a word is a
run of letters and digits in lower case, whatever the tokenizer made of it, and what
stands between words does not count: "J. Am. Chem. Soc." is found in "J Am Chem Soc,".
Then a match begins with the first word that begins in a token and ends with the last
one that ends in a token. With an attribute of tokens each token is one word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ..core.trie import SHARED, Trie
from ..errors import Errors

ATTRIBUTES = ("ALNUM", "ORTH", "LOWER", "NORM", "LEMMA")
MODES = ("feature",)

# What templates can read of a list, after its name and a colon.
BEGIN, IN, END, MATCH = "BEGIN", "IN", "END", "MATCH"

# Words of a match, from which on they are not told apart.
_LONGEST = 6

# Tokens without letters and digits on each side of a match that a segment may include.
_AROUND = 3

# Chinese and Japanese characters are words of their own.
_CJK = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")

Words = NDArray[np.uint64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Gazetteer:
    """How a list of names is used; its entries come at initialization.

    attr (str): What is compared: ALNUM, ORTH, LOWER, NORM or LEMMA.
    mode (str): "feature": a match is evidence, weighted by training.
    dropout (float): With which probability an entry is overlooked in a training
        document, so that other features learn to do without it.
    """

    attr: str = "ALNUM"
    mode: str = "feature"
    dropout: float = 0.0


def make_gazetteer(
    attr: str = "ALNUM", mode: str = "feature", dropout: float = 0.0
) -> Gazetteer:
    """Registered as "spacy_hosemi.gazetteer.v1" in `misc`.

    attr, mode, dropout: See `Gazetteer`.
    RETURNS (Gazetteer): Settings, without entries.
    RAISES (ValueError): HS034 a setting is out of range.
    """
    for name, found, expected in (
        ("attr", attr, ATTRIBUTES),
        ("mode", mode, MODES),
    ):
        if found not in expected:
            raise ValueError(
                Errors.HS034.format(name=name, found=found, expected=expected)
            )
    if not 0.0 <= dropout < 1.0:
        raise ValueError(
            Errors.HS034.format(
                name="dropout", found=dropout, expected="0 or more and less than 1"
            )
        )
    return Gazetteer(attr, mode, dropout)


@dataclass(frozen=True)
class Matches:
    """Where the entries of one list occur in a document of n tokens.

    start, end (int32 [K]): Tokens, half-open.
    size (int32 [K]): Words.
    first, last (int32 [K]): The same with the tokens without letters and digits around
        it, up to three on each side: a segment may include them.
    """

    start: Ints
    end: Ints
    size: Ints
    first: Ints
    last: Ints


class Gazetteers:
    """All lists of a component.

    settings (Mapping[str, Gazetteer]): By name.
    """

    def __init__(self, settings: Mapping[str, Gazetteer] | None = None) -> None:
        self.settings = dict(settings or {})
        self.tries = {name: EMPTY for name in self.settings}

    def __bool__(self) -> bool:
        return bool(self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.settings, self.to_dict())

    def compile(
        self, name: str, entries: Iterable[str | tuple[str, Doc]], nlp: Language
    ) -> None:
        """Replace the entries of a list.

        name (str): Of the list.
        entries (Iterable): Texts; or texts with the training document that each comes
            from, in which it will not be found in training.
        nlp (Language): Its tokenizer divides the texts, if the attribute needs it.
        """
        to_words = _entry_words(self.settings[name].attr, nlp)
        words: list[int] = []
        first, sources = [0], []
        has_sources = False
        entries = list(entries)  # what makes documents must not do so in the zone
        with nlp.memory_zone():  # the vocabulary stays as it is
            for entry in entries:
                text, doc = entry if isinstance(entry, tuple) else (entry, None)
                words.extend(to_words(text))
                first.append(len(words))
                sources.append(SHARED if doc is None else fingerprint(doc))
                has_sources |= doc is not None
        self.tries[name] = Trie.build(
            np.array(words, np.uint64),
            np.array(first, np.int64),
            np.array(sources, np.uint64) if has_sources else None,
        )

    def matches(self, doc: Doc, is_train: bool = False) -> dict[str, Matches]:
        """All matches of all lists.

        doc (Doc): n tokens.
        is_train (bool): As a training document sees them: not those entries that come
            from it alone, nor those that fall victim to `dropout`.
        RETURNS (Dict[str, Matches]): By the name of the list.
        """
        words = {
            attr: _words(doc, attr)
            for attr in {gazetteer.attr for gazetteer in self.settings.values()}
        }
        before, after = self._wordless(doc)
        mark = fingerprint(doc) if is_train and self else 0
        found = {}
        for name, gazetteer in self.settings.items():
            of_doc = words[gazetteer.attr]
            start, end, source = self.tries[name].matches(of_doc.values)
            keep = of_doc.spans(start, end)
            if is_train:
                keep &= source != np.uint64(mark)
                keep &= _survive(of_doc, start, end, mark, gazetteer.dropout)
            start, end = start[keep], end[keep]
            i, j = of_doc.first[start], of_doc.last[end - 1] + 1
            found[name] = Matches(i, j, end - start, i - before[i], j + after[j])
        return found

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The entries, for `load`."""
        return {
            name: {"keys": trie.keys, "source": trie.source}
            for name, trie in self.tries.items()
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take entries from `to_dict`. RAISES (KeyError, ValueError): Not of ours."""
        for name in self.settings:
            keys, source = data[name]["keys"], data[name]["source"]
            self.tries[name] = Trie(np.array(keys), np.array(source))

    def _wordless(self, doc: Doc) -> tuple[Ints, Ints]:
        """How many tokens without letters and digits stand before and behind each
        border, int32 [n + 1]; at most three."""
        n = len(doc)
        before, after = np.zeros((2, n + 1), np.int32)
        if self:
            words = _words(doc, "ALNUM")
            change = np.bincount(words.first, minlength=n + 1)
            change -= np.bincount(words.last + 1, minlength=n + 1)
            is_wordless = np.cumsum(change)[:n] == 0
            for i in np.flatnonzero(is_wordless):
                before[i + 1] = min(before[i] + 1, _AROUND)
            for i in np.flatnonzero(is_wordless)[::-1]:
                after[i] = min(after[i + 1] + 1, _AROUND)
        return before, after


@dataclass(frozen=True)
class _DocWords:
    """The words of a document.

    values (uint64 [W]): What is compared.
    first, last (int32 [W]): The tokens in which each begins and ends.
    """

    values: Words
    first: Ints
    last: Ints

    def spans(self, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Whether ranges of words begin and end together with tokens."""
        begins = np.append(True, self.first[1:] != self.last[:-1])
        ends = np.append(begins[1:], True)
        return begins[start] & ends[end - 1]


def _words(doc: Doc, attr: str) -> _DocWords:
    if attr != "ALNUM":
        every = np.arange(len(doc), dtype=np.int32)
        return _DocWords(doc.to_array(attr).astype(np.uint64), every, every)
    lengths = doc.to_array(["LENGTH", "SPACY"]).reshape(-1, 2).sum(axis=1)
    begin = np.cumsum(lengths) - lengths  # of each token in the text
    found = list(_WORD.finditer(doc.text))
    values = [hash_string(match.group().lower()) for match in found]
    borders = np.array([match.span() for match in found], np.int64).reshape(-1, 2)
    borders[:, 1] -= 1
    tokens = np.searchsorted(begin.astype(np.int64), borders, side="right") - 1
    first, last = tokens.astype(np.int32).T.copy()
    return _DocWords(np.array(values, np.uint64), first, last)


EMPTY = Trie(np.zeros(0, np.uint64), np.zeros(0, np.uint8))


def _unpickle(settings: Mapping[str, Gazetteer], data: Any) -> Gazetteers:
    gazetteers = Gazetteers(settings)
    gazetteers.load(data)
    return gazetteers


def alnum_words(text: str) -> Iterator[int]:
    """Hashes of the runs of letters and digits of a text, in lower case."""
    # Lower case word by word: that of a sigma depends on what follows it.
    return (hash_string(word.lower()) for word in _WORD.findall(text))


def fingerprint(doc: Doc) -> int:
    """RETURNS (int): 64 bits that tell documents of different text apart; above 1."""
    return hash_string(doc.text) | 2


def _entry_words(attr: str, nlp: Language) -> Callable[[str], Iterable[int]]:
    """How the text of an entry becomes words."""
    if attr == "ALNUM":
        return alnum_words
    attr = "ORTH" if attr == "LEMMA" else attr  # the entries are lemmas
    known: dict[str, tuple[int, ...]] = {}

    def words_of(text: str) -> Iterator[int]:
        # Tokenizers divide at white space first, so each distinct piece is tokenized
        # once only.
        for piece in text.split():
            if piece not in known:
                known[piece] = tuple(nlp.make_doc(piece).to_array(attr).tolist())
            yield from known[piece]

    return words_of


def _survive(
    words: _DocWords, start: Ints, end: Ints, mark: int, dropout: float
) -> NDArray[np.bool_]:
    """Which matches dropout leaves: the same entry has the same fate in a document."""
    keep = np.ones(len(start), bool)
    if not dropout:
        return keep
    for k in range(len(start)):
        entry = hash((mark, *words.values[start[k] : end[k]].tolist()))
        keep[k] = (entry % 1_000_003) / 1_000_003 >= dropout
    return keep


def on_tokens(matches: Matches, n_tokens: int) -> dict[str, Words]:
    """What a list says of each token.

    RETURNS (Dict[str, uint64 [n]]): BEGIN, IN and END: the size of the longest match
        that begins at the token, covers it, ends with it; 0 where there is none.
    """
    found = {kind: np.zeros(n_tokens, np.uint64) for kind in (BEGIN, IN, END)}
    size = sizes(matches)
    np.maximum.at(found[BEGIN], matches.start, size)
    np.maximum.at(found[END], matches.end - 1, size)
    for start, end, value in zip(matches.start, matches.end, size):
        np.maximum(found[IN][start:end], value, out=found[IN][start:end])
    return found


def sizes(matches: Matches) -> Words:
    """RETURNS (uint64 [K]): The sizes as values of features; below 10 are others."""
    return (10 + np.minimum(matches.size, _LONGEST)).astype(np.uint64)


def size_name(value: int) -> str:
    """Readable form of a value of `on_tokens` or `sizes`."""
    size = value - 10
    return f"{size}{'+' if size == _LONGEST else ''}"


def names_of(settings: Sequence[str]) -> tuple[str, ...]:
    """What templates can read of these lists, token by token."""
    return tuple(f"{name}:{kind}" for name in settings for kind in (BEGIN, IN, END))
