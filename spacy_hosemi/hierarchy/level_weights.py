"""The Thinc shim that holds a `LevelState`, and the online steps of each level."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from thinc.api import Model, Optimizer, Shim

from ..arrays import Floats, Ints, Places
from ..core import PatternAutomaton
from ..model.weights.online import SparseAdagrad, step_shares
from ..model.weights.pairs import WeightPairs
from ..model.weights.vector import row_values
from ..model.weights.weights import Weights, announce_averages
from .level_state import LevelState, connect, from_bytes
from .tree import LabelTree


class LevelWeights(Shim):
    """Holds the weights of the levels of a tree while they are trained, see `Weights`;
    `mined` are hashes of the documents whose pairs have weights."""

    def __init__(self) -> None:
        super().__init__(None)
        self.replace(LevelState())

    def replace(self, state: LevelState) -> None:
        """Takes other weights; forgets all documents and the state of the optimizer."""
        self.state = state
        self._levels: dict[int, LevelVector] = {}
        self.mined: set[int] = set()

    def publish(self) -> LevelState:
        """Returns the present weights, which become read-only."""
        for level in self._online():
            level.publish()
        return self.state.freeze()

    def connect(self, tree: LabelTree, top: PatternAutomaton) -> None:
        """Takes a tree, as the function `connect` does."""
        self.state = connect(self.state, tree, top)

    def add_pairs(self, more: Sequence[WeightPairs]) -> None:
        """Adds weights of 0 for new pairs, by level, of all features there are now."""
        pairs, matrix = [*self.state.pairs], [*self.state.matrix]
        places = []
        for k, new in enumerate(more):
            pairs[k], at = pairs[k].merged(new, len(self.state.tree.names))
            matrix[k] = np.insert(matrix[k], at, 0.0)
            places.append(at)
        self.state = replace(self.state, pairs=tuple(pairs), matrix=tuple(matrix))
        for level in self._online():
            level.insert(places[level.index])

    def level(self, level: int, top: Weights, l2_scale: float) -> LevelVector:
        """Returns the weights of a level, from 2; see `LevelVector`."""
        index = level - 2
        if index not in self._levels:
            self._levels[index] = LevelVector(self, top, index, l2_scale)
        return self._levels[index]

    def _online(self) -> list[LevelVector]:
        """Returns the levels of which there have been online steps."""
        return [level for level in self._levels.values() if level.is_online]

    def finish_update(self, optimizer: Optimizer) -> None:
        """Takes a step on the weights that were active since the last call."""
        for level in self._online():
            level.finish_update(optimizer)
        if self._online():
            announce_averages(optimizer, self.id)

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """Uses the averages of weights for a while, if `params` has this shim's key."""
        if (self.id, "hosemi") not in params:
            yield
            return
        present = self.state
        for level in self._online():
            level.use_averages()
        try:
            yield
        finally:
            self.state = present

    def to_device(self, device_type: str, device_id: int) -> None:
        """Does nothing: the weights stay in main memory."""

    def copy(self) -> LevelWeights:
        """Returns the weights as a saved model has them, and no steps."""
        return _unpickle(*self.__reduce__()[1])

    def to_bytes(self) -> bytes:
        """Returns the weights in single precision."""
        return self.state.to_bytes()

    def from_bytes(self, data: bytes) -> LevelWeights:
        """Reads what `to_bytes` returned, as the function does; returns self."""
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
    """Returns the shim of a span scorer; if it has none, it gets one."""
    for shim in model.shims:
        if isinstance(shim, LevelWeights):
            return shim
    weights = LevelWeights()
    model.shims.append(weights)
    return weights


class LevelVector:
    """Has the weights of a level (index 0 is level 2) as a vector, of nodes, then of
    its own patterns, and takes its online steps, which change them in place until they
    are published. The component's own weights (top) know the penalty group of each
    feature; `l2_scale` multiplies l2."""

    def __init__(
        self, weights: LevelWeights, top: Weights, index: int, l2_scale: float
    ) -> None:
        self.levels, self.top, self.index = weights, top, index
        self._l2_scale = l2_scale
        self._n_docs = 0  # since the last online step
        self._learnt = np.isfinite(self._pattern)
        if not weights.state.levels[self.index].is_own:
            self._learnt = np.zeros(0, bool)

    @property
    def _pattern(self) -> Floats:
        return self.levels.state.pattern[self.index]

    @property
    def pairs(self) -> WeightPairs:
        """Returns for each feature the nodes in which it has a weight."""
        return self.levels.state.pairs[self.index]

    def _joined(self, matrix: Floats, pattern: Floats) -> Floats:
        """Returns one vector of values of nodes and of patterns."""
        return np.concatenate([matrix, self.learnt(pattern)])

    def learnt(self, pattern: Floats) -> Floats:
        """Returns the entries of `pattern` whose weights are trained."""
        return pattern[: len(self._learnt)][self._learnt]

    def vector(self) -> Floats:
        """Returns the weights in a new array [N]."""
        return self._joined(self.levels.state.matrix[self.index], self._pattern)

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverts `vector`; without a copy the weights of nodes are a view of it."""
        split = len(self.pairs.columns)
        matrix, pattern = vector[:split], self._pattern
        if len(vector) > split:
            pattern = pattern.copy()
            pattern[self._learnt] = vector[split:]
        state = self.levels.state
        matrices, patterns = [*state.matrix], [*state.pattern]
        matrices[self.index] = matrix.copy() if copy else matrix
        patterns[self.index] = pattern
        self.levels.state = replace(
            state, matrix=tuple(matrices), pattern=tuple(patterns)
        )

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """Returns for each weight the value of its penalty group [N]."""
        of_row = row_values(self.top.state, values)
        return self._by_weight(of_row, values["pattern"])

    def _by_weight(self, of_row: Floats, of_pattern: float) -> Floats:
        of_pair = of_row.repeat(self.pairs.sizes)
        patterns = np.full(len(self._pattern), of_pattern)
        return self._l2_scale * self._joined(of_pair, patterns)

    def round(self) -> None:
        """Makes the weights of all levels what they will be in a saved model."""
        self.levels.state = self.levels.state.rounded()

    def pruned_size(self, share: float) -> dict[str, float]:
        """Returns the size of all levels, which are not pruned."""
        return self.levels.state.size()

    @property
    def is_online(self) -> bool:
        """Says whether there has been a gradient for an online step."""
        return "_steps" in self.__dict__

    @cached_property
    def _steps(self) -> SparseAdagrad:
        """Begins with sums of squares as `first_squares` does."""
        vector, top = self.vector(), self.top.state
        n_docs = top.counts.repeat(self.pairs.sizes)
        squares = self._joined(n_docs / 4, np.full(len(self._pattern), top.n_docs / 4))
        return SparseAdagrad(vector[:, None], np.where(vector, squares, 0.0)[:, None])

    @property
    def gradient(self) -> Floats:
        """Returns the array that gradients are added to, in the order of the vector."""
        return self._steps.gradient[:, 0]

    def touch(self, rows: Ints, n_docs: int) -> None:
        """Notes the features that are active in some documents."""
        if not self.is_online:
            self._write()
        n_pairs = len(self.pairs.columns)
        n_all = n_pairs + int(self._learnt.sum())
        of_patterns = np.arange(n_pairs, n_all, dtype=np.int32)
        touched = np.concatenate([self.pairs.slots(rows), of_patterns])
        self._steps.touched.append(touched)
        self._n_docs += n_docs

    def insert(self, at: Places) -> None:
        """Inserts weights of 0 before some indices, for pairs that were added."""
        self._steps.insert(at)
        self._write()

    def finish_update(self, optimizer: Optimizer) -> None:
        """Takes a step on the weights of all features noted since the last call."""
        if self._n_docs:
            rate = self.top.learn_rate_scale * float(optimizer.learn_rate)
            of_row, of_rest = step_shares(self.top.state, self._n_docs)
            l2 = self.top.l2
            of_features = row_values(self.top.state, l2) * of_row
            penalties = self._by_weight(of_features, l2["pattern"] * of_rest)
            self._steps.step(penalties, rate)
            self._n_docs = 0
            self._write()

    def publish(self) -> None:
        """Makes the weights read-only: the next step copies them."""
        self._steps.weights.setflags(write=False)

    def use_averages(self) -> None:
        """Replaces the weights of the level by their averages."""
        self.set_vector(self._steps.averages()[:, 0])

    def _write(self) -> None:
        """Lets the weights be those that steps change in place."""
        self.set_vector(self._steps.weights[:, 0], copy=False)
