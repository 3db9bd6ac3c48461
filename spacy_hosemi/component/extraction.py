"""From lines of text to records of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc

from ..formats.lines import Line
from ..formats.records import ExtractedField, ExtractedRecord, Segmentation, WordToken
from ..formats.references.fields import reference_of
from ..formats.texts import Fault
from ..prediction.guarantee import Guarantee
from ..prediction.ranked import RankedSegmentation
from .chunks import ResultSink, fields_of, in_chunks, read_chunks
from .training_summary import TrainingSummary

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def extract_records(
    nlp: Language,
    pipe: HighOrderSemiCRF | None,
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

    def __init__(self, pipe: HighOrderSemiCRF | None, k: int, has_tokens: bool) -> None:
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
    doc: Doc, number: int, pipe: HighOrderSemiCRF | None, k: int, has_tokens: bool
) -> ExtractedRecord:
    """Returns the record of a document, numbered, see `extract_records`."""
    best = Segmentation(fields_of(doc), doc._.record_confidence)
    ranked = pipe.ranked(doc, k)[1:] if pipe and k > 1 else []
    alternatives = [_segmentation(doc, x) for x in ranked]
    tokens = word_tokens(doc) if has_tokens else []
    words = [token.text for token in doc] if doc.has_unknown_spaces else []
    text = " ".join(words) or doc.text  # spaCy adds a space
    return ExtractedRecord(number, text, best, alternatives, tokens, words)


def word_tokens(doc: Doc) -> list[WordToken]:
    """Returns the places of the tokens of a document, and which have a space behind."""
    return [(x.idx, x.idx + len(x), bool(x.whitespace_)) for x in doc]


def _segmentation(doc: Doc, ranked: RankedSegmentation) -> Segmentation:
    """Returns a segmentation in characters."""
    fields = []
    for (start, end, label), confidence in zip(ranked.spans, ranked.confidences):
        span = doc[start:end]
        place = span.start_char, span.end_char
        fields.append(ExtractedField(*place, label, span.text, confidence))
    return Segmentation(fields, ranked.probability)


# How many lines that are no single record a warning names.
_N_NAMED = 5


class ReviewMarks:
    """Marks records, or their fields, that need no eye, where a guarantee promises
    something, and counts what it sees. `on_empty` gets the records of texts without any
    field; where there are `names`, of labels, without any field of a reference. What
    `facts` call unusual counts as improbable. Once texts are found to be unlike those
    before, `counts` have the line where that was seen, and the share of improbable ones
    up to it, and the verdict "drift" stands in the place of "accept".
    """

    def __init__(
        self,
        guarantee: Guarantee | None,
        names: Mapping[str, str] | None = None,
        on_empty: Callable[[ExtractedRecord], object] = lambda record: None,
        facts: TrainingSummary | None = None,
    ) -> None:
        self._facts = facts
        self._guarantee, self._names, self._on_empty = guarantee, names, on_empty
        # Low: as improbable as the last quarter when the threshold was chosen.
        keys = "texts blank without_fields unusual fields n_judged n_accepted n_low"
        self.counts: dict[str, Any] = dict.fromkeys(keys.split(), 0)
        self.counts["unusual_lines"] = []  # the first ones

    @property
    def has_drifted(self) -> bool:
        """Returns whether texts are unlike those before."""
        return "drift_line" in self.counts

    def mark(
        self,
        records: Iterable[ExtractedRecord],
        on_written: Callable[[int], None] = lambda line: None,
    ) -> Iterator[ExtractedRecord]:
        """Yields each record, with verdicts. Some at a time are judged together;
        `on_written` gets the line of their last one when the next ones are asked for.
        """
        for chunk in in_chunks(records):
            chunk = [self._judged(record) for record in chunk]
            n, n_low = self.counts["n_judged"], self.counts["n_low"]
            departs = self._guarantee is not None and self._guarantee.departs(n, n_low)
            if departs and not self.has_drifted:
                self.counts |= {"drift_line": chunk[-1].line, "drift_share": n_low / n}
            for record in chunk:
                if self.has_drifted:
                    record = record.without_accept()
                verdicts = [record.verdict, *record.verdicts]
                self.counts["n_accepted"] += verdicts.count("accept")
                yield record
            on_written(chunk[-1].line)

    def _judged(self, record: ExtractedRecord) -> ExtractedRecord:
        """Counts a record, and returns it with what a guarantee says of it alone."""
        fields, guarantee, counts = record.best.fields, self._guarantee, self.counts
        found = reference_of(fields, self._names) if self._names else fields
        labels, has_text = [x.label for x in fields], bool(record.text.strip())
        if has_text and not found:
            self._on_empty(record)
        if has_text and self._facts is not None:
            is_unusual = self._facts.is_unusual(labels, record.text)
            record = replace(record, is_unusual=is_unusual)
        counts["texts"] += 1
        counts["blank"] += not has_text
        counts["without_fields"] += has_text and not found
        counts["fields"] += len(fields)
        counts["unusual"] += record.is_unusual
        if record.is_unusual and len(counts["unusual_lines"]) < _N_NAMED:
            counts["unusual_lines"] = [*counts["unusual_lines"], record.line]
        if guarantee is None:
            return record
        if not has_text:
            return replace(record, verdict="review" * guarantee.is_of_records or None)
        spans = [(x.label, x.confidence) for x in fields]
        scored = guarantee.judged(spans, record.best.confidence, record.is_unusual)
        counts["n_judged"] += len(scored)
        if (usual := guarantee.usual) is not None:
            counts["n_low"] += sum(usual.is_low(p) for _, p in scored)
        if guarantee.is_of_records:
            return replace(record, verdict=guarantee.of_record(scored[0][1]))
        verdicts = guarantee.of_spans(scored)
        return replace(record, verdicts=[*map(str, verdicts)])

    def report(self) -> dict[str, Any]:
        """Returns the counts for programs, and of drift null where nobody looks."""
        guarantee, counts = self._guarantee, self.counts.copy()
        line, share = counts.pop("drift_line", None), counts.pop("drift_share", None)
        if guarantee is None or (usual := guarantee.usual) is None:
            return {**counts, "judged": None, "drift": None}
        drift = {
            "has_drifted": self.has_drifted,
            "line": line,
            "share_up_to_line": share,
            "less_probable_than": usual.limit,
            "share": counts["n_low"] / max(1, counts["n_judged"]),
            "usual_share": usual.n_below / max(1, usual.n),
        }
        return {**counts, "judged": guarantee.what, "drift": drift}

    def summary(self) -> str:
        """Returns a text for people; empty if nothing was marked, or is unusual."""
        text, n, n_unusual = "", self.counts["texts"], self.counts["unusual"]
        if n_unusual > max(2, 0.03 * n + 3.29 * (0.03 * n) ** 0.5):  # no 3 % by chance
            lines = ", ".join(map(str, self.counts["unusual_lines"]))
            dots = ", ..." if n_unusual > _N_NAMED else ""
            text = (
                f"Warning: {n_unusual:,} of {n:,} lines are unlike a single record of "
                f"the training (line {lines}{dots}): several in a line, headings, "
                "sentences, or another style? -F jsonl marks them\n"
            )
        if self._guarantee is None or not (n := self.counts["n_judged"]):
            return text.strip()
        what = self._guarantee.what
        text += f"{self.counts['n_accepted']:,} of {n:,} {what} need no eye"
        if self.has_drifted:
            drift = self.report()["drift"]
            share, usual = drift["share_up_to_line"], drift["usual_share"]
            how, advice = "less sure than usual", "Annotate some of them, and run"
            if share <= usual:
                how = "more sure than usual"
                advice = "Are they known lines? If not, annotate some, and run"
            text += (
                f"\nWarning: {100 * share:.1f} % of the {what} up to line "
                f"{drift['line']:,} ({100 * drift['share']:.1f} % of all) are less "
                f"probable than {drift['less_probable_than']:.2g}, not "
                f"{100 * usual:.1f} % as when the threshold was chosen "
                f"({how}). They differ from the texts of then; what was promised may "
                'not hold: none is accepted from where that was seen on ("drift"). '
                f"{advice} `python -m spacy hosemi guarantee` with these."
            )
        return text
