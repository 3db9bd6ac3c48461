"""Projections: from the labels of documents to those that segments have.

Without a tree the two are the same. With one, `hierarchy.projection` puts the names at
the top of the tree in the place of the labels below them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from .inventory import check_names
from .partial import PartialLabels


class Projection(Protocol):
    """What stands between the labels of documents and those that segments have.

    labels (Tuple[str, ...]): Those of documents.
    top (Tuple[str, ...]): Those that segments have.
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
        """RETURNS (PartialLabels): What is known of a document, with the labels that
        segments have; blocked tokens of required spans with other labels stay so."""
        ...

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """RETURNS (PartialLabels): What a user corrected, with labels instead of names
        above them."""
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
        """See `Projection`."""
        return self.top

    def project(self, known: PartialLabels) -> PartialLabels:
        """See `Projection`."""
        return with_labels(known, self.top)

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """See `Projection`."""
        return corrections


def with_labels(known: PartialLabels, labels: Collection[str]) -> PartialLabels:
    """Without required spans of other labels; their tokens stay blocked if they are."""
    found = tuple([span for span in known.required if span[2] in labels])
    if len(found) == len(known.required):
        return known
    return replace(known, required=found)
