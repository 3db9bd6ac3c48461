"""A label tree with few labels, as labels without a tree.

    weight[row, leaf] = sum of weight[row, node] over the nodes from the top to the leaf

and the same for label patterns. The distribution is that of the last level with
threshold 0, computed as for labels without a tree. Most pairs of leaves have no weight
of their own, but that of the pair of nodes above them: these weights are tied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..labels.inventory import OUTSIDE, LabelInventory, Span
from ..model.state import ModelState
from ..model.weights.edits import columns, with_labels
from ..model.weights.pairs import MAX_PAIRS
from ..model.weights.state import WeightState
from ..prediction.posterior import Path
from .level_state import LevelState
from .projection import LeafProjection, TreeProjection
from .tree import LabelTree

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class LeafInventory(LabelInventory):
    """The leaves of a tree; other names of the tree stand for all leaves below them."""

    def __init__(self, labels: Sequence[str], outside: str, tree: LabelTree) -> None:
        super().__init__(labels, "segments", outside)
        self._tree = tree

    def labels_below(self, label: str) -> Sequence[str]:
        """RETURNS (Sequence[str]): The leaves below a name of the tree."""
        node = self._tree.node_of(label)
        return () if node is None else self._tree.leaves(node)

    def names_within(self, spans: Iterable[Span], n_tokens: int) -> Bools:
        """See `LabelInventory`; the name of an inner node stands for all leaves
        below."""
        is_possible = np.ones((n_tokens, len(self.names)), bool)
        for start, end, name in spans:
            below = [self.index[label] for label in self.labels_below(name)]
            is_possible[start:end] = False
            is_possible[start:end, below] = True
        return is_possible


class _Way(NamedTuple):
    """How the probability of each name from the top to a leaf is summed.

    family (List[str]): All leaves below the same node at the top.
    names (Tuple[str, ...]): From the top to the leaf.
    below (List[List[int]]): For each name, the indices of the leaves below it.
    """

    family: list[str]
    names: tuple[str, ...]
    below: list[list[int]]


def _way(tree: LabelTree, label: str) -> _Way:
    nodes = tree.path(tree.leaf[label])
    family = tree.leaves(nodes[0][1])
    return _Way(
        family,
        tuple(name for name, _ in nodes),
        [[family.index(x) for x in tree.leaves(node)] for _, node in nodes],
    )


class FlatTree:
    """The leaves of a tree as the labels of segments.

    tree (LabelTree): Its last level has an automaton of its own.
    labels (Sequence[str]): Its leaves, in the order of the component.
    outside (str): See `LabelInventory`.
    automaton (PatternAutomaton): Of the leaves in this order.
    weights (WeightState): For these labels.

    unknown (Dict[str, Path]): For each leaf the names from the top; the probability of
        each is None.
    """

    def __init__(
        self,
        tree: LabelTree,
        labels: Sequence[str],
        outside: str,
        automaton: PatternAutomaton,
        weights: WeightState,
    ) -> None:
        self._tree = tree
        self.projection = LeafProjection(labels, tree)
        self.inventory = LeafInventory(labels, outside, tree)
        self.automaton = automaton
        self.weights = weights
        self._ways = {label: _way(tree, label) for label in labels}
        self.unknown: dict[str, Path] = {
            label: tuple((name, None) for name in way.names)
            for label, way in self._ways.items()
        }

    def family(self, span: Span) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): The same tokens with each leaf below
        the same node at the top."""
        start, end, label = span
        return [(start, end, name) for name in self._ways[label].family]

    def path(
        self, label: str, probabilities: Sequence[float], kept: str | None
    ) -> Path:
        """RETURNS (Path): The names from the top to a leaf, with probabilities.

        probabilities (Sequence[float]): Of the leaves of its `family`.
        kept (Optional[str]): A name that a user gave the span: it and the names above
            it have probability 1.
        """
        way = self._ways[label]
        sums = [math.fsum([probabilities[k] for k in below]) for below in way.below]
        n_sure = self._tree.n_sure(label, kept)
        return [
            (name, 1.0 if k < n_sure else min(p, 1.0))
            for k, (name, p) in enumerate(zip(way.names, sums))
        ]


def flatten(state: ModelState, before: FlatTree | None = None) -> FlatTree | None:
    """RETURNS (Optional[FlatTree]): The leaves of the tree of a state as the labels of
    segments; None if the last level has no automaton of its own, or if a weight for
    each feature and leaf would be more than MAX_PAIRS.

    before (Optional[FlatTree]): The result for a previous state; its automaton is used
        again if the label patterns are the same.
    """
    schema, levels = state.schema, state.levels
    labels, tree = schema.labels, cast(TreeProjection, schema.projection).tree
    n_weights = len(state.weights.table) * (1 + len(tree.leaf))
    if not levels.levels or not levels.levels[-1].is_own or n_weights > MAX_PAIRS:
        return None
    automaton = _leaf_automaton(levels, labels, before.automaton if before else None)
    weights = _leaf_weights(state.weights, levels, labels)
    return FlatTree(tree, labels, schema.outside, automaton, weights)


def _leaf_automaton(
    levels: LevelState, labels: Sequence[str], before: PatternAutomaton | None
) -> PatternAutomaton:
    """RETURNS (PatternAutomaton): That of the last level, with the labels in another
    order; the one from before, if it is the same."""
    last = levels.levels[-1].steps.automaton
    needed = (OUTSIDE, *labels), last.patterns, last.tied
    if before is not None and needed == (before.labels, before.patterns, before.tied):
        return before
    return PatternAutomaton(*needed[:2], tied=last.tied)


def _leaf_weights(
    top: WeightState, levels: LevelState, labels: Sequence[str]
) -> WeightState:
    """The weights of leaves, in the order of labels, from the weights of all nodes."""
    tree = levels.tree
    leaf = np.array([tree.leaf[label] for label in labels])
    at_top = np.append(0, tree.at_level(1)[leaf] + 1).astype(np.int32)
    matrix = columns(top, at_top)
    pattern = top.pattern
    for level in range(2, tree.n_levels + 1):
        _add_level(levels, level, leaf, matrix)
        pattern = levels.weights_at(level, pattern)
    lengths = top.length[at_top], top.tail[at_top]
    return with_labels(top, matrix, pattern, *lengths)


def _add_level(
    levels: LevelState, level: int, leaf: NDArray[np.intp], matrix: Floats
) -> None:
    """Add the weights of a level to the leaves below, in a matrix [R, 1 + leaves]."""
    pairs, weights = levels.pairs[level - 2], levels.matrix[level - 2]
    at = levels.tree.at_level(level)[leaf]
    order = np.argsort(at, kind="stable")
    first = np.searchsorted(at[order], pairs.columns)
    counts = np.searchsorted(at[order], pairs.columns, side="right") - first
    row = np.arange(len(pairs.sizes)).repeat(pairs.sizes).repeat(counts)
    place = np.arange(counts.sum()) - (np.cumsum(counts) - counts).repeat(counts)
    column = order[place + first.repeat(counts)] + 1
    # No place occurs twice: a leaf has one node of a level above it.
    matrix[row, column] += weights.repeat(counts)
