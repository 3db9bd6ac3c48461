"""From lines of text to records of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation, WordToken
from ..formats.texts import Fault
from ..prediction.ranked import Answer

# Lines, and characters, that are worked on together: what spaCy remembers of their
# words is forgotten after them, so that memory does not grow with the number of lines.
CHUNK, CHUNK_CHARS = 1000, 1_000_000
# After this many chunks the vocabulary is made anew: its hash tables keep a slot for
# each word that spaCy has forgotten, 16 bytes or more.
N_CHUNKS = 100


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
) -> Iterator[ExtractedRecord]:
    """Apply a pipeline to lines.

    nlp (Language): The pipeline. Its error handler is replaced.
    pipe (Ranks): The component whose alternatives are asked for.
    lines (Iterable[Line]): Texts; read as far as needed.
    on_bad (Callable): Told which lines failed, and why.
    k (int): How many segmentations of each line, with the predicted one.
    has_tokens (bool): Whether records have tokens.
    YIELDS (ExtractedRecord): One for each line that did not fail, in their order, with
        what `doc.ents` has and its alternatives.
    """

    def handle(
        name: str, component: Any, docs: Sequence[Doc], error: Exception
    ) -> None:
        for doc in docs:
            line: Line = doc._context
            text = " ".join(f"{type(error).__name__}: {error}".split())
            on_bad(Fault(line.path, line.line, f"{name} failed: {text}"))

    nlp.set_error_handler(handle)  # type: ignore[arg-type]
    for n_done, some in enumerate(_chunks(lines)):
        if n_done and not n_done % N_CHUNKS:
            renew(nlp.vocab)
        with nlp.memory_zone():
            pairs = ((line.text, line) for line in some)
            found = [
                make_record(doc, line, pipe, k, has_tokens)
                for doc, line in nlp.pipe(pairs, as_tuples=True)
            ]
        yield from found


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
