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
from ...values import Choice, Number, OrNull, Setting, Text, read_all
from ..doc_batch import borders_of
from ..kernels.trie import SHARED, EntryFinder, Trie
from ..word_cache import doc_of
from .fuzzy import NO_PAIRS, Fuzzy, FuzzyIndex, make_fuzzy
from .matches import (
    NO_MATCHES,
    FuzzyMatches,
    Ints,
    Matches,
    Words,
)
from .words import (
    ATTRIBUTES,
    EMPTY,
    AlnumCache,
    DocWords,
    alnum_words,
    entry_words,
    token_words,
    wordless,
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
    Setting("attr", Choice(ATTRIBUTES), "ALNUM", "What is compared with the entries."),
    Setting(
        "mode",
        Choice(MODES),
        "feature",
        'A match is evidence, weighted by training; or, with "hard", an exact match is '
        "also an entity in prediction, whatever the scores.",
    ),
    Setting(
        "dropout",
        Number(least=0.0, below=1.0),
        0.0,
        "The probability that an entry is ignored in a training document.",
    ),
    Setting(
        "label",
        OrNull(Text()),
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
    given = read_all(SETTINGS, locals(), message=Errors.HS034)
    if (mode == "hard") != bool(label):
        what = 'the label of the entities if mode = "hard", else null'
        raise ValueError(Errors.HS034.format(name="label", found=label, expected=what))
    return Gazetteer(**given, fuzzy=make_fuzzy(fuzzy))


class Gazetteers:
    """All lists of a component.

    settings (Mapping[str, Gazetteer]): By name.

    tries (Dict[str, Trie]): The entries of each list.
    fuzzy (Dict[str, FuzzyIndex]): The entries of each list with fuzzy matches.

    Any number of threads may look for matches: `compile` and `load` replace tries and
    indices and never change one.
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
        self._alnum = AlnumCache()
        self._finders: dict[str, tuple[dict[str, Trie], EntryFinder]] = {}
        none = np.zeros(0, np.int32)
        places = none, none, none, none, none, none
        names = tuple(self.settings)
        self._nothing_similar = FuzzyMatches(names, *places, np.zeros(0), none)

    def __bool__(self) -> bool:
        return bool(self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.settings, self.to_dict())

    def compile(
        self,
        name: str,
        entries: Iterable[str | tuple[str, Doc]],
        nlp: Language,
        clean_text: bool = False,
    ) -> None:
        """Replace the entries of a list.

        name (str): Of the list.
        entries (Iterable): Texts, or texts with the training document that each comes
            from: in training it will not be found there.
        nlp (Language): Its tokenizer divides the texts, if the attribute needs it.
        clean_text (bool): Whether documents are read by their words in a clean form.
        """
        source_of: dict[str, int] = {}  # an entry that comes again takes no memory
        for entry in entries:
            text, doc = entry if isinstance(entry, tuple) else (entry, None)
            source = SHARED if doc is None else fingerprint(doc)
            if source_of.setdefault(text, source) != source:
                source_of[text] = SHARED
        texts, sources = [*source_of], [*source_of.values()]
        attr, fuzzy = self.settings[name].attr, self.settings[name].fuzzy
        how = {"with_texts": fuzzy is not None, "clean_text": clean_text}
        words = entry_words(texts, attr, nlp, **how)
        by_entry = np.array(sources, np.uint64)
        found = by_entry if (by_entry != SHARED).any() else None
        trie = Trie.build(words.values, words.first, found)
        self.tries = {**self.tries, name: trie}
        if fuzzy is not None:
            index = FuzzyIndex.build(fuzzy, words.texts, sources)
            self.fuzzy = {**self.fuzzy, name: index}

    def changed(self, name: str, trie: Trie, index: FuzzyIndex | None) -> Gazetteers:
        """RETURNS (Gazetteers): The same, but for the entries of one list.

        name (str), trie (Trie): The list, and its entries.
        index (Optional[FuzzyIndex]): These, if it has fuzzy matches.
        """
        found = copy(self)
        found.tries, found._finders = {**self.tries, name: trie}, {}
        if index is not None:
            found.fuzzy = {**self.fuzzy, name: index}
        return found

    def matches(self, docs: Sequence[Doc], is_train: bool = False) -> Matches:
        """All matches of all lists; none crosses the border of two documents.

        docs (Sequence[Doc]): Of n tokens together.
        is_train (bool): Leave out entries that come from a document alone, and those
            that `dropout` ignores.
        RETURNS (Matches): Sorted by list, start and length; in tokens of concatenated
            documents.
        """
        names = tuple(self.settings)
        attrs = [gazetteer.attr for gazetteer in self.settings.values()]
        if not names:
            return NO_MATCHES
        is_one = all(doc.vocab is docs[0].vocab for doc in docs)
        alnum = self._alnum.read(docs) if is_one and docs else alnum_words(docs)
        before, after = wordless(alnum, docs)
        parts = []
        for attr in dict.fromkeys(attrs):
            mine = [k for k in range(len(names)) if attrs[k] == attr]
            words = alnum if attr == "ALNUM" else token_words(docs, attr)
            where = words.values, *words.borders, words.docs
            lists, start, end, source = self._finder(attr).find(*where)
            lists = np.array(mine, np.int32)[lists]
            if is_train:
                keep = self._seen_in_training(docs, words, lists, start, end, source)
                lists, start, end = lists[keep], start[keep], end[keep]
            parts.append(words.locate(lists, start, end, before, after))
        found = parts[0]
        if len(parts) > 1:
            found = np.concatenate(parts, axis=1)
            found = np.take(found, np.argsort(found[0], kind="stable"), axis=1)
        return Matches(names, *found)

    def _finder(self, attr: str) -> EntryFinder:
        """Finds the entries of all lists that compare an attribute. Two threads may
        both make it, and get the same."""
        tries = self.tries
        made_of, finder = self._finders.get(attr, (None, None))
        if finder is None or made_of is not tries:
            mine = [x for x, one in self.settings.items() if one.attr == attr]
            finder = EntryFinder([tries[name] for name in mine])
            self._finders[attr] = tries, finder
        return finder

    def similar(self, docs: Sequence[Doc], is_train: bool = False) -> FuzzyMatches:
        """All segments that resemble entries of fuzzy lists.

        docs (Sequence[Doc]), is_train (bool): As for `matches`.
        RETURNS (FuzzyMatches): Document by document, sorted by list, start and length;
            with the most similar entry of each segment.
        """
        if not self.fuzzy:
            return self._nothing_similar
        names = tuple(self.settings)
        parts, found = [np.zeros((6, 0), np.int32)], [NO_PAIRS]
        for doc, first_token in zip(docs, borders_of(docs)):
            alnum = alnum_words([doc], with_texts=True)
            before, after = wordless(alnum, [doc])
            for name, index in self.fuzzy.items():
                attr, dropout = self.settings[name].attr, self.settings[name].dropout
                words = alnum if attr == "ALNUM" else token_words([doc], attr, True)
                counts = partial(_counts, doc, index, dropout) if is_train else None
                pairs = index.find(words.texts, *words.borders, counts)
                found.append(pairs)
                lists = np.full(len(pairs.start), names.index(name), np.int32)
                where = words.locate(lists, pairs.start, pairs.end, before, after)
                where[[1, 2, 4, 5]] += first_token
                parts.append(where)
        similarity = np.concatenate([pairs.similarity for pairs in found])
        entry = np.concatenate([pairs.entry for pairs in found])
        lists, start, end, size, first, last = np.concatenate(parts, axis=1)
        return FuzzyMatches(
            names, lists, start, end, size, first, last, similarity, entry
        )

    def entities(self, doc: Doc) -> list[tuple[int, int, str]]:
        """Exact matches of the lists in mode "hard".

        doc (Doc): n tokens.
        RETURNS (List[Tuple[int, int, str]]): Spans, which may overlap; sorted by
            length, the longest first, then by start and list.
        """
        if not self.has_hard:
            return []
        found, labels = self.matches([doc]), self._labels
        spans = zip(found.start.tolist(), found.end.tolist(), found.lists.tolist())
        hard = [(i, j, labels[k]) for i, j, k in spans if labels[k] is not None]
        return sorted(hard, key=lambda span: (span[0] - span[1], span[0]))

    def _seen_in_training(
        self,
        docs: Sequence[Doc],
        words: DocWords,
        lists: Ints,
        start: Ints,
        end: Ints,
        source: Words,
    ) -> NDArray[np.bool_]:
        marks = np.array([fingerprint(doc) for doc in docs], np.uint64)
        mark = marks[doc_of(start, words.docs)]
        keep = source != mark
        dropouts = [gazetteer.dropout for gazetteer in self.settings.values()]
        for k in np.flatnonzero(np.array(dropouts)[lists] > 0.0):
            fate = _fate(int(mark[k]), words.values[start[k] : end[k]].tolist())
            keep[k] &= fate >= dropouts[lists[k]]
        return keep

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The entries, for `load`."""
        data: dict[str, Any] = {
            name: {"keys": trie.keys, "source": trie.source}
            for name, trie in self.tries.items()
        }
        for name, index in self.fuzzy.items():
            data[name] |= {"texts": "\n".join(index.texts), "from": index.source}
        return data

    def load(self, data: Mapping[str, Any]) -> None:
        """Take entries from `to_dict`. RAISES (KeyError, ValueError): Not of ours."""
        tries, indices = {}, {}
        for name in self.settings:
            keys, source = data[name]["keys"], data[name]["source"]
            tries[name] = Trie(np.array(keys), np.array(source))
        for name, index in self.fuzzy.items():
            texts, source = (
                data[name]["texts"].split("\n"),
                np.array(data[name]["from"]),
            )
            texts = texts if source.size else []
            if source.dtype != np.uint64 or source.shape != (len(texts),):
                raise ValueError(f"{len(texts)} entries of {source.shape} documents")
            indices[name] = FuzzyIndex(index.fuzzy, texts, source)
        self.tries, self.fuzzy = tries, indices


def _counts(
    doc: Doc, index: FuzzyIndex, dropout: float, entries: Ints
) -> NDArray[np.bool_]:
    """RETURNS (bool [K]): Whether entries count in a training document: not those that
    come from it alone, and not those that dropout ignores."""
    mark = fingerprint(doc)
    keep: NDArray[np.bool_] = index.source[entries] != np.uint64(mark)
    if dropout > 0.0:
        distinct, which = np.unique(entries, return_inverse=True)
        texts = [index.texts[e].split(" ") for e in distinct.tolist()]
        fates = [_fate(mark, map(hash_string, words)) for words in texts]
        keep &= np.array(fates)[which] >= dropout
    return keep


def _unpickle(settings: Mapping[str, Gazetteer], data: Any) -> Gazetteers:
    gazetteers = Gazetteers(settings)
    gazetteers.load(data)
    return gazetteers


def _fate(mark: int, words: Iterable[int]) -> float:
    """A number from 0 to 1 for an entry in a document, compared with the dropout."""
    return (hash((mark, *words)) % 1_000_003) / 1_000_003


def fingerprint(doc: Doc) -> int:
    """RETURNS (int): 64 bits, above 1, by which to compare the texts of documents. A
    sentence has the fingerprint of its document."""
    return hash_string(doc.doc.text) | 2
