"""The active features of documents, as rows of the weights.

Features in the transition roles have weights for *observed* patterns, the label
patterns that training has seen; each pattern has a column. A weight counts where a
segment with the feature completes the pattern. The role transition reads the first
token of the segment, transition_inside all its tokens. Only pairs of a feature and a
pattern that occur in the gold have a weight, because all pairs would be too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core.potentials import ROLES
from ..features import TRANSITION_ROLES, Listed, Segments
from ..features.instances import doc_of
from ..features.kernels.key_table import RowTable
from .weights.state import WeightState

FIRST, EACH = TRANSITION_ROLES
# What the entries of each role add to.
ADDS_TO = {FIRST: ROLES.index("start"), EACH: ROLES.index("inside")}

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class RoleRows(NamedTuple):
    """Known features of tokens in one role.

    first (int32 [n + 1]), row (int32 [K]): Those of token i are
        row[first[i]:first[i + 1]].
    strength (Optional[float64 [K]]): The value of each; None: all 1.0, as features of
        templates have.
    """

    first: Ints
    row: Ints
    strength: Floats | None = None


@dataclass(frozen=True)
class SegmentRows:
    """Known features of whole segments: start and end in tokens, row and value."""

    start: Ints
    end: Ints
    row: Ints
    strength: Floats


@dataclass(frozen=True)
class PlaceRows:
    """Known features that speak for label patterns, token by token: the token and row
    of each, int32 [K], and the role of its entries, uint8 [K]."""

    position: Ints
    row: Ints
    role: NDArray[np.uint8]


AnyRows = TypeVar("AnyRows", SegmentRows, PlaceRows)

_NONE = np.zeros(0, np.int32)
NO_ROWS = SegmentRows(_NONE, _NONE, _NONE, np.zeros(0))
NO_PLACES = PlaceRows(_NONE, _NONE, np.zeros(0, np.uint8))


@dataclass(frozen=True)
class Rows:
    """The known features of a document.

    tokens (Dict[str, RoleRows]): By role.
    segments (SegmentRows): In the role "whole".
    places (PlaceRows): In the roles of transitions.
    vectors (Optional[float32 [n, d]]): Of its tokens, in a fit that reads them.
    """

    tokens: dict[str, RoleRows]
    segments: SegmentRows
    places: PlaceRows
    vectors: NDArray[np.float32] | None = None

    @property
    def active(self) -> list[Ints]:
        """Arrays with the rows of active features, once for each occurrence."""
        roles = self.tokens.values()
        of_tokens = [x.row[x.first[0] : x.first[-1]] for x in roles]
        return [*of_tokens, self.segments.row, self.places.row]


def read_docs(state: WeightState, docs: Sequence[Doc], is_train: bool = False) -> Rows:
    """Returns the features of concatenated documents that the state knows; positions
    count from the first document. For `is_train` see `Gazetteers.matches`."""
    reading = state.extractor.read(docs, is_train)
    table = state.table
    rows = {role: table.rows(keys) for role, keys in reading.keys.items()}
    places = place_rows({x: rows.pop(x) for x in TRANSITION_ROLES if x in rows})
    tokens = {role: RoleRows(*of_role) for role, of_role in rows.items()}
    for listed in reading.listed:
        tokens[listed.role] = with_listed(tokens[listed.role], listed, table)
    return Rows(tokens, known_segments(reading.segments, table), places)


def place_rows(rows_by_role: Mapping[str, tuple[Ints, Ints]]) -> PlaceRows:
    """Returns the rows of all roles of transitions, from first [n + 1] and row [K] of
    each, see `RoleRows`."""
    columns = [
        (
            np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first)),
            rows,
            np.full(len(rows), ADDS_TO[role], np.uint8),
        )
        for role, (first, rows) in rows_by_role.items()
    ]
    if len(columns) < 2:
        return PlaceRows(*columns[0]) if columns else NO_PLACES
    joined = [*map(np.concatenate, zip(*columns))]
    order = np.argsort(joined[0], kind="stable")
    return PlaceRows(*(column[order] for column in joined))


def with_listed(rows: RoleRows | None, listed: Listed, table: RowTable) -> RoleRows:
    """Returns the rows with the known features that a function lists, after the others
    of each token; None: there are no others."""
    first, row, strength = table.known(listed.first, listed.keys, listed.strength)
    if rows is None or not len(rows.row):
        return RoleRows(first, row, strength)
    joined_first = rows.first + first
    tokens = np.arange(len(first) - 1)
    token = [np.repeat(tokens, np.diff(x)) for x in (rows.first, first)]
    order = np.argsort(np.concatenate(token), kind="stable")
    if rows.strength is not None or strength is not None:
        left = np.ones(len(rows.row)) if rows.strength is None else rows.strength
        right = np.ones(len(row)) if strength is None else strength
        strength = np.concatenate([left, right])[order]
    return RoleRows(joined_first, np.concatenate([rows.row, row])[order], strength)


def known_segments(segments: Segments, table: RowTable) -> SegmentRows:
    """Returns the segments whose features are known."""
    if not len(segments.keys):
        return NO_ROWS
    row = table.find(segments.keys)
    is_known = row >= 0
    start, end = segments.start[is_known], segments.end[is_known]
    return SegmentRows(start, end, row[is_known], segments.strength[is_known])


def in_documents(rows: AnyRows, first: Ints) -> tuple[AnyRows, Ints]:
    """Turns positions in concatenated documents into positions in each. Returns the
    rows sorted by document, and the document of each [K]. `first`: where documents
    begin."""
    columns = dict(vars(rows))
    counting = [name for name in ("start", "end", "position") if name in columns]
    doc = doc_of(columns[counting[0]], first)
    if (doc[1:] < doc[:-1]).any():
        order = np.argsort(doc, kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        doc = doc[order]
    for name in counting:
        columns[name] = columns[name] - first[doc]
    return type(rows)(**columns), doc


def cut_rows(rows: RoleRows, start: int, end: int) -> RoleRows:
    """Returns the rows of some tokens, as of a document of their own."""
    first = rows.first[start : end + 1]
    at = slice(first[0], first[-1])
    strength = None if rows.strength is None else rows.strength[at]
    return RoleRows(first - first[0], rows.row[at], strength)
