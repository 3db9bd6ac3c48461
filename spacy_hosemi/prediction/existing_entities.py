"""Existing entities: what other components or people have written to `doc.ents`.

They stay, blocked tokens stay outside, and all else is decoded given them. Entities
that this component wrote itself are decoded anew: see `records`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.attrs import (  # type: ignore[import-not-found]
    ENT_IOB,
    ENT_TYPE,
    SENT_START,
)
from spacy.tokens import Doc, Span

from ..features.instances import sentence_starts
from ..labels.partial import Bools, PartialLabels
from .records import own_entities


def read_existing(doc: Doc, name: str) -> PartialLabels | None:
    """Existing entities and blocked tokens of a document.

    doc (Doc): n tokens.
    name (str): Of the component.
    RETURNS (Optional[PartialLabels]): None if there are none, as in most documents. The
        tokens of entities are blocked, whatever becomes of the entities.
    """
    if not doc.has_annotation(ENT_IOB):
        return None
    blocked = is_blocked(doc)
    spans = [(ent.start, ent.end, ent.label_) for ent in preset_entities(doc, name)]
    for start, end, _ in spans:
        blocked[start:end] = True
    return PartialLabels(tuple(spans), (), blocked) if blocked.any() else None


def preset_entities(doc: Doc, name: str) -> list[Span]:
    """RETURNS (List[Span]): Entities that the component has not written itself."""
    own = {(ent.start, ent.end) for ent in own_entities(doc, name)}
    return [ent for ent in doc.ents if (ent.start, ent.end) not in own]


def is_blocked(doc: Doc) -> Bools:
    """RETURNS (bool [n]): Tokens that no entity may cover. For spaCy these begin an
    entity that has no label."""
    iob, label = doc.to_array([ENT_IOB, ENT_TYPE]).reshape(-1, 2).T
    return (iob == 3) & (label == 0)


def remember(doc: Doc, name: str, has_ents: bool) -> dict[str, Any]:
    """What limits a prediction, so that its confidences can be computed later.

    doc (Doc): n tokens, before the component writes its entities.
    name (str): Of the component.
    has_ents (bool): Whether entities are set, see `Doc.has_annotation`.
    RETURNS (Dict[str, Any]): Plain values: "tokens", n; where they are set, "sents",
        the tokens that begin sentences, and "preset", [start, end, label] of preset
        entities and, with an empty label, of blocked tokens.
    """
    given: dict[str, Any] = {"tokens": len(doc)}
    if doc.has_annotation(SENT_START):
        given["sents"] = sentence_starts(doc).tolist()
    if has_ents:
        ents = [[x.start, x.end, x.label_] for x in preset_entities(doc, name)]
        blocked = np.flatnonzero(is_blocked(doc)).tolist()
        if preset := ents + [[i, i + 1, ""] for i in blocked]:
            given["preset"] = preset
    return given


def copy_tokens(doc: Doc, starts: Sequence[int] | None) -> Doc:
    """A document with the same tokens and attributes that features read, and without
    entities. Heads and span groups, which a user's function may read, are not copied.

    doc (Doc): n tokens.
    starts (Optional[Sequence[int]]): Tokens with which sentences begin; None: not set.
    RETURNS (Doc): Has the same `user_data`.
    """
    marked = None if starts is None else {0, *starts}
    found = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        user_data=doc.user_data,
        sent_starts=None if marked is None else [i in marked for i in range(len(doc))],
    )
    for token, of_doc in zip(found, doc):
        for name in ("norm_", "lemma_", "pos_", "tag_", "dep_"):
            setattr(token, name, getattr(of_doc, name))
        if of_doc.has_morph():  # none is not the same as an empty one
            token.morph = of_doc.morph
    found.tensor = doc.tensor
    return found
