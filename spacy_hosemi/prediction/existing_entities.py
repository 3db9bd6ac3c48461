"""Existing entities: what other components or people have written to `doc.ents`.

They stay, blocked tokens stay outside, and all else is decoded given them. Entities
that this component wrote itself are decoded anew: see `records`.
"""

from __future__ import annotations

from spacy.attrs import ENT_IOB, ENT_TYPE  # type: ignore[import-not-found]
from spacy.tokens import Doc, Span

from ..labels.partial import Bools, PartialLabels
from .records import entities_by_origin


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
    _, spans = entities_by_origin(doc, name)
    for start, end, _ in spans:
        blocked[start:end] = True
    return PartialLabels(tuple(spans), (), blocked) if blocked.any() else None


def preset_entities(doc: Doc, name: str) -> list[Span]:
    """RETURNS (List[Span]): Entities that the component has not written itself."""
    _, preset = entities_by_origin(doc, name)
    places = {(start, end) for start, end, _ in preset}
    return [ent for ent in doc.ents if (ent.start, ent.end) in places] if preset else []


def is_blocked(doc: Doc) -> Bools:
    """RETURNS (bool [n]): Tokens that no entity may cover. For spaCy these begin an
    entity that has no label."""
    iob, label = doc.to_array([ENT_IOB, ENT_TYPE]).reshape(-1, 2).T
    return (iob == 3) & (label == 0)
