"""Selects the (feature, tree node) pairs that occur in training data: only these get
weights below level 1. Also mines label patterns of the levels below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels.inventory import LabelInventory, Pattern
from ..labels.patterns import ALL_BIGRAMS, mine_patterns
from ..model.active_features import Rows
from ..model.weights.pairs import Pairs
from ..training.feature_selection import MAX_WEIGHTS
from .candidates import Place
from .tree import LabelTree
from .weights import level_names, role_ranges

# Pairs that are collected before those found twice are merged.
_BUFFER = 8_000_000

Ints = NDArray[np.int32]


def mine_levels(
    tree: LabelTree,
    documents: Sequence[tuple[int, Sequence[Place]]],
    outside: str,
    **settings: Any,
) -> list[list[Pattern]]:
    """Label patterns of the levels that have few enough nodes for pairs of them.

    tree (LabelTree): The labels.
    documents (Sequence[Tuple[int, Sequence[Place]]]): Tokens and gold spans, with
        leaves, of those that are known as a whole.
    outside (str), **settings: As of the component, see `mine_patterns`.
    RETURNS (List[List[Pattern]]): Those seen, of each level from 2: what was not seen
        has the weight of what is above it.
    """
    found: list[list[Pattern]] = []
    for level in range(2, tree.n_levels + 1):
        found.append([])
        names = level_names(tree, level)
        if len(names) ** 2 > ALL_BIGRAMS or not settings["max_order"]:
            continue
        inventory = LabelInventory(names[1:], "segments", outside)
        at = tree.at_level(level)
        sequences = (
            [
                y
                for *_, y in inventory.encode(
                    [(i, j, tree.names[at[v]]) for i, j, v in spans], size
                )
            ]
            for size, spans in documents
        )
        found[-1], _ = mine_patterns(inventory, sequences, unseen=False, **settings)
    return found


def mine_nodes(
    rows: Sequence[Rows],
    spans: Sequence[Sequence[Place]],
    tree: LabelTree,
    n_rows: int,
    n_known: int = 0,
) -> list[Pairs]:
    """Which features have weights in which nodes.

    rows (Sequence[Rows]): Features of each document.
    spans (Sequence[Sequence[Place]]): Its gold spans, with leaves.
    tree (LabelTree): V nodes.
    n_rows (int): R.
    n_known (int): Weights that there are already.
    RETURNS (List[Pairs]): Of each level from 2: the nodes on the ways to the leaves of
        the spans that read a feature; their siblings, too, while that makes no more
        than MAX_WEIGHTS in all.
    """
    n_nodes = len(tree.names)
    found: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    n_found = 0
    for of_doc, some in zip(rows, spans):
        for i, j, leaf in some:
            read = np.unique(np.concatenate(rows_of_span(of_doc, i, j)))
            nodes = np.array(tree.ways(leaf)[1:], np.int64)
            found.append((read[:, None].astype(np.int64) * n_nodes + nodes).ravel())
            n_found += len(found[-1])
        if n_found > _BUFFER:
            found, n_found = [np.unique(np.concatenate(found))], 0
    pairs = np.unique(np.concatenate(found))
    row, node = np.divmod(pairs, n_nodes)
    families = np.unique(row * n_nodes + tree.parent[node])
    row, parent = np.divmod(families, n_nodes)
    sizes = tree.n_children(parent.astype(np.int32)).astype(np.int64)
    if n_known + sizes.sum() <= MAX_WEIGHTS:
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        node = tree.first_child[parent].repeat(sizes) + place
        pairs = np.sort(row.repeat(sizes) * n_nodes + node)
    row, node = np.divmod(pairs, n_nodes)
    of_level = tree.level[node]
    return [
        _as_pairs(row[of_level == level], node[of_level == level], n_rows)
        for level in range(2, tree.n_levels + 1)
    ]


def _as_pairs(row: NDArray[np.int64], node: NDArray[np.int64], n_rows: int) -> Pairs:
    counts = np.bincount(row, minlength=n_rows)
    first = np.concatenate([[0], np.cumsum(counts)])
    return Pairs(first.astype(np.int32), node.astype(np.int32))


def rows_of_span(rows: Rows, start: int, end: int) -> list[Ints]:
    """RETURNS (List[int32]): Features that a span reads, in any role."""
    ranges = role_ranges(start, end)
    found = []
    for role, of_role in rows.tokens.items():
        begin, stop = ranges[role]
        found.append(of_role.row[of_role.first[begin] : of_role.first[stop]])
    units = rows.segments
    found.append(units.row[(units.start == start) & (units.end == end)])
    return found
