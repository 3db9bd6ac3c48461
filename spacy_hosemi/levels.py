"""Weights of the nodes of a label tree below its top.

The score of a label is the sum over the nodes on its way from the top. The nodes at the
top are the labels of the component's own weights; here are those of the levels below:
of features, for the nodes that they are seen with in training, and of label patterns,
for the levels that have few enough nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from thinc.api import Model, Optimizer, Shim

from .candidates import Place
from .core import PatternAutomaton
from .core.grammar import BEGIN, END
from .core.lattice import Steps
from .errors import Errors
from .labels import ALL_BIGRAMS, OUTSIDE, LabelInventory, Pattern, mine_patterns
from .model import Rows
from .packing import pack_counts, pack_floats, to_single, unpack_floats
from .selection import MAX_WEIGHTS, Pairs
from .tree import LabelTree

FORMAT = 1

# Pairs that are collected before those found twice are merged.
_BUFFER = 8_000_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Level:
    """What tells the segmentations of a level apart.

    steps (Steps): Of the automaton of its label patterns.
    symbol (int32 [V + 1]): The automaton's label of each node; last: that of outside.
    carried (int32 [M]): Which pattern of the level above each of its patterns is part
        of, -1: none. Of a level without patterns of its own those above.
    is_own (bool): Whether there are patterns of its own.
    """

    steps: Steps
    symbol: Ints
    carried: Ints
    is_own: bool


class LevelWeights(Shim):
    """Weights by level, from 2.

    pairs (List[Pairs]): Of each level: for each row of the component's features the
        nodes in which it has a weight.
    matrix (List[float64 [N]]): These weights.
    patterns (List[List[Pattern]]): Of each level, over the names of its frontier; empty
        where it has none of its own.
    pattern (List[float64 [M]]): Their weights; -inf: forbidden.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.tree = LabelTree([], {})
        self.levels: list[Level] = []
        self._automaton: PatternAutomaton | None = None
        self.allocate([], [])

    def allocate(
        self, pairs: Sequence[Pairs], patterns: Sequence[Sequence[Pattern]]
    ) -> None:
        """Zero weights for these pairs and patterns, level by level."""
        self.pairs = [*pairs]
        self.matrix = [np.zeros(len(of_level.columns)) for of_level in pairs]
        self.patterns = [[tuple(z) for z in of_level] for of_level in patterns]
        self.pattern = [np.zeros(len(of_level)) for of_level in patterns]

    def connect(self, tree: LabelTree, automaton: PatternAutomaton) -> None:
        """What follows from the tree and the patterns of its top.

        tree (LabelTree): V nodes.
        automaton (PatternAutomaton): Of the component: outside, then the top.
        """
        self.tree, self._automaton = tree, automaton
        symbol = np.append(tree.at_level(1) + 1, 0).astype(np.int32)
        every = np.arange(len(automaton.patterns), dtype=np.int32)
        above = Level(Steps(automaton), symbol, every, is_own=False)
        self.levels = []
        for level, patterns in enumerate(self.patterns, start=2):
            if patterns:
                above = _own_level(tree, level, patterns, above)
            else:
                size = len(above.steps.automaton.patterns)
                every = np.arange(size, dtype=np.int32)
                above = Level(above.steps, above.symbol, every, is_own=False)
            self.levels.append(above)

    def weights_at(self, level: int, above: Floats, scale: float = 1.0) -> Floats:
        """Weights of all patterns that count at a level.

        level (int): From 2.
        above (float64): Those of the level above.
        scale (float): Multiplies those of its own.
        RETURNS (float64 [M])
        """
        here = self.levels[level - 2]
        if not here.is_own:
            return above
        own = self.pattern[level - 2]
        found = np.where(here.carried < 0, 0.0, np.append(above, 0.0)[here.carried])
        return np.where(np.isneginf(own), own, found + scale * own)

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        self.matrix = [to_single(matrix) for matrix in self.matrix]
        self.pattern = [to_single(pattern) for pattern in self.pattern]

    def size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): As that of the weights of the top."""
        return {
            "features": int(np.count_nonzero(sum(x.sizes for x in self.pairs))),
            "weights": int(sum(map(np.count_nonzero, self.matrix))),
            "patterns": sum(map(len, self.patterns)),
            "mb": len(self.to_bytes()) / 1e6,
        }

    def finish_update(self, optimizer: Optimizer) -> None:
        """Nothing to do: the levels are trained by a fit."""

    # persistence

    def to_device(self, device_type: str, device_id: int) -> None:
        """Nothing to move: the weights stay in main memory."""

    def copy(self) -> LevelWeights:
        other = LevelWeights().from_bytes(self.to_bytes())
        if self._automaton is not None:
            other.connect(self.tree, self._automaton)
        return other

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Weights, in single precision."""
        return srsly.msgpack_dumps(
            {
                "format": FORMAT,
                "first_pair": [pack_counts(x.first) for x in self.pairs],
                "columns": [pack_counts(x.columns) for x in self.pairs],
                "matrix": [pack_floats(matrix) for matrix in self.matrix],
                "patterns": self.patterns,
                "pattern": [pack_floats(pattern) for pattern in self.pattern],
            }
        )

    def from_bytes(self, data: bytes) -> LevelWeights:
        """RETURNS (LevelWeights): Itself; `connect` comes next.

        RAISES (ValueError): HS062 truncated; HS063 saved by a newer version.
        """
        try:
            loaded: Mapping[str, Any] = srsly.msgpack_loads(data)
            version = loaded["format"]
            if version > FORMAT:
                raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))
            pairs = [
                Pairs(np.array(first, np.int32), np.array(columns, np.int32))
                for first, columns in zip(loaded["first_pair"], loaded["columns"])
            ]
            self.allocate(pairs, loaded["patterns"])
            self.matrix = [unpack_floats(x) for x in loaded["matrix"]]
            self.pattern = [unpack_floats(x) for x in loaded["pattern"]]
        except (KeyError, TypeError) as e:
            raise ValueError(Errors.HS062.format(found=repr(e)[:200])) from None
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(), self.tree, self._automaton)


def _unpickle(
    data: bytes, tree: LabelTree, automaton: PatternAutomaton | None
) -> LevelWeights:
    weights = LevelWeights().from_bytes(data)
    if automaton is not None:
        weights.connect(tree, automaton)
    return weights


def level_weights_of(model: Model[Any, Any]) -> LevelWeights:
    """Those in a span scorer, which has them from now on."""
    for shim in model.shims:
        if isinstance(shim, LevelWeights):
            return shim
    weights = LevelWeights()
    model.shims.append(weights)
    return weights


def level_names(tree: LabelTree, level: int) -> list[str]:
    """RETURNS (List[str]): Names for an automaton: outside, then the frontier."""
    return [OUTSIDE, *(tree.names[v] for v in tree.frontier(level))]


def _own_level(
    tree: LabelTree, level: int, patterns: Sequence[Pattern], above: Level
) -> Level:
    automaton = PatternAutomaton(level_names(tree, level), patterns)
    frontier = tree.frontier(level)
    index = np.zeros(len(tree.names) + 1, np.int32)
    index[frontier] = np.arange(1, len(frontier) + 1)
    symbol = np.append(index[tree.at_level(level)], 0).astype(np.int32)
    # The same pattern one level up: names of that automaton's labels.
    names = above.steps.automaton.labels
    up = {tree.names[v]: names[above.symbol[v]] for v in frontier}
    up |= {name: name for name in (OUTSIDE, BEGIN, END)}
    places = {z: m for m, z in enumerate(above.steps.automaton.patterns)}
    carried = [places.get(tuple(up[x] for x in z), -1) for z in patterns]
    return Level(Steps(automaton), symbol, np.array(carried, np.int32), is_own=True)


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
    RETURNS (List[List[Pattern]]): Of each level from 2; forbidden ones first.
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
        patterns, forbidden = mine_patterns(inventory, sequences, **settings)
        found[-1] = [*forbidden, *patterns]
    return found


def mine_nodes(
    rows: Sequence[Rows],
    spans: Sequence[Sequence[Place]],
    tree: LabelTree,
    n_rows: int,
) -> list[Pairs]:
    """Which features have weights in which nodes.

    rows (Sequence[Rows]): Features of each document.
    spans (Sequence[Sequence[Place]]): Its gold spans, with leaves.
    tree (LabelTree): V nodes.
    n_rows (int): R.
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
    if sizes.sum() <= MAX_WEIGHTS:
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


def role_ranges(start: Any, end: Any) -> dict[str, tuple[Any, Any]]:
    """Which tokens of segments are read in each role.

    start, end (int, or int32 [K]): Half-open.
    RETURNS (Dict[str, Tuple]): First token and end, by role.
    """
    return {
        "inside": (start, end),
        "start": (start, start + 1),
        "end": (end - 1, end),
        "within": (start + 1, end),
    }


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
