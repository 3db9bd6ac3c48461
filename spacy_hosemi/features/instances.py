"""What one segmentation covers: a document, or a sentence.

A sentence is read like a document: features of neighbours see its borders as the begin
and end of a document, and no segment crosses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import (  # type: ignore[import-not-found]
    ENT_IOB,
    IDX,
    ORTH,
    SENT_START,
    SPACY,
)
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from ..errors import Errors
from ..values import shown
from .kernels.token_reader import split_tokens

if TYPE_CHECKING:
    from .clean_docs import WordPlaces

AnySpan = tuple[int, int, Any]
Keys = NDArray[np.uint64]

SCOPES = ("doc", "sents")

# What `Instances` read of each token in one call, as `split_tokens` takes it: numbers,
# since `Doc.to_array` takes half as long again for names. An attribute of a word, such
# as its length, takes four times as long as one of a token.
_READ: Any = (ORTH, SPACY, ENT_IOB, SENT_START, IDX)


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
        """Returns spans of the instance in tokens of the document."""
        if self.words is None:
            return shift(spans, self.start) if self.start else [*spans]
        starts, ends = self.words.starts, self.words.ends
        low, last = self.start, self.start - 1
        return [(starts[i + low], ends[j + last], label) for i, j, label in spans]


class Instances(list[Doc]):
    """Instances of one vocabulary that are read together: what everybody asks of their
    tokens is read once.

    parts (Sequence[Doc]): One or more documents, or sentences, of n tokens together.
    like (Optional[Instances]): As many; documents of it are not read again.

    tokens (uint64 [3, n]): ORTH, SPACY and length of each token; 0 in texts.
    orths, spaces (uint64 [n]): The first two.
    first (int32 [N + 1]), borders (List[int]): The first token of each instance, if
        they are concatenated, and n.
    has_ents (List[bool] [N]): Whether it has entities, blocked or missing tokens.
    has_limits (List[bool] [N]): Whether sentences start in it; decoders add whitespace.
    is_clean (bool): Whether all words are known to be in their clean form.
    RAISES (TypeError): HS230 one is no document.
    """

    is_clean = False

    def __init__(self, parts: Iterable[Doc], like: Instances | None = None) -> None:
        super().__init__(parts)
        for part in self:
            if not isinstance(part, (Doc, TokenRange)):
                raise TypeError(Errors.HS230.format(found=shown(part)))
        known: Any = repeat((None, None)) if like is None else zip(like, like._columns)
        columns = [x if a is b else a.to_array(_READ) for a, (b, x) in zip(self, known)]
        self._columns: list[NDArray[Any]] = columns
        if len(columns) == 1:
            tokens = columns[0]
            borders, self.first = [0, len(tokens)], _first_of_one(len(tokens))
        else:
            tokens = np.concatenate(columns)
            borders = [*accumulate(map(len, self), initial=0)]
            self.first = np.array(borders, np.int32)
        self.borders = borders
        last = [len(x[-1]) if len(x) and x.doc is not None else 0 for x in self]
        split = split_tokens(tokens, borders, last)
        self.tokens, self.has_ents, self.has_limits = split
        self.orths, self.spaces = self.tokens[0], self.tokens[1]

    @classmethod
    def of_texts(
        cls, vocab: Vocab, orths: Keys, spaces: Keys, first: NDArray[np.int32]
    ) -> Instances:
        """RETURNS (Instances): Texts that need no documents: nothing is known of their
        tokens but clean words and spaces, and none is whitespace."""
        texts = cls.__new__(cls)
        columns = TokenColumns(vocab, None)
        columns.arrays |= {"ORTH": orths, ORTH: orths, "SPACY": spaces, SPACY: spaces}
        ranges = (TokenRange(columns, *pair) for pair in pairwise(first.tolist()))
        texts.extend(cast(Any, ranges))
        texts.orths, texts.spaces, texts.first = orths, spaces, first
        texts.has_ents = texts.has_limits = [False] * len(texts)
        texts.is_clean = True
        return texts


@lru_cache(1024)
def _first_of_one(n_tokens: int) -> NDArray[np.int32]:
    """`Instances.first` of one. To make it takes as long as to read the tokens."""
    first = np.array([0, n_tokens], np.int32)
    first.setflags(write=False)
    return first


def check_doc(value: Any) -> None:
    """RAISES (TypeError): HS230 it is no document."""
    if not isinstance(value, Doc):
        raise TypeError(Errors.HS230.format(found=shown(value)))


def divide(doc: Doc, scope: str) -> list[Instance]:
    """Returns the parts of a document that are segmented independently, from left to
    right; together they cover all tokens. Raises HS067 if the scope is "sents", and
    sentence starts are not set."""
    if scope == "doc" or not len(doc):
        return [Instance(doc, 0)]
    if not doc.has_annotation(SENT_START):
        raise ValueError(Errors.HS067.format(text=doc[:8].text))
    starts = [0, *sentence_starts(doc).tolist(), len(doc)]
    columns: Any = TokenColumns(doc.vocab, doc)
    sentences: Any = (TokenRange(columns, *pair) for pair in pairwise(starts))
    return [Instance(tokens, start) for tokens, start in zip(sentences, starts)]


def doc_of(start: NDArray[Any], first: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the number of the instance, int32 [K], that each token [K] is in, by the
    first token of each instance; tokens are counted over all."""
    return (np.searchsorted(first, start, side="right") - 1).astype(np.int32)


def documents(parts: Iterable[Doc]) -> tuple[list[Doc], list[int]]:
    """Returns the documents of instances, which are all of each document; the first
    token of each instance in all concatenated documents, and the number of these."""
    docs: list[Doc] = []
    borders = [0]
    last = None
    for part in parts:
        borders.append(borders[-1] + len(part))
        if isinstance(part, Doc):
            docs.append(part)
        elif part.columns is not last:
            docs.append(part.doc)
            last = part.columns
    return docs, borders


def sentence_starts(doc: Doc) -> NDArray[np.intp]:
    """RETURNS (int [K]): The tokens that begin a sentence, without the first token."""
    starts = np.flatnonzero(doc.to_array(SENT_START).astype(np.int64) == 1)
    return starts[starts > 0]


def shift(spans: Iterable[tuple[int, int, str]], by: int) -> list[tuple[int, int, str]]:
    """RETURNS (List[Tuple[int, int, str]]): Spans, `by` tokens further right."""
    return [(i + by, j + by, label) for i, j, label in spans]


class TokenColumns:
    """Attributes of the tokens of a document, each read once, since it takes time for
    the whole document; or, without a document, of texts: `arrays` has all of them."""

    def __init__(self, vocab: Vocab, doc: Doc | None) -> None:
        self.vocab, self.doc = vocab, doc
        self.arrays: dict[Any, NDArray[Any]] = {}
        self._has_annotation: dict[Any, bool] = {}

    def to_array(self, name: Any) -> NDArray[Any]:
        if name not in self.arrays:
            if self.doc is not None:
                self.arrays[name] = self.doc.to_array(name)
            elif name == _READ:
                orths, spaces = self.arrays[ORTH], self.arrays[SPACY]
                unset, places = np.zeros_like(orths), np.cumsum(spaces) - spaces
                self.arrays[name] = np.stack([orths, spaces, unset, unset, places], 1)
        return self.arrays[name]

    def has_annotation(self, name: Any) -> bool:
        if self.doc is None:
            return False
        if name not in self._has_annotation:
            self._has_annotation[name] = self.doc.has_annotation(name)
        return self._has_annotation[name]


class TokenRange:
    """A sentence, or a text without a document, with those methods of Doc that the
    package calls; only a sentence has single tokens.

    `Span.as_doc` would return a Doc, but takes about 1 ms: more than a prediction. So
    does the Doc of a text, which needs a lexeme for each word.
    """

    __slots__ = "columns", "_tokens"

    def __init__(self, columns: TokenColumns, start: int, end: int) -> None:
        self.columns, self._tokens = columns, range(start, end)

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, key: int | slice) -> Token | Span:
        place = self._tokens[key]
        part = place if isinstance(place, int) else slice(place.start, place.stop)
        return self.doc[part]

    def __iter__(self) -> Iterator[Token]:
        return (self.doc[i] for i in self._tokens)

    @property
    def doc(self) -> Doc:
        return cast(Doc, self.columns.doc)

    @property
    def vocab(self) -> Vocab:
        return self.columns.vocab

    @property
    def text(self) -> str:
        if self.doc is not None:
            return self.doc[self._tokens.start : self._tokens.stop].text
        strings, pairs = self.vocab.strings, zip(*map(self.to_array, (ORTH, SPACY)))
        return "".join(strings[int(orth)] + " " * int(space) for orth, space in pairs)

    def has_annotation(self, name: Any) -> bool:
        return self.columns.has_annotation(name)

    def to_array(self, name: Any) -> NDArray[Any]:
        """RETURNS (uint64 [n] or [n, K]): As of Doc; of a text words and spaces."""
        return self.columns.to_array(name)[self._tokens.start : self._tokens.stop]
