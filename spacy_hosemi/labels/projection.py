"""Projections: from the labels of documents to the labels of segments.

Without a label tree they are the same. With one, segments have the names at the top of
the tree instead of the labels below them: see `hierarchy.projection`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from .partial import PartialLabels


class Projection:
    """Relates the labels of documents to those of segments, which are `top`: here the
    same ones. Spans of the names in `required`, such as those of nodes above the
    labels, may be required (None: of the labels)."""

    parents: Mapping[str, str] = MappingProxyType({})  # of each name that has one
    takes_labels = True  # whether labels may be added after training

    def __init__(
        self, labels: Sequence[str], required: Collection[str] | None = None
    ) -> None:
        self.labels = self.top = tuple(labels)
        self._required = self.top if required is None else required

    def names(self) -> Sequence[str]:
        """Returns all labels, and the names above them."""
        return self.top

    def project(self, partial: PartialLabels) -> PartialLabels:
        """Returns what is known of a document, with the labels of segments. Spans with
        unknown labels are left out; tokens of required ones stay blocked."""
        labels = {None, *self.top}
        excluded = tuple([span for span in partial.excluded if span[2] in labels])
        if len(excluded) < len(partial.excluded):
            partial = replace(partial, excluded=excluded)
        return with_labels(partial, self._required)

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """Returns corrections of a user, with labels for names above them."""
        return corrections


def with_labels(partial: PartialLabels, labels: Collection[str]) -> PartialLabels:
    """Returns the same but for required spans of other labels; tokens stay blocked."""
    required = tuple([span for span in partial.required if span[2] in labels])
    if len(required) == len(partial.required):
        return partial
    return replace(partial, required=required)
