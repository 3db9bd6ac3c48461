"""Weights of the nodes of a label tree below its top.

The score of a label is the sum over the nodes from the top to it. The component's own
weights are those of the nodes at the top. Here are those of the levels below: a feature
has weights in the nodes that it occurs with in training; label patterns have weights at
the levels with few enough nodes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from thinc.api import Model, Optimizer, Shim

from ..core import PatternAutomaton
from ..core.algorithms.lattice_graph import StateTable
from ..core.automaton.grammar import BEGIN, END
from ..labels.inventory import OUTSIDE, Pattern
from ..labels.patterns import ALL_BIGRAMS
from ..model.weights.packing import (
    check_finite,
    check_format,
    pack_counts,
    pack_floats,
    shape_of,
    to_single,
    truncated,
    unpack_floats,
)
from ..model.weights.pairs import WeightPairs
from ..model.weights.state import Cached
from ..model.weights.weights import announce_averages
from ..msgpack import read_msgpack
from .level_vector import LevelSteps, OneLevel
from .tree import LabelTree

FORMAT = 1

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Level:
    """The label patterns of a level.

    steps (StateTable): Of the automaton of these patterns.
    symbol (int32 [V + 1]): The automaton's label of each node; the last is outside.
    carried (int32 [M]): The pattern of the level above that each pattern refines; -1:
        none.
    is_own (bool): Whether the automaton has names of this level, or of a level above.
    """

    steps: StateTable
    symbol: Ints
    carried: Ints
    is_own: bool


@dataclass(frozen=True, eq=False)
class LevelState(Cached):
    """Weights by level of a label tree, from level 2. Training replaces the state, see
    `LevelWeights`.

    pairs (Tuple[WeightPairs, ..]): By level, the nodes in which features have weights.
    matrix (Tuple[float64 [N], ..]): These weights.
    patterns (Tuple[Tuple[Pattern, ..], ..]): By level, patterns with weights of their
        own, over the names of the frontier; they come first in the automaton.
    pattern (Tuple[float64 [M], ..]): The weights of these patterns; -inf: forbidden.
    tree (LabelTree): V nodes.
    top (Optional[PatternAutomaton]): Of the component: outside, then the nodes at the
        top.
    levels (Tuple[Level, ..]): Computed from tree, top and patterns by `connect`.
    """

    pairs: tuple[WeightPairs, ...] = ()
    matrix: tuple[Floats, ...] = ()
    patterns: tuple[tuple[Pattern, ...], ...] = ()
    pattern: tuple[Floats, ...] = ()
    tree: LabelTree = field(default_factory=lambda: LabelTree([], {}))
    top: PatternAutomaton | None = None
    levels: tuple[Level, ...] = ()

    def weights_at(self, level: int, above: Floats, scale: float = 1.0) -> Floats:
        """RETURNS (float64 [M]): The weights of all patterns of a level.

        level (int): From 2.
        above (float64): The weights of the patterns of the level above.
        scale (float): Multiplies the level's own weights.
        """
        here = self.levels[level - 2]
        if not here.is_own:
            return above
        own = self.pattern[level - 2]
        found = np.append(above, 0.0)[here.carried]  # -1: nothing is carried
        found[: len(own)] += np.where(np.isneginf(own), own, scale * own)
        return found

    def column(self, node: int) -> tuple[NDArray[np.intp], Floats]:
        """RETURNS (Tuple[intp [K], float64 [K]]): The features with a weight in a node
        below the top, and these weights."""
        level = int(self.tree.level[node]) - 2
        rows, slots = self.pairs[level].column(node)
        return rows, self.matrix[level][slots]

    def with_level(self, index: int, matrix: Floats, pattern: Floats) -> LevelState:
        """RETURNS (LevelState): The same with other weights of one level."""
        matrices, patterns = [*self.matrix], [*self.pattern]
        matrices[index], patterns[index] = matrix, pattern
        return replace(self, matrix=tuple(matrices), pattern=tuple(patterns))

    def rounded(self) -> LevelState:
        """RETURNS (LevelState): The same in single precision, as it is saved."""
        return replace(
            self,
            matrix=tuple(map(to_single, self.matrix)),
            pattern=tuple(map(to_single, self.pattern)),
        )

    def freeze(self) -> LevelState:
        """RETURNS (LevelState): The same, with read-only arrays."""
        arrays: list[NDArray[Any]] = [*self.matrix, *self.pattern]
        arrays += [array for x in self.pairs for array in (x.first, x.columns)]
        for array in arrays:
            array.setflags(write=False)
        return self

    def size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): See `storage.size_of`."""
        return {
            "features": int(np.count_nonzero(sum(x.sizes for x in self.pairs))),
            "weights": int(sum(map(np.count_nonzero, self.matrix))),
            "patterns": sum(map(len, self.patterns)),
            "mb": len(self.to_bytes()) / 1e6,
        }

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


def empty_levels(
    pairs: Sequence[WeightPairs], patterns: Sequence[Sequence[Pattern]]
) -> LevelState:
    """RETURNS (LevelState): Zero weights for these pairs and patterns, by level."""
    return LevelState(
        pairs=tuple(pairs),
        matrix=tuple(np.zeros(len(of_level.columns)) for of_level in pairs),
        patterns=tuple(tuple(map(tuple, of_level)) for of_level in patterns),
        pattern=tuple(np.zeros(len(of_level)) for of_level in patterns),
    )


def connect(state: LevelState, tree: LabelTree, top: PatternAutomaton) -> LevelState:
    """RETURNS (LevelState): The same with its tree, and with `levels`.

    top (PatternAutomaton): Of the nodes at the top.
    """
    symbol = np.append(tree.at_level(1) + 1, 0).astype(np.int32)
    every = np.arange(len(top.patterns), dtype=np.int32)
    above = Level(StateTable(top), symbol, every, is_own=False)
    levels = []
    for level, patterns in enumerate(state.patterns, start=2):
        if patterns or _can_be_own(tree, level, above):
            above = _own_level(tree, level, patterns, above)
        else:
            size = len(above.steps.automaton.patterns)
            every = np.arange(size, dtype=np.int32)
            above = Level(above.steps, above.symbol, every, is_own=False)
        levels.append(above)
    return replace(state, tree=tree, top=top, levels=tuple(levels))


def from_bytes(data: bytes) -> LevelState:
    """Inverse of `LevelState.to_bytes`, without what `connect` adds.

    RAISES (ValueError): HS062 truncated; HS063 another version saved it; HS313 a weight
        is not finite.
    """
    try:
        loaded = read_msgpack(data)
        version = loaded["format"]
    except Exception as e:
        raise truncated(repr(e)) from None
    check_format(version, FORMAT)
    try:
        state = _read(loaded)
    except Exception as e:  # whatever somebody has put there
        raise truncated(repr(e)) from None
    for matrix, pattern in zip(state.matrix, state.pattern):
        check_finite("matrix", matrix)
        check_finite("pattern", pattern, may_forbid=True)
    return state


def _read(loaded: Mapping[str, Any]) -> LevelState:
    pairs = [
        WeightPairs(np.array(first, np.int32), np.array(columns, np.int32))
        for first, columns in zip(loaded["first_pair"], loaded["columns"])
    ]
    empty = empty_levels(pairs, loaded["patterns"])
    found = {name: loaded[name] for name in ("matrix", "pattern")}
    for name, packed in found.items():  # before memory is taken
        shapes = [x.shape for x in getattr(empty, name)]
        if [*map(shape_of, packed)] != shapes:
            raise ValueError(f"{name} is not of the shapes {shapes}")
    matrix, pattern = (tuple(map(unpack_floats, x)) for x in found.values())
    return replace(empty, matrix=matrix, pattern=pattern)


class LevelWeights(Shim):
    """The weights of the levels of a tree while they are trained.

    state (LevelState): The present weights; see `Weights`.
    mined (Set[int]): Hashes of the documents whose pairs have weights.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.replace(LevelState())

    def replace(self, state: LevelState) -> None:
        """Take other weights; forget all documents and the state of the optimizer."""
        self.state = state
        self._steps: dict[int, LevelSteps] = {}
        self.mined: set[int] = set()

    def publish(self) -> LevelState:
        """RETURNS (LevelState): The present weights, which become read-only."""
        for steps in self._steps.values():
            steps.publish()
        return self.state.freeze()

    def connect(self, tree: LabelTree, top: PatternAutomaton) -> None:
        """See the function `connect`."""
        self.state = connect(self.state, tree, top)

    def add_pairs(self, more: Sequence[WeightPairs]) -> None:
        """Add weights of 0 for pairs that are new.

        more (Sequence[WeightPairs]): By level, for all features of the component.
        """
        pairs, matrix = [*self.state.pairs], [*self.state.matrix]
        places = []
        for k, new in enumerate(more):
            pairs[k], at = pairs[k].merged(new, len(self.state.tree.names))
            matrix[k] = np.insert(matrix[k], at, 0.0)
            places.append(at)
        self.state = replace(self.state, pairs=tuple(pairs), matrix=tuple(matrix))
        for k, steps in self._steps.items():
            steps.insert(places[k])

    # online training

    def steps(self, level: OneLevel) -> LevelSteps:
        """RETURNS (LevelSteps): The optimizer of a level, with its gradient."""
        if level.index not in self._steps:
            self._steps[level.index] = LevelSteps(level)
        return self._steps[level.index]

    def finish_update(self, optimizer: Optimizer) -> None:
        """One step on the weights that were active since the last call."""
        for steps in self._steps.values():
            steps.finish_update(optimizer)
        if self._steps:
            announce_averages(optimizer, self.id)

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """If `params` has our key, replace the weights by averages within the
        context."""
        if (self.id, "hosemi") not in params:
            yield
            return
        present = self.state
        for steps in self._steps.values():
            steps.use_averages()
        try:
            yield
        finally:
            self.state = present

    # persistence

    def to_device(self, device_type: str, device_id: int) -> None:
        """Does nothing: the weights stay in main memory."""

    def copy(self) -> LevelWeights:
        """RETURNS (LevelWeights): The weights as a saved model has them, without the
        state of the optimizer."""
        return _unpickle(self.to_bytes(), self.state.tree, self.state.top)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Weights, in single precision."""
        return self.state.to_bytes()

    def from_bytes(self, data: bytes) -> LevelWeights:
        """RETURNS (LevelWeights): Itself. RAISES (ValueError): See the function
        `from_bytes`."""
        self.replace(from_bytes(data))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(), self.state.tree, self.state.top)


def _unpickle(
    data: bytes, tree: LabelTree, top: PatternAutomaton | None
) -> LevelWeights:
    weights = LevelWeights().from_bytes(data)
    if top is not None:
        weights.connect(tree, top)
    return weights


def level_weights_of(model: Model[Any, Any]) -> LevelWeights:
    """The shim of a span scorer; if it has none, it gets one."""
    for shim in model.shims:
        if isinstance(shim, LevelWeights):
            return shim
    weights = LevelWeights()
    model.shims.append(weights)
    return weights


def level_names(tree: LabelTree, level: int) -> list[str]:
    """RETURNS (List[str]): Names for an automaton: outside, then the frontier."""
    return [OUTSIDE, *(tree.names[v] for v in tree.frontier(level))]


def _can_be_own(tree: LabelTree, level: int, above: Level) -> bool:
    """Whether pairs of names of a level can express all patterns of the level above."""
    is_short = all(len(z) == 2 for z in above.steps.automaton.patterns)
    return is_short and len(level_names(tree, level)) ** 2 <= ALL_BIGRAMS


def _own_level(
    tree: LabelTree, level: int, patterns: Sequence[Pattern], above: Level
) -> Level:
    """A level with its own patterns and all pairs that refine patterns above."""
    frontier = tree.frontier(level)
    index = np.zeros(len(tree.names) + 1, np.int32)
    index[frontier] = np.arange(1, len(frontier) + 1)
    symbol = np.append(index[tree.at_level(level)], 0).astype(np.int32)
    # From names of this level to the names of the level above.
    names = above.steps.automaton.labels
    up = {tree.names[v]: names[above.symbol[v]] for v in frontier}
    up |= {name: name for name in (OUTSIDE, BEGIN, END)}
    places = {z: m for m, z in enumerate(above.steps.automaton.patterns)}
    own = level_names(tree, level)
    pairs = product((BEGIN, *own), (*own, END))
    known = {*patterns}
    every = [*patterns, *(z for z in pairs if z not in known)]
    carried = [places.get(tuple(up[x] for x in z), -1) for z in every]
    chosen = [m for m, at in enumerate(carried) if at >= 0 or m < len(patterns)]
    at = np.array(carried, np.int32)[chosen]
    tied = _ties(len(patterns), at.tolist(), above)
    automaton = PatternAutomaton(own, [every[m] for m in chosen], tied=tied)
    return Level(StateTable(automaton), symbol, at, is_own=True)


def _ties(n_own: int, carried: Sequence[int], above: Level) -> list[int]:
    """For each pattern the first with the same weight: its own or that above."""
    automaton = above.steps.automaton
    tied_above = automaton.tied or range(len(automaton.patterns))
    first: dict[tuple[bool, int], int] = {}
    keys = (
        (m < n_own, m if m < n_own else tied_above[k]) for m, k in enumerate(carried)
    )
    return [first.setdefault(key, m) for m, key in enumerate(keys)]


def role_ranges(start: Any, end: Any) -> dict[str, tuple[Any, Any]]:
    """RETURNS (Dict[str, Tuple]): By role, the tokens of segments that are read: the
    first one and the end, as ints or int32 [K]."""
    return {
        "inside": (start, end),
        "start": (start, start + 1),
        "end": (end - 1, end),
        "within": (start + 1, end),
    }
