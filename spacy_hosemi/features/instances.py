"""What one segmentation covers: a document, or a sentence.

A sentence is read like a document: features of neighbours see its borders as the begin
and end of a document, and no segment crosses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import ORTH, SENT_START, SPACY  # type: ignore[import-not-found]
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..core.arguments import shown
from ..errors import Errors
from .doc_batch import READ

if TYPE_CHECKING:
    from .clean_docs import WordPlaces

AnySpan = tuple[int, int, Any]
Keys = NDArray[np.uint64]

SCOPES = ("doc", "sents")


# Not frozen: to create a frozen one takes five times as long.
@dataclass(slots=True)
class Instance:
    """What one segmentation covers, and where it stands in the document.

    tokens (Doc): The document, or a sentence that is read like one.
    start (int): Its first token in the document, or in the document of clean words.
    words (Optional[WordPlaces]): Where clean words stand in the document; None: tokens
        are read as they are.
    """

    tokens: Doc
    start: int
    words: WordPlaces | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)

    def to_document(self, spans: Sequence[AnySpan]) -> list[AnySpan]:
        """RETURNS (List[Tuple[int, int, Any]]): Spans of the instance in tokens of the
        document."""
        if self.words is None:
            return shift(spans, self.start) if self.start else [*spans]
        starts, ends = self.words.starts, self.words.ends
        low, last = self.start, self.start - 1
        return [(starts[i + low], ends[j + last], label) for i, j, label in spans]

    def from_document(self, span: AnySpan) -> AnySpan | None:
        """RETURNS (Optional[Tuple[int, int, Any]]): A span of the document in tokens of
        the instance, as clean words that have a token of it; None if there are none, or
        if the instance does not have all of them."""
        words = span if self.words is None else self.words.to_words(span)
        if words is None or words[0] < self.start or words[1] > self.end:
            return None
        return words[0] - self.start, words[1] - self.start, words[2]


def check_doc(value: Any) -> None:
    """RAISES (TypeError): HS230 it is no document."""
    if not isinstance(value, (Doc, TokenizedText)):
        raise TypeError(Errors.HS230.format(found=shown(value)))


def instances(doc: Doc, scope: str) -> list[Instance]:
    """The parts of a document that are segmented independently.

    doc (Doc): n tokens.
    scope (str): "doc" or "sents".
    RETURNS (List[Instance]): From left to right; together they cover all tokens.
    RAISES (ValueError): HS067 sentence starts are not set.
    """
    if scope == "doc" or not len(doc):
        return [Instance(doc, 0)]
    if not doc.has_annotation(SENT_START):
        raise ValueError(Errors.HS067.format(text=doc[:8].text))
    starts = [0, *sentence_starts(doc).tolist(), len(doc)]
    document = _Document(doc)
    return [
        Instance(cast(Doc, Sentence(document, start, end)), start)
        for start, end in zip(starts, starts[1:])
    ]


def documents(parts: Iterable[Doc]) -> tuple[list[Doc], list[int]]:
    """The documents of some instances.

    parts (Iterable[Doc]): All instances of each document, document by document.
    RETURNS (Tuple[List[Doc], List[int]]): The documents; the first token of each
        instance in all concatenated documents, and the number of their tokens.
    """
    docs: list[Doc] = []
    borders = [0]
    last = None
    for part in parts:
        borders.append(borders[-1] + len(part))
        if isinstance(part, Doc):
            docs.append(part)
        elif part.doc is not last:
            docs.append(part.doc.doc)
            last = part.doc
    return docs, borders


def sentence_starts(doc: Doc) -> NDArray[np.intp]:
    """RETURNS (int [K]): The tokens that begin a sentence, without the first token."""
    starts = np.flatnonzero(doc.to_array(SENT_START).astype(np.int64) == 1)
    return starts[starts > 0]


def shift(spans: Iterable[tuple[int, int, str]], by: int) -> list[tuple[int, int, str]]:
    """RETURNS (List[Tuple[int, int, str]]): Spans, `by` tokens further right."""
    return [(i + by, j + by, label) for i, j, label in spans]


class _Document:
    """A document, with a cache of what its sentences read: to read it anew takes time
    for the whole document."""

    def __init__(self, doc: Doc) -> None:
        self.doc = doc
        self._arrays: dict[str | int | tuple[int, ...], NDArray[Any]] = {}
        self._has_annotation: dict[int, bool] = {}

    @cached_property
    def text(self) -> str:
        return self.doc.text

    def to_array(self, name: str | int | tuple[int, ...]) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = self.doc.to_array(name)  # type: ignore[arg-type]
        return self._arrays[name]

    def has_annotation(self, name: int) -> bool:
        if name not in self._has_annotation:
            self._has_annotation[name] = self.doc.has_annotation(name)
        return self._has_annotation[name]


class Sentence:
    """A sentence with those methods of Doc that the package calls.

    `Span.as_doc` would return a Doc, but takes about 1 ms: more than a prediction.
    """

    def __init__(self, document: _Document, start: int, end: int) -> None:
        self.doc = document
        self._tokens = range(start, end)

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, key: int | slice) -> Token | Span:
        place = self._tokens[key]
        if isinstance(place, int):
            return self.doc.doc[place]
        return self.doc.doc[place.start : place.stop]

    def __iter__(self) -> Iterator[Token]:
        return (self.doc.doc[i] for i in self._tokens)

    @property
    def vocab(self) -> Vocab:
        return self.doc.doc.vocab

    @property
    def text(self) -> str:
        return self.doc.doc[self._tokens.start : self._tokens.stop].text

    def has_annotation(self, name: int) -> bool:
        return self.doc.has_annotation(name)

    def to_array(self, name: str | int | tuple[int, ...]) -> NDArray[Any]:
        return self.doc.to_array(name)[self._tokens.start : self._tokens.stop]


class TokenKind(NamedTuple):
    """What tags need of a token."""

    is_space: bool


class TokenizedText:
    """A text and its tokens with those methods of Doc that a decoder calls: nothing is
    known of a token but its word and its space, and none is whitespace.

    To make a Doc takes ten times as long, and it needs a lexeme for each word.

    vocab (Vocab): With the words.
    text (str): The text.
    orths (uint64 [N]): The ORTH of each token of many texts.
    spaces (uint64 [N]): 1: a space follows the token; 0: none does.
    start, end (int): Which tokens are those of this text.
    """

    __slots__ = "vocab", "text", "_orths", "_spaces", "_start", "_end"

    def __init__(
        self, vocab: Vocab, text: str, orths: Keys, spaces: Keys, start: int, end: int
    ) -> None:
        self.vocab, self.text = vocab, text
        self._orths, self._spaces = orths, spaces
        self._start, self._end = start, end

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, i: int) -> TokenKind:
        return TokenKind(False)

    def has_annotation(self, name: int) -> bool:
        return False

    def to_array(self, name: str | int | tuple[int, ...]) -> Keys:
        """RETURNS (uint64 [n] or [n, 2] or [n, 6]): ORTH, SPACY, both, or `READ`."""
        orths = self._orths[self._start : self._end]
        spaces = self._spaces[self._start : self._end]
        if name == ORTH or name == "ORTH":
            return orths
        if name == SPACY or name == "SPACY":
            return spaces
        if name not in ((ORTH, SPACY), READ):
            raise KeyError(name)
        n_columns = len(READ) if name == READ else 2
        columns = np.zeros((len(self), n_columns), np.uint64)
        columns[:, 0], columns[:, 1] = orths, spaces
        return columns
