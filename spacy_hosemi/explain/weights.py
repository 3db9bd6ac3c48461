"""What each feature did: the weights of a trained component, strongest first.

    name of a feature   role:TEMPLATE=value, such as "start:LOWER[-1] & LOWER=in & the"
    its family          role:TEMPLATE
    name of a column    a label, "O" is outside; with tags on tokens a tag, as "B-PER";
                        of transitions a label pattern, as "author title"

The columns of a feature are compared as they are: what counts for a decision is the
difference between two of them. With labels in a tree a column below the top is a node,
and has what is added there: the score of a label is the sum on its way from the top.
Nothing is printed here; that is done in `cli`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..component.pipe import HighOrderSemiCRF
from ..hierarchy.weights import LevelState
from ..labels.inventory import check_choice
from ..model.weights.state import Floats, WeightState

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


# Of so many nodes of a label tree all are columns, if no label is asked for; else those
# at the top.
MAX_NODES = 100


@dataclass(frozen=True)
class Column:
    """A label, a tag, a node of a label tree, or a pattern of transitions.

    name (str): Of a label that has others below it "itself" is added, for itself alone.
    rows (intp [K]), values (float64 [K]): Features that have a weight there; weights.
    """

    name: str
    rows: Rows
    values: Floats


@dataclass(frozen=True)
class FeatureWeight:
    """The weight of a feature in one column.

    feature (str): "role:TEMPLATE=value".
    docs (int): In how many training documents it fires.
    weight (float): Added to the score where it fires.
    """

    feature: str
    docs: int
    weight: float


@dataclass(frozen=True)
class WeightRow:
    """A feature and its weights.

    feature (str): "role:TEMPLATE=value".
    docs (int): In how many training documents it fires.
    weights (Dict[str, float]): By column, those that are not 0; descending.
    """

    feature: str
    docs: int
    weights: dict[str, float]


@dataclass(frozen=True)
class PatternWeight:
    """A label pattern and its weight.

    pattern (Tuple[str, ...]): Names of columns; "^" and "$" are begin and end.
    weight (float): Added to the score each time the pattern is completed.
    """

    pattern: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class TransitionWeight:
    """The weight of a feature for a label pattern.

    feature (str): "transition:TEMPLATE=value" or "transition_inside:TEMPLATE=value".
    pattern (Tuple[str, ...]): Names of labels or tags; "^" is begin.
    docs (int): In how many training documents the feature fires.
    weight (float): Added where a segment that completes the pattern reads it.
    """

    feature: str
    pattern: tuple[str, ...]
    docs: int
    weight: float


@dataclass(frozen=True)
class Family:
    """All weights of one kind.

    name (str): "role:TEMPLATE"; "pattern:N" for label patterns of N names; "length".
    rows (int): Features, patterns or lengths.
    share (float): Of the sum of all squared weights.
    largest (float): Largest absolute weight.
    """

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
    """The features that say most about each label.

    pipe (HighOrderSemiCRF): A trained component.
    labels (Sequence[str]): Columns; a label of spans stands for all its tags. Empty:
        all columns.
    top (int): How many of each.
    role (Optional[str]): Only those of this role.
    text (str): Only those with this text in their name.
    negative (bool): Also those that say most against each label.
    RETURNS (Dict[str, List[FeatureWeight]]): By column; weights descend.
    RAISES (ValueError): HS042 unknown label or role.
    """
    weights = pipe.weights
    known = _matching(weights, role, text)
    found = {}
    for column in _columns(pipe, labels):
        is_known = known[column.rows]
        rows, values = column.rows[is_known], column.values[is_known]
        found[column.name] = [
            FeatureWeight(
                weights.names[rows[k]], int(weights.counts[rows[k]]), float(values[k])
            )
            for k in _strongest(values, top, negative)
        ]
    return found


def find_features(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    role: str | None = None,
    text: str = "",
) -> list[WeightRow]:
    """Features with all their weights, those with the largest absolute weight first.

    pipe, labels, top, role, text: As in `strongest_features`.
    RETURNS (List[WeightRow]): At most `top`.
    RAISES (ValueError): HS042 unknown label or role.
    """
    weights = pipe.weights
    columns = [*_columns(pipe, labels), *([] if labels else _transitions(pipe))]
    _, largest = _sizes(weights, columns)
    rows = np.flatnonzero(_matching(weights, role, text))
    rows = rows[np.argsort(-largest[rows], kind="stable")[:top]]
    by_row: list[list[tuple[float, str]]] = [[] for _ in rows]
    for column in columns:
        values = np.zeros(len(weights.names))
        np.put(values, column.rows, column.values)
        for found, value in zip(by_row, values[rows].tolist()):
            if value:
                found.append((value, column.name))
    return [
        WeightRow(
            weights.names[r],
            int(weights.counts[r]),
            {name: value for value, name in sorted(found, key=lambda x: -x[0])},
        )
        for r, found in zip(rows, by_row)
    ]


def count_features(
    pipe: HighOrderSemiCRF, *, role: str | None = None, text: str = ""
) -> int:
    """How many features have this role, and this text in their name.

    RAISES (ValueError): HS042 unknown role.
    """
    return int(_matching(pipe.weights, role, text).sum())


def strongest_patterns(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    top: int = 10,
    negative: bool = False,
) -> list[PatternWeight]:
    """The label patterns with the largest weights; no forbidden ones.

    pipe (HighOrderSemiCRF): A trained component.
    labels (Sequence[str]): Only patterns with one of these; empty: all.
    top (int): How many.
    negative (bool): Also as many of those with the lowest weights below 0.
    RETURNS (List[PatternWeight]): Weights descend.
    RAISES (ValueError): HS042 unknown label.
    """
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
    """The largest weights of features for label patterns.

    pipe (HighOrderSemiCRF): A trained component.
    labels (Sequence[str]): Only patterns with one of these; empty: all.
    top (int): How many.
    role (Optional[str]): Only features in this role.
    text (str): Only features with this text in their name.
    negative (bool): Also as many of those with the lowest weights below 0.
    RETURNS (List[TransitionWeight]): Weights descend.
    RAISES (ValueError): HS042 unknown label or role.
    """
    weights = pipe.weights
    wanted = {*_names(pipe, labels)} if labels else ()
    known = _matching(weights, role, text)
    found = [
        TransitionWeight(weights.names[r], pattern, int(weights.counts[r]), value)
        for pattern, column in zip(pipe.automaton.observed, _transitions(pipe))
        if not wanted or not wanted.isdisjoint(pattern)
        for r, value in zip(column.rows.tolist(), column.values.tolist())
        if known[r]
    ]
    values = np.array([one.weight for one in found])
    return [found[k] for k in _strongest(values, top, negative)]


def count_forbidden(pipe: HighOrderSemiCRF) -> int:
    """RETURNS (int): How many label patterns no segmentation may contain."""
    return int(np.isneginf(pipe.weights.pattern).sum())


def weight_families(
    pipe: HighOrderSemiCRF,
    *,
    labels: Sequence[str] = (),
    role: str | None = None,
    text: str = "",
) -> list[Family]:
    """How much of the weights belongs to each template, pattern size and to lengths.

    pipe (HighOrderSemiCRF): A trained component.
    labels (Sequence[str]): Only weights in these columns; empty: all.
    role, text: Only features as in `strongest_features`; no patterns, no lengths.
    RETURNS (List[Family]): Shares descend; they are of all weights of these columns,
        whatever role and text.
    RAISES (ValueError): HS042 unknown label or role.
    """
    weights = pipe.weights
    columns = [*_columns(pipe, labels), *([] if labels else _transitions(pipe))]
    squares, largest = _sizes(weights, columns)
    names = [name.partition("=")[0] for name in weights.names]
    known = _matching(weights, role, text)
    others = [
        (f"pattern:{len(found.pattern)}", found.weight)
        for found in _patterns(pipe, labels)
    ]
    if weights.learn_length:
        of_length = weights.length[_own_columns(pipe, labels)]
        values = of_length[np.isfinite(of_length)]
        others += [("length", value) for value in values.tolist()]
    names += [name for name, _ in others]
    dense = np.array([value for _, value in others])
    return _group(
        names,
        np.concatenate([squares, dense**2]),
        np.concatenate([largest, np.abs(dense)]),
        np.concatenate([known, np.full(len(dense), not (role or text))]),
    )


def _group(
    names: Sequence[str], squares: Floats, largest: Floats, known: Mask
) -> list[Family]:
    """Families from what belongs to them: names, sizes, and whether it is asked for."""
    total = squares.sum()
    index: dict[str, int] = {}
    family = np.array([index.setdefault(name, len(index)) for name in names], np.intp)
    family, squares, largest = family[known], squares[known], largest[known]
    counts = np.bincount(family, minlength=len(index))
    shares = np.bincount(family, squares, len(index)) / (total or 1.0)
    maxima = np.zeros(len(index))
    np.maximum.at(maxima, family, largest)
    found = [
        Family(name, int(counts[k]), float(shares[k]), float(maxima[k]))
        for name, k in index.items()
        if counts[k]
    ]
    return sorted(found, key=lambda one: (-one.share, one.name))


def _columns(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> Iterator[Column]:
    """Columns that labels or tags name; all, if none."""
    names = pipe.inventory.names
    for y in _own_columns(pipe, labels):
        yield Column(names[y], *_column(pipe.weights, y))
    levels = pipe.level_weights
    if levels is None:
        return
    for v in _nodes(levels, labels):
        name = levels.tree.names[v]
        is_itself = levels.tree.names[levels.tree.parent[v]] == name
        yield Column(f"{name} itself" if is_itself else name, *levels.column(v))


def _own_columns(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> list[int]:
    """Indices of the columns of the component's own weights that are asked for.

    RAISES (ValueError): HS042 unknown label.
    """
    inventory, levels = pipe.inventory, pipe.level_weights
    if not labels:
        return list(range(len(inventory.names)))
    below = levels.tree.names if levels else []
    expected = tuple(dict.fromkeys([*inventory.names, *inventory.labels, *below]))
    for label in labels:
        check_choice("label", label, expected)
    return [
        y
        for y, name in enumerate(inventory.names)
        if name in labels
        or (y > 0 and inventory.on_tokens and name.partition("-")[2] in labels)
    ]


def _nodes(levels: LevelState, labels: Sequence[str]) -> list[int]:
    """Nodes below the top that are asked for."""
    tree = levels.tree
    if not labels and len(tree.names) > MAX_NODES:
        return []
    return [
        v
        for v, name in enumerate(tree.names)
        if tree.level[v] > 1 and (not labels or name in labels)
    ]


def _names(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> list[str]:
    """Labels and tags that are asked for, as they stand in patterns."""
    names = pipe.inventory.names
    return [*(names[y] for y in _own_columns(pipe, labels)), *labels]


def _transitions(pipe: HighOrderSemiCRF) -> Iterator[Column]:
    """Columns of label patterns that have weights for features."""
    for c, pattern in enumerate(pipe.automaton.observed, len(pipe.inventory.names)):
        yield Column(" ".join(pattern), *_column(pipe.weights, c))


def _matching(weights: WeightState, role: str | None, text: str) -> Mask:
    """Which rows [R] have this role, and this text in their name."""
    names = weights.names
    if role is not None:
        roles = {name.partition(":")[0] for name in names}
        check_choice("role", role, sorted(roles))
    prefix = "" if role is None else f"{role}:"
    return np.array([n.startswith(prefix) and text in n for n in names], np.bool_)


def _column(weights: WeightState, y: int) -> tuple[Rows, Floats]:
    """Rows that have a weight in a column, and these weights."""
    pairs = weights.pairs
    if pairs is None:
        return np.arange(len(weights.matrix)), weights.matrix[:, y]
    rows, slots = pairs.column(y)
    return rows, weights.matrix[slots, 0]


def _sizes(weights: WeightState, columns: Iterable[Column]) -> tuple[Floats, Floats]:
    """Sum of squares and largest absolute weight of each row [R], in these columns."""
    squares, largest = np.zeros((2, len(weights.names)))
    for column in columns:
        squares[column.rows] += column.values**2
        sizes = np.abs(column.values)
        largest[column.rows] = np.maximum(largest[column.rows], sizes)
    return squares, largest


def _patterns(pipe: HighOrderSemiCRF, labels: Sequence[str]) -> list[PatternWeight]:
    """Patterns that have weights and one of these labels; all, if there are none. With
    labels in a tree what each level adds."""
    wanted = {*_names(pipe, labels)} if labels else set()
    weights: dict[tuple[str, ...], float] = defaultdict(float)
    given = [(pipe.cfg["patterns"], pipe.weights.pattern)]
    if levels := pipe.level_weights:
        given += zip(levels.patterns, levels.pattern)
    for patterns, values in given:
        for pattern, weight in zip(patterns, values.tolist()):
            weights[tuple(pattern)] += weight
    return [
        PatternWeight(pattern, weight)
        for pattern, weight in weights.items()
        if np.isfinite(weight) and (not wanted or wanted.intersection(pattern))
    ]


def _strongest(values: Floats, top: int, negative: bool) -> list[int]:
    """Indices of the highest values above 0; after them the lowest below 0."""
    order = np.argsort(-values, kind="stable")
    highest = [k for k in order[:top].tolist() if values[k] > 0]
    lowest = [k for k in order[max(len(order) - top, 0) :].tolist() if values[k] < 0]
    return highest + lowest if negative else highest
