"""Attributes of words, read from a vocabulary and from their characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS  # type: ignore[import-not-found]
from spacy.symbols import NAMES  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..text.clean import with_hyphens
from .attributes import FLAGS, STRINGS, hash_or_0
from .kernels.word_forms import FORMS, FormReader, Spellings, read_texts
from .tables import Tables

Keys = NDArray[np.uint64]

# What the forms of words are forms of: the word; the word in lower case; what the
# vocabulary has as that.
_WORD, _LOWERED, _LOWER = range(3)


class LexemeReader:
    """Reads attributes of words, of lexemes or of tables: the hashes of their values,
    or these as text, in the order of `names`. one_dash: whether words that differ in
    dashes only have the same."""

    def __init__(
        self, names: Iterable[str], tables: Tables, one_dash: bool = False
    ) -> None:
        names, self._one_dash = [*names], one_dash
        strings = [name for name in names if name in STRINGS]
        flags = [name for name in names if name in FLAGS]
        forms = sorted((_origin(x), FORMS.index(x)) for x in names if x in FORMS)
        tabular = [x for x in names if x not in (*STRINGS, *FLAGS, *FORMS)]
        self._tables = {name: tables.reader(name) for name in tabular}
        self._n_strings = len(strings)
        # What is read of the vocabulary: attributes, and what others are read from.
        self._read = [*strings, *flags]
        self._n_read = len(self._read)
        origins = [attr for attr, _ in self._tables.values()]
        if any(origin == _LOWER for origin, _ in forms):
            origins.append("LOWER")
        self._read += dict.fromkeys(x for x in origins if x not in self._read)
        self._read = self._read or ["ORTH"]  # nothing alone would be refused
        lower = self._read.index("LOWER") if "LOWER" in self._read else -1
        self._forms = forms
        columns = np.array(forms, np.int32).reshape(-1, 2).T.copy()
        args = len(strings), len(flags), lower, len(NAMES), hash_or_0("1")
        self._reader = FormReader(columns[1], columns[0], *args)
        of_characters = (FORMS[form] for _, form in forms)
        self.names = (*strings, *flags, *of_characters, *tabular)

    def values(self, vocab: Vocab, orths: Keys, values: Keys | None = None) -> Keys:
        """Returns, and writes, the hash of each attribute of K words, uint64 [K, A]; 0:
        absent."""
        (words, texts), strings = self._words(vocab, orths), vocab.strings
        rows = self._rows(vocab, words, texts)
        if values is None:
            values = np.empty((len(words), len(self.names)), np.uint64)
        if self._reader.read(strings, words, texts, rows, values):
            of_strings = values[:, : self._n_strings]
            for k, a in np.argwhere(of_strings < len(NAMES)).tolist():
                of_strings[k, a] = hash_or_0(strings[int(of_strings[k, a])])
        at = self._n_read + len(self._forms)
        for a, (attr, read) in enumerate(self._tables.values(), at):
            of_words = read(self._column(rows, attr))
            values[:, a] = [hash_or_0(text) for text in of_words]
        return values

    def texts(self, vocab: Vocab, orths: Keys) -> dict[str, list[str | None]]:
        """Returns the values of each attribute for K words, None where absent."""
        (words, texts), strings = self._words(vocab, orths), vocab.strings
        rows = self._rows(vocab, words, texts)
        columns = {name: self._column(rows, name) for name in self._read}
        by_attribute: list[list[str | None]] = []
        for name in self.names[: self._n_strings]:
            by_attribute.append([strings[value] for value in columns[name].tolist()])
        for name in self.names[self._n_strings : self._n_read]:
            by_attribute.append(["1" if value else None for value in columns[name]])
        lower = [strings[x] for x in columns.get("LOWER", words[:0]).tolist()]
        of_origin = texts, [text.lower() for text in texts], lower
        for origin, form in self._forms:
            by_attribute.append(Spellings(of_origin[origin]).texts(form))
        for attr, read in self._tables.values():
            by_attribute.append(read(columns[attr]))
        return dict(zip(self.names, by_attribute))

    def _words(self, vocab: Vocab, orths: Keys) -> tuple[Keys, list[str]]:
        """Returns the words that are read in the place of some, and their texts."""
        texts, others = read_texts(vocab.strings, orths)
        if self._one_dash and others:
            orths = orths.copy()
            for k in others:
                texts[k] = with_hyphens(texts[k])
                orths[k] = vocab.strings.add(texts[k])
        return orths, texts

    def _rows(self, vocab: Vocab, words: Keys, texts: Sequence[str]) -> Keys:
        """Returns what `_read` names of each word, uint64 [K, ..]. (A lexeme for each
        would take twice as long as a document of them, and to make one of a new word
        ten times: all of its attributes would be computed.)"""
        names: Any = self._read
        orths, untyped = words.tolist(), cast(Any, vocab)
        is_known = [word in untyped for word in orths]
        known: Any = [*compress(orths, is_known)]
        rows: Any = (
            Doc(vocab, words=known).to_array(names).reshape(len(known), len(names))
        )
        if len(known) < len(words):
            is_new = np.frombuffer(bytearray(is_known), bool) == 0
            of_known, rows = rows, np.empty((len(words), len(names)), np.uint64)
            rows[~is_new] = of_known
            new = [*compress(texts, is_new.tolist())]
            getters, add = untyped.lex_attr_getters, vocab.strings.add
            for a, name in enumerate(names):
                get = add if name == "ORTH" else getters.get(IDS[name], lambda _: None)
                values = map(get, new)
                rows[is_new, a] = [
                    add(x) if isinstance(x, str) else x or 0 for x in values
                ]
        return rows

    def _column(self, rows: Keys, name: str) -> Keys:
        """Returns an attribute of each word, of `_rows`."""
        return rows[:, self._read.index(name)]


def _origin(form: str) -> int:
    """Returns what a form is a form of."""
    if form == "CORE":
        return _LOWERED
    return _LOWER if form.startswith(("PREFIX", "SUFFIX")) else _WORD
