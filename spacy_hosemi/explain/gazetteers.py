"""The lists of names of a trained component: how large, how much they are read, and
which entries occur in a document. Nothing is printed here; that is done in `cli`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..component.pipe import HighOrderSemiCRF
from ..features.config.templates import parse_templates
from ..features.gazetteers.entry_words import alnum_words
from ..features.gazetteers.fuzzy import Fuzzy, FuzzyIndex
from ..features.kernels.trie import NO_ENTRY, Trie
from ..model.weights.state import WeightState


@dataclass(frozen=True)
class ListInfo:
    """A list of names.

    name, attr, mode, dropout, fuzzy, label: Its settings.
    entries (int): How many; equal ones are one.
    nodes (int): Distinct beginnings of entries, whole words.
    bytes (int): Memory: the nodes, whose they are, and the slots of their table; of a
        fuzzy list also the texts and their index.
    features (int): How many of those with weights read the list.
    weights (int): How many weights these have for all labels.
    """

    name: str
    attr: str
    mode: str
    dropout: float
    fuzzy: Fuzzy | None
    label: str | None
    entries: int
    nodes: int
    bytes: int
    features: int
    weights: int


@dataclass(frozen=True)
class FoundEntry:
    """An entry that occurs in a document.

    start, end (int): Tokens, half-open.
    words (List[str]): What was compared.
    text (str): What the document has there.
    """

    start: int
    end: int
    words: list[str]
    text: str


@dataclass(frozen=True)
class SimilarEntry:
    """A segment of a document that resembles an entry.

    start, end (int): Tokens, half-open.
    similarity (float): To the most similar entry.
    entry (str): That one.
    text (str): What the document has there.
    """

    start: int
    end: int
    similarity: float
    entry: str
    text: str


def describe_lists(pipe: HighOrderSemiCRF) -> list[ListInfo]:
    """The lists of a component.

    pipe (HighOrderSemiCRF): A trained component.
    RETURNS (List[ListInfo]): In the order of the config.
    """
    lists = pipe.weights.extractor.gazetteers
    read = _read_by(pipe.weights)
    found = []
    for name, settings in lists.settings.items():
        trie = lists.tries[name]
        rows = read.get(name, [])
        found.append(
            ListInfo(
                name,
                settings.attr,
                settings.mode,
                settings.dropout,
                settings.fuzzy,
                settings.label,
                entries=len(trie),
                nodes=len(trie.keys),
                bytes=_memory(trie) + _memory_of_texts(lists.fuzzy.get(name)),
                features=len(rows),
                weights=_count_weights(pipe.weights, rows),
            )
        )
    return found


def compare_entries(old: Trie, new: Trie) -> dict[str, int]:
    """How many entries a list had before it was replaced.

    old, new (Trie): Compiled with the same attribute.
    RETURNS (Dict[str, int]): "before", "after", and "both": how many stayed.
    """
    both = np.intersect1d(*(t.keys[t.source != NO_ENTRY] for t in (old, new)))
    return {"before": len(old), "after": len(new), "both": len(both)}


def find_entries(pipe: HighOrderSemiCRF, name: str, doc: Doc) -> list[FoundEntry]:
    """Which entries of a list occur in a document, overlapping ones too.

    pipe (HighOrderSemiCRF): A trained component.
    name (str): Of the list.
    doc (Doc): With what the attribute of the list reads, such as lemmas.
    RETURNS (List[FoundEntry]): By start, then by length.
    """
    lists = pipe.weights.extractor.gazetteers
    attr, matches = lists.settings[name].attr, lists.matches(doc)[name]
    spans = sorted(zip(matches.start.tolist(), matches.end.tolist()))
    return [FoundEntry(i, j, _words(doc, attr, i, j), doc[i:j].text) for i, j in spans]


def find_similar(pipe: HighOrderSemiCRF, name: str, doc: Doc) -> list[SimilarEntry]:
    """Which segments of a document resemble entries of a list with fuzzy matches.

    pipe (HighOrderSemiCRF): A trained component.
    name (str): Of the list.
    doc (Doc): With what the attribute of the list reads.
    RETURNS (List[SimilarEntry]): By start, then by length; overlapping ones too.
    """
    lists = pipe.weights.extractor.gazetteers
    found = lists.similar(doc)[name]
    arrays = found.start, found.end, found.similarity, found.entry
    return [
        SimilarEntry(i, j, similarity, lists.fuzzy[name].texts[e], doc[i:j].text)
        for i, j, similarity, e in zip(*(array.tolist() for array in arrays))
    ]


def compared_words(doc: Doc, attr: str) -> list[str]:
    """RETURNS (List[str]): The words of a document that lists with `attr` compare."""
    return _words(doc, attr, 0, len(doc))


def _words(doc: Doc, attr: str, start: int, end: int) -> list[str]:
    tokens = doc[start:end]
    if attr == "ALNUM":
        return alnum_words(tokens.text)
    return [getattr(token, f"{attr.lower()}_") for token in tokens]


def _read_by(weights: WeightState) -> dict[str, list[int]]:
    """The rows whose template reads a list, by its name."""
    functions = weights.extractor.features.functions.functions
    by_template: dict[str, set[str]] = {name: set() for name in functions}
    found: dict[str, list[int]] = {}
    for row, name in enumerate(weights.names):
        text = name.partition("=")[0].partition(":")[2]
        if text not in by_template:
            atoms = (x.attribute for t in parse_templates([text]) for x in t.atoms)
            by_template[text] = {x.partition(":")[0] for x in atoms if ":" in x}
        for of_list in by_template[text]:
            found.setdefault(of_list, []).append(row)
    return found


def _count_weights(weights: WeightState, rows: list[int]) -> int:
    if weights.pairs is None:
        return len(rows) * weights.matrix.shape[1]
    return int(weights.pairs.sizes[rows].sum()) if rows else 0


def _memory(trie: Trie) -> int:
    """Bytes of the arrays; the slots are as many as those of a RowTable, int32."""
    slots = 16
    while slots < 2 * len(trie.keys):
        slots *= 2
    return trie.keys.nbytes + trie.source.nbytes + 4 * slots


def _memory_of_texts(index: FuzzyIndex | None) -> int:
    if index is None:
        return 0
    return sum(map(sys.getsizeof, index.texts)) + index.index.nbytes
