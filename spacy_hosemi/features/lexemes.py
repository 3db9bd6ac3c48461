"""Attributes of words, read from a vocabulary and from their characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.symbols import NAMES  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .attributes import FLAGS, STRINGS, hash_or_0
from .kernels.word_forms import FORMS, Spellings
from .tables.tables import Tables

Keys = NDArray[np.uint64]

# What the forms of words are forms of: the word; the word in lower case; what the
# vocabulary has as that.
_WORD, _LOWERED, _LOWER = range(3)


class LexemeReader:
    """Reads attributes of words: the hashes of their values, or these as text.

    names (Iterable[str]): The attributes, of lexemes or of tables.
    tables (Tables): Those that attributes read.

    names (Tuple[str, ...]): The attributes, in the order of `values`.
    """

    def __init__(self, names: Iterable[str], tables: Tables) -> None:
        names = [*names]
        strings = [name for name in names if name in STRINGS]
        flags = [name for name in names if name in FLAGS]
        forms = sorted((_origin(x), FORMS.index(x)) for x in names if x in FORMS)
        tabular = [x for x in names if x not in (*STRINGS, *FLAGS, *FORMS)]
        self._tables = {name: tables.reader(name) for name in tabular}
        self._n_strings = len(strings)
        # What is read of the vocabulary: attributes, and what others are read from.
        self._read = [*strings, *flags]
        self._n_read = len(self._read)
        others = [attr for attr, _ in self._tables.values()]
        others += ["LOWER"] if any(origin == _LOWER for origin, _ in forms) else []
        self._read += dict.fromkeys(x for x in others if x not in self._read)
        self._forms = {
            origin: np.array([form for of, form in forms if of == origin], np.int32)
            for origin in dict.fromkeys(origin for origin, _ in forms)
        }
        of_characters = (FORMS[form] for _, form in forms)
        self.names = (*strings, *flags, *of_characters, *tabular)

    def values(self, vocab: Vocab, orths: Keys) -> Keys:
        """RETURNS (uint64 [K, A]): The hash of each attribute of each word; 0: absent.

        vocab (Vocab): The vocabulary with the words.
        orths (uint64 [K]): The ORTH of each.
        """
        words = orths.tolist()
        rows = self._rows(vocab, words)
        values = np.empty((len(words), len(self.names)), np.uint64)
        values[:, : self._n_read] = rows[:, : self._n_read]
        values[:, self._n_strings : self._n_read] *= _TRUE
        # Strings that spaCy has numbers of its own for.
        of_strings = values[:, : self._n_strings]
        for k, a in np.argwhere(of_strings < len(NAMES)).tolist():
            of_strings[k, a] = hash_or_0(vocab.strings[int(of_strings[k, a])])
        at = self._n_read
        for spellings, forms in self._spellings(vocab, words, rows):
            spellings.values(forms, values[:, at : at + len(forms)])
            at += len(forms)
        for a, (attr, read) in enumerate(self._tables.values(), at):
            found = read(rows[:, self._read.index(attr)])
            values[:, a] = [hash_or_0(text) for text in found]
        return values

    def texts(self, vocab: Vocab, orths: Keys) -> dict[str, list[str | None]]:
        """RETURNS (Dict[str, List[Optional[str]]]): By attribute, the value of each
        word. See `values`."""
        words = orths.tolist()
        rows, strings = self._rows(vocab, words), vocab.strings
        found: list[list[str | None]] = [
            [strings[value] for value in rows[:, a].tolist()]
            for a in range(self._n_strings)
        ]
        found += [
            ["1" if value else None for value in rows[:, a].tolist()]
            for a in range(self._n_strings, self._n_read)
        ]
        for spellings, forms in self._spellings(vocab, words, rows):
            found += [spellings.texts(form) for form in forms.tolist()]
        for attr, read in self._tables.values():
            found.append(read(rows[:, self._read.index(attr)]))
        return dict(zip(self.names, found))

    def _rows(self, vocab: Vocab, words: Sequence[int]) -> Keys:
        """What the vocabulary has of each word, [K, attributes]."""
        # A document has arrays of attributes; a lexeme has one at a time.
        attributes: Any = self._read or ["ORTH"]
        doc: Any = Doc(vocab, words=words)  # type: ignore[arg-type]
        rows: Keys = doc.to_array(attributes).reshape(len(words), len(attributes))
        return rows

    def _spellings(
        self, vocab: Vocab, words: Sequence[int], rows: Keys
    ) -> Iterator[tuple[Spellings, NDArray[np.int32]]]:
        """Texts, with the forms that are read of them."""
        strings = vocab.strings
        texts = [strings[word] for word in words] if self._forms else []
        for origin, forms in self._forms.items():
            of = texts
            if origin == _LOWERED:
                of = [text.lower() for text in texts]
            elif origin == _LOWER:
                lower = rows[:, self._read.index("LOWER")].tolist()
                pairs = zip(texts, words, lower)
                of = [x if low == word else strings[low] for x, word, low in pairs]
            yield Spellings(of), forms


_TRUE = np.uint64(hash_or_0("1"))


def _origin(form: str) -> int:
    """What a form is a form of."""
    if form == "CORE":
        return _LOWERED
    return _LOWER if form.startswith(("PREFIX", "SUFFIX")) else _WORD
