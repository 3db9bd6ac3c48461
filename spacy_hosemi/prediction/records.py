"""The record that a component leaves in a `Doc` about its predictions.

It stands in `doc.user_data` under a key that spaCy moves and copies with the text:

    ("._.", "hosemi_record", start, end): {component name: record}

`start` and `end` are the characters it is about: all of the document, until `as_doc` or
`Doc.from_docs` moves them. A record has plain values only:

    component  the id of the component, which may still live in this process
    state      the number of the labels and weights it predicted with
    spans      {"start:end:label": probability or None}, in characters from `start`;
               None: not computed yet
    paths      with labels in a tree, the names above the label with probabilities
    whole      the probability of the segmentation with exactly these spans; None: not
               computed yet
    given      what limited the prediction, see `before_prediction`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np
from spacy.tokens import Doc, Span

from ..labels.inventory import OUTSIDE
from ..labels.inventory import Span as SpanTriple
from .memo import MEMO
from .posterior import Path, Posterior

MARK, NAME = "._.", "hosemi_record"

# What is read of the tokens of entities.
_ENTITIES: Any = ("ENT_IOB", "ENT_TYPE", "LENGTH", "SPACY")

Record = dict[str, Any]


class Predictor(Protocol):
    """A component that can predict again."""

    def posterior_of(self, doc: Doc, number: int | None) -> Posterior | None:
        """RETURNS (Optional[Posterior]): Of a document, if the component still has the
        labels and weights of this number."""
        ...


components: WeakValueDictionary[str, Predictor] = WeakValueDictionary()


class Found(NamedTuple):
    """The records of one run of text of a document.

    start, end (int): Its characters.
    by_name (Dict[str, Record]): The record of each component, the latest one last.
    """

    start: int
    end: int
    by_name: dict[str, Record]


def find_records(doc: Doc) -> list[Found]:
    """RETURNS (List[Found]): The latest ones last."""
    data: dict[Any, Any] = doc.user_data
    return [
        Found(key[2], key[3], value) for key, value in data.items() if _is_ours(key)
    ]


def _is_ours(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 4 and key[:2] == (MARK, NAME)


def span_key(span: Span, start: int = 0) -> str:
    """RETURNS (str): The key of a span in a record of text from `start` on."""
    label = span.label_ or OUTSIDE
    return f"{span.start_char - start}:{span.end_char - start}:{label}"


def find_span(doc: Doc, key: str) -> SpanTriple | None:
    """The span of a key, in tokens; None if the tokens have changed since."""
    start, end, label = key.split(":", 2)
    span = doc.char_span(int(start), int(end))
    return None if span is None else (span.start, span.end, label)


def entities_by_origin(
    doc: Doc, name: str
) -> tuple[list[SpanTriple], list[SpanTriple]]:
    """RETURNS (Tuple[List[Tuple[int, int, str]], ...]): Entities of a document, in
    tokens: those that the component has written, and the others."""
    runs = find_records(doc) if doc.user_data else []
    records = [
        (run.start, run.by_name[name]["spans"]) for run in runs if name in run.by_name
    ]
    own: list[SpanTriple] = []
    others: list[SpanTriple] = []
    for start, end, label, first, last in _entities(doc):
        written = others
        for low, spans in records:
            if f"{first - low}:{last - low}:{label}" in spans:
                written = own
        written.append((start, end, label))
    return own, others


def _entities(doc: Doc) -> Iterator[tuple[int, int, str, int, int]]:
    """YIELDS (Tuple[int, int, str, int, int]): Tokens, label and characters of each
    entity that `Doc.ents` has; to make a `Span` of each takes a tenth of the time of a
    prediction."""
    iob, label, length, space = doc.to_array(_ENTITIES).reshape(-1, 4).T
    starts = np.flatnonzero((iob == 3) & (label != 0))
    borders = np.append(np.flatnonzero(iob != 1), len(doc))
    ends = borders[np.searchsorted(borders, starts, "right")]
    after = np.cumsum(length + space)
    first, last = (after - length - space)[starts], (after - space)[ends - 1]
    strings = doc.vocab.strings
    columns = starts, ends, label[starts], first, last
    for i, j, y, i_char, j_char in zip(*(column.tolist() for column in columns)):
        yield i, j, strings[y], i_char, j_char


def text_length(doc: Doc) -> int:
    """RETURNS (int): Characters of a document; to join its text takes far longer."""
    return doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0


class Reader:
    """Reads what records say of spans.

    before (Callable): The document as it was before a prediction, None if it has other
        tokens: (document, component name, what limited the prediction).
    """

    def __init__(
        self, before: Callable[[Doc, str, dict[str, Any] | None], Doc | None]
    ) -> None:
        self._before = before

    def confidence(self, span: Span) -> float | None:
        """Posterior of a predicted span; None for any other, and where it was not
        computed before the document was saved.

        If two components predicted it, that of the one that ran last.

        span (Span): With its label.
        RETURNS (Optional[float]): In [0, 1].
        """
        key, record = self._read(span)
        found: float | None = None if record is None else record["spans"][key]
        return found

    def label_path(self, span: Span) -> list[tuple[str, float | None]] | None:
        """The names from the top of the label tree to the label, and the posterior of
        exactly this span with a label below each; None for a span that was not
        predicted.

        span (Span): With its label.
        RETURNS (Optional[List[Tuple[str, float]]]): Of labels without a tree the label
            alone. Where min_confidence ended the path earlier, the rest of it comes
            too. A label that has others below it comes twice: with all of them, and as
            itself.
        """
        key, record = self._read(span)
        if record is None:
            return None
        path = record.get("paths", {}).get(key, [(span.label_, record["spans"][key])])
        return [(name, p) for name, p in path]

    def whole(self, doc: Doc) -> float | None:
        """The probability of the whole segmentation that a component predicted: exactly
        its spans, beside the entities that were there before.

        Of several components, and of documents that were joined, the product. None
        where no component predicted all of the text, where its entities are no longer
        those that it predicted, and where it was not computed before the document was
        saved.

        doc (Doc): With its entities.
        RETURNS (Optional[float]): In [0, 1].
        """
        found = find_records(doc) if doc.user_data else []
        if not found or not _is_covered(doc, found):
            return None
        shown = {span_key(ent) for ent in doc.ents}
        total = 1.0
        for run in found:
            for name, record in run.by_name.items():
                if run.start == 0 and run.end == text_length(doc):
                    self._compute_whole(doc, name, record)
                whole = record.get("whole")
                if whole is None or not _moved(record["spans"], run.start) <= shown:
                    return None
                total *= whole
        return total

    def _compute_whole(self, doc: Doc, name: str, record: Record) -> None:
        """Store the probability of the whole segmentation, if a record lacks it."""
        if record.get("whole") is not None:
            return
        if left := self._left(doc, name, record):
            spans, posterior = left
            record["whole"] = posterior.whole(sorted(spans.values()))
            _forget(doc, name, record)

    def _read(self, span: Span) -> tuple[str, Record | None]:
        """The key of a span, and the latest record that has it."""
        for found in reversed(find_records(span.doc)):
            key = span_key(span, found.start)
            for name, record in reversed(found.by_name.items()):
                if key in record["spans"]:
                    if record["spans"][key] is None and found.start == 0:
                        if found.end == text_length(span.doc):  # the whole
                            self._compute(span.doc, name, record)
                    return key, record
        return "", None

    def _compute(self, doc: Doc, name: str, record: Record) -> None:
        """Store the probabilities that a record lacks."""
        for key, path in self._paths(doc, name, record):
            if path is not None:
                record["spans"][key] = path[-1][1]
                if "paths" in record:
                    record["paths"][key] = path
        _forget(doc, name, record)

    def _paths(
        self, doc: Doc, name: str, record: Record
    ) -> list[tuple[str, Path | None]]:
        """The keys of a record with what a posterior says of them, if there is one."""
        left = self._left(doc, name, record)
        if left is None:
            return []
        spans, posterior = left
        return [*zip(spans, posterior.paths([*spans.values()]))]

    def _left(
        self, doc: Doc, name: str, record: Record
    ) -> tuple[dict[str, SpanTriple], Posterior] | None:
        """The spans of a record by key, and what gives their probabilities."""
        given, keys = record.get("given"), list(record["spans"])
        left = MEMO.read(name, doc, lambda: self._before(doc, name, given))
        if left is not None and len(left[0]) == len(keys):
            return dict(zip(keys, left[0])), left[1]
        component = components.get(record["component"])
        before = None if component is None else self._before(doc, name, given)
        if component is None or before is None:
            return None
        posterior = component.posterior_of(before, record.get("state"))
        if posterior is None:
            return None
        spans = {key: find_span(before, key) for key in keys}
        return {key: span for key, span in spans.items() if span}, posterior


def _forget(doc: Doc, name: str, record: Record) -> None:
    """Drop what a prediction left, once all probabilities are stored."""
    if record.get("whole") is not None and None not in record["spans"].values():
        MEMO.drop(name, [doc])


def _is_covered(doc: Doc, found: Sequence[Found]) -> bool:
    """Whether records are about all of the text of a document but whitespace."""
    at = 0
    for start, end in sorted((x.start, x.end) for x in found):
        if doc.text[at:start].strip():
            return False
        at = end
    return not doc.text[at:].strip()


def _moved(keys: Iterable[str], by: int) -> set[str]:
    """RETURNS (Set[str]): Keys of spans, as of text that begins at 0."""
    parts = (key.split(":", 2) for key in keys)
    return {f"{int(i) + by}:{int(j) + by}:{label}" for i, j, label in parts}
