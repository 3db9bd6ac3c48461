"""What each feature did: the weights of a trained component, strongest first.

    name of a feature   role:TEMPLATE=value, such as "start:LOWER[-1] & LOWER=in & the"
    its family          role:TEMPLATE
    name of a column    a label, "O" is outside; with tags on tokens a tag, as "B-PER";
                        of transitions a label pattern, as "author title"

The columns of a feature are compared as they are: what counts for a decision is the
difference between two of them. Nothing is printed here; that is done in `cli`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..labels import LabelInventory, check_choice
from ..model import Floats, Weights
from ..pipe import HighOrderSemiCRF

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]


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
    for y in _columns(pipe.inventory, labels):
        rows, values = _column(weights, y)
        rows, values = rows[known[rows]], values[known[rows]]
        found[pipe.inventory.names[y]] = [
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
    patterns = [" ".join(pattern) for pattern in pipe.automaton.observed]
    names = (*pipe.inventory.names, *patterns)
    columns = _columns(pipe.inventory, labels) if labels else range(len(names))
    _, largest = _sizes(weights, columns)
    rows = np.flatnonzero(_matching(weights, role, text))
    rows = rows[np.argsort(-largest[rows], kind="stable")[:top]]
    by_row: list[list[tuple[float, str]]] = [[] for _ in rows]
    for y in columns:
        values = np.zeros(len(weights.names))
        np.put(values, *_column(weights, y))
        for found, value in zip(by_row, values[rows].tolist()):
            if value:
                found.append((value, names[y]))
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
    patterns = _patterns(pipe, _columns(pipe.inventory, labels) if labels else [])
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
    weights, names = pipe.weights, pipe.inventory.names
    wanted = {names[y] for y in _columns(pipe.inventory, labels)} if labels else ()
    known = _matching(weights, role, text)
    found = [
        TransitionWeight(weights.names[r], pattern, int(weights.counts[r]), value)
        for c, pattern in enumerate(pipe.automaton.observed, len(names))
        if not wanted or not wanted.isdisjoint(pattern)
        for r, value in zip(*(x.tolist() for x in _column(weights, c)))
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
    columns = _columns(pipe.inventory, labels)
    observed = [] if labels else range(len(weights.tail), pipe.automaton.n_columns)
    squares, largest = _sizes(weights, [*columns, *observed])
    names = [name.partition("=")[0] for name in weights.names]
    known = _matching(weights, role, text)
    others = [
        (f"pattern:{len(found.pattern)}", found.weight)
        for found in _patterns(pipe, columns if labels else [])
    ]
    if weights.learn_length:
        of_length = weights.length[columns]
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


def _columns(inventory: LabelInventory, labels: Sequence[str]) -> list[int]:
    """Indices of the columns that labels or tags name, in their order; all, if none."""
    if not labels:
        return list(range(len(inventory.names)))
    expected = tuple(dict.fromkeys([*inventory.names, *inventory.labels]))
    for label in labels:
        check_choice("label", label, expected)
    return [
        y
        for y, name in enumerate(inventory.names)
        if name in labels
        or (y > 0 and inventory.on_tokens and name.partition("-")[2] in labels)
    ]


def _matching(weights: Weights, role: str | None, text: str) -> Mask:
    """Which rows [R] have this role, and this text in their name."""
    names = weights.names
    if role is not None:
        roles = {name.partition(":")[0] for name in names}
        check_choice("role", role, sorted(roles))
    prefix = "" if role is None else f"{role}:"
    return np.array([n.startswith(prefix) and text in n for n in names], np.bool_)


def _column(weights: Weights, y: int) -> tuple[Rows, Floats]:
    """Rows that have a weight in a column, and these weights."""
    pairs = weights.pairs
    if pairs is None:
        return np.arange(len(weights.matrix)), weights.matrix[:, y]
    slots = np.flatnonzero(pairs.columns == y)
    rows = np.searchsorted(pairs.first, slots, side="right") - 1
    return rows, weights.matrix[slots, 0]


def _sizes(weights: Weights, columns: Sequence[int]) -> tuple[Floats, Floats]:
    """Sum of squares and largest absolute weight of each row [R], in these columns."""
    squares, largest = np.zeros((2, len(weights.names)))
    for y in columns:
        rows, values = _column(weights, y)
        squares[rows] += values**2
        largest[rows] = np.maximum(largest[rows], np.abs(values))
    return squares, largest


def _patterns(pipe: HighOrderSemiCRF, columns: Sequence[int]) -> list[PatternWeight]:
    """Patterns that have weights and one of these columns; all, if there are none."""
    wanted = {pipe.inventory.names[y] for y in columns}
    found = zip(pipe.cfg["patterns"], pipe.weights.pattern.tolist())
    return [
        PatternWeight(tuple(pattern), weight)
        for pattern, weight in found
        if np.isfinite(weight) and (not wanted or wanted.intersection(pattern))
    ]


def _strongest(values: Floats, top: int, negative: bool) -> list[int]:
    """Indices of the highest values above 0; after them the lowest below 0."""
    order = np.argsort(-values, kind="stable")
    highest = [k for k in order[:top].tolist() if values[k] > 0]
    lowest = [k for k in order[max(len(order) - top, 0) :].tolist() if values[k] < 0]
    return highest + lowest if negative else highest
