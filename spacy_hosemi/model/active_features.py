"""The active features of documents, as rows of the weights.

Features in the transition roles have weights for *observed* patterns, the label
patterns that training has seen; each pattern has a column. A weight counts where a
segment with the feature completes the pattern. The role transition reads the first
token of the segment, transition_inside all its tokens. Only pairs of a feature and a
pattern that occur in the gold have a weight, because all pairs would be too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Counts, Floats, Ints
from ..core.potentials import ROLES
from ..features import TRANSITION_ROLES, Listed, Segments
from ..features.instances import doc_of
from ..features.kernels.key_table import RowTable
from .weights.state import WeightState

FIRST, EACH = TRANSITION_ROLES
# What the entries of each role add to.
ADDS_TO = {FIRST: ROLES.index("start"), EACH: ROLES.index("inside")}


class RoleRows(NamedTuple):
    """Holds the known features of n tokens in one role."""

    first: Ints  # [n + 1]: those of token i are row[first[i]:first[i + 1]]
    row: Ints  # [K]
    strength: Floats | None = None  # [K]; None: all 1.0, as those of templates


@dataclass(frozen=True)
class SegmentRows:
    """Holds the K known features of whole segments of D documents."""

    first: Counts  # [D + 1]: those of document d are first[d] to first[d + 1] - 1
    start: Ints  # in tokens of its document
    end: Ints
    row: Ints
    strength: Floats  # the values


@dataclass(frozen=True)
class PlaceRows:
    """Holds the K known features of D documents for label patterns, token by token."""

    first: Counts  # [D + 1], as of `SegmentRows`
    position: Ints  # the token in its document
    row: Ints
    role: NDArray[np.uint8]  # of its entries


AnyRows = TypeVar("AnyRows", SegmentRows, PlaceRows)
Columns = tuple[NDArray[Any], ...]

_NONE = np.zeros(0, np.int32)
NO_SEGMENTS: Columns = _NONE, _NONE, _NONE, np.zeros(0)
NO_PLACES: Columns = _NONE, _NONE, np.zeros(0, np.uint8)


@dataclass(frozen=True)
class Rows:
    """The known features of D documents, one after the other."""

    first: NDArray[Any]  # [D + 1], first tokens, and the number of all tokens
    tokens: dict[str, RoleRows]  # by role, of the tokens of all documents
    segments: SegmentRows  # in the role "whole"
    places: PlaceRows  # in the roles of transitions
    vectors: NDArray[np.float32] | None = None  # [n, d], in a fit that reads them

    def __len__(self) -> int:
        return len(self.first) - 1

    def __iter__(self) -> Iterator[Rows]:
        return (self[k : k + 1] for k in range(len(self)))

    def __getitem__(self, docs: slice) -> Rows:
        """Returns the features of some documents, as views."""
        first = self.first[docs.start : docs.stop + 1]
        i, j = int(first[0]), int(first[-1])
        roles = self.tokens.items()
        tokens = {x: rows._replace(first=rows.first[i : j + 1]) for x, rows in roles}
        segments = _of_documents(self.segments, docs)
        places = _of_documents(self.places, docs)
        vectors = None if self.vectors is None else self.vectors[i:j]
        return Rows(first - i, tokens, segments, places, vectors)

    @property
    def active(self) -> list[Ints]:
        """Arrays with the rows of active features, once for each occurrence."""
        roles = self.tokens.values()
        of_tokens = [x.row[x.first[0] : x.first[-1]] for x in roles]
        return [*of_tokens, self.segments.row, self.places.row]


def _of_documents(rows: AnyRows, docs: slice) -> AnyRows:
    columns: list[Any]
    first, *columns = vars(rows).values()
    first = first[docs.start : docs.stop + 1]
    at = slice(first[0], first[-1])
    return type(rows)(first - first[0], *(column[at] for column in columns))


def read_docs(state: WeightState, docs: Sequence[Doc], is_train: bool = False) -> Rows:
    """Returns documents' known features; for `is_train` see `Gazetteers.matches`."""
    reading = state.extractor.read(docs, is_train)
    table, first = state.table, reading.instances.first
    rows = {role: table.rows(keys) for role, keys in reading.keys.items()}
    places = {x: rows.pop(x) for x in TRANSITION_ROLES if x in rows}
    tokens = {role: RoleRows(*of_role) for role, of_role in rows.items()}
    for listed in reading.listed:
        tokens[listed.role] = with_listed(tokens[listed.role], listed, table)
    segments = by_document(SegmentRows, known_segments(reading.segments, table), first)
    of_places = by_document(PlaceRows, known_places(places), first)
    return Rows(first, tokens, segments, of_places)


def known_places(rows_by_role: Mapping[str, tuple[Ints, Ints]]) -> Columns:
    """Returns position, row and role of the features in all roles of transitions, by
    position in joined documents; from first [n + 1] and row [K] of each role."""
    columns = [
        (
            np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first)),
            rows,
            np.full(len(rows), ADDS_TO[role], np.uint8),
        )
        for role, (first, rows) in rows_by_role.items()
    ]
    if len(columns) < 2:
        return columns[0] if columns else NO_PLACES
    joined = [*map(np.concatenate, zip(*columns))]
    order = np.argsort(joined[0], kind="stable")
    return tuple(column[order] for column in joined)


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


def known_segments(segments: Segments, table: RowTable) -> Columns:
    """Returns start, end, row and strength of the segments whose features are known, in
    tokens of concatenated documents."""
    if not len(segments.keys):
        return NO_SEGMENTS
    row = table.find(segments.keys)
    is_known = row >= 0
    start, end = segments.start[is_known], segments.end[is_known]
    return start, end, row[is_known], segments.strength[is_known]


def by_document(kind: type[AnyRows], columns: Columns, borders: Ints) -> AnyRows:
    """Returns rows by document, with positions in each, from columns with positions in
    concatenated documents, which begin at `borders` [D + 1]."""
    n_positions: int = 2 if kind is SegmentRows else 1
    if not len(columns[0]) or len(borders) == 2:
        first = np.full(len(borders), len(columns[0]))
        first[0] = 0
        return kind(first, *columns)
    doc = doc_of(columns[0], borders)
    if (doc[1:] < doc[:-1]).any():
        order = np.argsort(doc, kind="stable")
        doc, columns = doc[order], tuple(column[order] for column in columns)
    positions: Columns = tuple(x - borders[doc] for x in columns[:n_positions])
    columns = (*positions, *columns[n_positions:])
    return kind(np.searchsorted(doc, np.arange(len(borders))), *columns)


def cut_rows(rows: RoleRows, start: int, end: int) -> RoleRows:
    """Returns the rows of some tokens, as of a document of their own."""
    first = rows.first[start : end + 1]
    at = slice(first[0], first[-1])
    strength = None if rows.strength is None else rows.strength[at]
    return RoleRows(first - first[0], rows.row[at], strength)
