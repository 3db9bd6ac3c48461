"""Label trees: nodes above labels, numbered level by level.

A label is a leaf. One that has labels below it, such as "Person" beside
"Person/Artist", is a leaf of its own under the inner node of that name. A node with a
single child decides nothing: the two are one node here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from ..arrays import Bools, Ints
from ..errors import Errors
from ..values import choice
from ..values import read as check

SECOND_PARENT = ("error", "ignore")


class LabelTree:
    """Numbers V nodes from the top level down, from the labels, which are leaves, and
    the parent of each name below the top; names without a label below them are left
    out. Raises ValueError HS115 if there is a cycle."""

    def __init__(self, labels: Sequence[str], parents: Mapping[str, str]) -> None:
        children: dict[str | None, list[str]] = {None: []}
        for label in labels:  # and all names above it
            way = way_up(label, parents)
            for name, above_name in zip(way, [*way[1:], None]):
                siblings = children.setdefault(above_name, [])
                if name in siblings:
                    break
                siblings.append(name)
        is_label = {*labels}.__contains__
        # Breadth first; a chain of single children becomes one node.
        waiting = [(name, -1) for name in children[None]]
        self.names: list[str] = []  # of each node; that of a leaf is its label
        self._chains: list[list[str]] = []
        self.leaf: dict[str, int] = {}  # the node of each label
        parent, counts = [], []
        for name, above in waiting:  # grows while it is read
            chain = [name]
            below = children.get(name, [])
            while len(below) == 1 and not is_label(chain[-1]):
                chain += below
                below = children.get(chain[-1], [])
            node = len(self.names)
            self.names.append(chain[-1])
            self._chains.append(chain)
            parent.append(above)
            is_own = above >= 0 and self.names[above] == name
            below = [] if is_own else below
            if is_label(chain[-1]) and not below:
                self.leaf[chain[-1]] = node
            elif is_label(chain[-1]):
                below = [chain[-1], *below]
            counts.append(len(below))
            waiting += [(child, node) for child in below]
        self.parent = np.array(parent, np.int32)  # [V]; -1 at the top
        n_top = len(children[None])
        # [V + 1]: the children of v are first_child[v] to first_child[v + 1] - 1.
        self.first_child = np.cumsum([n_top, *counts]).astype(np.int32)
        self.level = np.ones(len(parent), np.int32)  # from 1 at the top
        for v, above in enumerate(parent):
            if above >= 0:
                self.level[v] = self.level[above] + 1
        self.n_levels = int(self.level.max(initial=1))
        nodes = np.arange(len(parent), dtype=np.int32)
        self._at_level = [nodes]
        for level in range(self.n_levels - 1, 0, -1):
            nodes = np.where(self.level[nodes] > level, self.parent[nodes], nodes)
            self._at_level.insert(0, nodes)
        self._levels_of: dict[int, list[tuple[str, int]]] = {}

    @property
    def top(self) -> list[str]:
        """Returns the names of the nodes of the first level."""
        return [self.names[v] for v in np.flatnonzero(self.level == 1)]

    def needed(self, parents: Mapping[str, str]) -> dict[str, str]:
        """Returns the parents of names in this tree."""
        named = {name for names in self._chains for name in names}
        return {x: above for x, above in parents.items() if x in named}

    def n_children(self, nodes: Ints) -> Ints:
        """Returns the number of children of each node; 0 for outside, -1."""
        counts = self.first_child[nodes + 1] - self.first_child[nodes]
        return np.where(nodes < 0, 0, counts).astype(np.int32)

    def at_level(self, level: int) -> Ints:
        """Returns [V]: each node's ancestor at a level; above it, the node itself."""
        return self._at_level[min(level, self.n_levels) - 1]

    def frontier(self, level: int) -> list[int]:
        """Returns the nodes of a level and the leaves of levels above."""
        is_leaf = np.diff(self.first_child) == 0
        chosen = (self.level == level) | (is_leaf & (self.level < level))
        nodes: list[int] = np.flatnonzero(chosen).tolist()
        return nodes

    def ways(self, node: int) -> list[int]:
        """Returns the nodes from the top to a node."""
        way: list[int] = []
        while node >= 0:
            way.append(node)
            node = int(self.parent[node])
        return way[::-1]

    def share_way(self, left: Ints, right: Ints) -> Bools:
        """Returns whether one node of each pair is above the other or the same [K]."""
        lower = np.minimum(self.level[left], self.level[right])
        is_shared = np.zeros(len(left), bool)
        for level in np.unique(lower).tolist():
            here, at = lower == level, self.at_level(level)
            is_shared[here] = at[left[here]] == at[right[here]]
        return is_shared

    def node_of(self, name: str) -> int | None:
        """Returns the node with a name, which is a leaf for a label; else None."""
        if name in self.leaf:
            return self.leaf[name]
        for node, chain in enumerate(self._chains):
            if name in chain:
                return node
        return None

    def leaves(self, node: int) -> list[str]:
        """Returns the labels at or below a node."""
        nodes = np.fromiter(self.leaf.values(), np.int32, len(self.leaf))
        at = self.at_level(int(self.level[node]))[nodes]
        return [label for label, v in zip(self.leaf, at.tolist()) if v == node]

    def path(self, node: int) -> list[tuple[str, int]]:
        """Returns the names from the top to a node, with their nodes. The name of a
        label with others below it comes twice: for all of them, and for itself."""
        return [(name, v) for v in self.ways(node) for name in self._chains[v]]

    def n_sure(self, label: str, kept: str | None) -> int:
        """Returns how many names of the path to a label, from the top, are certain if a
        user gave the span a name; 0 if the name is None or unknown."""
        node = None if kept is None else self.node_of(kept)
        if node is None:
            return 0
        levels = (level for _, level in self.levels_of(self.leaf[label]))
        return sum(level <= self.level[node] for level in levels)

    def levels_of(self, node: int) -> list[tuple[str, int]]:
        """Returns the names from the top to a node, see `path`, with their levels."""
        if node not in self._levels_of:
            names = [(name, int(self.level[v])) for name, v in self.path(node)]
            self._levels_of[node] = names
        return self._levels_of[node]


def way_up(label: str, parents: Mapping[str, str]) -> list[str]:
    """Returns a label, its parent, .., the top; raises ValueError HS115 for a cycle."""
    way = [label]
    while (above := parents.get(way[-1])) is not None:
        if above in way:
            cycle = " -> ".join([*way[way.index(above) :], above])
            raise ValueError(Errors.HS115.format(found=cycle))
        way.append(above)
    return way


def split_labels(labels: Iterable[str], separator: str) -> dict[str, str]:
    """Returns the parent of each label, and of each name above one, as "Person/Artist"
    with the separator "/" names "Person"."""
    parents = {}
    for label in labels:
        while above := label.rpartition(separator)[0]:
            parents[label] = above
            label = above
    return parents


def make_tree_reader(
    path: str | Path, second_parent: str = "error"
) -> Callable[[], dict[str, str]]:
    """Registered as "spacy_hosemi.read_label_tree.v1" in `readers`: reads the parent of
    each child. Raises ValueError: HS042 second_parent; when it reads, HS116 a child has
    two parents, HS119 a line is malformed.

    path (Union[str, Path]): A file of lines with child and parent, a tab between them.
    second_parent (str): "error"; or "ignore": a child has the first of its parents, and
        lines that would close a cycle are skipped.
    """
    check("second_parent", choice(SECOND_PARENT), second_parent)

    def read() -> dict[str, str]:
        parents: dict[str, str] = {}
        with open(path, encoding="utf8", newline="") as lines:
            for child, parent in _rows(lines, path):
                first = parents.get(child)
                if second_parent == "ignore":
                    if first is None and child not in way_up(parent, parents):
                        parents[child] = parent
                elif first not in (None, parent):
                    found = {"child": child, "found": first, "other": parent}
                    raise ValueError(Errors.HS116.format(**found))
                else:
                    parents[child] = parent
        return parents

    return read


def _rows(lines: Iterable[str], path: str | Path) -> Iterator[tuple[str, str]]:
    """Yields child and parent; raises ValueError HS119 for a line without the two."""
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    for line in count(1):
        try:
            if (row := next(rows, None)) is None:
                return
            if row and (len(row) != 2 or not all(row)):
                raise csv.Error("\t".join(row)[:200])
        except (csv.Error, UnicodeDecodeError) as e:
            found = Errors.HS119.format(path=path, line=line, found=str(e))
            raise ValueError(found) from None
        if row:
            yield row[0], row[1]
