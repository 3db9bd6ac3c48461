"""From what is known of a document's spans to `core.Constraints`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..core import Constraints, Potentials
from ..features.instances import sentence_starts
from .inventory import LabelInventory, Span
from .partial import Bools, Fixed


def _agreeing(
    spans: Iterable[Span], missing: NDArray[np.bool_], inventory: LabelInventory
) -> Constraints:
    """All segmentations with these spans, outside where neither span nor missing."""
    n_tokens = len(missing)
    allowed = np.zeros((n_tokens, len(inventory.names)), bool)
    allowed[:, 0] = True
    allowed[missing] = True
    boundary = np.zeros(n_tokens + 1, np.int8)
    spans = list(spans)
    for span in spans:
        _close(span, inventory, allowed)
    for start, end, label in spans:
        allowed[start:end] = False
        for i, j, y in inventory.encode([(start, end, label)], end):
            if i >= start:
                allowed[i:j, y] = True
        if not inventory.on_tokens:
            boundary[start + 1 : end] = -1
            boundary[[start, end]] = 1
    return Constraints(allowed=allowed, boundary=boundary)


def _close(span: Span, inventory: LabelInventory, allowed: NDArray[np.bool_]) -> None:
    """Forbid the tags beside a span that would go on with it.

    Behind it, where no tag says that it ends (IO, BIO); before it, where none says that
    it begins (IO).
    """
    start, end, label = span
    if end < len(allowed) and inventory.encoding in ("IO", "BIO"):
        allowed[end, inventory.names.index(f"I-{label}")] = False
    if start > 0 and inventory.encoding == "IO":
        allowed[start - 1, inventory.names.index(f"I-{label}")] = False


def limits(doc: Doc, inventory: LabelInventory) -> Constraints | None:
    """What no predicted segmentation may do, whatever its score.

    doc (Doc): n tokens.
    inventory (LabelInventory): Labels and encoding.
    RETURNS (Optional[Constraints]): No span crosses a sentence start that is set; None
        if none is.
    """
    if inventory.encoding == "IO" or not doc.has_annotation(SENT_START):
        return None
    starts = sentence_starts(doc)
    if not len(starts):
        return None
    if inventory.on_tokens:
        allowed = np.ones((len(doc), len(inventory.names)), bool)
        allowed[np.ix_(starts, np.array(inventory.tags_that("IL"), np.intp))] = False
        return Constraints(allowed=allowed)
    boundary = np.zeros(len(doc) + 1, np.int8)
    boundary[starts] = 2
    return Constraints(boundary=boundary)


def exactly(
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
    n_tokens: int,
) -> Constraints:
    """Constraints under which a segmentation has exactly these spans, among others.

    spans (Sequence[Tuple[int, int, str]]): Tokens and label; they do not overlap.
    inventory (LabelInventory): Labels and encoding.
    constraints (Optional[Constraints]): What holds anyway.
    n_tokens (int): n.
    RETURNS (Constraints): Both together.
    """
    given = constraints or Constraints()
    allowed = np.ones((n_tokens, len(inventory.names)), bool)
    if given.allowed is not None:
        allowed = given.allowed.copy()
    boundary = np.zeros(n_tokens + 1, np.int8)
    if given.boundary is not None:
        boundary = given.boundary.copy()
    for span in spans:
        start, end, _ = span
        _close(span, inventory, allowed)
        allowed[start:end] &= inventory.names_within(span)
        if not inventory.on_tokens:
            boundary[start + 1 : end] = -1
            boundary[[start, end]] = 1
    return replace(given, allowed=allowed, boundary=boundary)


def block(
    is_blocked: Bools, inventory: LabelInventory, constraints: Constraints | None
) -> Constraints:
    """Constraints under which these tokens are outside.

    is_blocked (bool [n]): Of the document.
    inventory (LabelInventory): Labels and encoding.
    constraints (Optional[Constraints]): What holds anyway.
    RETURNS (Constraints): Both together. With `outside = "none"` no other token is
        outside; the potentials must allow these to be, see `with_outside`.
    """
    given = constraints or Constraints()
    n_tokens = len(is_blocked)
    allowed = np.ones((n_tokens, len(inventory.names)), bool)
    if given.allowed is not None:
        allowed = given.allowed.copy()
    allowed[is_blocked, 1:] = False
    if inventory.outside != "none":
        return replace(given, allowed=allowed)
    allowed[~is_blocked, 0] = False
    boundary = np.zeros(n_tokens + 1, np.int8)
    if given.boundary is not None:
        boundary = given.boundary.copy()
    if not inventory.on_tokens:
        # Adjacent blocked tokens are one outside segment: one way to segment them.
        boundary[1:-1][is_blocked[:-1] & is_blocked[1:]] = -1
        boundary[1:-1][is_blocked[:-1] != is_blocked[1:]] = 1
    return replace(given, allowed=allowed, boundary=boundary)


def with_outside(potentials: Potentials, inventory: LabelInventory) -> Potentials:
    """Potentials of a model with `outside = "none"` in which outside segments of any
    length are possible and score nothing for their length."""
    length, tail = potentials.length.copy(), potentials.tail.copy()
    length[0] = 0.0
    tail[0] = -np.inf if inventory.on_tokens else 0.0
    return replace(potentials, length=length, tail=tail)


def constrain(
    fixed: Fixed,
    constraints: Constraints | None,
    inventory: LabelInventory,
    n_tokens: int,
) -> Constraints | None:
    """Constraints under which segmentations have the spans that are kept, and none that
    is forbidden; but tags on tokens may still mean one that is: see `permitted_tags`.

    fixed (Fixed): Of the instance.
    constraints (Optional[Constraints]): What holds anyway; where a span is kept, that
        goes before sentence starts.
    inventory (LabelInventory): Labels and encoding.
    n_tokens (int): n.
    RETURNS (Optional[Constraints]): All together.
    """
    found = constraints
    if fixed.keep:
        if found is not None and found.allowed is not None:
            allowed = found.allowed.copy()
            for start, end, _ in fixed.keep:
                allowed[start:end] = True
            found = replace(found, allowed=allowed)
        found = exactly(fixed.keep, inventory, found, n_tokens)
    if fixed.forbid and not inventory.on_tokens:
        names = inventory.names
        forbidden = [
            (i, j, -1 if label is None else names.index(label))
            for i, j, label in fixed.forbid
        ]
        found = replace(found or Constraints(), forbidden=forbidden)
    return found
