"""Lists the weights of a trained component by name, largest first.

    name of a feature   role:TEMPLATE=value, such as "start:LOWER[-1] & LOWER=in & the"
    its family          role:TEMPLATE
    name of a column    a label ("O" is outside); with tags on tokens a tag, as "B-PER";
                        of transitions a label pattern, as "author title"

The difference of two weights of a feature decides between their columns. With labels in
a tree, a column below the top level is a node, and has what the node adds: the score of
a label is the sum over the nodes from the top to the label.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Places
from ..component.pipe import HighOrderSemiCRF
from ..model.weights.state import WeightState
from ..values import TEXT, choice, list_of, read

# A name, the features with a weight in the column, and these weights. A label with
# others below it has two nodes: one for all of them, and one named "... itself".
Column = tuple[str, Places, Floats]

# Label trees with more nodes show columns of the top level and of `labels` alone.
MAX_NODES = 100


@dataclass(frozen=True)
class FeatureWeight:
    """The weight of a feature, "role:TEMPLATE=value", in one column, which is added to
    the score where it is active; and in how many training documents it is."""

    feature: str
    docs: int
    weight: float


@dataclass(frozen=True)
class WeightRow:
    """A feature, and its weights by column, descending, without those that are 0."""

    feature: str
    docs: int
    weights: dict[str, float]


@dataclass(frozen=True)
class PatternWeight:
    """A label pattern, of names of columns, "^" for the begin and "$" for the end, and
    its weight, which is added to the score each time the pattern is completed."""

    pattern: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class TransitionWeight:
    """The weight of a feature for a pattern of labels or tags, "^" for the begin: it is
    added where a segment that completes the pattern reads the feature."""

    feature: str
    pattern: tuple[str, ...]
    docs: int
    weight: float


@dataclass(frozen=True)
class Family:
    """All weights of one kind: "role:TEMPLATE" for features, "pattern:N" for label
    patterns of N names, or "length". It has so many rows (features, patterns, lengths),
    a share of the sum of all squared weights, and a largest absolute weight."""

    name: str
    rows: int
    share: float
    largest: float


def strongest_features(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    role: str | None = None,
    text: str = "",
    negative: bool = False,
) -> dict[str, list[FeatureWeight]]:
    """Returns for each column the features with the highest weights, at most `top`, in
    descending order; with `negative` also those with the lowest weights below 0.

    `labels` are the columns, where a label of spans stands for all its tags; if empty,
    all. `role` and `text` leave features of this role, or with this text in their name.
    Raises ValueError HS042 for an unknown label or role.
    """
    weights = pipe.weights
    is_wanted = _matching(weights, role, text)
    strongest = {}
    for name, rows, values in _columns(pipe, labels):
        rows, values = rows[is_wanted[rows]], values[is_wanted[rows]]
        strongest[name] = [
            FeatureWeight(
                weights.names[rows[k]], int(weights.counts[rows[k]]), float(values[k])
            )
            for k in _strongest(values, top, negative)
        ]
    return strongest


def find_features(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    role: str | None = None,
    text: str = "",
) -> list[WeightRow]:
    """Returns at most `top` features with all their weights, those with the largest
    absolute weight first; arguments and errors are as in `strongest_features`."""
    weights = pipe.weights
    columns = [*_columns(pipe, labels, with_transitions=True)]
    _, largest = _sizes(weights, columns)
    rows = np.flatnonzero(_matching(weights, role, text))
    rows = rows[np.argsort(-largest[rows], kind="stable")[:top]]
    by_row: list[dict[str, float]] = [{} for _ in rows]
    for name, of_column, values in columns:
        dense = np.zeros(len(weights.names))
        dense[of_column] = values
        for of_row, value in zip(by_row, dense[rows].tolist()):
            if value:
                of_row[name] = value
    by_size = [dict(sorted(of_row.items(), key=lambda x: -x[1])) for of_row in by_row]
    return [
        WeightRow(weights.names[r], int(weights.counts[r]), of_row)
        for r, of_row in zip(rows.tolist(), by_size)
    ]


def count_features(
    pipe: HighOrderSemiCRF, *, role: str | None = None, text: str = ""
) -> int:
    """Returns how many features have a role, and a text in their name."""
    return int(_matching(pipe.weights, role, text).sum())


def strongest_patterns(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    negative: bool = False,
) -> list[PatternWeight]:
    """Returns the label patterns with the highest weights, at most `top`, descending,
    with one of `labels` if there are some; with `negative` as many below 0."""
    patterns = _patterns(pipe, labels)
    values = np.array([pattern.weight for pattern in patterns])
    return [patterns[k] for k in _strongest(values, top, negative)]


def strongest_transitions(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    role: str | None = None,
    text: str = "",
    negative: bool = False,
) -> list[TransitionWeight]:
    """Returns the highest weights of features for label patterns, in descending order;
    arguments and errors are as in `strongest_features` and `strongest_patterns`."""
    weights = pipe.weights
    has_label = _pattern_filter(pipe, labels)
    is_wanted = _matching(weights, role, text)
    transitions = [
        TransitionWeight(weights.names[r], pattern, int(weights.counts[r]), value)
        for pattern, column in zip(pipe.automaton.observed, _transitions(pipe))
        if has_label(pattern)
        for r, value in zip(*(array.tolist() for array in column[1:]))
        if is_wanted[r]
    ]
    values = np.array([x.weight for x in transitions])
    return [transitions[k] for k in _strongest(values, top, negative)]


def count_forbidden(pipe: HighOrderSemiCRF) -> int:
    """Returns how many label patterns no segmentation may contain."""
    return int(np.isneginf(pipe.weights.pattern).sum())


def weight_families(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    role: str | None = None,
    text: str = "",
) -> list[Family]:
    """Returns the share in the squared weights of each template, of each size of label
    patterns, and of lengths, in descending order. Shares are those of all weights in
    the columns of `labels`, if there are any; with `role` or `text` only templates are
    listed. Arguments and errors are as in `strongest_features`."""
    weights = pipe.weights
    columns = _columns(pipe, labels, with_transitions=True)
    squares, largest = (x.tolist() for x in _sizes(weights, columns))
    is_wanted = _matching(weights, role, text).tolist()
    names = (name.partition("=")[0] for name in weights.names)
    rows = [*zip(names, squares, largest, is_wanted)]
    pairs = [(f"pattern:{len(x.pattern)}", x.weight) for x in _patterns(pipe, labels)]
    if weights.learn_length:
        values = weights.length[_top_columns(pipe, labels)]
        pairs += [("length", x) for x in values[np.isfinite(values)].tolist()]
    rows += [(name, x**2, abs(x), not (role or text)) for name, x in pairs]
    by_name: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, square, size, is_one in rows:
        if is_one:
            by_name[name].append((square, size))
    total = math.fsum(square for _, square, *_ in rows) or 1.0
    families = [
        Family(name, len(x), math.fsum(y for y, _ in x) / total, max(y for _, y in x))
        for name, x in by_name.items()
    ]
    return sorted(families, key=lambda x: (-x.share, x.name))


def _columns(
    pipe: HighOrderSemiCRF, labels: Sequence[str], with_transitions: bool = False
) -> Iterator[Column]:
    """Yields the columns of some labels or tags; all of them, if none."""
    names = pipe.inventory.names
    for y in _top_columns(pipe, labels):
        yield (names[y], *_column(pipe.weights, y))
    if levels := pipe.level_weights:
        tree = levels.tree
        is_all = not labels and len(tree.names) <= MAX_NODES
        for v, name in enumerate(tree.names):
            if tree.level[v] > 1 and (is_all or name in labels):
                is_itself = tree.names[tree.parent[v]] == name
                yield (name + " itself" * is_itself, *levels.column(v))
    if with_transitions and not labels:
        yield from _transitions(pipe)


def _top_columns(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> list[int]:
    """Returns columns of the top level; raises ValueError HS042 for unknown labels."""
    inventory, levels = pipe.inventory, pipe.level_weights
    if not read("labels", list_of(TEXT), labels):
        return list(range(len(inventory.names)))
    below = levels.tree.names if levels else []
    names = choice(tuple(dict.fromkeys([*inventory.names, *inventory.labels, *below])))
    for label in labels:
        read("label", names, label)
    return [
        y
        for y, name in enumerate(inventory.names)
        if name in labels
        or (y > 0 and inventory.on_tokens and name.partition("-")[2] in labels)
    ]


def _pattern_filter(
    pipe: HighOrderSemiCRF, labels: Sequence[str]
) -> Callable[[Iterable[str]], bool]:
    """Returns a function: whether a pattern has one of some labels or tags, if any."""
    names = pipe.inventory.names
    wanted = {*(names[y] for y in _top_columns(pipe, labels)), *labels}
    return lambda pattern: not labels or not wanted.isdisjoint(pattern)


def _transitions(pipe: HighOrderSemiCRF) -> Iterator[Column]:
    """Yields the columns of observed label patterns."""
    for c, pattern in enumerate(pipe.automaton.observed, len(pipe.inventory.names)):
        yield (" ".join(pattern), *_column(pipe.weights, c))


def _matching(weights: WeightState, role: str | None, text: str) -> Bools:
    """Returns whether each feature has a role, and a text in its name."""
    names = weights.names
    if role is not None:
        roles = sorted({x.partition(":")[0] for x in names})
        read("role", choice(tuple(roles)), role)
    prefix = "" if role is None else f"{role}:"
    return np.array([n.startswith(prefix) and text in n for n in names], np.bool_)


def _column(weights: WeightState, y: int) -> tuple[Places, Floats]:
    """Returns the features that have a weight in a column, and these weights."""
    pairs = weights.pairs
    if pairs is None:
        return np.arange(len(weights.matrix)), weights.matrix[:, y]
    rows, slots = pairs.column(y)
    return rows, weights.matrix[slots, 0]


def _sizes(weights: WeightState, columns: Iterable[Column]) -> tuple[Floats, Floats]:
    """Returns the sum of squares and the largest absolute weight of each feature."""
    squares, largest = np.zeros((2, len(weights.names)))
    for _, rows, values in columns:
        squares[rows] += values**2
        largest[rows] = np.maximum(largest[rows], np.abs(values))
    return squares, largest


def _patterns(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> list[PatternWeight]:
    """Returns patterns with weights and one of some labels, if any, of all levels."""
    is_wanted = _pattern_filter(pipe, labels)
    weights: dict[tuple[str, ...], float] = defaultdict(float)
    parts = [(pipe.cfg["patterns"], pipe.weights.pattern)]
    if levels := pipe.level_weights:
        parts += zip(levels.patterns, levels.pattern)
    for patterns, values in parts:
        for pattern, weight in zip(patterns, values.tolist()):
            weights[tuple(pattern)] += weight
    return [
        PatternWeight(pattern, weight)
        for pattern, weight in weights.items()
        if np.isfinite(weight) and is_wanted(pattern)
    ]


def _strongest(values: Floats, top: int, negative: bool) -> list[int]:
    """Returns the indices of the highest values above 0, then of the lowest below 0."""
    order = np.argsort(-values, kind="stable")
    highest = [k for k in order[:top].tolist() if values[k] > 0]
    lowest = [k for k in order[max(len(order) - top, 0) :].tolist() if values[k] < 0]
    return highest + lowest if negative else highest
