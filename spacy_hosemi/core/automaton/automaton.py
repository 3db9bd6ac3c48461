"""Label patterns compiled to states, edges and sums without subtractions.

States are `^`, the labels and all proper prefixes of the patterns (the forward states
of Nguyen, Ye, Lee and Chieu 2011). An *edge* `(r, y)` exists where `r y` is a state or
a pattern, and for every label at the root. Any state `p` that has no edge of its own
for the label `y` uses the edge of its longest proper suffix that has one: the patterns
that end there are the same. So the sums over all `|P| L` arcs of the paper become sums
over the subtrees of the suffix ("fail") tree, which edges of different labels share:

    mass[r, y] = sum of alpha[p] over the states p that use the edge (r, y)
    A[q]       = sum over edges (r, y) -> q of mass[r, y] * exp(weight[r, y])

`SuffixSums` forms each of those sums once, as nodes that add up earlier nodes. There
are additions only, so nothing cancels. The backward pass goes through the same nodes in
the opposite direction.

*Observed* patterns are states too. A *group* are the states of one label in which a
segment completes the same observed patterns, so that it reads the same columns. States
of a group are neighbours. With a *grammar* over the labels, a state is a pair of a
history and a state of the grammar that can occur together.

Patterns that are *tied* always have the same weight. Edges to one state that complete
the same patterns, or patterns that are tied, are one arc, from a node that sums all
states that use any of these edges:

    A[q] = sum over ties t of exp(weight[t]) * sum of mass[r, y] over edges of t to q
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ..arguments import check_kind, check_list, is_whole, shown
from .compile import (
    SuffixTree,
    compile_edges,
    compile_states,
    compile_sums,
    observed_endings,
    pattern_keys,
)
from .grammar import END, LabelGrammar, check_labels, check_tables, compile_grammar
from .suffix_sums import Key
from .sum_schedule import SumSchedule

Ints = NDArray[np.int32]


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

    n_labels (int): L, outside included.
    n_columns (int): C: one for each label, then one for each observed pattern.
    n_states (int): P: `^`, the labels, other proper prefixes of patterns, observed
        patterns; each as often as there are states of the grammar with which it can be
        reached.
    n_groups (int): G: combinations of a label and observed patterns; L without these.
    """

    # A history is numbered as in `SuffixTree.keys`; the root, (), is number K.
    edge_pattern: Ints  # [E] the pattern that is complete there, or -1
    edge_suffix: Ints  # [E] the edge of the longest suffix, or -1
    edge_target: Ints  # [E] the history that follows, -1 behind $
    suffix_key: Ints  # [K] the longest proper suffix of a history
    first_owned: Ints  # [K + 2] history k owns first_owned[k:k + 1] of ..
    owned_label: Ints  # .. labels ..
    owned_edge: Ints  # .. and their edges
    group_label: Ints  # [G]
    first_column: Ints  # [G + 1] group g reads first_column[g:g + 1] of ..
    group_column: Ints  # .. columns
    state_key: Ints  # [P] the history of a state; state 0 is ^
    state_rule: Ints  # [P] its state of the grammar
    state_group: Ints  # [P] -1 for ^
    first_state: Ints  # [G + 1] group g has states first_state[g:g + 1]
    state_of: Ints  # [K, S] by history and state of the grammar, or -1
    final_edge: Ints  # [P] the edge for $, or -1
    is_final: NDArray[np.uint8]  # [P] whether a document may end there
    arc_target: Ints  # [A] the state that an arc leads to, ascending
    arc_edge: Ints  # [A] the edge whose weight it has
    arc_node: Ints  # [A] the node that it starts from
    n_nodes: int  # P states, then the sums of `suffix_sums`
    suffix_sums: SumSchedule
    arcs_in: SumSchedule  # into each state
    arcs_out: SumSchedule  # what follows each node

    def __init__(
        self,
        labels: Iterable[str],
        patterns: Iterable[Sequence[str]] = (),
        *,
        observed: Iterable[Sequence[str]] = (),
        grammar: LabelGrammar | None = None,
        tied: Sequence[int] | None = None,
    ) -> None:
        self.labels = check_labels(labels)
        self.patterns = _as_patterns("patterns", patterns)
        self.observed = _as_patterns("observed", observed)
        self.grammar = grammar
        self.tied = check_tied(tied, len(self.patterns))
        # What others derive from the arrays and leave here
        self.layout: object = None
        self.histories: object = None
        self.arcs_of: object = None
        keys = pattern_keys(self.labels, self.patterns)
        observed_keys = pattern_keys(self.labels, self.observed)
        for pattern in self.observed:
            if pattern[-1] == END:
                raise ValueError(Errors.HS006.format(found=pattern))
        self.rule_next, self.rule_accepts = _rules(grammar, self.labels)
        self._tree = SuffixTree(len(self.labels), keys, observed_keys)
        arrays = compile_edges(self._tree, keys)
        rules = self.rule_next, self.rule_accepts
        arrays |= compile_states(
            self._tree, observed_keys, arrays["edge_target"], *rules
        )
        arrays |= compile_sums(self._tree, arrays, self.rule_next, self.tied)
        vars(self).update(arrays)
        self.n_labels = len(self.labels)
        self.n_columns = self.n_labels + len(self.observed)
        self.n_states = len(self.state_key)
        self.n_groups = len(self.group_label)
        # Viterbi's bounds need a limit to what a longer history can change: they have
        # one, from the lengths of patterns, if histories decide nothing but weights.
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
        """With observed patterns appended to the patterns: enough where all of their
        scores are entries at the start of segments."""
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
        """Returns first [E + 1] and arc [N]: the arcs that complete what edge e (of K
        distinct ones) completes are arc[first[e]:first[e + 1]]."""
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
        RAISES (ValueError): HS007 if the bytes are truncated or something else; what
            the constructor raises of labels and patterns.
        """
        try:
            args = json.loads(data)
            labels, patterns = args["labels"], args["patterns"]
        except (ValueError, KeyError, TypeError, RecursionError) as e:
            raise ValueError(Errors.HS007.format(found=shown(e))) from None
        more = {name: args[name] for name in ("observed", "tied") if name in args}
        try:
            if "rules" in args:
                more["grammar"] = compile_grammar(labels, args["rules"])
            return cls(labels, patterns, **more)
        except TypeError as e:  # HS019: numbers in the place of names
            raise ValueError(Errors.HS007.format(found=shown(e))) from None

    def completed(self, labels: Iterable[int]) -> list[int]:
        """Which patterns a sequence of segment labels completes.

        labels (Iterable[int]): Label indices of the segments of a whole document.
        RETURNS (List[int]): Pattern indices, as often as each is completed.
        """
        found: list[int] = []
        state: Key = (self.n_labels,)
        for y in (*labels, self.n_labels + 1):
            edge = self._tree.edge(state, y)
            target = -1 if edge < 0 else int(self.edge_target[edge])
            while edge >= 0:
                if self.edge_pattern[edge] >= 0:
                    found.append(int(self.edge_pattern[edge]))
                edge = int(self.edge_suffix[edge])
            if target >= 0:
                state = self._tree.keys[target]
        return found

    def observed_read(
        self, labels: NDArray[np.int32], first: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Returns a segment and the column of a pattern that it completes, for each
        such pair in any order, whatever the grammar says. `first` (intp [D + 1]): the
        first segment of each document, and K."""
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
        return observed_endings(self.labels, self.observed)


def check_tied(tied: Sequence[int] | None, n_patterns: int) -> tuple[int, ...] | None:
    """RAISES (ValueError): HS122 not one for each pattern, or no first one."""
    if tied is None:
        return None
    found = tuple(check_list("tied", tied, "a list of whole numbers"))
    if len(found) != n_patterns or any(
        not (is_whole(m) and 0 <= m <= k and found[m] == m) for k, m in enumerate(found)
    ):
        raise ValueError(Errors.HS122.format(found=shown(found), expected=n_patterns))
    return tuple(map(int, found))


def _as_patterns(name: str, patterns: object) -> tuple[tuple[str, ...], ...]:
    found = check_list(name, patterns, "a list of patterns")
    expected = "a sequence of names"
    return tuple(
        tuple(z) if isinstance(z, str) else tuple(check_list(name, z, expected))
        for z in found
    )


def _rules(
    grammar: LabelGrammar | None, labels: tuple[str, ...]
) -> tuple[Ints, NDArray[np.bool_]]:
    """The tables of a grammar; without one, a single state that permits all."""
    if grammar is None:
        return np.zeros((1, len(labels)), np.int32), np.ones(1, np.bool_)
    check_kind("grammar", grammar, LabelGrammar)
    if grammar.labels != labels:
        raise ValueError(Errors.HS075.format(found=grammar.labels, expected=labels))
    check_tables(grammar)
    return grammar.transitions, grammar.accepting
