"""Lines of text that a pipeline works through, some at a time.

Each line is found or fails, whatever the components of the pipeline do, and the others
go on. Memory does not grow with the number of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import RLock
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Fields
from ..training.rows import give_back_memory
from .pipe import HighOrderSemiCRF
from .text_decoder import obstacle, predict_texts

# Lines, and characters, that are worked on together: what spaCy remembers of their
# words is forgotten after them, so that memory does not grow with the number of lines.
CHUNK, CHUNK_CHARS = 1000, 1_000_000
# After this many chunks, of all calls, the vocabulary is made anew: its hash tables
# keep a slot for each word that spaCy has forgotten, 16 bytes or more.
N_CHUNKS = 100
# After this many, freed memory is given back to the system.
N_TRIMMED = 10

# spaCy allows one memory zone at a time, and a component has one error handler.
_TURNS = RLock()

# Chunks that a pipeline has read since its vocabulary was made anew.
_n_read: WeakKeyDictionary[Language, float] = WeakKeyDictionary()

HasText = TypeVar("HasText", Line, ExtractedRecord)
Decode = Callable[[list[str]], Iterator[tuple[list[int], Fields]]]
Handler = Callable[[str, Any, Sequence[Doc], Exception], None]


class ResultSink(Protocol):
    """Takes the fields of each line, or why it failed. Lines of a chunk come in any
    order."""

    needs_docs: bool  # whether each line must become a document

    def add(
        self, line: Line, fields: Sequence[ExtractedField], confidence: float | None
    ) -> None:
        """Takes a line with its fields, from left to right, and the probability of
        exactly these."""
        ...

    def add_many(self, lines: Sequence[Line], fields: Fields) -> None:
        """Takes several lines with their fields."""
        for line, (of_line, confidence) in zip(lines, fields.by_text()):
            self.add(line, of_line, confidence)

    def add_doc(self, line: Line, doc: Doc) -> None:
        """Takes a line as a document that the pipeline has annotated."""
        self.add(line, fields_of(doc), doc._.record_confidence)

    def fail(self, line: Line, message: str) -> None:
        """Takes a line that failed, and why."""
        ...


def doc_of(nlp: Language, line: Line) -> Doc:
    """Returns the document of a line that is to be predicted, with the tokens that it
    has, or those of the tokenizer."""
    if line.tokens is None:
        return nlp.make_doc(line.text)
    return Doc(nlp.vocab, words=[*line.tokens])


def fields_of(doc: Doc) -> list[ExtractedField]:
    """Returns the entities of a document."""
    return [
        ExtractedField(
            ent.start_char, ent.end_char, ent.label_, ent.text, ent._.confidence
        )
        for ent in doc.ents
    ]


def read_chunks(
    nlp: Language,
    lines: Iterable[Line],
    results: ResultSink,
    *,
    threads: int | None = None,
    confidence: bool = True,
    is_own: bool = False,
) -> Iterator[None]:
    """Applies a pipeline, whose settings and error handlers stay as they are, to lines,
    which are read as far as needed. Yields after each chunk, whose lines all are among
    the results then. `threads`, `confidence`: see `annotate_stream`. is_own: nobody
    else uses the pipeline, so that its vocabulary may be made anew, see `renew`."""
    settings = {"threads": threads, "confidence": confidence}
    of_pipes = {name: settings.copy() for name in own_components(nlp)}
    decode = None
    if not results.needs_docs and obstacle(nlp) is None:
        decode = partial(predict_texts, nlp, threads=threads)
    for chunk in in_chunks(lines):
        _tidy_in_time(nlp, chunk, is_own)
        _Chunk(nlp, chunk, results, of_pipes).read(decode)
        yield


def own_components(nlp: Language) -> list[str]:
    """Returns the names of the components of this package that are not disabled."""
    return [name for name, pipe in nlp.pipeline if isinstance(pipe, HighOrderSemiCRF)]


class _Chunk:
    """Lines that are worked on together. A document is known by its line's place;
    of_pipes: arguments of `pipe` of some components."""

    def __init__(
        self,
        nlp: Language,
        lines: Sequence[Line],
        results: ResultSink,
        of_pipes: dict[str, dict[str, Any]],
    ) -> None:
        self._nlp, self._lines, self._results = nlp, lines, results
        self._of_pipes = of_pipes
        self._is_read = [False] * len(lines)
        self._messages: dict[int, str] = {}  # of lines that failed, by place

    def read(self, decode: Decode | None) -> None:
        """Reads all lines; what can be decoded as a text is done first."""
        nlp: Any = self._nlp  # the stubs do not know all of it
        with _TURNS, _handled_by(nlp, self._handle), ExitStack() as stack:
            if not nlp.vocab.in_memory_zone:  # zones cannot be nested
                stack.enter_context(nlp.memory_zone())
            if decode is not None:
                raw = [k for k, x in enumerate(self._lines) if x.tokens is None]
                for places, fields in decode([self._lines[k].text for k in raw]):
                    places = [raw[i] for i in places]
                    lines = [self._lines[k] for k in places]
                    self._results.add_many(lines, fields)
                    for k in places:
                        self._is_read[k] = True
            # What goes wrong here shows again below, where it is known whose fault it
            # is: a component may stop the stream, fail for a batch, or lose a document.
            with suppress(Exception):
                for doc, place in self._documents(self._unread()):
                    if place is not None:
                        self._add(place, doc)
            for place in self._unread():
                self._read_alone(place)
        for place, message in sorted(self._messages.items()):
            self._results.fail(self._lines[place], message)

    def _unread(self) -> list[int]:
        """Returns the places of lines that were not read yet."""
        messages = self._messages
        return [k for k, x in enumerate(self._is_read) if not x and k not in messages]

    def _add(self, place: int, doc: Doc) -> None:
        self._results.add_doc(self._lines[place], doc)
        self._is_read[place] = True

    def _read_alone(self, place: int) -> None:
        message = "The pipeline failed: no component has given the document back"
        try:
            for doc, _ in self._documents([place]):
                self._add(place, doc)
        except Exception as e:
            message = _message("The pipeline", e)
        if not self._is_read[place]:
            self._messages.setdefault(place, message)

    def _documents(self, places: Iterable[int]) -> Iterator[tuple[Doc, int | None]]:
        """Yields documents as the pipeline leaves them, in order, with their places;
        None if a component has made another document."""
        args: Any = {"as_tuples": True, "component_cfg": self._of_pipes}
        yield from self._nlp.pipe(self._tokenized(places), **args)

    def _tokenized(self, places: Iterable[int]) -> Iterator[tuple[Doc, int]]:
        for place in places:
            try:
                doc = doc_of(self._nlp, self._lines[place])
            except Exception as e:
                self._messages[place] = _message("The tokenizer", e)
            else:
                yield doc, place

    def _handle(
        self, name: str, component: Any, docs: Sequence[Doc], error: Exception
    ) -> None:
        """Notes an error of one document; of several it is not known which failed."""
        if len(docs) == 1 and docs[0]._context is not None:
            self._messages[docs[0]._context] = _message(name, error)


def _message(name: str, error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{name} failed: {text}"


@contextmanager
def _handled_by(nlp: Language, handler: Handler) -> Iterator[None]:
    """Sets another error handler for a while."""
    before, handlers = nlp.default_error_handler, []
    pipe: Any  # some are functions
    nlp.default_error_handler = handler
    try:
        for _, pipe in nlp.pipeline:
            with suppress(AttributeError):  # it has none; that of ner cannot be set
                of_component = pipe.get_error_handler()
                pipe.set_error_handler(handler)
                handlers.append((pipe.set_error_handler, of_component))
        yield
    finally:
        nlp.default_error_handler = before
        for set_handler, of_component in handlers:
            set_handler(of_component)


def _tidy_in_time(nlp: Language, lines: Sequence[Line], is_own: bool) -> None:
    """Makes the vocabulary anew before these lines, see `renew`, and gives freed memory
    back, each if it is time."""
    n_characters = sum(len(line.text) for line in lines)
    share = max(len(lines) / CHUNK, n_characters / CHUNK_CHARS)
    with _TURNS:
        n_read = _n_read.get(nlp, 0.0)
        if n_read >= N_CHUNKS and renew(nlp.vocab, is_own):
            n_read = 0.0
        if n_read // N_TRIMMED < (n_read + share) // N_TRIMMED:
            give_back_memory()
        _n_read[nlp] = n_read + share


def renew(vocab: Vocab, is_own: bool) -> bool:
    """Makes the hash tables of a vocabulary anew, with all strings, which documents
    find as before; is_own: without lexemes, whose attributes are computed again, also
    those that somebody has set. Returns whether it was done: not in a memory zone."""
    whole: Any = vocab  # the stubs do not know all of it
    if whole.in_memory_zone:
        return False
    if is_own:
        without = ["vectors", "lookups"]
        getters = dict(whole.lex_attr_getters)  # loading wraps one of them once more
        vocab.from_bytes(vocab.to_bytes(exclude=without), exclude=without)
        whole.lex_attr_getters = getters
    else:
        whole.strings.from_bytes(whole.strings.to_bytes())
    return True


def in_chunks(lines: Iterable[HasText]) -> Iterator[list[HasText]]:
    """YIELDS (List): Some lines, or other things with a text, at a time."""
    chunk: list[HasText] = []
    n_characters = 0
    for line in lines:
        chunk.append(line)
        n_characters += len(line.text)
        if len(chunk) == CHUNK or n_characters >= CHUNK_CHARS:
            yield chunk
            chunk, n_characters = [], 0
    if chunk:
        yield chunk
