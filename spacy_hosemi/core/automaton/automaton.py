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

*Observed* patterns are states too. The states of a label fall into *groups*: which
observed patterns a segment that enters the state completes, and so which columns it
reads. States of a group are neighbours. A *grammar* over the labels multiplies the
states by those of its automaton, as far as they can be reached together.

Patterns that are *tied* always have the same weight. Edges to one state that complete
the same but for that are one arc, from a node that sums what uses any of them:

    A[q] = sum over ties t of exp(weight[t]) * sum of mass[r, y] over edges of t to q
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from .grammar import BEGIN, END, LabelGrammar, check_labels, compile_grammar
from .suffix_sums import Circuit, Key
from .sum_schedule import Schedule

# States with a grammar: beyond that no document could be decoded in reasonable time.
MAX_STATES = 100_000


class PatternAutomaton:
    """The states in which label patterns leave a segmentation.

    labels (Iterable[str]): L names; index 0 is outside.
    patterns (Iterable[Sequence[str]]): M label patterns of two or more names; "^" may
        stand first, "$" last. The order of a pattern is its length - 1.
    observed (Iterable[Sequence[str]]): Patterns with a feature column of their own; "^"
        may stand first.
    grammar (Optional[LabelGrammar]): What sequences of labels must satisfy.
    tied (Optional[Sequence[int]]): [M] For each pattern the first one that always has
        the same weight, which may be itself; None: each has its own. Derivatives by
        their weights are right in sum.
    RAISES (ValueError): HS001 labels; HS002 to HS006 patterns; HS075, HS076 grammar;
        HS122 tied.
    """

    def __init__(
        self,
        labels: Iterable[str],
        patterns: Iterable[Sequence[str]] = (),
        *,
        observed: Iterable[Sequence[str]] = (),
        grammar: LabelGrammar | None = None,
        tied: Sequence[int] | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.patterns = tuple(tuple(pattern) for pattern in patterns)
        self.observed = tuple(tuple(pattern) for pattern in observed)
        self.grammar = grammar
        self.tied = check_tied(tied, len(self.patterns))
        self.layout: object = None  # the kernels' view of the arrays below
        self.histories: object = None  # see there
        self.arcs_of: object = None  # those of `starts`
        check_labels(self.labels)
        keys = _pattern_keys(self.labels, self.patterns)
        observed_keys = _pattern_keys(self.labels, self.observed)
        for pattern in self.observed:
            if pattern[-1] == END:
                raise ValueError(Errors.HS006.format(found=pattern))
        self._set_rules()
        self._build_keys(keys, observed_keys)
        self._build_edges(keys)
        self._build_states(observed_keys)
        self._build_circuit()
        # Pattern lengths, for the bound on how much a longer history can change: by the
        # weights of patterns alone, if that is all that a history decides.
        self.pattern_length = np.array([len(p) for p in self.patterns], np.int32)
        self.has_bounded_gap = grammar is None and all(
            len(pattern) < 3 for pattern in self.observed
        )

    @cached_property
    def without_grammar(self) -> PatternAutomaton:
        """The same labels and patterns, without rules."""
        return PatternAutomaton(
            self.labels, self.patterns, observed=self.observed, tied=self.tied
        )

    @cached_property
    def without_observed(self) -> PatternAutomaton:
        """The same labels, patterns and rules; no feature columns but the labels'."""
        return PatternAutomaton(
            self.labels, self.patterns, grammar=self.grammar, tied=self.tied
        )

    @cached_property
    def unsplit(self) -> PatternAutomaton:
        """With observed patterns as patterns like others, behind those that there are:
        all that is needed where they are read at the start of segments alone."""
        known = set(self.patterns)
        more = [z for z in self.observed if z not in known]
        made = PatternAutomaton(
            self.labels, [*self.patterns, *more], grammar=self.grammar
        )
        made.has_bounded_gap = self.has_bounded_gap
        return made

    @cached_property
    def edge_of_observed(self) -> NDArray[np.int32]:
        """edge [C - L] on which `unsplit` completes each observed pattern."""
        patterns = {pattern: m for m, pattern in enumerate(self.unsplit.patterns)}
        edge = np.zeros(len(patterns) + 1, np.int32)
        edge[self.unsplit.edge_pattern] = np.arange(len(self.unsplit.edge_pattern))
        return edge[[patterns[pattern] for pattern in self.observed]]

    def arcs_above(
        self, edges: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The arcs whose edges complete all that some edges do.

        edges (int32 [K]): Distinct.
        RETURNS (Tuple[int32 [E + 1], int32 [N]]): first and arc: those of edge e are
            arc[first[e]:first[e + 1]].
        """
        is_asked = np.zeros(len(self.edge_suffix) + 1, bool)  # -1: no suffix
        is_asked[edges] = True
        edge, arc = self.arc_edge, np.arange(len(self.arc_edge), dtype=np.int32)
        found = [(edge[:0], arc[:0])]
        while len(edge):
            found.append((edge[is_asked[edge]], arc[is_asked[edge]]))
            edge = self.edge_suffix[edge]
            edge, arc = edge[edge >= 0], arc[edge >= 0]
        above, arcs = (np.concatenate(part) for part in zip(*found))
        first = np.searchsorted(np.sort(above), np.arange(len(self.edge_suffix) + 1))
        return first.astype(np.int32), arcs[np.argsort(above, kind="stable")]

    @cached_property
    def readers(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """first [C + 1] and group: group[first[c]:first[c + 1]] read column c."""
        order = np.argsort(self.group_column, kind="stable")
        groups = np.arange(self.n_groups, dtype=np.int32)
        group = np.repeat(groups, np.diff(self.first_column))[order]
        columns = np.arange(self.n_columns + 1)
        return np.searchsorted(self.group_column[order], columns), group

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
        """`^`, the labels, other proper prefixes of patterns, observed patterns; each
        as often as there are states of the grammar with which it can be reached."""
        return len(self.state_key)

    @property
    def n_groups(self) -> int:
        """G: combinations of a label and observed patterns; L without the latter."""
        return len(self.group_label)

    def __reduce__(self):
        return PatternAutomaton.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return (
            f"PatternAutomaton({len(self.labels)} labels, {len(self.patterns)} "
            f"patterns, {self.n_states} states)"
        )

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Labels, patterns, rules, ties as JSON; more is derived."""
        parts: dict[str, object] = {
            "labels": self.labels,
            "patterns": self.patterns,
            "observed": self.observed,
        }
        if self.grammar is not None:
            parts["rules"] = self.grammar.rules
        if self.tied is not None:
            parts["tied"] = self.tied
        return json.dumps(parts).encode("utf8")

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
        grammar = compile_grammar(labels, args["rules"]) if "rules" in args else None
        return cls(
            labels,
            patterns,
            observed=args.get("observed", ()),
            grammar=grammar,
            tied=args.get("tied"),
        )

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
                state = self._keys[target]
        return found

    def observed_read(
        self, labels: NDArray[np.int32], first: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which observed patterns segments complete, whatever the grammar says.

        labels (int32 [K]): Label indices of the segments of documents, one behind the
            other.
        first (intp [D + 1]): The first segment of each document, and K.
        RETURNS (Tuple[intp [N], int64 [N]]): A segment and the column of a pattern that
            it completes, in any order.
        """
        keys, target, column_of = self._endings
        width = self.n_labels + 1
        doc = np.repeat(np.arange(len(first) - 1), np.diff(first))
        names = np.insert(labels, first[:-1], self.n_labels)  # ^ before each document
        segment = np.arange(len(labels))
        place, node = segment + doc + 1, np.zeros(len(labels), np.int64)
        segments, columns = [segment[:0]], [node[:0]]
        while len(segment) and len(keys):  # from the last name of patterns to the first
            wanted = node * width + names[place]
            at = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
            goes_on = keys[at] == wanted
            segment, node = segment[goes_on], target[at[goes_on]]
            place = place[goes_on] - 1  # nothing goes on before ^
            column = column_of[node]
            segments.append(segment[column >= 0])
            columns.append(column[column >= 0])
        return np.concatenate(segments), np.concatenate(columns)

    @cached_property
    def _endings(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Observed patterns from their last name on.

        RETURNS (Tuple[int64 [A], int64 [A], int64 [A + 1]]): Of each arc node * (L + 1)
            + label, ascending, and the node where it goes; of each node the column of
            the pattern that begins there, -1 if none does. Node 0 is the end.
        """
        index = {name: y for y, name in enumerate((*self.labels, BEGIN))}
        arcs: dict[int, int] = {}
        columns = [-1]
        for column, pattern in enumerate(self.observed, self.n_labels):
            node = 0
            for name in reversed(pattern):
                arc = node * (self.n_labels + 1) + index[name]
                node = arcs.setdefault(arc, len(columns))
                columns += [-1] * (node == len(columns))
            columns[node] = column
        keys = np.array(sorted(arcs), np.int64)
        target = np.array([arcs[key] for key in keys.tolist()], np.int64)
        return keys, target, np.array(columns, np.int64)

    def _set_rules(self) -> None:
        """The grammar's tables; without one, a single state that permits all."""
        grammar = self.grammar
        if grammar is not None and grammar.labels != self.labels:
            raise ValueError(
                Errors.HS075.format(found=grammar.labels, expected=self.labels)
            )
        self.rule_next = np.zeros((1, self.n_labels), np.int32)
        self.rule_accepts = np.ones(1, bool)
        if grammar is not None:
            self.rule_next, self.rule_accepts = grammar.transitions, grammar.accepting

    def _build_keys(self, keys: list[Key], observed_keys: list[Key]) -> None:
        """Label histories that patterns tell apart, short before long."""
        begin = self.n_labels
        histories: set[Key] = {(begin,), *observed_keys}
        histories |= {(y,) for y in range(self.n_labels)}
        for key in [*keys, *observed_keys]:
            histories.update(key[:k] for k in range(1, len(key)))
        self._keys = sorted(histories, key=lambda key: (len(key), key))
        self._key_ids = {key: i for i, key in enumerate(self._keys)}

    def _suffix(self, key: Key) -> Key:
        """The longest proper suffix that is a history, or () for the root."""
        return next(
            (key[i:] for i in range(1, len(key)) if key[i:] in self._key_ids), ()
        )

    def _build_edges(self, keys: list[Key]) -> None:
        pattern_ids = {key: m for m, key in enumerate(keys)}
        own = {key for key in self._keys if len(key) > 1} | set(keys)
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
            if key in self._key_ids:
                target[e] = self._key_ids[key]
            elif key[-1] != end:
                target[e] = target[self.edge_suffix[e]]
        self.edge_target = target
        # The edges that a history owns, for walking from left to right: the edge of
        # (p, y) is the first one found on the way p, suffix of p, .., root (id K).
        ids = {key: i for i, key in enumerate([*self._keys, ()])}
        self.suffix_key = np.array([ids[self._suffix(p)] for p in self._keys], np.int32)
        owned = sorted((ids[k[:-1]], k[-1], e) for k, e in self._edge_ids.items())
        owned = [triple for triple in owned if triple[1] != end]
        self.first_owned = np.searchsorted(
            [p for p, _, _ in owned], np.arange(len(self._keys) + 2)
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

    def _build_states(self, observed_keys: list[Key]) -> None:
        """Histories times states of the grammar, group by group."""
        reads = {
            key: tuple(c for c, z in enumerate(observed_keys) if key[-len(z) :] == z)
            for key in self._keys
        }
        begin = (self.n_labels,)
        groups = sorted({(key[-1], reads[key]) for key in self._keys if key != begin})
        group_ids = {group: g for g, group in enumerate(groups)}
        self.group_label = np.array([y for y, _ in groups], np.int32)
        # columns that group g reads: group_column[first_column[g]:first_column[g + 1]]
        columns = [[y, *(self.n_labels + c for c in found)] for y, found in groups]
        self.first_column = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        self.group_column = np.array([c for found in columns for c in found], np.int32)

        def place(pair: tuple[int, int]) -> tuple[int, int, int]:
            key = self._keys[pair[0]]
            group = -1 if key == begin else group_ids[key[-1], reads[key]]
            return group, *pair

        pairs = sorted(self._reachable(), key=place)
        self.state_key = np.array([k for k, _ in pairs], np.int32)
        self.state_rule = np.array([d for _, d in pairs], np.int32)
        # states of group g: first_state[g]:first_state[g + 1]; state 0 is ^
        self.first_state = np.searchsorted(
            [place(pair)[0] for pair in pairs], np.arange(len(groups) + 1)
        ).astype(np.int32)
        self.state_group = np.array([place(pair)[0] for pair in pairs], np.int32)
        # state of a history and a state of the grammar, -1 where there is none
        self.state_of = np.full((len(self._keys), len(self.rule_next)), -1, np.int32)
        self.state_of[self.state_key, self.state_rule] = np.arange(len(pairs))
        # state p ends a document through this edge (-1: no pattern ends in $ there)
        final = [self._owner(key, self.n_labels + 1) for key in self._keys]
        self.final_edge = np.array(final, np.int32)[self.state_key]
        self.is_final = self.rule_accepts[self.state_rule].astype(np.uint8)

    def _reachable(self) -> list[tuple[int, int]]:
        """Pairs of a history and a state of the grammar that can occur together."""
        if self.grammar is None:
            return [(k, 0) for k in range(len(self._keys))]
        targets = [
            [int(self.edge_target[self._owner(key, y)]) for y in range(self.n_labels)]
            for key in self._keys
        ]
        found = [(self._key_ids[(self.n_labels,)], 0)]
        known = set(found)
        for k, d in found:  # grows while it is read
            for y, target in enumerate(targets[k]):
                pair = target, int(self.rule_next[d, y])
                if pair[1] >= 0 and pair not in known:
                    known.add(pair)
                    found.append(pair)
            if len(found) > MAX_STATES:
                raise ValueError(
                    Errors.HS076.format(
                        found=len(self._keys),
                        rules=len(self.rule_next),
                        limit=MAX_STATES,
                    )
                )
        return found

    def _build_circuit(self) -> None:
        suffixes = [self._suffix(key) for key in self._keys]
        circuit = Circuit(self._keys, suffixes, self.n_states)
        owners: dict[int, list[Key]] = {y: [] for y in range(self.n_labels)}
        for key in self._edge_ids:
            if len(key) > 1 and key[-1] in owners:
                owners[key[-1]].append(key[:-1])
        for y, keys in owners.items():
            circuit.mark(keys, y)
        arcs: list[tuple[int, int, int]] = []  # (target state, edge, node)
        for d, follows in enumerate(self.rule_next):
            states = np.flatnonzero(self.state_rule == d)
            circuit.select({self._keys[self.state_key[q]]: int(q) for q in states})
            for key, edge in self._edge_ids.items():
                target = self.edge_target[edge]
                if target < 0 or follows[key[-1]] < 0:
                    continue
                node = circuit.mass(key[:-1], key[-1], self._edge_ids)
                if node is not None:
                    to = self.state_of[target, follows[key[-1]]]
                    arcs.append((int(to), edge, node))
        if self.tied is not None:
            arcs = self._tie(arcs, self.tied, circuit)
        arcs.sort()
        target, edge, node = np.array(arcs, np.int32).reshape(-1, 3).T.copy()
        self.arc_edge, self.arc_node, self.arc_target = edge, node, target
        self._schedule_sums(circuit.inputs)

    def _tie(
        self, arcs: list[tuple[int, int, int]], tied: Sequence[int], circuit: Circuit
    ) -> list[tuple[int, int, int]]:
        """One arc for those to the same state that have the same weight."""
        first: dict[tuple[int, int], int] = {}  # edge, by what it completes
        same: list[int] = []
        completed = zip(self.edge_pattern.tolist(), self.edge_suffix.tolist())
        for e, (m, suffix) in enumerate(completed):
            found = -1 if m < 0 else tied[m], -1 if suffix < 0 else same[suffix]
            same.append(first.setdefault(found, e))
        nodes: dict[tuple[int, int], list[int]] = {}
        for target, edge, node in arcs:
            nodes.setdefault((target, same[edge]), []).append(node)
        return [(*arc, circuit.sum_of(some)) for arc, some in nodes.items()]

    def _schedule_sums(self, inputs: list[tuple[int, ...]]) -> None:
        """The circuit and the arcs as the kernels work them off.

        Forward slots: N nodes (the first P are alpha), then A. Backward slots: B, then
        what follows each node (the first P are beta).
        """
        n_arcs, n_states = len(self.arc_edge), self.n_states
        n_nodes = n_states + len(inputs)
        self.n_nodes = n_nodes
        n_slots = n_nodes + n_states
        node_input = np.array([v for nodes in inputs for v in nodes], np.int32)
        sizes = [len(nodes) for nodes in inputs]
        inner = np.repeat(np.arange(n_states, n_nodes), sizes)
        plain = np.full(len(node_input), n_arcs)
        self.circuit = Schedule(
            np.arange(n_states, n_nodes),
            _firsts(sizes),
            node_input,
            plain,
            n_slots,
            n_arcs,
        )
        into = np.bincount(self.arc_target, minlength=n_states)
        self.arcs_in = Schedule(
            np.arange(n_nodes, n_slots),
            _firsts(into),
            self.arc_node,
            np.arange(n_arcs),
            n_slots,
            n_arcs,
        )
        # Transposed: a node's arcs and the inner nodes that it is an input of. Inner
        # nodes come after their inputs, so here they go first.
        node = np.concatenate([self.arc_node, node_input])
        order = np.argsort(-node, kind="stable")
        out = np.bincount(node, minlength=n_nodes)[::-1]
        self.arcs_out = Schedule(
            n_states + np.arange(n_nodes)[::-1],
            _firsts(out),
            np.concatenate([self.arc_target, n_states + inner])[order],
            np.concatenate([np.arange(n_arcs), plain])[order],
            n_slots,
            n_arcs,
        )


def check_tied(tied: Sequence[int] | None, n_patterns: int) -> tuple[int, ...] | None:
    """RAISES (ValueError): HS122 not one for each pattern, or no first one."""
    if tied is None:
        return None
    found = tuple(int(m) for m in tied)
    if len(found) != n_patterns or any(
        not 0 <= m <= k or found[m] != m for k, m in enumerate(found)
    ):
        raise ValueError(Errors.HS122.format(found=found, expected=n_patterns))
    return found


def _firsts(sizes: Any) -> NDArray[np.int64]:
    """Where each of several lists begins in their concatenation, and its end."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


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
