"""Lists of names, and where their entries occur in a document.

Entries and documents are compared word by word. With the attribute ALNUM a word is a
run of letters and digits in lower case, whatever the tokenization; all other characters
are ignored: "J. Am. Chem. Soc." is found in "J Am Chem Soc,". A match begins with the
first word that begins in a token and ends with the last word that ends in a token. With
an attribute of tokens each token is one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ...errors import Errors
from ...values import TEXT, Setting, choice, number, or_null, read_all, shown
from ..instances import Instances, doc_of
from ..kernels.trie import SHARED, EntryFinder, Trie, count_wordless, locate
from .fuzzy import NO_ENTRIES, Fuzzy, FuzzyIndex, make_fuzzy
from .matches import FuzzyMatches, Ints, Matches, Words
from .words import (
    AROUND,
    ATTRIBUTES,
    EMPTY,
    DocWords,
    alnum_cache,
    alnum_words,
    entry_words,
    token_words,
)

MODES = ("feature", "hard")


@dataclass(frozen=True)
class Gazetteer:
    """How a list of names is used; its entries come at initialization.

    attr, mode, dropout, label: See SETTINGS. Training never uses a list as annotation,
        whatever the mode. Dropout makes other features learn to do without the list.
    fuzzy (Optional[Fuzzy]): When a segment resembles an entry, which is evidence, too;
        None: never.
    """

    attr: str = "ALNUM"
    mode: str = "feature"
    dropout: float = 0.0
    fuzzy: Fuzzy | None = None
    label: str | None = None


# The block of a list in [components.hosemi.model.gazetteers], without fuzzy.
SETTINGS = (
    Setting("attr", choice(ATTRIBUTES), "ALNUM", "What is compared with the entries."),
    Setting(
        "mode",
        choice(MODES),
        "feature",
        'A match is evidence, weighted by training; or, with "hard", an exact match is '
        "also an entity in prediction, whatever the scores.",
    ),
    Setting(
        "dropout",
        number(least=0.0, below=1.0),
        0.0,
        "The probability that an entry is ignored in a training document.",
    ),
    Setting(
        "label",
        or_null(TEXT),
        None,
        'The label of those entities; null unless mode = "hard".',
    ),
)


def make_gazetteer(
    attr: str = "ALNUM",
    mode: str = "feature",
    dropout: float = 0.0,
    fuzzy: dict[str, Any] | None = None,
    label: str | None = None,
) -> Gazetteer:
    """Registered as "spacy_hosemi.gazetteer.v1" in `misc`.

    attr, mode, dropout, label: See `Gazetteer`.
    fuzzy (Optional[Dict[str, Any]]): similarity, threshold and units, see `Fuzzy`.
    RETURNS (Gazetteer): Settings, without entries.
    RAISES (ValueError): HS034 a setting is out of range; HS089 rapidfuzz is missing.
    """
    settings = read_all(SETTINGS, locals(), message=Errors.HS034)
    if (mode == "hard") != bool(label):
        what = 'the label of the entities if mode = "hard", else null'
        message = Errors.HS034.format(name="label", found=shown(label), expected=what)
        raise ValueError(message)
    return Gazetteer(**settings, fuzzy=make_fuzzy(fuzzy))


class Gazetteers:
    """Has all lists of a component. Any number of threads may look for matches:
    `compile` and `load` replace tries and indices and never change one.

    settings (Dict[str, Gazetteer]): By name.
    tries (Dict[str, Trie]): The entries of each list.
    fuzzy (Dict[str, FuzzyIndex]): The entries of each list with fuzzy matches.
    """

    def __init__(self, settings: Mapping[str, Gazetteer] | None = None) -> None:
        self.settings = dict(settings or {})
        self.tries = {name: EMPTY for name in self.settings}
        self.fuzzy = {
            name: FuzzyIndex(gazetteer.fuzzy)
            for name, gazetteer in self.settings.items()
            if gazetteer.fuzzy is not None
        }
        self._labels = [gazetteer.label for gazetteer in self.settings.values()]
        self.has_hard = any(self._labels)
        self._alnum = alnum_cache()
        self._finders: dict[str, tuple[dict[str, Trie], EntryFinder]] = {}
        *places, entry = np.zeros((7, 0), np.int32)
        columns: list[Any] = [*places, np.zeros(0), entry]
        self._no_matches = Matches(tuple(self.settings), *places)
        self._nothing_similar = FuzzyMatches(tuple(self.settings), *columns)

    def __bool__(self) -> bool:
        return bool(self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return Gazetteers, (self.settings,), self.to_dict()

    def compile(
        self,
        name: str,
        entries: Iterable[str | tuple[str, Doc]],
        nlp: Language,
        clean_text: bool = False,
    ) -> None:
        """Replaces the entries of a list: texts, or texts with the training document
        that each comes from, in which training will not find it. clean_text: whether
        documents are read by their words in a clean form."""
        source_of: dict[str, int] = {}  # an entry that comes again takes no memory
        for entry in entries:
            text, doc = entry if isinstance(entry, tuple) else (entry, None)
            source = SHARED if doc is None else fingerprint(doc)
            if source_of.setdefault(text, source) != source:
                source_of[text] = SHARED
        texts, sources = [*source_of], [*source_of.values()]
        attr, fuzzy = self.settings[name].attr, self.settings[name].fuzzy
        with_texts = fuzzy is not None
        words = entry_words(
            texts, attr, nlp, with_texts=with_texts, clean_text=clean_text
        )
        by_entry = np.array(sources, np.uint64)
        has_sources = (by_entry != SHARED).any()
        trie = Trie.build(words.values, words.first, by_entry if has_sources else None)
        self.tries = {**self.tries, name: trie}
        if fuzzy is not None:
            index = FuzzyIndex.build(fuzzy, words.texts, sources)
            self.fuzzy = {**self.fuzzy, name: index}

    def changed(self, name: str, trie: Trie, index: FuzzyIndex | None) -> Gazetteers:
        """Returns the same lists, but for the entries of one; index: these, if it has
        fuzzy matches."""
        gazetteers = copy(self)
        gazetteers.tries, gazetteers._finders = {**self.tries, name: trie}, {}
        if index is not None:
            gazetteers.fuzzy = {**self.fuzzy, name: index}
        return gazetteers

    def matches(self, docs: Sequence[Doc], is_train: bool = False) -> Matches:
        """Returns all matches of all lists, sorted by list, start and length, in tokens
        of concatenated documents of one vocabulary. is_train: without entries that come
        from a document alone, and those that `dropout` ignores."""
        attrs = [gazetteer.attr for gazetteer in self.settings.values()]
        if not any(len(trie.keys) for trie in self.tries.values()):
            return self._no_matches
        docs = docs if isinstance(docs, Instances) else Instances(docs)
        alnum = alnum_words(docs, self._alnum)
        found: list[tuple[DocWords, Ints, Ints, Ints]] = []
        for attr in dict.fromkeys(attrs):
            words = alnum if attr == "ALNUM" else token_words(docs, attr)
            where = words.values, *words.borders, words.docs
            lists, start, end, source = self._finder(attr).find(*where)
            if not len(lists):  # as in most short texts
                continue
            if is_train:
                keep = self._seen_in_training(docs, words, lists, start, end, source)
                lists, start, end = lists[keep], start[keep], end[keep]
            found.append((words, lists, start, end))
        if not found:
            return self._no_matches
        around = count_wordless(alnum.first, alnum.last, docs.first, AROUND)
        parts = [locate(*x, words.first, words.last, *around) for words, *x in found]
        places = parts[0]
        if len(parts) > 1:
            places = np.concatenate(parts, axis=1)
            places = np.take(places, np.argsort(places[0], kind="stable"), axis=1)
        return Matches(self._no_matches.names, *places)

    def _finder(self, attr: str) -> EntryFinder:
        """Finds the entries of all lists that compare an attribute. Two threads may
        both make it, and get the same."""
        tries = self.tries
        made_of, finder = self._finders.get(attr, (None, None))
        if finder is None or made_of is not tries:
            settings = enumerate(self.settings.items())
            names = {name: k for k, (name, x) in settings if x.attr == attr}
            numbers = np.array([*names.values()], np.int32)
            finder = EntryFinder([tries[name] for name in names], numbers)
            self._finders[attr] = tries, finder
        return finder

    def similar(self, docs: Sequence[Doc], is_train: bool = False) -> FuzzyMatches:
        """Returns all segments that resemble entries of fuzzy lists, each with the most
        similar one: document by document, sorted by list, start and length."""
        if not self.fuzzy:
            return self._nothing_similar
        names = tuple(self.settings)
        parts, entries = [np.zeros((6, 0), np.int32)], [NO_ENTRIES]
        first_token = 0
        for doc in docs:
            tokens = Instances([doc])
            alnum = alnum_words(tokens)
            where = alnum.first, alnum.last, tokens.first
            before, after = count_wordless(*where, AROUND)
            for name, index in self.fuzzy.items():
                attr, dropout = self.settings[name].attr, self.settings[name].dropout
                words = alnum if attr == "ALNUM" else token_words(tokens, attr, True)
                counts = partial(_counts, doc, index, dropout) if is_train else None
                similar = index.find(words.texts, *words.borders, counts)
                entries.append(similar)
                lists = np.full(len(similar.start), names.index(name), np.int32)
                args = similar.start, similar.end, words.first, words.last
                where = locate(lists, *args, before, after)
                where[[1, 2, 4, 5]] += first_token
                parts.append(where)
            first_token += len(doc)
        similarity = np.concatenate([similar.similarity for similar in entries])
        entry = np.concatenate([similar.entry for similar in entries])
        lists, start, end, size, first, last = np.concatenate(parts, axis=1)
        return FuzzyMatches(
            names, lists, start, end, size, first, last, similarity, entry
        )

    def entities(self, doc: Doc) -> list[tuple[int, int, str]]:
        """Returns exact matches of the lists in mode "hard", which may overlap: the
        longest first, then by start and list."""
        if not self.has_hard:
            return []
        matches, labels = self.matches([doc]), self._labels
        places = matches.start.tolist(), matches.end.tolist(), matches.lists.tolist()
        spans = [(i, j, labels[k]) for i, j, k in zip(*places) if labels[k] is not None]
        return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))

    def _seen_in_training(
        self,
        docs: Sequence[Doc],
        words: DocWords,
        lists: Ints,
        start: Ints,
        end: Ints,
        source: Words,
    ) -> NDArray[np.bool_]:
        """Returns which matches training sees, bool [K]."""
        marks = np.array([fingerprint(doc) for doc in docs], np.uint64)
        mark = marks[doc_of(start, words.docs)]
        keep = source != mark
        dropouts = [gazetteer.dropout for gazetteer in self.settings.values()]
        for k in np.flatnonzero(np.array(dropouts)[lists] > 0.0):
            fate = _fate(int(mark[k]), words.values[start[k] : end[k]].tolist())
            keep[k] &= fate >= dropouts[lists[k]]
        return keep

    def to_dict(self) -> dict[str, Any]:
        """Returns the entries, for `load`."""
        data: dict[str, Any] = {x: vars(trie).copy() for x, trie in self.tries.items()}
        for name, index in self.fuzzy.items():
            data[name] |= {"texts": "\n".join(index.texts), "from": index.source}
        return data

    def load(self, data: Mapping[str, Any]) -> None:
        """Takes entries from `to_dict`; KeyError or ValueError if it is not of ours."""
        tries, indices = {}, {}
        for name in self.settings:
            keys, source = (np.asarray(data[name][x]) for x in ("keys", "source"))
            if "prefixes" in data[name]:
                tries[name] = Trie(keys, source, data[name]["prefixes"])
            else:
                tries[name] = Trie.of_nodes(keys, source)
        for name, index in self.fuzzy.items():
            source = np.array(data[name]["from"])
            texts = data[name]["texts"].split("\n") if source.size else []
            if source.dtype != np.uint64 or source.shape != (len(texts),):
                raise ValueError(f"{len(texts)} entries of {source.shape} documents")
            indices[name] = FuzzyIndex(index.fuzzy, texts, source)
        self.tries, self.fuzzy = tries, indices

    __setstate__ = load  # of pickles


def _counts(
    doc: Doc, index: FuzzyIndex, dropout: float, entries: Ints
) -> NDArray[np.bool_]:
    """Says of entries, bool [K], whether they count in a training document: not those
    that come from it alone, and not those that dropout ignores."""
    mark = fingerprint(doc)
    keep: NDArray[np.bool_] = index.source[entries] != np.uint64(mark)
    if dropout > 0.0:
        distinct, which = np.unique(entries, return_inverse=True)
        texts = [index.texts[e].split(" ") for e in distinct.tolist()]
        fates = [_fate(mark, map(hash_string, words)) for words in texts]
        keep &= np.array(fates)[which] >= dropout
    return keep


def _fate(mark: int, words: Iterable[int]) -> float:
    """Returns a number from 0 to 1 for an entry in a document, to compare with
    dropout."""
    return (hash((mark, *words)) % 1_000_003) / 1_000_003


def fingerprint(doc: Doc) -> int:
    """Returns 64 bits, above 1, by which to compare the texts of documents. A sentence
    has the fingerprint of its document."""
    return hash_string(doc.doc.text) | 2
