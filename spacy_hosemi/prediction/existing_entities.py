"""Existing entities: what other components or people have written to `doc.ents`.

They stay, blocked tokens stay outside, and all else is decoded given them. Entities
that this component wrote itself are decoded again: its record says which these are, and
what entities and sentence starts the document had before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc, Span

from ..arrays import Bools
from ..features.instances import sentence_starts
from ..labels.inventory import Span as SpanTriple
from ..labels.partial import PartialLabels
from ..values import as_lists
from .records import find_records, text_length

# The attributes of tokens by which entities are read, and those that features read.
_ENTITIES: Any = ("ENT_IOB", "ENT_TYPE", "IDX", "LENGTH")
_READ: Any = ["NORM", "LEMMA", "POS", "TAG", "DEP", "MORPH"]


def read_existing(doc: Doc, name: str) -> PartialLabels | None:
    """Returns existing entities and blocked tokens, for a component of this name; None
    if there are none, as in most documents. The tokens of entities are blocked,
    whatever becomes of the entities."""
    if not doc.has_annotation(ENT_IOB):
        return None
    blocked = is_blocked(doc)
    _, spans = entities_by_origin(doc, name)
    for start, end, _ in spans:
        blocked[start:end] = True
    return PartialLabels(tuple(spans), (), blocked) if blocked.any() else None


def preset_entities(doc: Doc, name: str) -> list[Span]:
    """Returns the entities that the component has not written itself."""
    _, preset = entities_by_origin(doc, name)
    places = {(start, end) for start, end, _ in preset}
    return [ent for ent in doc.ents if (ent.start, ent.end) in places] if preset else []


def is_blocked(doc: Doc) -> Bools:
    """Returns which tokens no entity may cover, bool [n]. For spaCy these begin an
    entity that has no label."""
    iob, label = doc.to_array([ENT_IOB, ENT_TYPE]).reshape(-1, 2).T
    return (iob == 3) & (label == 0)


def entities_by_origin(
    doc: Doc, name: str
) -> tuple[list[SpanTriple], list[SpanTriple]]:
    """Returns the entities of a document, in tokens: those that the component has
    written, and those that it has not."""
    texts = find_records(doc) if doc.user_data else []
    records = [(low, x[name]["spans"]) for low, _, x in texts if name in x]
    predicted: list[SpanTriple] = []
    preset: list[SpanTriple] = []
    for start, end, label, first, last in _entities(doc):
        keys = ((f"{first - low}:{last - low}:{label}", x) for low, x in records)
        is_predicted = any(key in spans for key, spans in keys)
        (predicted if is_predicted else preset).append((start, end, label))
    return predicted, preset


def _entities(doc: Doc) -> Iterator[tuple[int, int, str, int, int]]:
    """Yields tokens, label and characters of each entity of `Doc.ents`, in far less
    time than it takes to make spans of them."""
    iob, label, place, length = doc.to_array(_ENTITIES).reshape(-1, 4).T
    starts = np.flatnonzero((iob == 3) & (label != 0))
    borders = np.append(np.flatnonzero(iob != 1), len(doc))
    ends = borders[np.searchsorted(borders, starts, "right")]
    columns = starts, ends, label[starts], place[starts], (place + length)[ends - 1]
    for i, j, y, i_char, j_char in zip(*(column.tolist() for column in columns)):
        yield i, j, doc.vocab.strings[y], i_char, j_char


def limits_of(doc: Doc, name: str, has_ents: bool, has_sents: bool) -> dict[str, Any]:
    """Returns what limits a prediction, as plain values: "tokens", their number; where
    they are set, "sents", the tokens that begin sentences, and "preset", [start, end,
    label] of preset entities and, with an empty label, of blocked tokens."""
    limits: dict[str, Any] = {"tokens": len(doc)}
    if has_sents:
        limits["sents"] = sentence_starts(doc).tolist()
    if has_ents:
        ents = [[*span] for span in entities_by_origin(doc, name)[1]]
        blocked = np.flatnonzero(is_blocked(doc)).tolist()
        if preset := ents + [[i, i + 1, ""] for i in blocked]:
            limits["preset"] = preset
    return limits


def before_prediction(doc: Doc, name: str, limits: dict[str, Any] | None) -> Doc | None:
    """Returns a document as it was before its prediction, with the sentence starts and
    entities of then; None if it has other tokens now. `limits` is what the record of
    the component has under "given"."""
    if limits is None:
        return doc
    if limits["tokens"] != len(doc):
        return None
    has_ents, has_sents = map(doc.has_annotation, (ENT_IOB, SENT_START))
    # DocBin makes tuples of lists.
    if as_lists(limits) == limits_of(doc, name, has_ents, has_sents):
        return doc
    before = copy_tokens(doc, limits.get("sents"))
    preset = [Span(before, *span) for span in limits.get("preset", ())]
    ents = [span for span in preset if span.label]
    before.set_ents(ents, blocked=[span for span in preset if not span.label])
    return before


def is_predicted(doc: Doc, name: str) -> bool:
    """Returns whether a component has predicted a document of the present tokens."""
    records = [x[name] for *_, x in find_records(doc) if name in x]
    return any(x.get("given", {}).get("tokens", len(doc)) == len(doc) for x in records)


def as_predicted(doc: Doc, name: str) -> tuple[Doc, list[SpanTriple]]:
    """Returns a document as a component met it, if it still has all entities of the
    component, else as it is; and the entities that came later."""
    texts = find_records(doc) if doc.user_data else []
    texts = [text for text in texts if name in text[2]]
    if not texts or texts[-1][:2] != (0, text_length(doc)):
        return doc, []
    record = texts[-1][2][name]
    before = before_prediction(doc, name, record.get("given"))
    if before is None or before is doc:
        return doc, []
    predicted, rest = entities_by_origin(doc, name)
    if len(predicted) != len(record["spans"]):
        return doc, []
    preset = {(x.start, x.end, x.label_) for x in before.ents}
    return before, [span for span in rest if span not in preset]


def copy_tokens(doc: Doc, starts: Sequence[int] | None) -> Doc:
    """Returns a document with the same tokens, `user_data` and attributes that features
    read, without entities; a sentence begins with each token of `starts`, None: not
    set. Heads and span groups, which a user's function may read, are not copied."""
    marked = None if starts is None else {0, *starts}
    copied = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        user_data=doc.user_data,
        sent_starts=None if marked is None else [i in marked for i in range(len(doc))],
    )
    values: Any = doc.to_array(_READ)
    copied.from_array(_READ, values)
    copied.tensor = doc.tensor
    return copied
