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

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc, Span

from ..labels.inventory import OUTSIDE
from ..labels.inventory import Span as SpanTriple

MARK, NAME = "._.", "hosemi_record"

# What is read of the tokens of entities.
_ENTITIES: Any = ("ENT_IOB", "ENT_TYPE", "LENGTH", "SPACY")

Record = dict[str, Any]


class TextRecords(NamedTuple):
    """The records of one run of text of a document.

    start, end (int): Its characters.
    by_name (Dict[str, Record]): The record of each component, the latest one last.
    """

    start: int
    end: int
    by_name: dict[str, Record]


def find_records(doc: Doc) -> list[TextRecords]:
    """RETURNS (List[TextRecords]): The latest ones last."""
    data: dict[Any, Any] = doc.user_data
    return [
        TextRecords(key[2], key[3], by_name)
        for key, by_name in data.items()
        if isinstance(key, tuple) and len(key) == 4 and key[:2] == (MARK, NAME)
    ]


def span_key(span: Span, start: int = 0) -> str:
    """RETURNS (str): The key of a span in a record of text from `start` on."""
    label = span.label_ or OUTSIDE
    return f"{span.start_char - start}:{span.end_char - start}:{label}"


def find_span(doc: Doc, key: str) -> SpanTriple | None:
    """RETURNS (Optional[Tuple[int, int, str]]): The span of a key, in tokens; None if
    the tokens have changed since."""
    start, end, label = key.split(":", 2)
    span = doc.char_span(int(start), int(end))
    return None if span is None else (span.start, span.end, label)


def entities_by_origin(
    doc: Doc, name: str
) -> tuple[list[SpanTriple], list[SpanTriple]]:
    """RETURNS (Tuple[List[Tuple[int, int, str]], ...]): Entities of a document, in
    tokens: those that the component has written, and those that it has not."""
    runs = find_records(doc) if doc.user_data else []
    records = [
        (run.start, run.by_name[name]["spans"]) for run in runs if name in run.by_name
    ]
    predicted: list[SpanTriple] = []
    preset: list[SpanTriple] = []
    for start, end, label, first, last in _entities(doc):
        is_predicted = any(
            f"{first - low}:{last - low}:{label}" in spans for low, spans in records
        )
        (predicted if is_predicted else preset).append((start, end, label))
    return predicted, preset


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
