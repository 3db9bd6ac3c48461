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
    given      what limited the prediction, see `limits_of`

`span._.confidence`, `span._.label_path` and `doc._.record_confidence` read it. A
probability that was not computed with the prediction is computed when it is read, and
stored then, see `posterior_cache`; if the document was saved before, it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spacy.tokens import Doc, Span

from ..labels.inventory import OUTSIDE
from ..labels.inventory import Span as SpanTriple

MARK, NAME = "._.", "hosemi_record"

Record = dict[str, Any]

# Stores in a record of a component of this name, if it can be computed, the probability
# of each span, or that of the segmentation.
Complete = Callable[[Doc, str, Record], None]


# Two characters of a document, and the records of the text between them by component.
TextRecords = tuple[int, int, dict[str, Record]]


def find_records(doc: Doc) -> list[TextRecords]:
    """Returns all records of a document, the latest ones last."""
    data: dict[Any, Any] = doc.user_data
    return [
        (key[2], key[3], by_name)
        for key, by_name in data.items()
        if isinstance(key, tuple) and len(key) == 4 and key[:2] == (MARK, NAME)
    ]


def span_key(span: Span, start: int = 0) -> str:
    """Returns the key of a span in a record of text from `start` on."""
    label = span.label_ or OUTSIDE
    return f"{span.start_char - start}:{span.end_char - start}:{label}"


def find_span(doc: Doc, key: str) -> SpanTriple | None:
    """Returns the span of a key, in tokens; None if the tokens have changed since."""
    start, end, label = key.split(":", 2)
    span = doc.char_span(int(start), int(end))
    return None if span is None else (span.start, span.end, label)


def text_length(doc: Doc) -> int:
    """Returns the number of characters of a document; to join its text takes far
    longer."""
    return doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0


def confidence(complete: Complete, span: Span) -> float | None:
    """Returns the posterior of a predicted span, in [0, 1]; None for any other, and
    where it was not computed before the document was saved. If two components predicted
    it, that of the one that ran last."""
    key, record = _read(complete, span)
    probability: float | None = None if record is None else record["spans"][key]
    return probability


def label_path(complete: Complete, span: Span) -> list[tuple[str, float | None]] | None:
    """Returns the names from the top of the label tree to the label of a span, with the
    posterior of exactly this span with a label below each; None if it was not
    predicted. Without a tree it is the label alone; it goes on where min_confidence
    ended it. A label that has others below it comes twice: with all of them, and as
    itself."""
    key, record = _read(complete, span)
    if record is None:
        return None
    path = record.get("paths", {}).get(key, [(span.label_, record["spans"][key])])
    return [(name, p) for name, p in path]


def record_confidence(complete: Complete, doc: Doc) -> float | None:
    """Returns the probability of the whole segmentation that a component predicted:
    exactly its spans, beside the entities that were there before. Of several
    components, and of documents that were joined, the product. None where no component
    predicted all of the text, where its entities are no longer those that it predicted,
    and where it was not computed before the document was saved."""
    texts = find_records(doc) if doc.user_data else []
    if not texts or not _are_covering(texts, doc.text):
        return None
    shown = {span_key(ent) for ent in doc.ents}
    total = 1.0
    for start, end, by_name in texts:
        for name, record in by_name.items():
            if start == 0 and end == text_length(doc):
                complete(doc, name, record)
            keys = (key.split(":", 2) for key in record["spans"])
            moved = {f"{int(i) + start}:{int(j) + start}:{y}" for i, j, y in keys}
            if record.get("whole") is None or not moved <= shown:
                return None
            total *= record["whole"]
    return total


def _read(complete: Complete, span: Span) -> tuple[str, Record | None]:
    """Returns the key of a span, and the latest record that has it, where its
    confidence is computed if it can be; "" and None if no record has it."""
    doc = span.doc
    for start, end, by_name in reversed(find_records(doc)):
        key = span_key(span, start)
        for name, record in reversed(by_name.items()):
            if key in record["spans"]:
                is_missing = record["spans"][key] is None
                if is_missing and start == 0 and end == text_length(doc):
                    complete(doc, name, record)
                return key, record
    return "", None


def _are_covering(texts: Sequence[TextRecords], text: str) -> bool:
    """Returns whether records are about all of a text but whitespace."""
    at, rest = 0, ""
    for start, end in sorted((start, end) for start, end, _ in texts):
        rest += text[at:start]
        at = end
    return not (rest + text[at:]).strip()
