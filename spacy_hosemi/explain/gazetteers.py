"""The lists of names of a trained component: their sizes, the features that read them,
and their entries that occur in a document."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass

from spacy.tokens import Doc, Span

from ..component.answers import as_read
from ..component.pipe import HighOrderSemiCRF
from ..features.gazetteers.fuzzy import Fuzzy, FuzzyIndex
from ..features.gazetteers.words import words_of_text
from ..features.kernels.trie import Trie
from ..features.templates import parse_templates
from ..model.weights.state import WeightState


@dataclass(frozen=True)
class ListInfo:
    """A list of names: its settings; distinct entries; memory; the features that read
    it, and their weights for all labels."""

    name: str
    attr: str
    mode: str
    dropout: float
    fuzzy: Fuzzy | None
    label: str | None
    entries: int
    bytes: int
    features: int
    weights: int


@dataclass(frozen=True)
class FoundEntry:
    """An entry in a document: tokens, half-open, the compared words, and the text."""

    start: int
    end: int
    words: list[str]
    text: str


@dataclass(frozen=True)
class SimilarEntry:
    """A segment, in tokens, the end exclusive; the entry most like it; its text."""

    start: int
    end: int
    similarity: float
    entry: str
    text: str


def describe_lists(pipe: HighOrderSemiCRF) -> list[ListInfo]:
    """Returns the lists of a trained component, in the order of the config."""
    lists, weights = pipe.weights.extractor.gazetteers, pipe.weights
    rows_by_list = _rows_by_list(weights)
    infos = []
    for name, settings in lists.settings.items():
        trie, rows = lists.tries[name], rows_by_list[name]
        n_weights = len(rows) * weights.matrix.shape[1]
        if weights.pairs is not None:
            n_weights = int(weights.pairs.sizes[rows].sum()) if rows else 0
        infos.append(
            ListInfo(
                name,
                **vars(settings),
                entries=len(trie),
                bytes=_memory(trie, lists.fuzzy.get(name)),
                features=len(rows),
                weights=n_weights,
            )
        )
    return infos


def find_entries(pipe: HighOrderSemiCRF, name: str, doc: Doc) -> list[FoundEntry]:
    """Returns the entries of a list in a document that has what the list compares, such
    as lemmas; by start, then by length, overlapping ones too."""
    lists, (read, places) = pipe.weights.extractor.gazetteers, as_read(pipe, doc)
    matches, entries = lists.matches([read])[name], []
    for i, j in sorted(zip(matches.start.tolist(), matches.end.tolist())):
        start, end, _ = places.to_tokens((i, j, None))
        words = _words(read[i:j], lists.settings[name].attr)
        entries.append(FoundEntry(start, end, words, doc[start:end].text))
    return entries


def find_similar(pipe: HighOrderSemiCRF, name: str, doc: Doc) -> list[SimilarEntry]:
    """Returns the segments of a document that resemble entries of a list with fuzzy
    matches; by start, then by length, overlapping ones too."""
    lists, (read, places) = pipe.weights.extractor.gazetteers, as_read(pipe, doc)
    similar, texts = lists.similar([read])[name], lists.fuzzy[name].texts
    arrays = similar.start, similar.end, similar.similarity, similar.entry
    entries = []
    for i, j, similarity, e in zip(*(array.tolist() for array in arrays)):
        start, end, _ = places.to_tokens((i, j, None))
        text = doc[start:end].text
        entries.append(SimilarEntry(start, end, similarity, texts[e], text))
    return entries


def compared_words(pipe: HighOrderSemiCRF, name: str, doc: Doc) -> list[str]:
    """Returns the words of a document that are compared with the entries of a list."""
    attr = pipe.weights.extractor.gazetteers.settings[name].attr
    return _words(as_read(pipe, doc)[0][:], attr)


def _words(tokens: Span, attr: str) -> list[str]:
    if attr == "ALNUM":
        return words_of_text(tokens.text)
    return [getattr(token, f"{attr.lower()}_") for token in tokens]


def _rows_by_list(weights: WeightState) -> defaultdict[str, list[int]]:
    """Returns for each list the numbers of the features whose template reads it."""
    functions = weights.extractor.features.functions.functions
    by_template: dict[str, set[str]] = {name: set() for name in functions}
    rows = defaultdict(list)
    for row, name in enumerate(weights.names):
        text = name.partition("=")[0].partition(":")[2]
        if text not in by_template:
            atoms = (x.attribute for t in parse_templates([text]) for x in t.atoms)
            by_template[text] = {x.partition(":")[0] for x in atoms if ":" in x}
        for of_list in by_template[text]:
            rows[of_list].append(row)
    return rows


def _memory(trie: Trie, fuzzy: FuzzyIndex | None) -> int:
    """Returns the bytes of a trie, of its hash table, and of its fuzzy index."""
    n_slots = max(16, 1 << (2 * len(trie) - 1).bit_length())
    n_bytes = sum(x.nbytes for x in vars(trie).values()) + 16 * n_slots
    if fuzzy is not None:
        n_bytes += sum(map(sys.getsizeof, fuzzy.texts)) + fuzzy.index.nbytes
    return n_bytes
