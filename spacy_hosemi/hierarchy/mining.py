"""Selects the (feature, tree node) pairs that occur in training data: only these get
weights below the top. Also mines the label patterns of the levels below the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels.inventory import LabelInventory, Pattern
from ..labels.patterns import ALL_BIGRAMS, mine_patterns
from ..model.active_features import Rows
from ..model.weights.pairs import WeightPairs, pairs_of
from ..training.feature_selection import MAX_WEIGHTS
from .candidates import Place
from .tree import LabelTree
from .weights import level_names, role_ranges

# Duplicates are removed whenever this many pairs have been collected.
_BUFFER = 8_000_000

Ints = NDArray[np.int32]


def mine_levels(
    tree: LabelTree,
    documents: Sequence[tuple[int, Sequence[Place]]],
    outside: str,
    **settings: Any,
) -> list[list[Pattern]]:
    """Label patterns of the levels with few enough nodes for patterns of two nodes.

    tree (LabelTree): The labels.
    documents (Sequence[Tuple[int, Sequence[Place]]]): The number of tokens and the gold
        spans, with leaves, of each completely annotated document.
    outside (str), **settings: As of the component, see `mine_patterns`.
    RETURNS (List[List[Pattern]]): For each level from 2 the patterns that occur; others
        have the weight of the pattern above them.
    """
    found: list[list[Pattern]] = []
    for level in range(2, tree.n_levels + 1):
        found.append([])
        names = level_names(tree, level)
        if len(names) ** 2 > ALL_BIGRAMS or not settings["max_order"]:
            continue
        inventory = LabelInventory(names[1:], "segments", outside)
        at = tree.at_level(level)
        named = (
            ([(i, j, tree.names[at[v]]) for i, j, v in spans], size)
            for size, spans in documents
        )
        sequences = ([y for *_, y in inventory.encode(*x)] for x in named)
        found[-1], _ = mine_patterns(inventory, sequences, unseen=False, **settings)
    return found


def mine_nodes(
    rows: Sequence[Rows],
    spans: Sequence[Sequence[Place]],
    tree: LabelTree,
    n_rows: int,
    n_known: int = 0,
) -> list[WeightPairs]:
    """Returns the nodes in which each of R features gets weights, by level from 2:
    those on the paths to the leaves of the gold spans that read the feature; their
    siblings, too, if there are at most MAX_WEIGHTS weights then, with `n_known` so far.
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
        pairs_of(row[of_level == level], node[of_level == level], n_rows)
        for level in range(2, tree.n_levels + 1)
    ]


def rows_of_span(rows: Rows, start: int, end: int) -> list[Ints]:
    """RETURNS (List[int32]): The features that a span reads, in any role."""
    ranges, segments = role_ranges(start, end), rows.segments
    found = [segments.row[(segments.start == start) & (segments.end == end)]]
    for role, of_role in rows.tokens.items():
        begin, stop = ranges[role]
        found.append(of_role.row[of_role.first[begin] : of_role.first[stop]])
    return found
