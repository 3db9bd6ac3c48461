"""Makes `core.Constraints` of what is known of spans; no other module does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..arrays import Bools, Places
from ..core import Constraints, Potentials
from ..features.instances import sentence_starts
from .inventory import LabelInventory, Segment, Span
from .partial import PartialLabels


def to_constraints(
    partial: PartialLabels, inventory: LabelInventory, n_tokens: int
) -> Constraints | None:
    """Returns constraints under which segmentations agree with what is known of n
    tokens, or None. Tags may still form an excluded span, see `permitted_tags`. With
    `outside = "none"` only blocked tokens are outside; use `with_outside`."""
    constraints = _not_across(partial.borders, inventory, n_tokens)
    if partial.required:
        constraints = require(partial.required, inventory, constraints, n_tokens)
    is_outside = partial.outside()
    if is_outside is not None:
        constraints = _block(is_outside, inventory, constraints)
    if partial.excluded and not inventory.on_tokens:
        names = inventory.names
        forbidden = [
            (i, j, -1 if label is None else names.index(label))
            for i, j, label in partial.excluded
        ]
        constraints = replace(constraints or Constraints(), forbidden=forbidden)
    return constraints


def borders_of(doc: Doc, inventory: LabelInventory) -> Places | None:
    """Returns tokens that begin sentences, which spans do not cross; None if none is
    set, or with IO, whose tags do not tell a span across one from two spans."""
    if inventory.encoding == "IO" or not doc.has_annotation(SENT_START):
        return None
    starts: Places = sentence_starts(doc)
    return starts if len(starts) else None


def require(
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
    n_tokens: int,
) -> Constraints:
    """Returns the constraints, and that segmentations have some disjoint spans."""
    names = names_of(spans, inventory, n_tokens)
    return restrict(names, spans, inventory, constraints)


def restrict(
    names: Bools,
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
) -> Constraints:
    """Returns the constraints, and that tokens have some names, bool [n, L]; spans: if
    segments are spans, those that there are."""
    copied, allowed, boundary = _copied(constraints, inventory, len(names))
    allowed &= names
    for start, end, _ in () if inventory.on_tokens else spans:
        boundary[start + 1 : end] = -1
        boundary[[start, end]] = 1
    return copied


def permits(constraints: Constraints | None, segments: Sequence[Segment]) -> bool:
    """Says whether constraints permit a segmentation of all tokens."""
    if constraints is None:
        return True
    start, end, label = np.array(segments, np.intp).reshape(-1, 3).T
    if constraints.allowed is not None:
        of_tokens = np.repeat(label, end - start)
        if not constraints.allowed[np.arange(len(of_tokens)), of_tokens].all():
            return False
    if (boundary := constraints.boundary) is not None:
        is_border, is_inside = np.zeros((2, len(boundary)), bool)
        is_border[[0, *end]] = True
        is_inside[:-1] = np.repeat(label > 0, end - start) & ~is_border[:-1]
        wrong = (is_border, -1), (~is_border, 1), (is_inside, 2)
        if any((boundary[where] == value).any() for where, value in wrong):
            return False
    forbidden = {*constraints.forbidden}
    return not any(
        (i, j, y) in forbidden or (y and (i, j, -1) in forbidden)
        for i, j, y in segments
        if forbidden
    )


def names_of(spans: Sequence[Span], inventory: LabelInventory, n_tokens: int) -> Bools:
    """Returns the names that each token may have if a segmentation has some spans, bool
    [n, L]; these do not overlap."""
    names = inventory.names_within(spans, n_tokens)
    for start, end, label in spans:
        # No adjacent tag may extend the span: after it if tags do not mark the end of a
        # span (IO, BIO), before it if they do not mark the begin (IO).
        if end < n_tokens and inventory.encoding in ("IO", "BIO"):
            names[end, inventory.names.index(f"I-{label}")] = False
        if start > 0 and inventory.encoding == "IO":
            names[start - 1, inventory.names.index(f"I-{label}")] = False
    return names


def with_outside(potentials: Potentials, inventory: LabelInventory) -> Potentials:
    """Returns potentials of a model with `outside = "none"` with outside segments of
    any length, whose length scores 0."""
    length, tail = potentials.length.copy(), potentials.tail.copy()
    length[0] = 0.0
    tail[0] = -np.inf if inventory.on_tokens else 0.0
    return replace(potentials, length=length, tail=tail)


def _copied(
    constraints: Constraints | None, inventory: LabelInventory, n_tokens: int
) -> tuple[Constraints, Bools, NDArray[np.int8]]:
    """Returns a copy, and its allowed [n, L] and boundary [n + 1], to be changed."""
    constraints = constraints or Constraints()
    allowed, boundary = constraints.allowed, constraints.boundary
    shape = n_tokens, len(inventory.names)
    allowed = np.ones(shape, bool) if allowed is None else allowed.copy()
    none = np.zeros(n_tokens + 1, np.int8)
    boundary = none if boundary is None else boundary.copy()
    copied = replace(constraints, allowed=allowed, boundary=boundary)
    return copied, allowed, boundary


def _not_across(
    borders: Places | None, inventory: LabelInventory, n_tokens: int
) -> Constraints | None:
    if borders is None or not len(borders):
        return None
    if inventory.on_tokens:
        allowed = np.ones((n_tokens, len(inventory.names)), bool)
        going_on = np.array(inventory.tags_that("IL"), np.intp)
        allowed[np.ix_(borders, going_on)] = False
        return Constraints(allowed=allowed)
    boundary = np.zeros(n_tokens + 1, np.int8)
    boundary[borders] = 2
    return Constraints(boundary=boundary)


def _block(
    is_outside: Bools, inventory: LabelInventory, constraints: Constraints | None
) -> Constraints:
    copied, allowed, boundary = _copied(constraints, inventory, len(is_outside))
    allowed[is_outside, 1:] = False
    if inventory.outside == "none":
        allowed[~is_outside, 0] = False
        if not inventory.on_tokens:
            # Adjacent blocked tokens are one outside segment.
            left, right = is_outside[:-1], is_outside[1:]
            boundary[1:-1][left & right] = -1
            boundary[1:-1][left != right] = 1
    return copied
