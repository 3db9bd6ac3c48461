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

from ..core import Constraints
from ..errors import Errors
from .constraints import to_constraints
from .inventory import LabelInventory, Segment, Span
from .partial import PartialLabels
from .whitespace import check_ends


@dataclass(frozen=True)
class Gold:
    """The gold of a document, made once for many steps of training.

    segments (Optional[List[Segment]]): The segmentation, if all tokens are known.
    constraints (Optional[Constraints]): Otherwise what the segmentation must satisfy.
    n_known (int): The number of tokens with annotation and of excluded spans.
    text (str): The begin of the document, for messages.
    """

    segments: list[Segment] | None
    constraints: Constraints | None
    n_known: int
    text: str = ""

    def content(self) -> tuple[NDArray[Any], ...]:
        """RETURNS (Tuple[NDArray, ...]): What is known, as arrays: equal arrays, equal
        gold."""
        if self.segments is not None:
            return (np.array(self.segments, np.int64),)
        known = self.constraints or Constraints()
        some = known.allowed, known.boundary, np.array(known.forbidden, np.int64)
        return tuple(np.zeros(0, bool) if x is None else np.asarray(x) for x in some)


def make_golds(
    annotations: Sequence[PartialLabels], inventory: LabelInventory, docs: Sequence[Doc]
) -> list[Gold]:
    """RETURNS (List[Gold]): The gold of each document.

    annotations (Sequence[PartialLabels]): From `read_annotations`, with labels of the
        inventory.
    inventory (LabelInventory): Labels and encoding.
    docs (Sequence[Doc]): The documents.
    RAISES (ValueError): HS044 outside token where there is none; HS103 a span begins or
        ends with whitespace.
    """
    for known, doc in zip(annotations, docs):
        if inventory.outside == "none":
            _check_covered(known, doc)
        else:
            check_ends(known.required, doc)
    if inventory.outside == "none":
        annotations = [replace(known, blocked=None) for known in annotations]
    unknown = [known.unknown(len(doc)) for known, doc in zip(annotations, docs)]
    golds = []
    for known, is_unknown, doc in zip(annotations, unknown, docs):
        segments = constraints = None
        n_known = int((~is_unknown).sum())
        if not is_unknown.any():
            segments = inventory.encode(known.required, len(doc))
        else:
            if inventory.encoding == "IO":
                known = replace(known, required=_joined(known.required))
            constraints = to_constraints(known, inventory, len(doc)) or Constraints()
            n_known += len(known.excluded)
        golds.append(Gold(segments, constraints, n_known, doc[:8].text))
    return golds


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Adjacent spans of one label as one span: IO tags do not separate them."""
    found: list[Span] = []
    for start, end, label in spans:
        if found and found[-1][1:] == (start, label):
            found[-1] = (found[-1][0], end, label)
        else:
            found.append((start, end, label))
    return tuple(found)


def check_known(
    annotations: Iterable[PartialLabels],
    labels: Iterable[str],
    docs: Iterable[Doc],
    name: str,
) -> None:
    """RAISES (ValueError): HS041 unknown label; HS094 a span is required and
    excluded."""
    expected = dict.fromkeys(labels)
    for known, doc in zip(annotations, docs):
        for _, _, label in (*known.required, *known.excluded):
            if label not in expected:
                args = {"found": label, "expected": (*expected,), "name": name}
                raise ValueError(Errors.HS041.format(**args))
        for start, end, label in {*known.required}.intersection(known.excluded):
            text = doc[start:end].text
            raise ValueError(Errors.HS094.format(text=text, label=label, name=name))


def _check_covered(known: PartialLabels, doc: Doc) -> None:
    """HS044 if a token is outside that is no whitespace."""
    for i in np.flatnonzero(~known.unknown(len(doc))).tolist():
        is_covered = any(start <= i < end for start, end, _ in known.required)
        if not is_covered and not doc[i].is_space:
            raise ValueError(Errors.HS044.format(index=i, text=doc[i].text))


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
