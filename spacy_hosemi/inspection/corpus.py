"""Reads a training corpus as it is: .spacy files, or anything that `convert` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from ..component.examples import without_annotation
from ..errors import Errors
from ..formats import ReaderSettings, make_doc, read_annotations
from ..formats.texts import Fault
from ..labels.alignment import read_annotations as read_labels
from ..text.clean import clean_word


class PlacedSpan(NamedTuple):
    """An entity, in characters; where its document stands, and the text of that."""

    place: str
    document: str
    start: int
    end: int
    label: str

    @property
    def text(self) -> str:
        """Returns the text of the entity."""
        return self.document[self.start : self.end]


@dataclass
class CorpusPart:
    """Annotated documents: those to train on, or to judge by."""

    name: str  # of the files, for messages
    docs: list[Doc]
    places: list[str]  # where each stands: file and number, or file and line
    faults: list[Fault] = field(default_factory=list)  # records that cannot be read
    n_trimmed: int = 0  # spans that had whitespace at their ends, which is gone

    def __iter__(self) -> Iterator[tuple[str, Doc]]:
        return zip(self.places, self.docs)

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def texts(self) -> list[str]:
        """Returns the text of each document, which spaCy joins anew each time."""
        return [doc.text for doc in self.docs]

    @cached_property
    def spans(self) -> list[PlacedSpan]:
        """Returns entities of all documents."""
        return [
            PlacedSpan(place, text, ent.start_char, ent.end_char, ent.label_)
            for place, text, doc in zip(self.places, self.texts, self.docs)
            for ent in doc.ents
        ]

    @cached_property
    def n_tokens(self) -> int:
        """Tokens, without whitespace."""
        return sum(int((doc.to_array(IS_SPACE) == 0).sum()) for doc in self.docs)

    @property
    def n_spans(self) -> int:
        """Returns the number of entities of all documents."""
        return len(self.spans)

    @cached_property
    def keys(self) -> list[str]:
        """Returns the texts, `squeezed`: equal ones are the same text."""
        return [squeezed(text) for text in self.texts]


def squeezed(text: str) -> str:
    """Returns letters and digits of a text, whatever their case and form, if any."""
    words = "".join(clean_word(word) for word in text.split()).casefold()
    return "".join(c for c in words if c.isalnum()) or words


def read_part(
    path: str,
    nlp: Language,
    name: str | None = None,
    encoding: str | None = None,
    group: str | None = None,
) -> CorpusPart:
    """Reads annotated documents, and says what is wrong with those that cannot be read.
    Raises ValueError for a damaged .spacy file (HS250), no document (HS251), or texts
    that no reader knows (HS160, HS161, HS165).

    The path is a .spacy file, a folder of them, or a file or folder of annotated texts
    in a format that `read_annotations` knows, or "-" for texts on standard input;
    messages call a single file by `name`, if there is one. The tokenizer of `nlp` cuts
    texts; `group` is a key of texts that documents keep in `user_data`."""
    where = Path(path)
    files = sorted(where.rglob("*.spacy")) if where.is_dir() else []
    if where.suffix == ".spacy" and where.is_file():
        files = [where]
    part = (
        _read_binary(files, nlp) if files else _read_texts(path, nlp, encoding, group)
    )
    part.name = name or path
    if name is not None:  # the path is that of a copy, which goes
        part.places = [name + x.removeprefix(where.name) for x in part.places]
        part.faults = [replace(x, path=name) for x in part.faults]
    if not part.docs:
        found = str(part.faults[0]) if part.faults else "it is empty"
        raise ValueError(Errors.HS251.format(path=part.name, found=found))
    return part


def _read_binary(files: Sequence[Path], nlp: Language) -> CorpusPart:
    part = CorpusPart("", [], [])
    for file in files:
        try:
            docs = [*DocBin().from_disk(file).get_docs(nlp.vocab)]
        except Exception as e:  # of msgpack, zlib, numpy or spaCy
            found = f"{type(e).__name__}: {e}"[:120]
            raise ValueError(Errors.HS250.format(path=file, found=found)) from None
        part.docs += docs
        part.places += [f"{file.name}#{k}" for k in range(1, len(docs) + 1)]
    return part


def _read_texts(
    path: str, nlp: Language, encoding: str | None, group: str | None
) -> CorpusPart:
    settings = ReaderSettings(encoding=encoding, group=group)
    read = read_annotations(path, settings=settings)
    docs = [make_doc(text, nlp, group)[0] for text in read.texts]
    places = [f"{Path(text.path).name}:{text.line}" for text in read.texts]
    return CorpusPart("", docs, places, read.faults, read.n_trimmed)


def as_examples(docs: Sequence[Doc], nlp: Language) -> list[Example]:
    """Makes examples as `spacy train` does: tokenizes texts anew, keeps tokens."""
    return [Example(without_annotation(doc, nlp), doc) for doc in docs]


def trainable(docs: Sequence[Doc], nlp: Language) -> list[Doc]:
    """Returns the documents without spans that the tokenizer cannot reach, or that
    begin or end with whitespace: on few documents these may be all of a label."""
    return [
        doc
        for doc, labels in zip(docs, read_labels(as_examples(docs, nlp)))
        if len(doc.ents) == len(labels.required)
        and all(ent.text == ent.text.strip() for ent in doc.ents)
    ]


def first_documents(docs: Sequence[Doc], n_tokens: float) -> list[Doc]:
    """Returns the first documents that have `n_tokens` together, or all."""
    n_before = accumulate(map(len, docs), initial=0)
    return [doc for doc, n in zip(docs, n_before) if n < n_tokens]


def in_spans(doc: Doc) -> np.ndarray:
    """Returns whether each token is in an entity."""
    is_inside = np.zeros(len(doc), bool)
    for ent in doc.ents:
        is_inside[ent.start : ent.end] = True
    return is_inside
