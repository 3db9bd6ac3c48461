"""Makes `core.Constraints` of what is known of spans; no other module does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from spacy.attrs import SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc

from ..core import Constraints, Potentials
from ..features.instances import sentence_starts
from .inventory import LabelInventory, Segment, Span
from .partial import Bools, Ints, PartialLabels


def to_constraints(
    known: PartialLabels, inventory: LabelInventory, n_tokens: int
) -> Constraints | None:
    """Constraints under which segmentations agree with what is known.

    Tags on tokens may still form an excluded span: see `prediction.permitted_tags`.

    known (PartialLabels): Of n tokens.
    inventory (LabelInventory): Labels and encoding.
    n_tokens (int): n.
    RETURNS (Optional[Constraints]): None if there are none. With `outside = "none"`
        blocked tokens, and no others, are outside; use potentials `with_outside`.
    """
    found = _not_across(known.borders, inventory, n_tokens)
    if known.required:
        found = require(known.required, inventory, found, n_tokens)
    is_outside = known.outside()
    if is_outside is not None:
        found = _block(is_outside, inventory, found)
    if known.excluded and not inventory.on_tokens:
        names = inventory.names
        forbidden = [
            (i, j, -1 if label is None else names.index(label))
            for i, j, label in known.excluded
        ]
        found = replace(found or Constraints(), forbidden=forbidden)
    return found


def borders_of(doc: Doc, inventory: LabelInventory) -> Ints | None:
    """RETURNS (Optional[int [K]]): The tokens that begin sentences, which spans do not
    cross; None if no sentence start is set, or with IO, whose tags do not distinguish
    a span that crosses one from two spans."""
    if inventory.encoding == "IO" or not doc.has_annotation(SENT_START):
        return None
    starts: Ints = sentence_starts(doc)
    return starts if len(starts) else None


def require(
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
    n_tokens: int,
) -> Constraints:
    """RETURNS (Constraints): The given ones, and that a segmentation has some spans.

    spans (Sequence[Tuple[int, int, str]]): Spans that do not overlap.
    constraints (Optional[Constraints]): Other constraints, which stay in force.
    """
    names = names_of(spans, inventory, n_tokens)
    return restrict(names, spans, inventory, constraints)


def restrict(
    names: Bools,
    spans: Sequence[Span],
    inventory: LabelInventory,
    constraints: Constraints | None,
) -> Constraints:
    """RETURNS (Constraints): The given ones, and that tokens have some names.

    names (bool [n, L]): By token.
    spans (Sequence[Tuple[int, int, str]]): If segments are spans, those that there are.
    constraints (Optional[Constraints]): Other constraints, which stay in force.
    """
    found = _copied(constraints, inventory, len(names))
    allowed, boundary = found.allowed, found.boundary
    assert allowed is not None and boundary is not None
    allowed &= names
    for start, end, _ in () if inventory.on_tokens else spans:
        boundary[start + 1 : end] = -1
        boundary[[start, end]] = 1
    return found


def permits(constraints: Constraints | None, segments: Sequence[Segment]) -> bool:
    """Whether constraints permit a segmentation.

    constraints (Optional[Constraints]): Of n tokens.
    segments (Sequence[Tuple[int, int, int]]): That cover them.
    """
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
    """The names that each token may have if a segmentation has some spans.

    spans (Sequence[Tuple[int, int, str]]): Spans that do not overlap.
    n_tokens (int): n.
    RETURNS (bool [n, L]): By token.
    """
    found = inventory.names_within(spans, n_tokens)
    for start, end, label in spans:
        # No adjacent tag may extend the span: after it if tags do not mark the end of a
        # span (IO, BIO), before it if they do not mark the begin (IO).
        if end < n_tokens and inventory.encoding in ("IO", "BIO"):
            found[end, inventory.names.index(f"I-{label}")] = False
        if start > 0 and inventory.encoding == "IO":
            found[start - 1, inventory.names.index(f"I-{label}")] = False
    return found


def with_outside(potentials: Potentials, inventory: LabelInventory) -> Potentials:
    """RETURNS (Potentials): Those of a model with `outside = "none"`, but with outside
    segments of any length, whose length scores 0."""
    length, tail = potentials.length.copy(), potentials.tail.copy()
    length[0] = 0.0
    tail[0] = -np.inf if inventory.on_tokens else 0.0
    return replace(potentials, length=length, tail=tail)


def _copied(
    constraints: Constraints | None, inventory: LabelInventory, n_tokens: int
) -> Constraints:
    """The same constraints with arrays that may be written to."""
    given = constraints or Constraints()
    allowed, boundary = given.allowed, given.boundary
    shape = n_tokens, len(inventory.names)
    allowed = np.ones(shape, bool) if allowed is None else allowed.copy()
    if boundary is None:
        boundary = np.zeros(n_tokens + 1, np.int8)
    else:
        boundary = boundary.copy()
    return replace(given, allowed=allowed, boundary=boundary)


def _not_across(
    borders: Ints | None, inventory: LabelInventory, n_tokens: int
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
    is_outside: Bools,
    inventory: LabelInventory,
    constraints: Constraints | None,
) -> Constraints:
    found = _copied(constraints, inventory, len(is_outside))
    allowed, boundary = found.allowed, found.boundary
    assert allowed is not None and boundary is not None
    allowed[is_outside, 1:] = False
    if inventory.outside == "none":
        allowed[~is_outside, 0] = False
        if not inventory.on_tokens:
            # Adjacent blocked tokens are one outside segment.
            left, right = is_outside[:-1], is_outside[1:]
            boundary[1:-1][left & right] = -1
            boundary[1:-1][left != right] = 1
    return found
