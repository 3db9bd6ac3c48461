"""Gold: the segmentation of a training document, or what is known of it.

If tokens have no annotation, or a gold span is not aligned with token borders, the gold
is a constraint: training sums over all segmentations that satisfy it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Places
from ..core import Constraints
from ..errors import Errors
from .constraints import to_constraints
from .inventory import LabelInventory, Segment, Span
from .partial import PartialLabels
from .whitespace import check_ends


@dataclass(frozen=True)
class Gold:
    """Holds the gold of a document, made once for many steps of training."""

    segments: list[Segment] | None  # the segmentation, if all tokens are known
    constraints: Constraints | None  # otherwise what the segmentation must satisfy
    n_known: int  # the number of tokens with annotation and of excluded spans
    text: str = ""  # the beginning of the document, for messages

    def content(self) -> tuple[NDArray[Any], ...]:
        """Returns what is known as arrays: equal arrays, equal gold."""
        if self.segments is not None:
            return (np.array(self.segments, np.int64),)
        limits = self.constraints or Constraints()
        arrays = limits.allowed, limits.boundary, np.array(limits.forbidden, np.int64)
        return tuple(np.zeros(0, bool) if x is None else np.asarray(x) for x in arrays)


def make_golds(
    annotations: Sequence[PartialLabels], inventory: LabelInventory, docs: Sequence[Doc]
) -> list[Gold]:
    """Returns the gold of each document, from annotations with labels of the inventory.
    Raises HS044 for an outside token where there is none, HS103 if a span begins or
    ends with whitespace."""
    for partial, doc in zip(annotations, docs):
        if inventory.outside != "none":
            check_ends(partial.required, doc)
            continue
        for i in np.flatnonzero(~partial.unknown(len(doc))).tolist():
            is_covered = any(start <= i < end for start, end, _ in partial.required)
            if not is_covered and not doc[i].is_space:
                raise ValueError(Errors.HS044.format(index=i, text=doc[i].text))
    if inventory.outside == "none":
        annotations = [replace(partial, blocked=None) for partial in annotations]
    unknown = [partial.unknown(len(doc)) for partial, doc in zip(annotations, docs)]
    golds = []
    for partial, is_unknown, doc in zip(annotations, unknown, docs):
        segments = constraints = None
        n_known = int((~is_unknown).sum())
        if not is_unknown.any():
            segments = inventory.encode(partial.required, len(doc))
        else:
            if inventory.encoding == "IO":
                partial = replace(partial, required=_joined(partial.required))
            constraints = to_constraints(partial, inventory, len(doc)) or Constraints()
            n_known += len(partial.excluded)
        golds.append(Gold(segments, constraints, n_known, doc[:8].text))
    return golds


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Returns adjacent spans of one label as one span: IO tags do not separate them."""
    joined: list[Span] = []
    for start, end, label in spans:
        if joined and joined[-1][1:] == (start, label):
            joined[-1] = (joined[-1][0], end, label)
        else:
            joined.append((start, end, label))
    return tuple(joined)


def check_known(
    annotations: Iterable[PartialLabels],
    labels: Iterable[str],
    docs: Iterable[Doc],
    name: str,
) -> None:
    """Raises HS041 for an unknown label, HS094 if a span is required and excluded."""
    expected = dict.fromkeys(labels)
    for partial, doc in zip(annotations, docs):
        for _, _, label in (*partial.required, *partial.excluded):
            if label not in expected:
                args = {"found": label, "expected": (*expected,), "name": name}
                raise ValueError(Errors.HS041.format(**args))
        for start, end, label in {*partial.required}.intersection(partial.excluded):
            text = doc[start:end].text
            raise ValueError(Errors.HS094.format(text=text, label=label, name=name))


def label_sequences(golds: Iterable[Gold]) -> list[list[int]]:
    """Returns label indices of the segments of documents whose tokens are all known."""
    return [[y for _, _, y in gold.segments] for gold in golds if gold.segments]


def known_labels(gold: Gold, n_tokens: int) -> dict[str, Places]:
    """Returns the known label that covers, begins at, ends at or goes on at each token,
    by role "inside", "start", "end", "within", int [n]; -1: none, or not known."""
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
