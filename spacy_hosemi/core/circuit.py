"""Sums over subtrees of the suffix tree, each written down once.

The states of an automaton form a tree: the parent of a state is its longest proper
suffix. Edges of different labels need sums over the same subtrees, with some branches
cut out; what they share is one node.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

# Symbols: label indices, then n_labels for ^ and n_labels + 1 for $.
Key = tuple[int, ...]


class Circuit:
    """Sums over subtrees of the suffix tree, each written down once.

    Nodes 0 .. P-1 are the states; node P + v sums `inputs[v]`.
    """

    def __init__(self, suffixes: list[Key], states: Sequence[Key]) -> None:
        self.inputs: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._n_states = len(states)
        self._ids = {key: i for i, key in enumerate(states)}
        self._children: dict[Key, list[Key]] = {key: [] for key in [(), *states]}
        for key, suffix in zip(states, suffixes, strict=True):
            self._children[suffix].append(key)
        self._subtree: dict[Key, int] = {}
        self._position = {
            child: i
            for children in self._children.values()
            for i, child in enumerate(children)
        }
        for key in sorted(states, key=len, reverse=True):  # children before parents
            self._subtree[key] = self._node([self._ids[key], *self._all(key)])
        self._parent = dict(zip(states, suffixes, strict=True))
        self._marked: dict[int, dict[Key, set[Key]]] = {}

    def mass(self, state: Key, y: int, edges: Container[Key]) -> int | None:
        """The node that sums all states whose edge for y is the one of `state`.

        state (Key): A state that owns an edge for y, or () for the root.
        y (int): Label index.
        edges (Container[Key]): All edges, as `(*state, y)`.
        RETURNS (Optional[int]): None if no state uses that edge.
        """
        inputs = [self._ids[state]] if state else []
        inputs += self._below(state, y, edges)
        return self._node(inputs) if inputs else None

    def _below(self, state: Key, y: int, edges: Container[Key]) -> list[int]:
        """Nodes that together sum the subtrees under `state` that use its y edge."""
        children = self._children[state]
        cut = self._cut(state, y)
        if not cut:
            return self._all(state)
        nodes: list[int] = []
        left = 0
        for child in cut:
            at = self._position[child]
            nodes += self._range(state, left, at)
            left = at + 1
            if (*child, y) not in edges:  # an edge of its own further down only
                inputs = [self._ids[child], *self._below(child, y, edges)]
                nodes.append(self._node(inputs))
        return nodes + self._range(state, left, len(children))

    def mark(self, owners: Iterable[Key], y: int) -> None:
        """Note the way from the root to each state that owns an edge for y."""
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

    def _all(self, state: Key) -> list[int]:
        return self._range(state, 0, len(self._children[state]))

    def _range(self, state: Key, left: int, right: int) -> list[int]:
        """Aligned dyadic blocks that cover children[left:right]: O(log) nodes."""
        nodes = []
        while left < right:
            size = 1
            while left % (2 * size) == 0 and left + 2 * size <= right:
                size *= 2
            nodes.append(self._block(state, left, size))
            left += size
        return nodes

    def _block(self, state: Key, left: int, size: int) -> int:
        if size == 1:
            return self._subtree[self._children[state][left]]
        half = size // 2
        return self._node(
            [self._block(state, left, half), self._block(state, left + half, half)]
        )

    def _node(self, inputs: list[int]) -> int:
        if len(inputs) == 1:
            return inputs[0]
        key = tuple(inputs)
        if key not in self._known:
            self._known[key] = self._n_states + len(self.inputs)
            self.inputs.append(key)
        return self._known[key]
