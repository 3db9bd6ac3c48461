"""Features of tokens that speak for label patterns.

They have weights in the columns of *observed* patterns, the label patterns that are
seen in training: one counts where the segment that reads it completes the pattern. In
the role transition the first token of the segment is read, in the role
transition_inside each of them. Features times patterns are many, so there are weights
only for the pairs that occur in the gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .core import PatternAutomaton
from .core.potentials import ROLES
from .features import TRANSITION_ROLES, Extractor
from .segmentation import Gold

FIRST, EACH = TRANSITION_ROLES
# What the entries of each role add to.
_ADDS_TO = {FIRST: ROLES.index("start"), EACH: ROLES.index("inside")}

# Documents that are read together.
_PORTION = 256

Ints = NDArray[np.int32]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class PlaceRows:
    """Known features that speak for label patterns, token by token.

    position, row (int32 [K]): The token and the row of each.
    role (uint8 [K]): That of its entries.
    """

    position: Ints
    row: Ints
    role: NDArray[np.uint8]


_NOTHING = np.zeros(0, np.int32)
NO_PLACES = PlaceRows(_NOTHING, _NOTHING, np.zeros(0, np.uint8))


def place_rows(found: Mapping[str, tuple[Ints, Ints]]) -> PlaceRows:
    """Those of a document.

    found (Dict[str, Tuple[int32 [n + 1], int32 [K]]]): Of each role first and row:
        those of token i are row[first[i]:first[i + 1]].
    RETURNS (PlaceRows): Of all roles.
    """
    parts = [
        (
            np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first)),
            rows,
            np.full(len(rows), _ADDS_TO[role], np.uint8),
        )
        for role, (first, rows) in found.items()
    ]
    if len(parts) < 2:
        return PlaceRows(*parts[0]) if parts else NO_PLACES
    joined = [*map(np.concatenate, zip(*parts))]
    order = np.argsort(joined[0], kind="stable")
    return PlaceRows(*(of_places[order] for of_places in joined))


def mine_transitions(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    keys: Keys,
    automaton: PatternAutomaton,
    min_count: int = 1,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Features that speak for label patterns, and pairs (row, column) that occur in the
    gold.

    keys (uint64 [R]): Sorted; all that the documents have.
    automaton (PatternAutomaton): C columns.
    min_count (int): How often a pair must occur.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether a row is one of theirs; row * C +
        column, ascending. Documents of which some is not known have no pairs.
    """
    n_columns = automaton.n_columns
    is_theirs = np.zeros(len(keys), bool)
    found = [np.zeros(0, np.int64)]
    reader = extractor.reading(extractor.features.of_transitions())
    for some, of_docs in _portions(docs, golds):
        reading = reader.read_together(some, is_train=True)
        segments, observed = _of_golds(some, of_docs, automaton)
        for role in extractor.features.transition_roles:
            read = reading.keys[role]
            rows = np.searchsorted(keys, read)
            is_theirs[rows[read != 0]] = True
            at, column = _readings(segments, observed, role == FIRST)
            found.append((rows[at] * n_columns + column[:, None])[read[at] != 0])
    pairs, counts = np.unique(np.concatenate(found), return_counts=True)
    return is_theirs, pairs[counts >= min_count]


def _portions(
    docs: Sequence[Doc], golds: Sequence[Gold]
) -> Iterator[tuple[list[Doc], list[Gold]]]:
    """Some documents of one vocabulary at a time, which are read together."""
    for _, of_vocab in groupby(zip(docs, golds), lambda pair: id(pair[0].vocab)):
        while portion := [*islice(of_vocab, _PORTION)]:
            some, of_docs = zip(*portion)
            yield [*some], [*of_docs]


def _of_golds(
    docs: Sequence[Doc], golds: Sequence[Gold], automaton: PatternAutomaton
) -> tuple[NDArray[np.intp], list[tuple[int, ...]]]:
    """Segments of documents that are known, one behind the other.

    RETURNS (Tuple[intp [K, 2], List[Tuple[int, ...]]]): Start and end of each; the
        columns of the observed patterns that it completes.
    """
    segments: list[tuple[int, int]] = []
    observed: list[tuple[int, ...]] = []
    first = 0
    for doc, gold in zip(docs, golds):
        known = gold.segments or []
        segments += [(first + start, first + end) for start, end, _ in known]
        observed += automaton.observed_read([y for _, _, y in known])
        first += len(doc)
    flat = np.fromiter(chain.from_iterable(segments), np.intp, 2 * len(segments))
    return flat.reshape(-1, 2), observed


def _readings(
    segments: NDArray[np.intp], observed: Sequence[tuple[int, ...]], first_only: bool
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """For each token of segments, or the first of each, and each observed pattern that
    its segment completes: the token, and the column of the pattern."""
    n_observed = np.fromiter(map(len, observed), np.intp, len(observed))
    columns = np.fromiter(chain.from_iterable(observed), np.int64, n_observed.sum())
    start, end = segments.T
    n_tokens = np.ones_like(start) if first_only else end - start
    owner = np.arange(len(segments)).repeat(n_tokens)
    token = start[owner] + _within(n_tokens)
    n_each = n_observed[owner]
    first = (np.cumsum(n_observed) - n_observed)[owner]
    return token.repeat(n_each), columns[first.repeat(n_each) + _within(n_each)]


def _within(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """0, 1, .. size - 1 for each size."""
    return np.arange(sizes.sum()) - (np.cumsum(sizes) - sizes).repeat(sizes)
