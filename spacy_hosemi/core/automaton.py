"""Label patterns compiled to states, edges and an additions-only circuit.

States are `^`, the labels and all proper prefixes of the patterns (the forward states
of Nguyen, Ye, Lee and Chieu 2011). An *edge* `(r, y)` exists where `r y` is a state or
a pattern, and for every label at the root. Any state `p` that has no edge of its own
for the label `y` uses the edge of its longest proper suffix that has one: the patterns
that end there are the same. So the sums over all `|P| L` arcs of the paper become sums
over the subtrees of the suffix ("fail") tree, which edges of different labels share:

    mass[r, y] = sum of alpha[p] over the states p that use the edge (r, y)
    A[q]       = sum over edges (r, y) -> q of mass[r, y] * exp(weight[r, y])

The circuit lists those sums once, as nodes that add up earlier nodes. It has additions
only, so nothing cancels; the backward pass is the same circuit transposed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import Errors
from .circuit import Circuit, Key

BEGIN, END = "^", "$"


class PatternAutomaton:
    """The states in which label patterns leave a segmentation.

    labels (Iterable[str]): L names; index 0 is outside.
    patterns (Iterable[Sequence[str]]): M label patterns of two or more names; "^" may
        stand first, "$" last. The order of a pattern is its length - 1.
    observed (Iterable[Sequence[str]]): Patterns with feature columns of their own; not
        supported by this version.
    RAISES (ValueError): HS001 labels; HS002 to HS006 patterns.
    """

    def __init__(
        self,
        labels: Iterable[str],
        patterns: Iterable[Sequence[str]] = (),
        *,
        observed: Iterable[Sequence[str]] = (),
    ) -> None:
        self.labels = tuple(labels)
        self.patterns = tuple(tuple(pattern) for pattern in patterns)
        self.observed = tuple(tuple(pattern) for pattern in observed)
        _check_labels(self.labels)
        if self.observed:
            raise ValueError(Errors.HS006.format(found=self.observed))
        keys = _pattern_keys(self.labels, self.patterns)
        self._build_states(keys)
        self._build_edges(keys)
        self._build_circuit()
        self._build_bounds()

    @property
    def n_labels(self) -> int:
        """L, outside included."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """C: one column for each label, then one for each observed pattern."""
        return len(self.labels) + len(self.observed)

    @property
    def n_states(self) -> int:
        """`^`, the labels and the other proper prefixes of the patterns."""
        return len(self._states)

    def __reduce__(self):
        return PatternAutomaton.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return (
            f"PatternAutomaton({len(self.labels)} labels, {len(self.patterns)} "
            f"patterns, {self.n_states} states)"
        )

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Labels and patterns as JSON; the rest is derived."""
        return json.dumps(
            {
                "labels": self.labels,
                "patterns": self.patterns,
                "observed": self.observed,
            }
        ).encode("utf8")

    @classmethod
    def from_bytes(cls, data: bytes) -> PatternAutomaton:
        """Rebuild an automaton.

        data (bytes): From `to_bytes`.
        RETURNS (PatternAutomaton): Equal to the saved one.
        RAISES (ValueError): HS007 if the bytes are truncated or something else.
        """
        try:
            args = json.loads(data)
            labels, patterns = args["labels"], args["patterns"]
        except (ValueError, KeyError, TypeError) as e:
            raise ValueError(Errors.HS007.format(found=e)) from None
        return cls(labels, patterns, observed=args.get("observed", ()))

    def completed(self, labels: Iterable[int]) -> list[int]:
        """Which patterns a sequence of segment labels completes.

        labels (Iterable[int]): Label indices of the segments of a whole document.
        RETURNS (List[int]): Pattern indices, one for each time that one fires.
        """
        found: list[int] = []
        state: Key = (self.n_labels,)
        for y in (*labels, self.n_labels + 1):
            edge = self._owner(state, y)
            target = -1 if edge < 0 else int(self.edge_target[edge])
            while edge >= 0:
                if self.edge_pattern[edge] >= 0:
                    found.append(int(self.edge_pattern[edge]))
                edge = int(self.edge_suffix[edge])
            if target >= 0:
                state = self._states[target]
        return found

    def _build_states(self, keys: list[Key]) -> None:
        # States stand label by label, short before long, so that the states of one
        # label are neighbours and a segment's weight multiplies a contiguous block.
        begin = self.n_labels
        prefixes: set[Key] = {(begin,)} | {(y,) for y in range(self.n_labels)}
        for key in keys:
            prefixes.update(key[:k] for k in range(1, len(key)))
        order = sorted(
            prefixes, key=lambda p: (-1 if p == (begin,) else p[-1], len(p), p)
        )
        self._states = tuple(order)
        self._state_ids = {key: i for i, key in enumerate(order)}
        last = [-1 if p == (begin,) else p[-1] for p in order]
        # states of label y: first_state[y]:first_state[y + 1]; state 0 is ^
        self.first_state = np.searchsorted(last, np.arange(self.n_labels + 1)).astype(
            np.int32
        )

    def _suffix(self, key: Key) -> Key:
        """The longest proper suffix that is a state, or () for the root."""
        return next(
            (key[i:] for i in range(1, len(key)) if key[i:] in self._state_ids), ()
        )

    def _build_edges(self, keys: list[Key]) -> None:
        pattern_ids = {key: m for m, key in enumerate(keys)}
        own = {key for key in self._states if len(key) > 1} | set(keys)
        own |= {(y,) for y in range(self.n_labels)}
        # Short before long: the edge that a suffix owns is always made earlier.
        ordered = sorted(own, key=lambda key: (len(key), key))
        self._edge_ids = {key: e for e, key in enumerate(ordered)}
        end = self.n_labels + 1
        n_edges = len(ordered)
        self.edge_pattern = np.full(n_edges, -1, np.int32)
        self.edge_suffix = np.full(n_edges, -1, np.int32)
        target = np.full(n_edges, -1, np.int32)
        for e, key in enumerate(ordered):
            self.edge_pattern[e] = pattern_ids.get(key, -1)
            if len(key) > 1:
                self.edge_suffix[e] = self._owner(self._suffix(key[:-1]), key[-1])
            if key in self._state_ids:
                target[e] = self._state_ids[key]
            elif key[-1] != end:
                target[e] = target[self.edge_suffix[e]]
        self.edge_target = target
        # state p ends a document through this edge (-1: no pattern ends in $ there)
        self.final_edge = np.array(
            [self._owner(p, end) for p in self._states], np.int32
        )
        # The edges that a state owns, for walking from left to right: the edge of
        # (p, y) is the first one found on the way p, suffix of p, .., root (id P).
        states = {key: i for i, key in enumerate([*self._states, ()])}
        self.suffix_state = np.array(
            [states[self._suffix(p)] for p in self._states], np.int32
        )
        owned = sorted((states[k[:-1]], k[-1], e) for k, e in self._edge_ids.items())
        owned = [triple for triple in owned if triple[1] != end]
        self.first_owned = np.searchsorted(
            [p for p, _, _ in owned], np.arange(self.n_states + 2)
        ).astype(np.int32)
        self.owned_label = np.array([y for _, y, _ in owned], np.int32)
        self.owned_edge = np.array([e for _, _, e in owned], np.int32)

    def _owner(self, state: Key, y: int) -> int:
        """The edge for label y that `state` uses: its own or that of a suffix."""
        while True:
            edge = self._edge_ids.get((*state, y))
            if edge is not None or not state:
                return -1 if edge is None else edge
            state = self._suffix(state)

    def _build_circuit(self) -> None:
        circuit = Circuit([self._suffix(p) for p in self._states], self._states)
        mass: list[tuple[int, int]] = []  # (edge, node)
        owners: dict[int, list[Key]] = {y: [] for y in range(self.n_labels)}
        for key in self._edge_ids:
            if len(key) > 1 and key[-1] in owners:
                owners[key[-1]].append(key[:-1])
        for y, states in owners.items():
            circuit.mark(states, y)
        for key, edge in self._edge_ids.items():
            if self.edge_target[edge] >= 0:
                node = circuit.mass(key[:-1], key[-1], self._edge_ids)
                if node is not None:
                    mass.append((edge, node))
        mass.sort(key=lambda pair: (self.edge_target[pair[0]], pair[0]))
        self.arc_edge = np.array([e for e, _ in mass], np.int32)
        self.arc_node = np.array([v for _, v in mass], np.int32)
        targets = self.edge_target[self.arc_edge]
        # arcs into state q: first_arc[q]:first_arc[q + 1]
        self.first_arc = np.searchsorted(targets, np.arange(self.n_states + 1)).astype(
            np.int32
        )
        # inner node v sums node_input[first_input[v]:first_input[v + 1]]
        sizes = [len(inputs) for inputs in circuit.inputs]
        self.first_input = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        self.node_input = np.array([v for i in circuit.inputs for v in i], np.int32)

    def _build_bounds(self) -> None:
        # Pattern lengths, for the bound on how much a longer history can change.
        self.pattern_length = np.array([len(p) for p in self.patterns], np.int32)


def _check_labels(labels: tuple[str, ...]) -> None:
    reserved = {BEGIN, END} & set(labels)
    if not labels or len(set(labels)) != len(labels) or reserved:
        raise ValueError(Errors.HS001.format(found=labels))


def _pattern_keys(
    labels: tuple[str, ...], patterns: tuple[tuple[str, ...], ...]
) -> list[Key]:
    ids = {label: y for y, label in enumerate(labels)}
    ids[BEGIN], ids[END] = len(labels), len(labels) + 1
    keys: list[Key] = []
    seen: set[Key] = set()
    for pattern in patterns:
        if len(pattern) < 2:
            raise ValueError(Errors.HS002.format(pattern=pattern, found=len(pattern)))
        for i, name in enumerate(pattern):
            if name not in ids:
                raise ValueError(
                    Errors.HS003.format(pattern=pattern, found=name, expected=labels)
                )
            if (name == BEGIN and i > 0) or (name == END and i < len(pattern) - 1):
                raise ValueError(Errors.HS004.format(pattern=pattern, found=name))
        key = tuple(ids[name] for name in pattern)
        if key in seen:
            raise ValueError(Errors.HS005.format(pattern=pattern))
        seen.add(key)
        keys.append(key)
    return keys
