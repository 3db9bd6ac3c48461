"""The projection of a label tree to the names at its top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from spacy.training import Example

from ..errors import Errors
from ..labels.alignment import scored_entities
from ..labels.inventory import Span, check_names
from ..labels.partial import AnySpan, PartialLabels
from ..labels.projection import Projection, with_labels
from .candidates import Place
from .hierarchy import Hierarchy
from .tree import LabelTree, split_labels


class TreeProjection(Projection):
    """Segments have the names at the top of a label tree; `labels` are its leaves,
    `parents` the parent of each name that has one. Raises ValueError: HS040 a name is
    reserved; HS115 there is a cycle."""

    takes_labels = False

    def __init__(self, labels: Sequence[str], parents: Mapping[str, str]) -> None:
        tree = LabelTree(labels, parents)
        check_names(tree.names)
        self.labels, self.tree = tuple(labels), tree
        self.parents = tree.needed(parents)
        self.top = tuple(tree.top)
        first = tree.at_level(1)
        self._top_of = {
            name: tree.names[first[v]]
            for v in tree.leaf.values()
            for name, _ in tree.path(v)
        }

    def names(self) -> Sequence[str]:
        return [*self._top_of]

    def project(self, annotation: PartialLabels) -> PartialLabels:
        """Projects to the top, where a name is excluded if all labels below are."""
        annotation = with_labels(annotation, self._top_of)
        spans = annotation.excluded
        excluded: list[AnySpan] = [span for span in spans if span[2] is None]
        tree, places = self.tree, self.excluded(spans)
        excluded += [(i, j, tree.names[v]) for i, j, v in places if tree.level[v] == 1]
        required = tuple(self.spans_at_top(annotation.required))
        return replace(annotation, required=required, excluded=tuple(excluded))

    def spans_at_top(self, spans: Iterable[Span]) -> list[Span]:
        """Returns the spans with the names at the top."""
        return [(i, j, self._top_of[name]) for i, j, name in spans]

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """Lets a forbidden name forbid all labels below it, and forbids a name if all
        below it are. Raises ValueError HS098 if a span is both kept and forbidden."""
        forbid: list[AnySpan] = []
        for i, j, name in corrections.excluded:
            node = None if name is None else self.tree.node_of(name)
            names = [name] if node is None else self.tree.leaves(node)
            forbid += [(i, j, label) for label in names]
        forbid += [
            (i, j, name)
            for i, j, v in self.excluded(forbid)
            for name, u in self.tree.path(v)
            if u == v
        ]
        lifted = replace(corrections, excluded=tuple(dict.fromkeys(forbid)))
        for span in filter(lifted.excludes, lifted.required):
            raise ValueError(Errors.HS098.format(found=span))
        return lifted

    def places(self, spans: Iterable[Span]) -> list[Place]:
        """Returns start, end and leaf of spans."""
        leaf = self.tree.leaf
        return [(i, j, leaf[label]) for i, j, label in spans]

    def excluded(self, spans: Iterable[AnySpan]) -> list[Place]:
        """Returns start, end and node of excluded spans: the leaves of these, and each
        node all of whose children are excluded there."""
        leaf = self.tree.leaf
        places = {(i, j, leaf[y]) for i, j, y in spans if y is not None and y in leaf}
        waiting = [*places]
        for i, j, v in waiting:  # grows while it is read
            above = int(self.tree.parent[v])
            children = range(*self.tree.first_child[[above, above + 1]])
            if above >= 0 and all((i, j, child) in places for child in children):
                places.add((i, j, above))
                waiting.append((i, j, above))
        return sorted(places)


def make_projection(
    settings: Hierarchy | None, labels: Sequence[str], parents: Mapping[str, str]
) -> Projection:
    """Returns the projection of the labels of a component, which are in a tree if it
    has settings for one. The parents are ignored if the settings have a separator.
    Raises ValueError: HS040 if a name is reserved, HS115 if there is a cycle."""
    if settings is None:
        return Projection(labels)
    if settings.separator is not None:
        parents = split_labels(labels, settings.separator)
    return TreeProjection(labels, parents)


def read_parents(
    settings: Hierarchy | None,
    labels: Sequence[str],
    read: Callable[[], dict[str, str]] | None,
) -> dict[str, str]:
    """Reads the tree that training is given: returns the parent of each name, none
    without a tree. Raises ValueError: HS117 if a label is not in the tree, HS118 if the
    settings ask for no tree, or for one where there is none."""
    needs_tree = settings is not None and settings.separator is None
    if needs_tree != (read is not None):
        raise ValueError(
            Errors.HS118.format(
                expected="hierarchy.separator, or hierarchy in [initialize]",
                found="there are both" if read else "there is none of them",
            )
        )
    parents = read() if read else {}
    names = {*parents, *parents.values()}
    missing = [label for label in labels if label not in names] if read else []
    if missing:
        raise ValueError(Errors.HS117.format(found=missing[:10]))
    return parents


def scored_tree(
    settings: Hierarchy | None, projection: Projection, examples: Iterable[Example]
) -> dict[str, str]:
    """Returns the parent of each name, for `score_entities`; none without a tree. With
    a separator, labels of the gold that training did not have are in the tree, too."""
    if not has_levels(projection):
        return {}
    separator = settings.separator if settings else None
    if separator is None:
        return {**projection.parents}
    labels = {y for eg in examples for *_, y in scored_entities(eg)[1]}
    return {**split_labels(labels, separator), **projection.parents}


def has_levels(projection: Projection) -> TypeGuard[TreeProjection]:
    """Says whether there is a level below the top."""
    return isinstance(projection, TreeProjection) and projection.tree.n_levels > 1
