"""Sums over subtrees of the suffix tree, with common parts formed once.

The states of an automaton form a tree: the parent of a state is its longest proper
suffix. Edges of different labels need sums over the same subtrees, each without some of
their branches. A sum that several of them need is one node.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

# Symbols: label indices, then n_labels for ^ and n_labels + 1 for $.
Key = tuple[int, ...]


class SuffixSums:
    """Sums of earlier nodes: nodes 0 .. n_inputs - 1 are given, node n_inputs + v sums
    `inputs[v]`; suffixes has the parent of each key in the suffix tree."""

    def __init__(
        self, keys: Sequence[Key], suffixes: Sequence[Key], n_inputs: int
    ) -> None:
        self.inputs: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._n_inputs = n_inputs
        self._ids: Mapping[Key, int] = {}
        self._children: dict[Key, list[Key]] = {key: [] for key in [(), *keys]}
        for key, suffix in zip(keys, suffixes, strict=True):
            self._children[suffix].append(key)
        self._bottom_up = sorted(keys, key=len, reverse=True)
        self._subtree: dict[Key, int | None] = {}
        # Found again for each label: without them time is quadratic in labels.
        self._blocks: dict[tuple[Key, int, int], int | None] = {}
        self._position = {
            child: i
            for children in self._children.values()
            for i, child in enumerate(children)
        }
        self._parent = dict(zip(keys, suffixes, strict=True))
        self._marked: dict[int, dict[Key, set[Key]]] = {}

    def select(self, ids: Mapping[Key, int]) -> None:
        """Set the node of each key; a key that is left out adds nothing."""
        self._ids = ids
        self._blocks = {}
        for key in self._bottom_up:
            self._subtree[key] = self._node([ids.get(key), *self._all(key)])

    def mass(self, state: Key, y: int, edges: Container[Key]) -> int | None:
        """Returns the node of all states that use `(*state, y)`; None: no state
        does."""
        return self._node([self._ids.get(state), *self._below(state, y, edges)])

    def sum_of(self, nodes: Iterable[int]) -> int:
        """The node that sums some nodes, at least one."""
        found = self._node(sorted(nodes))
        assert found is not None
        return found

    def _below(self, state: Key, y: int, edges: Container[Key]) -> list[int | None]:
        """Nodes that together sum all below `state` that use its edge for y."""
        children = self._children[state]
        cut = self._cut(state, y)
        if not cut:
            return self._all(state)
        nodes: list[int | None] = []
        left = 0
        for child in cut:
            at = self._position[child]
            nodes += self._range(state, left, at)
            left = at + 1
            if (*child, y) not in edges:  # an edge of its own further down only
                nodes.append(self.mass(child, y, edges))
        return nodes + self._range(state, left, len(children))

    def mark(self, owners: Iterable[Key], y: int) -> None:
        """Mark the way from the root to each state that owns an edge for y."""
        marks: dict[Key, set[Key]] = {}
        for owner in owners:
            while owner and owner not in marks.get(self._parent[owner], ()):
                marks.setdefault(self._parent[owner], set()).add(owner)
                owner = self._parent[owner]
        self._marked[y] = marks

    def _cut(self, state: Key, y: int) -> list[Key]:
        """Children with a y edge of their own, or one somewhere below them."""
        found = self._marked[y].get(state, ())
        return sorted(found, key=self._position.__getitem__)

    def _all(self, state: Key) -> list[int | None]:
        return self._range(state, 0, len(self._children[state]))

    def _range(self, state: Key, left: int, right: int) -> list[int | None]:
        """Aligned dyadic blocks that cover children[left:right]: O(log) nodes."""
        nodes: list[int | None] = []
        while left < right:
            size = 1
            while left % (2 * size) == 0 and left + 2 * size <= right:
                size *= 2
            nodes.append(self._block(state, left, size))
            left += size
        return nodes

    def _block(self, state: Key, left: int, size: int) -> int | None:
        if size == 1:
            return self._subtree[self._children[state][left]]
        place = state, left, size
        if place not in self._blocks:
            half = size // 2
            parts = (
                self._block(state, left, half),
                self._block(state, left + half, half),
            )
            self._blocks[place] = self._node(parts)
        return self._blocks[place]

    def _node(self, inputs: Iterable[int | None]) -> int | None:
        key = tuple(i for i in inputs if i is not None)
        if len(key) < 2:
            return key[0] if key else None
        if key not in self._known:
            self._known[key] = self._n_inputs + len(self.inputs)
            self.inputs.append(key)
        return self._known[key]
