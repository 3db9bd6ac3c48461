"""The weights of the nodes of a label tree below its top, as data.

The score of a label is the sum over the nodes from the top to it. The component's own
weights are those of the nodes at the top. Here are those of the levels below: a feature
has weights in the nodes that it occurs with in training; label patterns have weights at
the levels with few enough nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Places
from ..core import PatternAutomaton
from ..core.algorithms.lattice_graph import StateTable
from ..core.automaton.grammar import BEGIN, END
from ..labels.inventory import OUTSIDE, Pattern, bigrams
from ..labels.patterns import ALL_BIGRAMS
from ..model.weights.packing import (
    check_finite,
    check_format,
    pack_floats,
    shape_of,
    to_single,
    truncated,
    unpack_floats,
)
from ..model.weights.pairs import WeightPairs
from ..model.weights.state import Cached
from ..msgpack import read_msgpack, write_msgpack
from .tree import LabelTree

FORMAT = 1


@dataclass(frozen=True)
class Level:
    """Has the label patterns of a level."""

    steps: StateTable  # of the automaton of these patterns
    symbol: Ints  # [V + 1]: the automaton's label of each node; the last is outside
    carried: Ints  # [M]: the pattern above that each pattern refines; -1: none
    is_own: bool  # whether the automaton has names of this level, or of a level above


@dataclass(frozen=True, eq=False)
class LevelState(Cached):
    """Has the weights of a label tree by level, from 2; training replaces the state."""

    pairs: tuple[WeightPairs, ...] = ()  # the nodes in which features have weights
    matrix: tuple[Floats, ...] = ()  # these weights [N]
    # Patterns with weights of their own, over the names of the frontier; they come
    # first in the automaton.
    patterns: tuple[tuple[Pattern, ...], ...] = ()
    pattern: tuple[Floats, ...] = ()  # their weights [M]; -inf: forbidden
    tree: LabelTree = field(default_factory=lambda: LabelTree([], {}))  # V nodes
    # Of the component: outside, then the nodes at the top.
    top: PatternAutomaton | None = None
    levels: tuple[Level, ...] = ()  # from tree, top and patterns by `connect`

    def weights_at(self, level: int, above: Floats, scale: float = 1.0) -> Floats:
        """Returns the weights of all patterns of a level, from 2, given those of the
        level above; `scale` multiplies the level's own weights."""
        here = self.levels[level - 2]
        if not here.is_own:
            return above
        pattern = self.pattern[level - 2]
        weights = np.append(above, 0.0)[here.carried]  # -1: nothing is carried
        is_forbidden = np.isneginf(pattern)
        weights[: len(pattern)] += np.where(is_forbidden, pattern, scale * pattern)
        return weights

    def column(self, node: int) -> tuple[Places, Floats]:
        """Returns features with a weight in a node below the top, and the weights."""
        level = int(self.tree.level[node]) - 2
        rows, slots = self.pairs[level].column(node)
        return rows, self.matrix[level][slots]

    def rounded(self) -> LevelState:
        """Returns a state in single precision, as it is saved."""
        return replace(
            self,
            matrix=tuple(map(to_single, self.matrix)),
            pattern=tuple(map(to_single, self.pattern)),
        )

    def freeze(self) -> LevelState:
        """Makes the arrays read-only; returns the state."""
        arrays: list[NDArray[Any]] = [*self.matrix, *self.pattern]
        arrays += [array for x in self.pairs for array in (x.first, x.columns)]
        for array in arrays:
            array.setflags(write=False)
        return self

    def size(self) -> dict[str, float]:
        """Returns the figures of `storage.size_of`."""
        return {
            "features": int(np.count_nonzero(sum(x.sizes for x in self.pairs))),
            "weights": int(sum(map(np.count_nonzero, self.matrix))),
            "patterns": sum(map(len, self.patterns)),
            "mb": len(self.to_bytes()) / 1e6,
        }

    def to_bytes(self) -> bytes:
        """Returns the weights in single precision, without what `connect` adds."""
        return write_msgpack(
            {
                "format": FORMAT,
                "first_pair": [x.first for x in self.pairs],
                "columns": [x.columns for x in self.pairs],
                "matrix": [pack_floats(matrix) for matrix in self.matrix],
                "patterns": self.patterns,
                "pattern": [pack_floats(pattern) for pattern in self.pattern],
            }
        )


def empty_levels(
    pairs: Sequence[WeightPairs], patterns: Sequence[Sequence[Pattern]]
) -> LevelState:
    """Returns weights of 0 for these pairs and patterns, by level."""
    return LevelState(
        pairs=tuple(pairs),
        matrix=tuple(np.zeros(len(of_level.columns)) for of_level in pairs),
        patterns=tuple(tuple(map(tuple, of_level)) for of_level in patterns),
        pattern=tuple(np.zeros(len(of_level)) for of_level in patterns),
    )


def from_bytes(data: bytes) -> LevelState:
    """Inverts `LevelState.to_bytes`. Raises ValueError: HS062 if the bytes are
    truncated, HS063 if another version saved them, HS313 if a weight is not finite."""
    try:
        saved = read_msgpack(data)
        version = saved["format"]
    except Exception as e:
        raise truncated(repr(e)) from None
    check_format(version, FORMAT)
    try:
        state = _read(saved, len(data))
    except Exception as e:  # whatever somebody has put there
        raise truncated(repr(e)) from None
    for matrix, pattern in zip(state.matrix, state.pattern):
        check_finite("matrix", matrix)
        check_finite("pattern", pattern, may_forbid=True)
    return state


def _read(saved: Mapping[str, Any], n_bytes: int) -> LevelState:
    pairs = [
        WeightPairs.read(first, columns, n_bytes)
        for first, columns in zip(saved["first_pair"], saved["columns"])
    ]
    empty = empty_levels(pairs, saved["patterns"])
    for name in ("matrix", "pattern"):  # before memory is taken
        shapes = [x.shape for x in getattr(empty, name)]
        if [*map(shape_of, saved[name])] != shapes:
            raise ValueError(f"{name} is not of the shapes {shapes}")
    matrix = tuple(map(unpack_floats, saved["matrix"]))
    pattern = tuple(map(unpack_floats, saved["pattern"]))
    return replace(empty, matrix=matrix, pattern=pattern)


def connect(state: LevelState, tree: LabelTree, top: PatternAutomaton) -> LevelState:
    """Returns a state with its tree, the automaton of the nodes at the top, and the
    `levels` that follow from them."""
    symbol = np.append(tree.at_level(1) + 1, 0).astype(np.int32)
    above = _inherited(StateTable(top), symbol)
    levels = []
    for level, patterns in enumerate(state.patterns, start=2):
        is_short = all(len(z) == 2 for z in above.steps.automaton.patterns)
        # Then pairs of names of the level can express all patterns of that above.
        if patterns or (is_short and len(level_names(tree, level)) ** 2 <= ALL_BIGRAMS):
            above = _own_level(tree, level, patterns, above)
        else:
            above = _inherited(above.steps, above.symbol)
        levels.append(above)
    return replace(state, tree=tree, top=top, levels=tuple(levels))


def level_names(tree: LabelTree, level: int) -> list[str]:
    """Returns names for an automaton: outside, then the frontier."""
    return [OUTSIDE, *(tree.names[v] for v in tree.frontier(level))]


def _inherited(steps: StateTable, symbol: Ints) -> Level:
    """Returns a level with the patterns of the level above."""
    every = np.arange(len(steps.automaton.patterns), dtype=np.int32)
    return Level(steps, symbol, every, is_own=False)


def _own_level(
    tree: LabelTree, level: int, patterns: Sequence[Pattern], above: Level
) -> Level:
    """Returns a level with its patterns, and all pairs that refine patterns above."""
    frontier = tree.frontier(level)
    index = np.zeros(len(tree.names) + 1, np.int32)
    index[frontier] = np.arange(1, len(frontier) + 1)
    symbol = np.append(index[tree.at_level(level)], 0).astype(np.int32)
    # From names of this level to the names of the level above.
    names_above = above.steps.automaton.labels
    up = {tree.names[v]: names_above[above.symbol[v]] for v in frontier}
    up |= {name: name for name in (OUTSIDE, BEGIN, END)}
    places = {z: m for m, z in enumerate(above.steps.automaton.patterns)}
    names = level_names(tree, level)
    present = {*patterns}
    every = [*patterns, *(z for z in bigrams(names) if z not in present)]
    carried = [places.get(tuple(up[x] for x in z), -1) for z in every]
    chosen = [m for m, at in enumerate(carried) if at >= 0 or m < len(patterns)]
    at = np.array(carried, np.int32)[chosen]
    # The first pattern with the same weight, own or that above.
    tied_above = above.steps.automaton.tied or range(len(places))
    n_own, first = len(patterns), dict[tuple[bool, int], int]()
    keys = [(m < n_own, m if m < n_own else tied_above[k]) for m, k in enumerate(at)]
    tied = [first.setdefault(key, m) for m, key in enumerate(keys)]
    automaton = PatternAutomaton(names, [every[m] for m in chosen], tied=tied)
    return Level(StateTable(automaton), symbol, at, is_own=True)
