"""From lines of text to records of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from spacy.language import Language
from spacy.tokens import Doc

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation, WordToken
from ..formats.texts import Fault
from ..prediction.ranked import RankedSegmentation
from .chunks import ResultSink, fields_of, read_chunks


class Ranks(Protocol):
    """A component that has alternatives, see `Analyzing.ranked`."""

    def ranked(self, doc: Doc, k: int = 1) -> list[RankedSegmentation]: ...


def extract_records(
    nlp: Language,
    pipe: Ranks,
    lines: Iterable[Line],
    on_bad: Callable[[Fault], None],
    *,
    k: int = 1,
    has_tokens: bool = False,
    threads: int | None = None,
) -> Iterator[ExtractedRecord]:
    """Apply a pipeline to lines.

    nlp (Language): The pipeline, which nobody else uses.
    pipe (Ranks): The component whose alternatives are asked for.
    lines (Iterable[Line]): Texts, numbered; read as far as needed.
    on_bad (Callable): Told which lines failed, and why.
    k (int): How many segmentations of each line, with the predicted one.
    has_tokens (bool): Whether records have tokens.
    threads (Optional[int]): Of components of this package; None: as in their settings.
    YIELDS (ExtractedRecord): One for each line that did not fail, in their order, with
        what `doc.ents` has and its alternatives.
    """
    records = _Records(pipe, k, has_tokens)
    args = nlp, lines, records
    for _ in read_chunks(*args, threads=threads, confidence=k == 1, is_own=True):
        found, faults = records.take()
        for fault in faults:
            on_bad(fault)
        yield from found


class _Records(ResultSink):
    """The records of a chunk. pipe, k, has_tokens: See `extract_records`."""

    def __init__(self, pipe: Ranks, k: int, has_tokens: bool) -> None:
        self._pipe, self._k, self._has_tokens = pipe, k, has_tokens
        self.needs_docs = k > 1 or has_tokens
        self._found: list[ExtractedRecord] = []
        self._faults: list[Fault] = []

    def take(self) -> tuple[list[ExtractedRecord], list[Fault]]:
        """RETURNS (Tuple[List[ExtractedRecord], List[Fault]]): All records and faults,
        in the order of lines; from then on there are none."""
        found, faults = sorted(self._found, key=lambda one: one.line), self._faults
        self._found, self._faults = [], []
        return found, faults

    def add(
        self, line: Line, fields: Sequence[ExtractedField], confidence: float | None
    ) -> None:
        """See `ResultSink`."""
        best = Segmentation([*fields], confidence)
        self._found.append(ExtractedRecord(line.number, line.text, best))

    def add_doc(self, line: Line, doc: Doc) -> None:
        """See `ResultSink`."""
        args = self._pipe, self._k, self._has_tokens
        self._found.append(record_of(doc, line.number, *args))

    def fail(self, line: Line, message: str) -> None:
        """See `ResultSink`."""
        self._faults.append(Fault(line.path, line.line, message))


def record_of(
    doc: Doc, number: int, pipe: Ranks, k: int, has_tokens: bool
) -> ExtractedRecord:
    """What a pipeline has found in a document.

    doc (Doc): As the pipeline leaves it.
    number (int): Of the record.
    pipe (Ranks), k (int), has_tokens (bool): See `extract_records`.
    RETURNS (ExtractedRecord): With the entities of `doc.ents`.
    """
    best = Segmentation(fields_of(doc), doc._.record_confidence)
    others = pipe.ranked(doc, k)[1:] if k > 1 else []
    ways = [_segmentation(doc, answer) for answer in others]
    tokens = word_tokens(doc) if has_tokens else []
    return ExtractedRecord(number, doc.text, best, ways, tokens)


def word_tokens(doc: Doc) -> list[WordToken]:
    """RETURNS (List[WordToken]): The tokens of a document."""
    return [
        WordToken(token.idx, token.idx + len(token), bool(token.whitespace_))
        for token in doc
    ]


def _segmentation(doc: Doc, answer: RankedSegmentation) -> Segmentation:
    fields = []
    for (start, end, label), confidence in zip(answer.spans, answer.confidences):
        span = doc[start:end]
        place = span.start_char, span.end_char
        fields.append(ExtractedField(*place, label, span.text, confidence))
    return Segmentation(fields, answer.probability)
