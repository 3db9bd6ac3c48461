"""From lines of text to records of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.tokens import Doc

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation, WordToken
from ..formats.texts import Fault
from ..prediction.ranked import RankedSegmentation
from .chunks import ResultSink, fields_of, read_chunks

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def extract_records(
    nlp: Language,
    pipe: HighOrderSemiCRF,
    lines: Iterable[Line],
    on_bad: Callable[[Fault], None],
    *,
    k: int = 1,
    has_tokens: bool = False,
    threads: int | None = None,
) -> Iterator[ExtractedRecord]:
    """Yields k segmentations of each line that does not fail, in their order: what
    `doc.ents` has, and the alternatives of the component; calls on_bad with the faults.
    Nobody else may use the pipeline. threads: None: as the components have them."""
    records = _Records(pipe, k, has_tokens)
    args = nlp, lines, records
    for _ in read_chunks(*args, threads=threads, confidence=k == 1, is_own=True):
        of_chunk, faults = records.take()
        for fault in faults:
            on_bad(fault)
        yield from of_chunk


class _Records(ResultSink):
    """Collects the records of a chunk; its arguments are those of `extract_records`."""

    def __init__(self, pipe: HighOrderSemiCRF, k: int, has_tokens: bool) -> None:
        self._pipe, self._k, self._has_tokens = pipe, k, has_tokens
        self.needs_docs = k > 1 or has_tokens
        self._records: list[ExtractedRecord] = []
        self._faults: list[Fault] = []

    def take(self) -> tuple[list[ExtractedRecord], list[Fault]]:
        """Returns all records and faults, in the order of lines, and forgets them."""
        records, faults = sorted(self._records, key=lambda x: x.line), self._faults
        self._records, self._faults = [], []
        return records, faults

    def add(
        self, line: Line, fields: Sequence[ExtractedField], confidence: float | None
    ) -> None:
        """See `ResultSink`."""
        best = Segmentation([*fields], confidence)
        self._records.append(ExtractedRecord(line.number, line.text, best))

    def add_doc(self, line: Line, doc: Doc) -> None:
        """See `ResultSink`."""
        args = self._pipe, self._k, self._has_tokens
        self._records.append(record_of(doc, line.number, *args))

    def fail(self, line: Line, message: str) -> None:
        """Stores the fault."""
        self._faults.append(Fault(line.path, line.line, message))


def record_of(
    doc: Doc, number: int, pipe: HighOrderSemiCRF, k: int, has_tokens: bool
) -> ExtractedRecord:
    """Returns the record of a document, numbered, see `extract_records`."""
    best = Segmentation(fields_of(doc), doc._.record_confidence)
    ranked = pipe.ranked(doc, k)[1:] if k > 1 else []
    alternatives = [_segmentation(doc, x) for x in ranked]
    tokens = word_tokens(doc) if has_tokens else []
    words = [token.text for token in doc] if doc.has_unknown_spaces else []
    text = " ".join(words) or doc.text  # spaCy adds a space
    return ExtractedRecord(number, text, best, alternatives, tokens, words)


def word_tokens(doc: Doc) -> list[WordToken]:
    """Returns the places of the tokens of a document, and which have a space behind."""
    return [
        WordToken(token.idx, token.idx + len(token), bool(token.whitespace_))
        for token in doc
    ]


def _segmentation(doc: Doc, ranked: RankedSegmentation) -> Segmentation:
    """Returns a segmentation in characters."""
    fields = []
    for (start, end, label), confidence in zip(ranked.spans, ranked.confidences):
        span = doc[start:end]
        place = span.start_char, span.end_char
        fields.append(ExtractedField(*place, label, span.text, confidence))
    return Segmentation(fields, ranked.probability)
