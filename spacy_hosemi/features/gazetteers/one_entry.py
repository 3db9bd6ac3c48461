"""Lists with one entry more or less, to try what is found then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ..kernels.trie import NO_ENTRY, Trie
from .fuzzy import FuzzyIndex
from .gazetteers import Gazetteers
from .words import words_of_text


def words_of_entry(
    lists: Gazetteers, name: str, doc: Doc, start: int, end: int
) -> list[str]:
    """RETURNS (List[str]): Some tokens of a document as words of an entry of a list."""
    attr = lists.settings[name].attr
    if attr == "ALNUM":
        return words_of_text(doc[start:end].text)
    strings = doc.vocab.strings
    return [strings[x] for x in doc.to_array(attr)[start:end].tolist()]


def with_entry(lists: Gazetteers, name: str, words: Sequence[str]) -> Gazetteers:
    """RETURNS (Gazetteers): The lists, with one more entry in that of a name."""
    trie, one = lists.tries[name], _trie_of(words)
    keys = np.union1d(trie.keys, one.keys)
    source = np.zeros(len(keys), np.uint64)
    for part in (trie, one):
        at = np.searchsorted(keys, part.keys)
        source[at] = np.where(part.source != NO_ENTRY, part.source, source[at])
    index = lists.fuzzy.get(name)
    if index is not None:
        entry = " ".join(words)
        texts = [*(text for text in index.texts if text != entry), entry]
        index = FuzzyIndex(index.fuzzy, texts)
    return lists.changed(name, Trie(keys, source), index)


def without_entry(lists: Gazetteers, name: str, words: Sequence[str]) -> Gazetteers:
    """RETURNS (Gazetteers): The lists, without an entry of that of a name."""
    trie, one = lists.tries[name], _trie_of(words)
    source = np.array(trie.source)
    source[np.isin(trie.keys, one.keys[one.source != NO_ENTRY])] = NO_ENTRY
    index = lists.fuzzy.get(name)
    if index is not None:
        entry = " ".join(words)
        index = FuzzyIndex(index.fuzzy, [x for x in index.texts if x != entry])
    return lists.changed(name, Trie(trie.keys, source), index)


def _trie_of(words: Sequence[str]) -> Trie:
    values = np.array([hash_string(word) for word in words], np.uint64)
    return Trie.build(values, np.array([0, len(values)], np.int64))
