"""Projections of a label tree: to the names at its top, and to its leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from spacy.training import Example

from ..errors import Errors
from ..labels.alignment import scored_entities
from ..labels.inventory import Span, check_names
from ..labels.partial import AnySpan, PartialLabels
from ..labels.projection import IdentityProjection, Projection, with_labels
from .candidates import Place
from .hierarchy import Hierarchy
from .tree import LabelTree, check_labels_in_tree, split_labels


class TreeProjection:
    """Segments have the names at the top of a label tree.

    labels (Sequence[str]): Those of documents.
    parents (Mapping[str, str]): The parent of each name that has one.
    RAISES (ValueError): HS040 a reserved name; HS115 cycle.

    tree (LabelTree): Its leaves are the labels.
    """

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

    def project(self, known: PartialLabels) -> PartialLabels:
        """See `Projection`. A name at the top is excluded if all labels below are."""
        known = with_labels(known, self._top_of)
        excluded: list[AnySpan] = [span for span in known.excluded if span[2] is None]
        excluded += self._excluded_at_top(_with_label(known.excluded))
        required = tuple(self.spans_at_top(known.required))
        return replace(known, required=required, excluded=tuple(excluded))

    def spans_at_top(self, spans: Iterable[Span]) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): The spans with the names at the top."""
        return [(i, j, self._top_of[name]) for i, j, name in spans]

    def lift(self, corrections: PartialLabels) -> PartialLabels:
        """See `Projection`. A forbidden name forbids all labels below it, and a name is
        forbidden if all labels below it are.

        RAISES (ValueError): HS098 a span is both kept and forbidden.
        """
        forbid: list[AnySpan] = []
        for i, j, name in corrections.excluded:
            node = None if name is None else self.tree.node_of(name)
            names = [name] if node is None else self.tree.leaves(node)
            forbid += [(i, j, label) for label in names]
        forbid += [
            (i, j, name)
            for i, j, v in self.excluded(_with_label(forbid))
            for name, u in self.tree.path(v)
            if u == v
        ]
        found = replace(corrections, excluded=tuple(dict.fromkeys(forbid)))
        for span in filter(found.excludes, found.required):
            raise ValueError(Errors.HS098.format(found=span))
        return found

    def places(self, spans: Iterable[Span]) -> list[Place]:
        """RETURNS (List[Tuple[int, int, int]]): Start, end and leaf of spans."""
        leaf = self.tree.leaf
        return [(i, j, leaf[label]) for i, j, label in spans]

    def excluded(self, spans: Iterable[AnySpan]) -> list[Place]:
        """RETURNS (List[Tuple[int, int, int]]): Start, end and node of excluded spans:
        the leaves of these, and each node all of whose children are excluded there."""
        leaf = self.tree.leaf
        found = {(i, j, leaf[y]) for i, j, y in spans if y is not None and y in leaf}
        waiting = [*found]
        for i, j, v in waiting:  # grows while it is read
            above = int(self.tree.parent[v])
            children = range(*self.tree.first_child[[above, above + 1]])
            if above >= 0 and all((i, j, child) in found for child in children):
                found.add((i, j, above))
                waiting.append((i, j, above))
        return sorted(found)

    def _excluded_at_top(self, spans: Iterable[Span]) -> list[Span]:
        tree = self.tree
        places = self.excluded(spans)
        return [(i, j, tree.names[v]) for i, j, v in places if tree.level[v] == 1]


class LeafProjection(IdentityProjection):
    """Segments have the leaves of a tree for labels. The label of a required span may
    be any name of the tree, and stands for all leaves below it: see `LeafInventory`."""

    def __init__(self, labels: Sequence[str], tree: LabelTree) -> None:
        super().__init__(labels)
        self._tree = tree

    def project(self, known: PartialLabels) -> PartialLabels:
        nodes = {name: self._tree.node_of(name) for *_, name in known.required}
        there = [x for x, node in nodes.items() if node is not None]
        known = with_labels(known, there)
        labels = {None, *self.top}
        excluded = tuple(span for span in known.excluded if span[2] in labels)
        return replace(known, excluded=excluded)


def _with_label(spans: Iterable[AnySpan]) -> list[Span]:
    return [(i, j, label) for i, j, label in spans if label is not None]


def make_projection(
    settings: Hierarchy | None, labels: Sequence[str], parents: Mapping[str, str]
) -> Projection:
    """The projection of the labels of a component.

    settings (Optional[Hierarchy]): Of the component; None: its labels are in no tree.
    labels (Sequence[str]): Of documents.
    parents (Mapping[str, str]): The parent of each name that has one; ignored if the
        settings have a separator.
    RAISES (ValueError): HS040 a reserved name; HS115 cycle.
    """
    if settings is None:
        return IdentityProjection(labels)
    if settings.separator is not None:
        parents = split_labels(labels, settings.separator)
    return TreeProjection(labels, parents)


def read_parents(
    settings: Hierarchy | None,
    labels: Sequence[str],
    read: Callable[[], dict[str, str]] | None,
) -> dict[str, str]:
    """Read the tree that training is given, and check it.

    settings (Optional[Hierarchy]): Of the component.
    labels (Sequence[str]): All labels.
    read (Optional[Callable]): Returns the parent of each name.
    RETURNS (Dict[str, str]): The parent of each name; empty if none is given.
    RAISES (ValueError): HS117 a label that is not in the tree; HS118 a tree that the
        settings do not ask for, or none where they do.
    """
    is_asked = settings is not None and settings.separator is None
    if is_asked != (read is not None):
        raise ValueError(
            Errors.HS118.format(
                expected="hierarchy.separator, or hierarchy in [initialize]",
                found="there are both" if read else "there is none of them",
            )
        )
    parents = read() if read else {}
    if read:
        check_labels_in_tree(labels, parents)
    return parents


def scored_tree(
    settings: Hierarchy | None, projection: Projection, examples: Iterable[Example]
) -> dict[str, str]:
    """The tree for `score_entities`.

    settings (Optional[Hierarchy]), projection (Projection): Of the component.
    examples (Iterable[Example]): With a separator, labels of their gold that training
        did not have are in the tree, too.
    RETURNS (Dict[str, str]): The parent of each name; empty without a tree.
    """
    if not has_levels(projection):
        return {}
    separator = settings.separator if settings else None
    if separator is None:
        return {**projection.parents}
    labels = {y for eg in examples for *_, y in scored_entities(eg)[1]}
    return {**split_labels(labels, separator), **projection.parents}


def has_levels(projection: Projection) -> TypeGuard[TreeProjection]:
    """Whether there is a level below the top."""
    return isinstance(projection, TreeProjection) and projection.tree.n_levels > 1
