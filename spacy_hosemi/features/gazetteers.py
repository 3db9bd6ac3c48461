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

from ..core.trie import SHARED, Trie, columns_of_matches, find_entries
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
_CJK = "\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_JOINING = re.compile(rf"[^\W_{_CJK}]")

# Tokens whose words are kept; beyond that the cache begins anew.
_CACHE_SIZE = 200_000

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
    """Where the entries of lists occur in a document of n tokens.

    names (Tuple[str, ...]): The lists.
    lists (int32 [K]): The list of each match.
    start, end (int32 [K]): Tokens, half-open.
    size (int32 [K]): Words.
    first, last (int32 [K]): start and end with the tokens without letters and digits
        around the match, up to three on each side: a segment may include them.
    """

    names: tuple[str, ...]
    lists: Ints
    start: Ints
    end: Ints
    size: Ints
    first: Ints
    last: Ints

    def __getitem__(self, name: str) -> Matches:
        """Those of one list."""
        mine = self.lists == self.names.index(name)
        arrays = (self.lists, self.start, self.end, self.size, self.first, self.last)
        return Matches(self.names, *(array[mine] for array in arrays))

    @property
    def values(self) -> Words:
        """RETURNS (uint64 [K]): Sizes as values of features; below 10 are others."""
        return (10 + np.minimum(self.size, _LONGEST)).astype(np.uint64)

    def on_tokens(self, n_tokens: int) -> Words:
        """What the lists say of each token.

        RETURNS (uint64 [n, 3 lists]): For each list BEGIN, IN and END: the value of the
            longest match that begins at the token, covers it, ends with it; 0: none.
        """
        where = self.lists, self.start, self.end, self.values
        return columns_of_matches(*where, n_tokens, len(self.names))


class Gazetteers:
    """All lists of a component.

    settings (Mapping[str, Gazetteer]): By name.
    """

    def __init__(self, settings: Mapping[str, Gazetteer] | None = None) -> None:
        self.settings = dict(settings or {})
        self.tries = {name: EMPTY for name in self.settings}
        self._reader = WordReader()

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

    def matches(self, doc: Doc, is_train: bool = False) -> Matches:
        """All matches of all lists.

        doc (Doc): n tokens.
        is_train (bool): As a training document sees them: not those entries that come
            from it alone, nor those that fall victim to `dropout`.
        RETURNS (Matches): By list, start and length.
        """
        names = tuple(self.settings)
        attrs = [gazetteer.attr for gazetteer in self.settings.values()]
        if not names:
            return NO_MATCHES
        alnum = self._reader.read(doc)
        before, after = _wordless(alnum, len(doc))
        parts = [np.zeros((6, 0), np.int32)]
        for attr in dict.fromkeys(attrs):
            mine = [k for k in range(len(names)) if attrs[k] == attr]
            words = alnum if attr == "ALNUM" else _token_values(doc, attr)
            lists, start, end, source = find_entries(
                [self.tries[names[k]] for k in mine], words.values, *words.borders
            )
            lists = np.array(mine, np.int32)[lists]
            if is_train:
                keep = self._seen_in_training(doc, words, lists, start, end, source)
                lists, start, end = lists[keep], start[keep], end[keep]
            i, j = words.first[start], words.last[end - 1] + 1
            parts.append(
                np.stack([lists, i, j, end - start, i - before[i], j + after[j]])
            )
        found = np.concatenate(parts, axis=1)
        if len(parts) > 2:
            found = found[:, np.argsort(found[0], kind="stable")]
        return Matches(names, *found)

    def _seen_in_training(
        self,
        doc: Doc,
        words: _DocWords,
        lists: Ints,
        start: Ints,
        end: Ints,
        source: Words,
    ) -> NDArray[np.bool_]:
        mark = fingerprint(doc)
        keep = source != np.uint64(mark)
        dropouts = [gazetteer.dropout for gazetteer in self.settings.values()]
        for k in np.flatnonzero(np.array(dropouts)[lists] > 0.0):
            # The same entry has the same fate everywhere in a document.
            entry = hash((mark, *words.values[start[k] : end[k]].tolist()))
            keep[k] &= (entry % 1_000_003) / 1_000_003 >= dropouts[lists[k]]
        return keep

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


@dataclass(frozen=True)
class _DocWords:
    """The words of a document.

    values (uint64 [W]): What is compared.
    first, last (int32 [W]): The tokens in which each begins and ends.
    """

    values: Words
    first: Ints
    last: Ints

    @property
    def borders(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Which words begin a token, and which end one."""
        is_border = np.ones(len(self.first) + 1, np.uint8)
        is_border[1:-1] = self.first[1:] != self.last[:-1]
        return is_border[:-1], is_border[1:]


class WordReader:
    """Words of documents, by the attribute ALNUM; those of a token are kept."""

    def __init__(self) -> None:
        self._known: dict[int, _TokenWords] = {}

    def read(self, doc: Doc) -> _DocWords:
        """RETURNS (_DocWords): A word may reach over tokens: "Don't" is "don" and "t",
        whether or not the tokenizer divides it into "Do" and "n't"."""
        values: list[int] = []
        first: list[int] = []
        last: list[int] = []
        open_text = ""  # the last word, if the next token may go on with it
        orths, spaces = doc.to_array("ORTH").tolist(), doc.to_array("SPACY").tolist()
        for i, (orth, space) in enumerate(zip(orths, spaces)):
            token = self._known.get(orth) or self._add(doc.vocab.strings[orth], orth)
            texts, hashes = token.texts, token.hashes
            if open_text and token.goes_on:
                texts = (open_text + texts[0], *texts[1:])
                values[-1], last[-1] = hash_string(texts[0]), i
                hashes = hashes[1:]
            values += hashes
            first += [i] * len(hashes)
            last += [i] * len(hashes)
            open_text = texts[-1] if token.is_open and not space else ""
        return _DocWords(
            np.array(values, np.uint64), np.array(first, "i4"), np.array(last, "i4")
        )

    def _add(self, text: str, orth: int) -> _TokenWords:
        if len(self._known) > _CACHE_SIZE:
            self._known.clear()
        texts = tuple(match.group().lower() for match in _WORD.finditer(text))
        token = _TokenWords(
            texts,
            [hash_string(word) for word in texts],
            goes_on=bool(_JOINING.match(text[:1])),
            is_open=bool(_JOINING.match(text[-1:])),
        )
        self._known[orth] = token
        return token


@dataclass(frozen=True)
class _TokenWords:
    """The words of a token; whether it begins with one, which a word before may go on
    with, and whether it ends with one."""

    texts: tuple[str, ...]
    hashes: list[int]
    goes_on: bool
    is_open: bool


def _token_values(doc: Doc, attr: str) -> _DocWords:
    every = np.arange(len(doc), dtype=np.int32)
    return _DocWords(doc.to_array(attr).astype(np.uint64), every, every)


def _wordless(words: _DocWords, n: int) -> tuple[Ints, Ints]:
    """How many of n tokens without a word stand before and behind each border.

    RETURNS (Tuple[int32 [n + 1], int32 [n + 1]]): At most three.
    """
    before, after = np.zeros((2, n + 1), np.int32)
    change = np.bincount(words.first, minlength=n + 1)
    change -= np.bincount(words.last + 1, minlength=n + 1)
    wordless = np.flatnonzero(np.cumsum(change)[:n] == 0).tolist()
    for i in wordless:
        before[i + 1] = min(before[i] + 1, _AROUND)
    for i in wordless[::-1]:
        after[i] = min(after[i + 1] + 1, _AROUND)
    return before, after


NO_MATCHES = Matches((), *np.zeros((6, 0), np.int32))
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
    """RETURNS (int): 64 bits that tell documents of different text apart; above 1. Of a
    sentence: that of its document."""
    return hash_string(doc.doc.text) | 2


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


def size_name(value: int) -> str:
    """Readable form of one of `Matches.values`."""
    size = value - 10
    return f"{size}{'+' if size == _LONGEST else ''}"


def names_of(settings: Sequence[str]) -> tuple[str, ...]:
    """What templates can read of these lists, token by token."""
    return tuple(f"{name}:{kind}" for name in settings for kind in (BEGIN, IN, END))
