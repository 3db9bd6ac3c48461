"""Lists with one entry more or less, to try what is found in a document then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ..kernels.trie import Trie
from .fuzzy import FuzzyIndex
from .gazetteers import Gazetteers
from .words import words_of_text


class Entry(NamedTuple):
    """Has the words of an entry, and the values that a list compares."""

    words: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def text(self) -> str:
        """Returns it as fuzzy lists have it."""
        return " ".join(self.words)


def entry_at(lists: Gazetteers, name: str, doc: Doc, start: int, end: int) -> Entry:
    """Returns some tokens of a document as an entry of a list."""
    attr = lists.settings[name].attr
    if attr == "ALNUM":
        return entry_of(words_of_text(doc[start:end].text))
    values = doc.to_array(attr)[start:end].tolist()
    return Entry(tuple(doc.vocab.strings[x] for x in values), tuple(values))


def entry_of(words: Sequence[str]) -> Entry:
    """Returns the entry with these words."""
    return Entry(tuple(words), tuple(map(hash_string, words)))


def occurring(lists: Gazetteers, docs: Iterable[Doc]) -> Gazetteers:
    """Returns the lists with those entries alone that occur in some documents, in which
    the same is found; fuzzy matches are with all entries."""
    by_list: dict[str, set[tuple[int, ...]]] = {name: set() for name in lists.settings}
    for doc in docs:
        matches = lists.matches([doc])
        places = zip(matches.start.tolist(), matches.end.tolist())
        for k, (start, end) in zip(matches.lists.tolist(), places):
            name = matches.names[k]
            by_list[name].add(entry_at(lists, name, doc, start, end).values)
    for name, entries in by_list.items():
        lists = lists.changed(name, _trie_of(entries), None)
    return lists


def with_entry(lists: Gazetteers, name: str, entry: Entry) -> Gazetteers:
    """Returns the lists, with one more entry in that of a name."""
    trie, added = lists.tries[name], _trie_of([entry.values])
    keys = np.union1d(trie.keys, added.keys)
    source = np.zeros(len(keys), np.uint64)
    for part in (trie, added):
        source[np.searchsorted(keys, part.keys)] = part.source
    prefixes = np.union1d(trie.prefixes, added.prefixes)
    index = lists.fuzzy.get(name)
    if index is not None:
        texts = (text for text in index.texts if text != entry.text)
        index = FuzzyIndex(index.fuzzy, [*texts, entry.text])
    return lists.changed(name, Trie(keys, source, prefixes), index)


def without_entry(lists: Gazetteers, name: str, entry: Entry) -> Gazetteers:
    """Returns the lists, without an entry of that of a name."""
    trie, removed = lists.tries[name], _trie_of([entry.values])
    # Not by a table of all numbers between: NumPy 2.0 fails there for some of uint64.
    is_left = np.isin(trie.keys, removed.keys, kind="sort", invert=True)
    index = lists.fuzzy.get(name)
    if index is not None:
        texts = [text for text in index.texts if text != entry.text]
        index = FuzzyIndex(index.fuzzy, texts)
    trie = Trie(trie.keys[is_left], trie.source[is_left], trie.prefixes)
    return lists.changed(name, trie, index)


def _trie_of(entries: Iterable[tuple[int, ...]]) -> Trie:
    entries = [*entries]
    values = np.array([x for entry in entries for x in entry], np.uint64)
    return Trie.build(values, np.cumsum([0, *map(len, entries)], dtype=np.int64))
