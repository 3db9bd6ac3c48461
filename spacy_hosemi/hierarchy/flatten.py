"""A label tree with few labels, as labels without a tree.

    weight[row, leaf] = sum of weight[row, node] over the nodes on its way from the top

and so for label patterns: the distribution is the one that `hierarchy` has on the last
level with threshold 0, but it is found as that of any labels is. Most pairs of leaves
have the weight of the pair above them and no more, so they are tied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton
from ..labels.inventory import OUTSIDE, LabelInventory, Span
from ..labels.partial import Fixed, Preset
from ..model.weights.pairs import MAX_PAIRS
from ..model.weights.shim import Weights
from .tree import LabelTree
from .weights import LevelWeights

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Path = list[tuple[str, float]]


class LeafInventory(LabelInventory):
    """The labels of a tree, which its other names stand for.

    labels (Sequence[str]): The leaves.
    outside (str): See `LabelInventory`.
    tree (LabelTree): What is above them.
    """

    def __init__(self, labels: Sequence[str], outside: str, tree: LabelTree) -> None:
        super().__init__(labels, "segments", outside)
        self._tree = tree

    def names_within(self, span: Span) -> Bools:
        """With the name of an inner node any label below it."""
        start, end, name = span
        found = np.zeros((end - start, len(self.names)), bool)
        found[:, [self._index[label] for label in self.below(name)]] = True
        return found

    def below(self, name: str) -> list[str]:
        """RETURNS (List[str]): Labels at or below a name of the tree."""
        node = self._tree.node_of(name)
        return [] if node is None else self._tree.leaves(node)


class _Way(NamedTuple):
    """How the probability of each name on the way to a leaf is added up.

    family (List[str]): All leaves below the same top.
    names (Tuple[str, ...]): From the top.
    below (List[List[int]]): For each of them, which of the family are below.
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


class Leaves:
    """The leaves of a tree as the labels of a component.

    tree (LabelTree): Whose last level has an automaton of its own.
    labels (Sequence[str]): Its leaves, in the order of the component.
    outside (str): See `LabelInventory`.
    automaton (PatternAutomaton): Of the leaves in this order.
    weights (Weights): For these labels.
    unknown (Dict[str, Tuple[Tuple[str, None], ...]]): For each leaf the names from the
        top, as a path without probabilities.
    """

    def __init__(
        self,
        tree: LabelTree,
        labels: Sequence[str],
        outside: str,
        automaton: PatternAutomaton,
        weights: Weights,
    ) -> None:
        self._tree = tree
        self.inventory = LeafInventory(labels, outside, tree)
        self.automaton = automaton
        self.weights = weights
        self._ways = {label: _way(tree, label) for label in labels}
        self.unknown = {
            label: tuple((name, None) for name in way.names)
            for label, way in self._ways.items()
        }

    def limits(
        self, presets: Iterable[Preset | None], fixed: Fixed
    ) -> tuple[list[Preset | None], Fixed]:
        """RETURNS (Tuple[List[Optional[Preset]], Fixed]): What is preset beside what is
        fixed, without names that are not in the tree, whose tokens stay taken; and what
        is fixed, whose forbidden spans are of leaves."""
        limited = [preset and self._known(preset.beside(fixed)) for preset in presets]
        labels = {None, *self.inventory.labels}
        forbid = tuple(x for x in fixed.forbid if x[2] in labels)
        return limited, Fixed(fixed.keep, forbid)

    def _known(self, preset: Preset) -> Preset:
        known = [x for x in preset.spans if self._tree.node_of(x[2]) is not None]
        return replace(preset, spans=known)

    def family(self, span: Span) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): The same tokens with each leaf that is
        below the same top."""
        start, end, label = span
        return [(start, end, name) for name in self._ways[label].family]

    def path(
        self, label: str, probabilities: Sequence[float], kept: str | None
    ) -> Path:
        """Names from the top to a leaf, and how probable each is.

        probabilities (Sequence[float]): Of its `family`.
        kept (Optional[str]): Down to this name it is sure.
        """
        way = self._ways[label]
        sums = [math.fsum([probabilities[k] for k in below]) for below in way.below]
        n_sure = self._tree.n_sure(label, kept)
        return [
            (name, 1.0 if k < n_sure else min(p, 1.0))
            for k, (name, p) in enumerate(zip(way.names, sums))
        ]


def can_be_flat(top: Weights, levels: LevelWeights) -> bool:
    """Whether the last level has an automaton of its own, and there are few enough
    weights for each feature to have one for each leaf."""
    n_weights = len(top.table) * (1 + len(levels.tree.leaf))
    is_own = bool(levels.levels) and levels.levels[-1].is_own
    return is_own and n_weights <= MAX_PAIRS


def leaf_automaton(
    levels: LevelWeights, labels: Sequence[str], known: PatternAutomaton | None = None
) -> PatternAutomaton:
    """Of the label patterns of the last level, and what ties them.

    labels (Sequence[str]): Their order.
    known (Optional[PatternAutomaton]): That of before, when weights were others: it is
        taken again if nothing else has changed.
    """
    last = levels.levels[-1].steps.automaton
    wanted = (OUTSIDE, *labels), last.patterns, last.tied
    if known is not None and wanted == (known.labels, known.patterns, known.tied):
        return known
    return PatternAutomaton(*wanted[:2], tied=last.tied)


def leaf_weights(top: Weights, levels: LevelWeights, labels: Sequence[str]) -> Weights:
    """Weights of leaves, from those of all nodes.

    top (Weights), levels (LevelWeights): Of the nodes.
    labels (Sequence[str]): The leaves, in the order of the columns behind outside.
    """
    tree = levels.tree
    leaf = np.array([tree.leaf[label] for label in labels])
    at_top = np.concatenate([[0], tree.at_level(1)[leaf] + 1])
    matrix = top.columns(at_top)
    pattern = top.pattern
    for level in range(2, tree.n_levels + 1):
        _add_level(levels, level, leaf, matrix)
        pattern = levels.weights_at(level, pattern)
    return top.with_labels(matrix, pattern, top.length[at_top], top.tail[at_top])


def _add_level(
    levels: LevelWeights, level: int, leaf: NDArray[np.intp], matrix: Floats
) -> None:
    """Add the weights of the nodes of a level to those of the leaves below them."""
    pairs, weights = levels.pairs[level - 2], levels.matrix[level - 2]
    at = levels.tree.at_level(level)[leaf]
    order = np.argsort(at, kind="stable")
    first = np.searchsorted(at[order], pairs.columns)
    counts = np.searchsorted(at[order], pairs.columns, side="right") - first
    row = np.arange(len(pairs.sizes)).repeat(pairs.sizes).repeat(counts)
    place = np.arange(counts.sum()) - (np.cumsum(counts) - counts).repeat(counts)
    column = order[place + first.repeat(counts)] + 1
    # A leaf has one node of a level above it, so that no place comes twice.
    matrix[row, column] += weights.repeat(counts)
