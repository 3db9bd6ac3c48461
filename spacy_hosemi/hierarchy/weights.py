"""Weights of the nodes of a label tree below its top.

The score of a label is the sum over the nodes on its way from the top. The nodes at the
top are the labels of the component's own weights; here are those of the levels below:
of features, for the nodes that they are seen with in training, and of label patterns,
for the levels that have few enough nodes.
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
from ..errors import Errors
from ..labels.inventory import OUTSIDE, Pattern
from ..labels.patterns import ALL_BIGRAMS
from ..model.cached import Cached
from ..model.weights.packing import pack_counts, pack_floats, to_single, unpack_floats
from ..model.weights.pairs import Pairs
from ..model.weights.shim import announce_averages
from ..model.weights.storage import truncated
from .level_vector import LevelSteps, OneLevel
from .tree import LabelTree

FORMAT = 1

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Level:
    """What tells the segmentations of a level apart.

    steps (StateTable): Of the automaton of its label patterns.
    symbol (int32 [V + 1]): The automaton's label of each node; last: that of outside.
    carried (int32 [M]): Which pattern of the level above each of its patterns is part
        of, -1: none.
    is_own (bool): Whether its automaton has its own names, or those of the level above.
    """

    steps: StateTable
    symbol: Ints
    carried: Ints
    is_own: bool


@dataclass(frozen=True, eq=False)
class LevelState(Cached):
    """Weights by level of a label tree, from level 2. Training replaces it by another
    one, see `LevelWeights`.

    pairs (Tuple[Pairs, ..]): Of each level: for each feature of the component the
        nodes in which it has a weight.
    matrix (Tuple[float64 [N], ..]): These weights.
    patterns (Tuple[Tuple[Pattern, ..], ..]): Of each level, over the names of its
        frontier: those with weights of their own, which come first in its automaton.
    pattern (Tuple[float64 [M], ..]): Their weights; -inf: forbidden.
    tree (LabelTree): V nodes.
    top (Optional[PatternAutomaton]): Of the component: outside, then the top.
    levels (Tuple[Level, ..]): What follows from tree, top and patterns.
    """

    pairs: tuple[Pairs, ...] = ()
    matrix: tuple[Floats, ...] = ()
    patterns: tuple[tuple[Pattern, ...], ...] = ()
    pattern: tuple[Floats, ...] = ()
    tree: LabelTree = field(default_factory=lambda: LabelTree([], {}))
    top: PatternAutomaton | None = None
    levels: tuple[Level, ...] = ()

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
        found = np.append(above, 0.0)[here.carried]  # -1: nothing is carried
        found[: len(own)] += np.where(np.isneginf(own), own, scale * own)
        return found

    def column(self, node: int) -> tuple[NDArray[np.intp], Floats]:
        """RETURNS (Tuple[intp [K], float64 [K]]): Features that have a weight in a node
        below the top, and these weights."""
        level = int(self.tree.level[node]) - 2
        rows, slots = self.pairs[level].column(node)
        return rows, self.matrix[level][slots]

    def with_level(self, index: int, matrix: Floats, pattern: Floats) -> LevelState:
        """RETURNS (LevelState): With other weights of one level."""
        matrices, patterns = [*self.matrix], [*self.pattern]
        matrices[index], patterns[index] = matrix, pattern
        return replace(self, matrix=tuple(matrices), pattern=tuple(patterns))

    def rounded(self) -> LevelState:
        """RETURNS (LevelState): With the weights that a saved model will have."""
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
        """RETURNS (Dict[str, float]): As `storage.size_of` has them."""
        return {
            "features": int(np.count_nonzero(sum(x.sizes for x in self.pairs))),
            "weights": int(sum(map(np.count_nonzero, self.matrix))),
            "patterns": sum(map(len, self.patterns)),
            "mb": len(to_bytes(self)) / 1e6,
        }


def empty_levels(
    pairs: Sequence[Pairs], patterns: Sequence[Sequence[Pattern]]
) -> LevelState:
    """RETURNS (LevelState): Zero weights for these pairs and patterns, by level."""
    return LevelState(
        pairs=tuple(pairs),
        matrix=tuple(np.zeros(len(of_level.columns)) for of_level in pairs),
        patterns=tuple(tuple(map(tuple, of_level)) for of_level in patterns),
        pattern=tuple(np.zeros(len(of_level)) for of_level in patterns),
    )


def connect(state: LevelState, tree: LabelTree, top: PatternAutomaton) -> LevelState:
    """RETURNS (LevelState): With what follows from the tree and the patterns of its
    top."""
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


def to_bytes(state: LevelState) -> bytes:
    """RETURNS (bytes): Weights, in single precision."""
    return srsly.msgpack_dumps(
        {
            "format": FORMAT,
            "first_pair": [pack_counts(x.first) for x in state.pairs],
            "columns": [pack_counts(x.columns) for x in state.pairs],
            "matrix": [pack_floats(matrix) for matrix in state.matrix],
            "patterns": state.patterns,
            "pattern": [pack_floats(pattern) for pattern in state.pattern],
        }
    )


def from_bytes(data: bytes) -> LevelState:
    """Inverse of `to_bytes`; `connect` comes next.

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
        return replace(
            empty_levels(pairs, loaded["patterns"]),
            matrix=tuple(map(unpack_floats, loaded["matrix"])),
            pattern=tuple(map(unpack_floats, loaded["pattern"])),
        )
    except (KeyError, TypeError) as e:
        raise truncated(repr(e)) from None


class LevelWeights(Shim):
    """The weights of the levels of a tree while they are trained.

    state (LevelState): The present weights; see `Weights`.
    mined (Set[int]): Hashes of documents whose pairs have weights.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.replace(LevelState())

    def replace(self, state: LevelState) -> None:
        """Take other weights; forget the steps of the optimizer and all documents."""
        self.state = state
        self._steps: dict[int, LevelSteps] = {}
        self.mined: set[int] = set()

    def publish(self) -> LevelState:
        """RETURNS (LevelState): The present weights for predictions, now read-only."""
        for steps in self._steps.values():
            steps.publish()
        return self.state.freeze()

    def connect(self, tree: LabelTree, top: PatternAutomaton) -> None:
        """Take what follows from the tree and the patterns of its top."""
        self.state = connect(self.state, tree, top)

    def add_pairs(self, more: Sequence[Pairs]) -> None:
        """Weights of 0 for more pairs; training goes on.

        more (Sequence[Pairs]): Of each level, for all features that there are by now;
            some may be known.
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
        """RETURNS (LevelSteps): Where the gradient of a level is collected."""
        if level.index not in self._steps:
            self._steps[level.index] = LevelSteps(level)
        return self._steps[level.index]

    def finish_update(self, optimizer: Optimizer) -> None:
        """One step on all weights that documents have read since the last call."""
        for steps in self._steps.values():
            steps.finish_update(optimizer)
        if self._steps:
            announce_averages(optimizer, self.id)

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """With our key in `params`, the weights are their averages for a while."""
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
        """RETURNS (LevelWeights): With the weights of a saved model, and no steps."""
        return _unpickle(self.to_bytes(), self.state.tree, self.state.top)

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Weights, in single precision."""
        return to_bytes(self.state)

    def from_bytes(self, data: bytes) -> LevelWeights:
        """RETURNS (LevelWeights): Itself; `connect` comes next.

        RAISES (ValueError): HS062 truncated; HS063 saved by a newer version.
        """
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


def _can_be_own(tree: LabelTree, level: int, above: Level) -> bool:
    """Whether pairs of names of a level say all that the patterns above say."""
    is_short = all(len(z) == 2 for z in above.steps.automaton.patterns)
    return is_short and len(level_names(tree, level)) ** 2 <= ALL_BIGRAMS


def _own_level(
    tree: LabelTree, level: int, patterns: Sequence[Pattern], above: Level
) -> Level:
    """With its own patterns, and all other pairs of names that are pairs above."""
    frontier = tree.frontier(level)
    index = np.zeros(len(tree.names) + 1, np.int32)
    index[frontier] = np.arange(1, len(frontier) + 1)
    symbol = np.append(index[tree.at_level(level)], 0).astype(np.int32)
    # The same pattern one level up: names of that automaton's labels.
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
    """For each pattern the first one with the same weight: where it has none of its own
    that is the weight of the pattern above."""
    automaton = above.steps.automaton
    tied_above = automaton.tied or range(len(automaton.patterns))
    first: dict[tuple[bool, int], int] = {}
    keys = (
        (m < n_own, m if m < n_own else tied_above[k]) for m, k in enumerate(carried)
    )
    return [first.setdefault(key, m) for m, key in enumerate(keys)]


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
