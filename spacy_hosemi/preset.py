"""What a document says before prediction: entities that stay, tokens that stay free.

An entity is preset unless this component has written it, see `confidence`. All else is
decoded given the preset ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from spacy.tokens import Doc, Span

from .confidence import KEY, span_key
from .core import Constraints
from .labels import LabelInventory
from .problems import Bools, Preset


def read_preset(doc: Doc, name: str) -> Preset | None:
    """What is preset in a document.

    doc (Doc): n tokens.
    name (str): Of the component.
    RETURNS (Optional[Preset]): None, for most documents, if nothing is.
    """
    if not doc.has_annotation("ENT_IOB"):
        return None
    is_taken = is_blocked(doc)
    spans = [(ent.start, ent.end, ent.label_) for ent in preset_entities(doc, name)]
    for start, end, _ in spans:
        is_taken[start:end] = True
    return Preset(spans, is_taken) if is_taken.any() else None


def preset_entities(doc: Doc, name: str) -> list[Span]:
    """RETURNS (List[Span]): Entities that the component has not written itself."""
    own = doc.user_data.get(KEY, {}).get(name, {"spans": ()})["spans"]
    return [ent for ent in doc.ents if span_key(ent) not in own]


def is_blocked(doc: Doc) -> Bools:
    """RETURNS (bool [n]): Tokens that begin an entity without a label: in spaCy that
    says that no entity may cover them."""
    iob, label = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
    return (iob == 3) & (label == 0)


def leave_free(
    is_taken: Bools, inventory: LabelInventory, constraints: Constraints | None
) -> Constraints | None:
    """Constraints under which these tokens are outside.

    is_taken (bool [n]): Of the document.
    inventory (LabelInventory): Labels and encoding.
    constraints (Optional[Constraints]): What holds anyway.
    RETURNS (Optional[Constraints]): Both together; as they were, where nothing is ever
        outside.
    """
    if not is_taken.any() or inventory.outside == "none":
        return constraints
    given = constraints or Constraints()
    allowed = np.ones((len(is_taken), len(inventory.names)), bool)
    if given.allowed is not None:
        allowed = given.allowed.copy()
    allowed[is_taken, 1:] = False
    return replace(given, allowed=allowed)
