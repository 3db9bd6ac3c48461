"""Compiles label patterns and a grammar to the arrays of an automaton.

Each function returns attributes of `PatternAutomaton`, where their shapes stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import Errors
from ..arguments import shown
from .grammar import BEGIN, END
from .suffix_sums import Key, SuffixSums
from .sum_schedule import SumSchedule

# States with a grammar: with more, decoding takes too long for any document.
MAX_STATES = 100_000

# Labels in a pattern: each prefix of a pattern is a state, stored in full.
MOST_NAMES = 1000

Arrays = dict[str, Any]


class SuffixTree:
    """Label histories that patterns distinguish, short before long, and the numbers of
    the edges `(*history, label)` between them, greater than that of their suffix. The
    parent of a key is its longest proper suffix."""

    def __init__(
        self, n_labels: int, keys: Sequence[Key], observed_keys: Sequence[Key]
    ) -> None:
        self.n_labels = n_labels
        labels = {(y,) for y in range(n_labels)}
        histories = {(n_labels,), *labels, *observed_keys}
        for key in [*keys, *observed_keys]:
            histories.update(key[:k] for k in range(1, len(key)))
        self.keys = sorted(histories, key=_by_length)
        self.ids = {key: k for k, key in enumerate(self.keys)}
        own = {key for key in self.keys if len(key) > 1} | set(keys) | labels
        self.edges = {key: e for e, key in enumerate(sorted(own, key=_by_length))}

    def suffix(self, key: Key) -> Key:
        """The longest proper suffix that is a history, or () for the root."""
        return next((key[i:] for i in range(1, len(key)) if key[i:] in self.ids), ())

    def edge(self, key: Key, y: int) -> int:
        """The edge for label y that a history uses: its own or that of a suffix."""
        while True:
            edge = self.edges.get((*key, y))
            if edge is not None or not key:
                return -1 if edge is None else edge
            key = self.suffix(key)


def compile_edges(tree: SuffixTree, keys: Sequence[Key]) -> Arrays:
    """What each edge completes and where it leads; the edges that a history owns."""
    pattern_ids = {key: m for m, key in enumerate(keys)}
    end, n_edges = tree.n_labels + 1, len(tree.edges)
    pattern = np.full(n_edges, -1, np.int32)
    suffix = np.full(n_edges, -1, np.int32)
    target = np.full(n_edges, -1, np.int32)
    for key, e in tree.edges.items():
        pattern[e] = pattern_ids.get(key, -1)
        if len(key) > 1:
            suffix[e] = tree.edge(tree.suffix(key[:-1]), key[-1])
        if key in tree.ids:
            target[e] = tree.ids[key]
        elif key[-1] != end:
            target[e] = target[suffix[e]]
    ids = {key: k for k, key in enumerate([*tree.keys, ()])}
    owned = sorted((ids[key[:-1]], key[-1], e) for key, e in tree.edges.items())
    owned = [triple for triple in owned if triple[1] != end]
    owners = [k for k, _, _ in owned]
    first = np.searchsorted(owners, np.arange(len(tree.keys) + 2))
    return {
        "edge_pattern": pattern,
        "edge_suffix": suffix,
        "edge_target": target,
        "suffix_key": _ints(ids[tree.suffix(key)] for key in tree.keys),
        "first_owned": first.astype(np.int32),
        "owned_label": _ints(y for _, y, _ in owned),
        "owned_edge": _ints(e for _, _, e in owned),
    }


def compile_states(
    tree: SuffixTree,
    observed_keys: Sequence[Key],
    edge_target: NDArray[np.int32],
    rule_next: NDArray[np.int32],
    rule_accepts: NDArray[np.bool_],
) -> Arrays:
    """Histories times states of the grammar, sorted by group."""
    keys, begin = tree.keys, (tree.n_labels,)
    reads = {
        key: tuple(c for c, z in enumerate(observed_keys) if key[-len(z) :] == z)
        for key in keys
    }
    groups = sorted({(key[-1], reads[key]) for key in keys if key != begin})
    group_ids = {group: g for g, group in enumerate(groups)}
    columns = [[y, *(tree.n_labels + c for c in found)] for y, found in groups]
    group_of = [-1 if key == begin else group_ids[key[-1], reads[key]] for key in keys]
    pairs = sorted(
        _reachable(tree, edge_target, rule_next), key=lambda x: (group_of[x[0]], *x)
    )
    state_key, state_rule = _ints(k for k, _ in pairs), _ints(d for _, d in pairs)
    state_group = _ints(group_of[k] for k, _ in pairs)
    state_of = np.full((len(keys), len(rule_next)), -1, np.int32)
    state_of[state_key, state_rule] = np.arange(len(pairs))
    first_state = np.searchsorted(state_group, np.arange(len(groups) + 1))
    final_edge = _ints(tree.edge(key, tree.n_labels + 1) for key in keys)
    return {
        "group_label": _ints(y for y, _ in groups),
        "first_column": np.cumsum([0, *map(len, columns)]).astype(np.int32),
        "group_column": _ints(c for found in columns for c in found),
        "state_key": state_key,
        "state_rule": state_rule,
        "state_group": state_group,
        "first_state": first_state.astype(np.int32),
        "state_of": state_of,
        "final_edge": final_edge[state_key],
        "is_final": rule_accepts[state_rule].astype(np.uint8),
    }


def _reachable(
    tree: SuffixTree, edge_target: NDArray[np.int32], rule_next: NDArray[np.int32]
) -> list[tuple[int, int]]:
    """Pairs of a history and a state of the grammar that can occur together."""
    n_keys, n_rules = len(tree.keys), len(rule_next)
    if n_rules == 1 and rule_next.min() >= 0:
        return [(k, 0) for k in range(n_keys)]
    targets = [
        [int(edge_target[tree.edge(key, y)]) for y in range(tree.n_labels)]
        for key in tree.keys
    ]
    found = [(tree.ids[(tree.n_labels,)], 0)]
    known = set(found)
    for k, d in found:  # grows while it is read
        for y, target in enumerate(targets[k]):
            pair = target, int(rule_next[d, y])
            if pair[1] >= 0 and pair not in known:
                known.add(pair)
                found.append(pair)
        if len(found) > MAX_STATES:
            message = Errors.HS076.format(found=n_keys, rules=n_rules, limit=MAX_STATES)
            raise ValueError(message)
    return found


def compile_sums(
    tree: SuffixTree,
    arrays: Mapping[str, Any],
    rule_next: NDArray[np.int32],
    tied: Sequence[int] | None,
) -> Arrays:
    """Arcs and sums of subtrees; arrays: from the functions above."""
    state_key, state_rule = arrays["state_key"], arrays["state_rule"]
    sums = SuffixSums(
        tree.keys, [tree.suffix(key) for key in tree.keys], len(state_key)
    )
    owners: dict[int, list[Key]] = {y: [] for y in range(tree.n_labels)}
    for key in tree.edges:
        if len(key) > 1 and key[-1] in owners:
            owners[key[-1]].append(key[:-1])
    for y, keys in owners.items():
        sums.mark(keys, y)
    arcs: list[tuple[int, int, int]] = []  # (target state, edge, node)
    for d, follows in enumerate(rule_next):
        states = np.flatnonzero(state_rule == d)
        sums.select({tree.keys[state_key[q]]: int(q) for q in states})
        for key, edge in tree.edges.items():
            target = arrays["edge_target"][edge]
            if target < 0 or follows[key[-1]] < 0:
                continue
            node = sums.mass(key[:-1], key[-1], tree.edges)
            if node is not None:
                to = arrays["state_of"][target, follows[key[-1]]]
                arcs.append((int(to), edge, node))
    if tied is not None:
        arcs = _tie(arcs, tied, sums, arrays)
    arcs.sort()
    targets, edges, nodes = np.array(arcs, np.int32).reshape(-1, 3).T.copy()
    return {
        "arc_target": targets,
        "arc_edge": edges,
        "arc_node": nodes,
        **_schedule(targets, nodes, sums.inputs, len(state_key)),
    }


def _tie(
    arcs: list[tuple[int, int, int]],
    tied: Sequence[int],
    sums: SuffixSums,
    arrays: Mapping[str, Any],
) -> list[tuple[int, int, int]]:
    """Arcs, with one for all of those to a state that have the same weight."""
    first: dict[tuple[int, int], int] = {}  # edge, by what it completes
    same: list[int] = []
    completed = zip(arrays["edge_pattern"].tolist(), arrays["edge_suffix"].tolist())
    for e, (m, suffix) in enumerate(completed):
        found = -1 if m < 0 else tied[m], -1 if suffix < 0 else same[suffix]
        same.append(first.setdefault(found, e))
    nodes: dict[tuple[int, int], list[int]] = {}
    for target, edge, node in arcs:
        nodes.setdefault((target, same[edge]), []).append(node)
    return [(*arc, sums.sum_of(some)) for arc, some in nodes.items()]


def _schedule(
    arc_target: NDArray[np.int32],
    arc_node: NDArray[np.int32],
    inputs: Sequence[tuple[int, ...]],
    n_states: int,
) -> Arrays:
    """The order in which the kernels form the sums.

    Forward slots: N nodes (the first P are alpha), then A. Backward slots: B, then what
    follows each node (the first P are beta).
    """
    n_arcs, n_nodes = len(arc_node), n_states + len(inputs)
    size = n_nodes + n_states, n_arcs
    node_input = _ints(v for nodes in inputs for v in nodes)
    sizes = [len(nodes) for nodes in inputs]
    inner = np.repeat(np.arange(n_states, n_nodes), sizes)
    no_weight = np.full(len(node_input), n_arcs)
    # Transposed: the arcs of a node and the inner nodes that it is an input of. Inner
    # nodes come after their inputs, so here they go first.
    node = np.concatenate([arc_node, node_input])
    order = np.argsort(-node, kind="stable")
    return {
        "n_nodes": n_nodes,
        "suffix_sums": SumSchedule(
            np.arange(n_states, n_nodes), _firsts(sizes), node_input, no_weight, *size
        ),
        "arcs_in": SumSchedule(
            np.arange(n_nodes, n_nodes + n_states),
            _firsts(np.bincount(arc_target, minlength=n_states)),
            arc_node,
            np.arange(n_arcs),
            *size,
        ),
        "arcs_out": SumSchedule(
            n_states + np.arange(n_nodes)[::-1],
            _firsts(np.bincount(node, minlength=n_nodes)[::-1]),
            np.concatenate([arc_target, n_states + inner])[order],
            np.concatenate([np.arange(n_arcs), no_weight])[order],
            *size,
        ),
    }


def pattern_keys(
    labels: tuple[str, ...], patterns: tuple[tuple[str, ...], ...]
) -> list[Key]:
    """Returns patterns as ids of labels. RAISES (ValueError): HS002 to HS005."""
    ids = {label: y for y, label in enumerate(labels)}
    ids[BEGIN], ids[END] = len(labels), len(labels) + 1
    keys: dict[Key, None] = {}
    for pattern in patterns:
        if not 2 <= len(pattern) <= MOST_NAMES:
            found = {"pattern": shown(pattern), "found": len(pattern)}
            raise ValueError(Errors.HS002.format(**found, highest=MOST_NAMES))
        for i, name in enumerate(pattern):
            if not isinstance(name, str) or name not in ids:
                found = {"pattern": shown(pattern), "found": shown(name)}
                raise ValueError(Errors.HS003.format(**found, expected=labels))
            if (name == BEGIN and i > 0) or (name == END and i < len(pattern) - 1):
                raise ValueError(Errors.HS004.format(pattern=pattern, found=name))
        key = tuple(ids[name] for name in pattern)
        if key in keys:
            raise ValueError(Errors.HS005.format(pattern=pattern))
        keys[key] = None
    return list(keys)


def observed_endings(
    labels: tuple[str, ...], observed: Iterable[tuple[str, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns observed patterns as a trie from last name to first: of each arc node *
    (L + 1) + label, ascending, and its target; of each node its pattern's column, or
    -1."""
    width = len(labels) + 1
    index = {name: y for y, name in enumerate((*labels, BEGIN))}
    arcs: dict[int, int] = {}
    columns = [-1]
    for column, pattern in enumerate(observed, len(labels)):
        node = 0
        for name in reversed(pattern):
            node = arcs.setdefault(node * width + index[name], len(columns))
            columns += [-1] * (node == len(columns))
        columns[node] = column
    keys = np.array(sorted(arcs), np.int64)
    target = np.array([arcs[key] for key in keys.tolist()], np.int64)
    return keys, target, np.array(columns, np.int64)


def _by_length(key: Key) -> tuple[int, Key]:
    return len(key), key


def _ints(values: Iterable[int]) -> NDArray[np.int32]:
    return np.array(list(values), np.int32)


def _firsts(sizes: Any) -> NDArray[np.int64]:
    """Where each of several lists begins in their concatenation, and its end."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
