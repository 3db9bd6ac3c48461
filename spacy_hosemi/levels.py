"""Weights of the nodes of a label tree below its top.

The score of a label is the sum over the nodes on its way from the top. The nodes at the
top are the labels of the component's own weights; here are those of the levels below:
of features, for the nodes that they are seen with in training, and of label patterns,
for the levels that have few enough nodes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from thinc.api import Model, Optimizer, Shim

from .core import PatternAutomaton
from .core.grammar import BEGIN, END
from .core.lattice import Steps
from .errors import Errors
from .labels import ALL_BIGRAMS, OUTSIDE, Pattern
from .optimizers import SparseAdagrad
from .packing import pack_counts, pack_floats, to_single, unpack_floats
from .selection import Pairs
from .storage import truncated
from .tree import LabelTree
from .weights import Weights

FORMAT = 1

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Level:
    """What tells the segmentations of a level apart.

    steps (Steps): Of the automaton of its label patterns.
    symbol (int32 [V + 1]): The automaton's label of each node; last: that of outside.
    carried (int32 [M]): Which pattern of the level above each of its patterns is part
        of, -1: none.
    is_own (bool): Whether its automaton has its own names, or those of the level above.
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
    patterns (List[List[Pattern]]): Of each level, over the names of its frontier: those
        with weights of their own, which come first in its automaton.
    pattern (List[float64 [M]]): Their weights; -inf: forbidden.
    mined (Set[int]): Of documents all pairs of which are known.
    version (object): Another one whenever weights may have changed.
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
        self.version = object()
        self.pairs = [*pairs]
        self.matrix = [np.zeros(len(of_level.columns)) for of_level in pairs]
        self.patterns = [[tuple(z) for z in of_level] for of_level in patterns]
        self.pattern = [np.zeros(len(of_level)) for of_level in patterns]
        self._steps: dict[int, LevelSteps] = {}
        self.mined: set[int] = set()

    def add_pairs(self, more: Sequence[Pairs]) -> None:
        """Weights of 0 for more pairs; training goes on.

        more (Sequence[Pairs]): Of each level, for all rows that there are by now; some
            may be known.
        """
        self.version = object()
        for k, (old, new) in enumerate(zip(self.pairs, more)):
            self.pairs[k], at = old.merged(new, len(self.tree.names))
            if k in self._steps:
                self._steps[k].insert(at)
            else:
                self.matrix[k] = np.insert(self.matrix[k], at, 0.0)

    def connect(self, tree: LabelTree, automaton: PatternAutomaton) -> None:
        """What follows from the tree and the patterns of its top.

        tree (LabelTree): V nodes.
        automaton (PatternAutomaton): Of the component: outside, then the top.
        """
        self.version = object()
        self.tree, self._automaton = tree, automaton
        symbol = np.append(tree.at_level(1) + 1, 0).astype(np.int32)
        every = np.arange(len(automaton.patterns), dtype=np.int32)
        above = Level(Steps(automaton), symbol, every, is_own=False)
        self.levels = []
        for level, patterns in enumerate(self.patterns, start=2):
            if patterns or _can_be_own(tree, level, above):
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
        found = np.append(above, 0.0)[here.carried]  # -1: nothing is carried
        found[: len(own)] += np.where(np.isneginf(own), own, scale * own)
        return found

    def column(self, node: int) -> tuple[NDArray[np.intp], Floats]:
        """RETURNS (Tuple[intp [K], float64 [K]]): Rows that have a weight in a node
        below the top, and these weights."""
        level = int(self.tree.level[node]) - 2
        rows, slots = self.pairs[level].column(node)
        return rows, self.matrix[level][slots]

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        self.version = object()
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

    # online training

    def steps(self, level: OneLevel) -> LevelSteps:
        """RETURNS (LevelSteps): Where the gradient of a level is collected."""
        if level.index not in self._steps:
            self._steps[level.index] = LevelSteps(level)
        return self._steps[level.index]

    def finish_update(self, optimizer: Optimizer) -> None:
        """Step on all that was read since the last call, on every level."""
        for steps in self._steps.values():
            steps.finish_update(optimizer)
        averages: dict[Any, Any] | None = getattr(optimizer, "averages", None)
        if averages is not None and self._steps:
            averages[(self.id, "hosemi")] = np.zeros(0, "f")  # as of `Weights`

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """With our key in `params`, the weights are their averages for a while."""
        if (self.id, "hosemi") not in params:
            yield
            return
        for steps in self._steps.values():
            steps.use(averages=True)
        try:
            yield
        finally:
            for steps in self._steps.values():
                steps.use(averages=False)

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
            raise truncated(repr(e)) from None
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
    kept = [m for m, at in enumerate(carried) if at >= 0 or m < len(patterns)]
    at = np.array(carried, np.int32)[kept]
    tied = _ties(len(patterns), at.tolist(), above)
    automaton = PatternAutomaton(own, [every[m] for m in kept], tied=tied)
    return Level(Steps(automaton), symbol, at, is_own=True)


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


class OneLevel:
    """The weights of one level as a vector: of nodes, then of its own patterns.

    weights (LevelWeights): Where they are.
    top (Weights): The component's own, which know the family of each feature.
    level (int): From 2.
    l2_scale (float): Multiplies l2.
    """

    def __init__(
        self, weights: LevelWeights, top: Weights, level: int, l2_scale: float
    ) -> None:
        self._weights, self.top, self.index = weights, top, level - 2
        self._l2_scale = l2_scale
        self._learnt = np.isfinite(self._pattern)
        if not weights.levels[self.index].is_own:
            self._learnt = np.zeros(0, bool)

    @property
    def _pattern(self) -> Floats:
        return self._weights.pattern[self.index]

    @property
    def pairs(self) -> Pairs:
        """For each row the nodes in which it has a weight."""
        return self._weights.pairs[self.index]

    def part(self, matrix: Floats, pattern: Floats) -> Floats:
        """RETURNS (float64 [N]): What of these belongs to the vector."""
        return np.concatenate([matrix, self.learnt(pattern)])

    def learnt(self, pattern: Floats) -> Floats:
        """RETURNS (float64): What is learnt of values of all patterns."""
        return pattern[: len(self._learnt)][self._learnt]

    def vector(self) -> Floats:
        """RETURNS (float64 [N])"""
        return self.part(self._weights.matrix[self.index], self._pattern)

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverse of `vector`."""
        self._weights.version = object()
        split = len(self.pairs.columns)
        matrix = vector[:split]
        self._weights.matrix[self.index] = matrix.copy() if copy else matrix
        if len(vector) > split:
            self._pattern[self._learnt] = vector[split:]

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        return self._by_weight(self.top.row_values(values), values["pattern"])

    def step_l2(self, n_docs: int) -> Floats:
        """RETURNS (float64 [N]): l2 of a step on so many documents."""
        of_row, of_rest = self.top.step_shares(n_docs)
        return self._by_weight(
            self.top.row_values(self.top.l2) * of_row, self.top.l2["pattern"] * of_rest
        )

    def _by_weight(self, of_row: Floats, of_pattern: float) -> Floats:
        of_pair = of_row.repeat(self.pairs.sizes)
        patterns = np.full(len(self._pattern), of_pattern)
        return self._l2_scale * self.part(of_pair, patterns)

    def slots(self, rows: Ints) -> Ints:
        """RETURNS (int32): Places of the weights of these rows, and of patterns."""
        n_pairs = len(self.pairs.columns)
        n_all = n_pairs + int(self._learnt.sum())
        of_patterns = np.arange(n_pairs, n_all, dtype=np.int32)
        return np.concatenate([self.pairs.slots(rows), of_patterns])

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        self._weights.round()

    def pruned_size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): Of all levels."""
        return self._weights.size()


class LevelSteps:
    """Online training of one level.

    level (OneLevel): Its weights, which change in place.

    gradient (float64 [N]): Where it is added to.
    """

    def __init__(self, level: OneLevel) -> None:
        self._level = level
        self._adagrad = SparseAdagrad(level.vector()[:, None])
        self._n_docs = 0
        self.use(averages=False)

    @property
    def gradient(self) -> Floats:
        """RETURNS (float64 [N]): In the order of `OneLevel.vector`."""
        return self._adagrad.gradient[:, 0]

    def touch(self, rows: Ints, n_docs: int) -> None:
        """Note what so many documents have read: these rows."""
        self._adagrad.touched.append(self._level.slots(rows))
        self._n_docs += n_docs

    def insert(self, at: NDArray[np.intp]) -> None:
        """More weights of 0, before these places; their pairs are there already."""
        self._adagrad.insert(at)
        self.use(averages=False)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Step on all that was touched since the last call."""
        if self._n_docs:
            rate = self._level.top.learn_rate_scale * float(optimizer.learn_rate)
            self._adagrad.step(self._level.step_l2(self._n_docs), rate)
            self._n_docs = 0
            self.use(averages=False)

    def use(self, averages: bool) -> None:
        """Let the level have the weights as they are, or their averages."""
        found = self._adagrad.averages() if averages else self._adagrad.weights
        self._level.set_vector(found[:, 0], copy=False)
