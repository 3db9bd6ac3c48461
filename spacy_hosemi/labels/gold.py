"""Gold annotation and preset limits of a Doc, in terms of segmentations.

The only reader of gold. What is not known (tokens without annotation, spans that do not
fall on token borders) stays open: the gold is then a constraint, and training sums over
all segmentations that agree with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import Constraints
from ..errors import Errors
from .constraints import _agreeing
from .inventory import LabelInventory, Segment, Span
from .partial import Annotation


@dataclass(frozen=True)
class Gold:
    """What is known of a document.

    segments (Optional[List[Segment]]): The segmentation, where all tokens are known.
    constraints (Optional[Constraints]): Else what the segmentations must agree with.
    n_known (int): Tokens with annotation, and spans known to be wrong.
    text (str): How the document begins, for messages.
    """

    segments: list[Segment] | None
    constraints: Constraints | None
    n_known: int
    text: str = ""


def make_gold(
    annotation: Annotation, inventory: LabelInventory, doc: Doc, name: str
) -> Gold:
    """Annotation as a segmentation, or as constraints where some of it is missing.

    annotation (Annotation): From `read_annotation`.
    inventory (LabelInventory): Labels and encoding.
    doc (Doc): n tokens.
    name (str): Of the component, for messages.
    RETURNS (Gold): Segments or constraints.
    RAISES (ValueError): HS041 unknown label; HS044 outside token where there is none;
        HS094 a span is both an entity and incorrect; HS103 whitespace at its ends.
    """
    check_known(annotation, inventory.labels, doc, name)
    missing = annotation.is_missing.copy()
    if inventory.outside == "none":
        missing |= _check_covered(annotation, doc)
    if inventory.outside != "none":
        _check_ends(annotation.spans, doc)
    n_known = int((~missing).sum())
    if not missing.any():
        segments = inventory.encode(annotation.spans, len(doc))
        return Gold(segments, None, n_known, doc[:8].text)
    constraints = _agreeing(annotation.spans, missing, inventory)
    forbidden = [
        (i, j, inventory.names.index(label)) for i, j, label in annotation.incorrect
    ]
    constraints = replace(constraints, forbidden=forbidden)
    return Gold(None, constraints, n_known + len(forbidden), doc[:8].text)


def check_known(
    annotation: Annotation, labels: Collection[str], doc: Doc, name: str
) -> None:
    """RAISES (ValueError): HS041 unknown label; HS094 a span is both an entity and
    incorrect."""
    for _, _, label in (*annotation.spans, *annotation.incorrect):
        if label not in labels:
            raise ValueError(
                Errors.HS041.format(found=label, expected=tuple(labels), name=name)
            )
    for start, end, label in set(annotation.spans).intersection(annotation.incorrect):
        text = doc[start:end].text
        raise ValueError(Errors.HS094.format(text=text, label=label, name=name))


def _check_ends(spans: Iterable[Span], doc: Doc) -> None:
    for start, end, label in spans:
        if doc[start].is_space or doc[end - 1].is_space:
            text = doc[start:end].text
            raise ValueError(Errors.HS103.format(text=text, label=label))


def _check_covered(annotation: Annotation, doc: Doc) -> NDArray[np.bool_]:
    """Whitespace outside of spans counts as missing; no other token may be outside."""
    outside = ~annotation.is_missing
    for start, end, _ in annotation.spans:
        outside[start:end] = False
    for i in np.flatnonzero(outside):
        if not doc[int(i)].is_space:
            raise ValueError(Errors.HS044.format(index=i, text=doc[int(i)].text))
    return outside


def label_sequences(golds: Iterable[Gold]) -> list[list[int]]:
    """RETURNS (List[List[int]]): Label indices of the segments of each document whose
    tokens are all known."""
    return [[y for _, _, y in gold.segments] for gold in golds if gold.segments]


def known_labels(gold: Gold, n_tokens: int) -> dict[str, NDArray[np.intp]]:
    """Which label is known to cover, begin at, end at and go on at each token.

    gold (Gold): What is known.
    n_tokens (int): n.
    RETURNS (Dict[str, int [n]]): By role "inside", "start", "end", "within"; -1 where
        there is none or it is not known.
    """
    label = np.full(n_tokens, -1, np.intp)
    is_border = np.zeros(n_tokens + 1, bool)
    if gold.segments is not None:
        for start, end, y in gold.segments:
            label[start:end] = y
            is_border[[start, end]] = True
    elif gold.constraints is not None and gold.constraints.allowed is not None:
        allowed = gold.constraints.allowed
        is_known = allowed.sum(axis=1) == 1
        label[is_known] = allowed[is_known].argmax(axis=1)
        before, behind = label[:-1], label[1:]
        is_border[1:-1] = (before >= 0) & (behind >= 0) & (before != behind)
        is_border[[0, n_tokens]] = True
        if gold.constraints.boundary is not None:
            is_border |= gold.constraints.boundary == 1
    return {
        "inside": label,
        "start": np.where(is_border[:-1], label, -1),
        "end": np.where(is_border[1:], label, -1),
        "within": np.where(is_border[:-1], -1, label),
    }
