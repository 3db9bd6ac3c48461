"""From lines of text to records of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from threading import RLock
from typing import Any, Protocol

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation, WordToken
from ..formats.texts import Fault
from ..prediction.ranked import Answer
from .pipe import HighOrderSemiCRF

# Lines, and characters, that are worked on together: what spaCy remembers of their
# words is forgotten after them, so that memory does not grow with the number of lines.
CHUNK, CHUNK_CHARS = 1000, 1_000_000
# After this many chunks the vocabulary is made anew: its hash tables keep a slot for
# each word that spaCy has forgotten, 16 bytes or more.
N_CHUNKS = 100

# spaCy allows one memory zone at a time, and a component has one error handler.
_TURNS = RLock()

Make = Callable[[Doc, Line], ExtractedRecord]
Handler = Callable[[str, Any, Sequence[Doc], Exception], None]


class Ranks(Protocol):
    """A component that has alternatives, see `Analyzing.ranked`."""

    def ranked(self, doc: Doc, k: int = 1) -> list[Answer]: ...


def extract_records(
    nlp: Language,
    pipe: Ranks,
    lines: Iterable[Line],
    on_bad: Callable[[Fault], None],
    *,
    k: int = 1,
    has_tokens: bool = False,
    threads: int | None = None,
    is_own: bool = False,
) -> Iterator[ExtractedRecord]:
    """Apply a pipeline to lines.

    nlp (Language): The pipeline.
    pipe (Ranks): The component whose alternatives are asked for.
    lines (Iterable[Line]): Texts; read as far as needed.
    on_bad (Callable): Told which lines failed, and why, before the records of the lines
        behind them are yielded.
    k (int): How many segmentations of each line, with the predicted one.
    has_tokens (bool): Whether records have tokens.
    threads (Optional[int]): Of components of this package; None: as in their settings.
    is_own (bool): Whether nobody else uses the pipeline, so that its vocabulary may be
        made anew, see `renew`.
    YIELDS (ExtractedRecord): One for each line that did not fail, in their order, with
        what `doc.ents` has and its alternatives.
    """
    make = partial(make_record, pipe=pipe, k=k, has_tokens=has_tokens)
    settings = {"threads": threads, "confidence": k == 1}
    of_pipes = {name: settings.copy() for name in own_components(nlp)}
    for n_done, some in enumerate(_chunks(lines)):
        if is_own and n_done and not n_done % N_CHUNKS:
            renew(nlp.vocab)
        chunk = _Chunk(nlp, some, make, of_pipes)
        chunk.read()
        for place, message in sorted(chunk.messages.items()):
            line = some[place]
            on_bad(Fault(line.path, line.line, message))
        yield from (chunk.records[place] for place in sorted(chunk.records))


def own_components(nlp: Language) -> list[str]:
    """RETURNS (List[str]): The names of the components of this package in a pipeline,
    without disabled ones."""
    return [name for name, one in nlp.pipeline if isinstance(one, HighOrderSemiCRF)]


class _Chunk:
    """Lines that are worked on together. A document is known by its line's place.

    nlp (Language): The pipeline.
    lines (Sequence[Line]): Texts.
    make (Callable): Makes the record of a document.
    of_pipes (Dict[str, Dict[str, Any]]): Arguments of `pipe` of some components.

    records (Dict[int, ExtractedRecord]): By place.
    messages (Dict[int, str]): By place, why a line failed.
    """

    def __init__(
        self,
        nlp: Language,
        lines: Sequence[Line],
        make: Make,
        of_pipes: dict[str, dict[str, Any]],
    ) -> None:
        self._nlp, self._lines, self._make = nlp, lines, make
        self._of_pipes = of_pipes
        self.records: dict[int, ExtractedRecord] = {}
        self.messages: dict[int, str] = {}

    def read(self) -> None:
        """Read all lines: each has a record or a message then."""
        nlp = self._nlp
        with _TURNS, _handled_by(nlp, self._handle), _memory_zone(nlp):
            places = [*range(len(self._lines))]
            # What goes wrong here shows again below, where it is known whose fault it
            # is: a component may stop the stream, fail for a batch, or lose a document.
            with suppress(Exception):
                for doc, place in self._documents(places):
                    if place is not None:
                        self.records[place] = self._make(doc, self._lines[place])
            done = self.records.keys() | self.messages.keys()
            for place in places:
                if place not in done:
                    self._read_alone(place)

    def _read_alone(self, place: int) -> None:
        message = "The pipeline failed: no component has given the document back"
        try:
            for doc, _ in self._documents([place]):
                self.records[place] = self._make(doc, self._lines[place])
        except Exception as e:
            message = _message("The pipeline", e)
        if place not in self.records:
            self.messages.setdefault(place, message)

    def _documents(self, places: Iterable[int]) -> Iterator[tuple[Doc, int | None]]:
        """YIELDS (Tuple[Doc, Optional[int]]): Documents as the pipeline leaves them, in
        order, with their places; None if a component has made another document."""
        args: Any = {"as_tuples": True, "component_cfg": self._of_pipes}
        yield from self._nlp.pipe(self._tokenized(places), **args)

    def _tokenized(self, places: Iterable[int]) -> Iterator[tuple[Doc, int]]:
        for place in places:
            try:
                doc = self._nlp.make_doc(self._lines[place].text)
            except Exception as e:
                self.messages[place] = _message("The tokenizer", e)
            else:
                yield doc, place

    def _handle(
        self, name: str, component: Any, docs: Sequence[Doc], error: Exception
    ) -> None:
        """Of several documents it is not known which one failed."""
        if len(docs) == 1 and docs[0]._context is not None:
            self.messages[docs[0]._context] = _message(name, error)


def _message(name: str, error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{name} failed: {text}"


@contextmanager
def _handled_by(nlp: Language, handler: Handler) -> Iterator[None]:
    """Another error handler for a while."""
    before = nlp.default_error_handler
    own = [
        (one.set_error_handler, one.get_error_handler())
        for _, one in nlp.pipeline
        if hasattr(one, "set_error_handler") and hasattr(one, "get_error_handler")
    ]
    nlp.set_error_handler(handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        nlp.default_error_handler = before
        for set_handler, of_component in own:
            set_handler(of_component)


def _memory_zone(nlp: Language) -> AbstractContextManager[Any]:
    """Zones cannot be nested: one that is open already serves."""
    is_open = nlp.vocab.in_memory_zone  # type: ignore[attr-defined]
    return nullcontext() if is_open else nlp.memory_zone()


def renew(vocab: Vocab) -> None:
    """Make the hash tables of a vocabulary anew, with all strings and no lexeme.

    vocab (Vocab): Not in a memory zone. Attributes of lexemes are computed again.
    """
    without = ["vectors", "lookups"]
    whole: Any = vocab  # the stubs do not know all of it
    getters = dict(whole.lex_attr_getters)  # loading wraps one of them once more
    vocab.from_bytes(vocab.to_bytes(exclude=without), exclude=without)
    whole.lex_attr_getters = getters


def _chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """YIELDS (List[Line]): Some lines at a time."""
    some: list[Line] = []
    n_characters = 0
    for line in lines:
        some.append(line)
        n_characters += len(line.text)
        if len(some) == CHUNK or n_characters >= CHUNK_CHARS:
            yield some
            some, n_characters = [], 0
    if some:
        yield some


def make_record(
    doc: Doc, line: Line, pipe: Ranks, k: int = 1, has_tokens: bool = False
) -> ExtractedRecord:
    """RETURNS (ExtractedRecord): What a document has, as plain values; see
    `extract_records`."""
    fields = [
        ExtractedField(
            ent.start_char, ent.end_char, ent.label_, ent.text, ent._.confidence
        )
        for ent in doc.ents
    ]
    best = Segmentation(fields, doc._.record_confidence)
    others = pipe.ranked(doc, k)[1:] if k > 1 else []
    alternatives = [_segmentation(doc, answer) for answer in others]
    tokens = [
        WordToken(token.idx, token.idx + len(token), bool(token.whitespace_))
        for token in (doc if has_tokens else ())
    ]
    return ExtractedRecord(line.number, line.text, best, alternatives, tokens)


def _segmentation(doc: Doc, answer: Answer) -> Segmentation:
    fields = []
    for (start, end, label), confidence in zip(answer.spans, answer.confidences):
        span = doc[start:end]
        place = span.start_char, span.end_char
        fields.append(ExtractedField(*place, label, span.text, confidence))
    return Segmentation(fields, answer.probability)
