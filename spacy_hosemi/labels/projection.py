"""Projections: from the labels of documents to the labels of segments.

Without a label tree they are the same. With one, segments have the names at the top of
the tree instead of the labels below them: see `hierarchy.projection`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from .inventory import check_names
from .partial import PartialLabels


class Projection(Protocol):
    """Relates the labels of documents to the labels of segments.

    labels (Tuple[str, ...]): The labels of documents.
    top (Tuple[str, ...]): The labels of segments.
    parents (Mapping[str, str]): The parent of each name that has one.
    """

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def top(self) -> tuple[str, ...]: ...

    @property
    def parents(self) -> Mapping[str, str]: ...

    def names(self) -> Sequence[str]:
        """RETURNS (Sequence[str]): All labels, and the names above them."""
        ...

    def project(self, known: PartialLabels) -> PartialLabels:
        """RETURNS (PartialLabels): What is known of a document, with the labels of
        segments. Required spans with unknown labels are left out; their tokens stay
        blocked."""
        ...

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """RETURNS (PartialLabels): Corrections of a user, with labels in the place of
        names above them."""
        ...


class IdentityProjection:
    """Segments have the labels of documents.

    labels (Sequence[str]): All of them.
    RAISES (ValueError): HS040 a reserved name.
    """

    parents: Mapping[str, str] = MappingProxyType({})

    def __init__(self, labels: Sequence[str]) -> None:
        check_names(labels)
        self.labels = self.top = tuple(labels)

    def names(self) -> Sequence[str]:
        return self.top

    def project(self, known: PartialLabels) -> PartialLabels:
        return with_labels(known, self.top)

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        return corrections


def with_labels(known: PartialLabels, labels: Collection[str]) -> PartialLabels:
    """RETURNS (PartialLabels): The same without required spans of other labels; blocked
    tokens stay blocked."""
    found = tuple([span for span in known.required if span[2] in labels])
    if len(found) == len(known.required):
        return known
    return replace(known, required=found)
