"""A label tree with few labels, as labels without a tree.

    weight[row, leaf] = sum of weight[row, node] over the nodes from the top to the leaf

and the same for label patterns. The distribution is that of the last level with
threshold 0, computed as for labels without a tree. Most pairs of leaves have no weight
of their own, but that of the pair of nodes above them: these weights are tied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import cast

import numpy as np

from ..arrays import Floats, Places
from ..core import PatternAutomaton
from ..labels.inventory import OUTSIDE, LabelInventory, Span
from ..labels.projection import Projection
from ..model.state import ModelState
from ..model.weights.edits import columns, with_labels
from ..model.weights.pairs import MAX_PAIRS
from ..model.weights.state import WeightState
from ..prediction.posterior import Path
from .level_state import LevelState
from .projection import TreeProjection
from .tree import LabelTree


class FlatTree:
    """Has the leaves of a tree as the labels of segments, as automaton and weights have
    them; names of inner nodes stand for all leaves below."""

    def __init__(
        self,
        tree: LabelTree,
        labels: Sequence[str],
        outside: str,
        automaton: PatternAutomaton,
        weights: WeightState,
    ) -> None:
        self._tree, self.automaton, self.weights = tree, automaton, weights
        self._leaves = leaves = cache(tree.leaves)  # below a node
        # For each leaf the names from the top; the leaves below each, in its `family`.
        self._places: dict[str, list[tuple[str, list[int]]]] = {}
        self._ways = {label: tree.path(tree.leaf[label]) for label in labels}
        # For each leaf the names from the top, without probabilities.
        self.unknown: dict[str, Path] = {
            label: tuple((name, None) for name, _ in way)
            for label, way in self._ways.items()
        }
        names = {name for way in self._ways.values() for name, _ in way}
        self.projection = Projection(labels, names)

        # No method: a cycle would keep the weights until garbage is collected.
        def labels_below(name: str) -> Sequence[str]:
            node = tree.node_of(name)
            return () if node is None else leaves(node)

        self.inventory = LabelInventory(labels, "segments", outside, labels_below)

    def family(self, span: Span) -> list[Span]:
        """Returns the same tokens with each leaf below the same node at the top."""
        start, end, label = span
        _, top = self._ways[label][0]
        return [(start, end, leaf) for leaf in self._leaves(top)]

    def path(
        self, label: str, probabilities: Sequence[float], kept: str | None
    ) -> Path:
        """Returns the names from the top to a leaf, with probabilities by those of its
        `family`; a name that a user gave (kept), and those above it, have 1."""
        n_sure = self._tree.n_sure(label, kept)
        path: list[tuple[str, float]] = []
        if label not in self._places:
            way = self._ways[label]
            place = {leaf: k for k, leaf in enumerate(self._leaves(way[0][1]))}
            below = ((name, self._leaves(node)) for name, node in way)
            in_family = [(name, [place[x] for x in leaves]) for name, leaves in below]
            self._places[label] = in_family
        for k, (name, places) in enumerate(self._places[label]):
            p = math.fsum([probabilities[i] for i in places])
            path.append((name, 1.0 if k < n_sure else min(p, 1.0)))
        return path


def flatten(state: ModelState, before: FlatTree | None = None) -> FlatTree | None:
    """Returns the leaves of the tree of a state as the labels of segments; None without
    an automaton of the last level, or for more than MAX_PAIRS weights. The automaton of
    a previous result (before) is used again if label patterns are the same."""
    schema, levels = state.schema, state.levels
    labels, tree = schema.labels, cast(TreeProjection, schema.projection).tree
    n_weights = len(state.weights.table) * (1 + len(tree.leaf))
    if not levels.levels or not levels.levels[-1].is_own or n_weights > MAX_PAIRS:
        return None
    # That of the last level, with the labels in another order.
    last = levels.levels[-1].steps.automaton
    old = None if before is None else before.automaton
    needed = (OUTSIDE, *labels), last.patterns, last.tied
    if old is not None and needed == (old.labels, old.patterns, old.tied):
        automaton = old
    else:
        automaton = PatternAutomaton(*needed[:2], tied=last.tied)
    weights = _leaf_weights(state.weights, levels, labels)
    return FlatTree(tree, labels, schema.outside, automaton, weights)


def _leaf_weights(
    top: WeightState, levels: LevelState, labels: Sequence[str]
) -> WeightState:
    """Returns the weights of leaves, in the order of labels."""
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


def _add_level(levels: LevelState, level: int, leaf: Places, matrix: Floats) -> None:
    """Adds the weights of a level to the leaves below, in a matrix [R, 1 + leaves]."""
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
