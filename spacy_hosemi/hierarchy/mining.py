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
from .coarse_to_fine import role_ranges
from .level_state import level_names
from .tree import LabelTree

# Duplicates are removed whenever this many pairs have been collected.
_BUFFER = 8_000_000


def mine_levels(
    tree: LabelTree,
    documents: Sequence[tuple[int, Sequence[Place]]],
    outside: str,
    **settings: Any,
) -> list[list[Pattern]]:
    """Returns for each level from 2 the label patterns that occur, where there are few
    enough nodes for patterns of two nodes; others have the weight of the pattern above
    them. Documents are completely annotated: the number of tokens, and the gold spans
    with leaves. For the settings see `mine_patterns`."""
    by_level: list[list[Pattern]] = []
    for level in range(2, tree.n_levels + 1):
        by_level.append([])
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
        by_level[-1], _ = mine_patterns(inventory, sequences, unseen=False, **settings)
    return by_level


def mine_nodes(
    rows: Rows,
    spans: Sequence[Sequence[Place]],
    tree: LabelTree,
    n_rows: int,
    n_weights: int = 0,
) -> list[WeightPairs]:
    """Returns the nodes in which each of R features gets weights, by level from 2:
    those on the paths to the leaves of the gold spans that read the feature; their
    siblings, too, if there are at most MAX_WEIGHTS weights then, with those so far."""
    n_nodes = len(tree.names)
    collected: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    n_new = 0
    for of_doc, places in zip(rows, spans):
        for i, j, leaf in places:
            ranges, segments = role_ranges(i, j), of_doc.segments
            parts = [segments.row[(segments.start == i) & (segments.end == j)]]
            for role, of_role in of_doc.tokens.items():
                begin, stop = ranges[role]
                parts.append(of_role.row[of_role.first[begin] : of_role.first[stop]])
            read = np.unique(np.concatenate(parts))
            nodes = np.array(tree.ways(leaf)[1:], np.int64)
            collected.append((read[:, None].astype(np.int64) * n_nodes + nodes).ravel())
            n_new += len(collected[-1])
        if n_new > _BUFFER:
            collected, n_new = [np.unique(np.concatenate(collected))], 0
    pairs = np.unique(np.concatenate(collected))
    row, node = np.divmod(pairs, n_nodes)
    parents = np.unique(row * n_nodes + tree.parent[node])
    row, parent = np.divmod(parents, n_nodes)
    sizes = tree.n_children(parent.astype(np.int32)).astype(np.int64)
    if n_weights + sizes.sum() <= MAX_WEIGHTS:
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        node = tree.first_child[parent].repeat(sizes) + place
        pairs = np.sort(row.repeat(sizes) * n_nodes + node)
    row, node = np.divmod(pairs, n_nodes)
    of_level = tree.level[node]
    return [
        pairs_of(row[of_level == level], node[of_level == level], n_rows)
        for level in range(2, tree.n_levels + 1)
    ]
