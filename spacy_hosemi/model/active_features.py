"""The active features of documents, as rows of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..features import Listed, Reading, Segments
from ..features.kernels.key_table import RowTable
from ..features.segment_features import NO_SEGMENTS
from ..features.word_cache import doc_of
from .observed_features import PlaceRows, place_rows
from .weights.state import WeightState

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


AnyRows = TypeVar("AnyRows", SegmentRows, PlaceRows)

NOTHING = np.zeros(0, np.int32)
NO_ROWS = SegmentRows(NOTHING, NOTHING, NOTHING, np.zeros(0))


@dataclass(frozen=True)
class Rows:
    """The known features of a document.

    tokens (Dict[str, RoleRows]): By role.
    segments (SegmentRows): In the role "whole".
    places (PlaceRows): In the roles of transitions.
    """

    tokens: dict[str, RoleRows]
    segments: SegmentRows
    places: PlaceRows

    @property
    def active(self) -> list[Ints]:
        """RETURNS (List[int32]): Rows of active features, once for each occurrence."""
        parts = self.tokens.values()
        of_tokens = [part.row[part.first[0] : part.first[-1]] for part in parts]
        return [*of_tokens, self.segments.row, self.places.row]


def read_docs(state: WeightState, docs: Sequence[Doc], is_train: bool = False) -> Rows:
    """The active features of concatenated documents.

    docs (Sequence[Doc]): One or more.
    is_train (bool): See `Gazetteers.matches`.
    RETURNS (Rows): Features that the state knows; positions count from the first
        document.
    """
    reading = state.extractor.read(docs, is_train)
    return _known(state, reading)


class PartReader:
    """The active features of some tokens of a document, as they are read within it.

    state (WeightState): Knows the features.
    doc (Doc): n tokens.

    segments (SegmentRows): Those of all its segments.
    """

    def __init__(self, state: WeightState, doc: Doc) -> None:
        self._state, self._n_tokens = state, len(doc)
        self._found = state.extractor.values_of([doc])
        self.segments = known_segments(self._found.segments, state.table)

    def read(self, start: int, end: int) -> Rows:
        """RETURNS (Rows): Of the tokens from start to end, which count from start; of
        no segments."""
        extractor, features = self._state.extractor, self._state.extractor.features
        low = max(start - features.reach, 0)
        high = min(end + features.reach, self._n_tokens)
        values, here = self._found.values[low:high], slice(start - low, end - low)
        keys = {
            role: np.ascontiguousarray(extractor.keys(values, role)[here])
            for role in features.token_roles
        }
        listed = tuple(one.part(start, end) for one in self._found.listed)
        return _known(self._state, Reading(keys, NO_SEGMENTS, listed))


def _known(state: WeightState, reading: Reading) -> Rows:
    """Those of the features that were read that the state knows."""
    table, roles = state.table, state.extractor.features.transition_roles
    found = {role: table.rows(keys) for role, keys in reading.keys.items()}
    places = place_rows({role: found.pop(role) for role in roles})
    tokens = {role: RoleRows(*of_role) for role, of_role in found.items()}
    for listed in reading.listed:
        tokens[listed.role] = with_listed(tokens[listed.role], listed, table)
    return Rows(tokens, known_segments(reading.segments, table), places)


def no_rows(n_tokens: int) -> RoleRows:
    """RETURNS (RoleRows): No feature is active."""
    return RoleRows(np.zeros(n_tokens + 1, np.int32), NOTHING)


def with_listed(rows: RoleRows, listed: Listed, table: RowTable) -> RoleRows:
    """With the known features that a function lists, after the others of each token."""
    row = table.find(listed.keys)
    known = row >= 0
    n = len(rows.first) - 1
    token = np.repeat(np.arange(n), np.diff(rows.first))
    token = np.concatenate([token, listed.token[known]])
    order = np.argsort(token, kind="stable")
    strength = None
    if rows.strength is not None or listed.strength is not None:
        left = np.ones(len(rows.row)) if rows.strength is None else rows.strength
        right = np.ones(len(row)) if listed.strength is None else listed.strength
        strength = np.concatenate([left, right[known]])[order]
    first = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(token, minlength=n), out=first[1:])
    return RoleRows(first, np.concatenate([rows.row, row[known]])[order], strength)


def known_segments(segments: Segments, table: RowTable) -> SegmentRows:
    """RETURNS (SegmentRows): Those whose features are known."""
    if not len(segments.keys):
        return NO_ROWS
    row = table.find(segments.keys)
    known = row >= 0
    start, end = segments.start[known], segments.end[known]
    return SegmentRows(start, end, row[known], segments.strength[known])


def in_documents(rows: AnyRows, first: Ints) -> tuple[AnyRows, Ints]:
    """Convert positions in concatenated documents to positions in each document.

    rows (Union[SegmentRows, PlaceRows]): Positions count from the first document.
    first (int32 [D + 1]): The first token of each document, and n.
    RETURNS (Tuple[Union[SegmentRows, PlaceRows], int32 [K]]): Concatenated, and
        the document of each row.
    """
    found = dict(vars(rows))
    counting = [name for name in ("start", "end", "position") if name in found]
    doc = doc_of(found[counting[0]], first)
    if (doc[1:] < doc[:-1]).any():
        order = np.argsort(doc, kind="stable")
        found = {name: of_rows[order] for name, of_rows in found.items()}
        doc = doc[order]
    for name in counting:
        found[name] = found[name] - first[doc]
    return type(rows)(**found), doc


def split_records(
    records: NDArray[Any], doc: Ints, sizes: Ints, n_docs: int
) -> list[NDArray[Any]]:
    """What was gathered for rows of several documents.

    records (CELLS or ENTRIES): Of concatenated rows.
    doc (int32 [K]), sizes (int32 [K]): The document of each row, ascending, and how
        many records it has.
    RETURNS (List[CELLS or ENTRIES]): Those of each document.
    """
    ends = np.append(0, np.cumsum(sizes))
    borders = ends[np.searchsorted(doc, np.arange(n_docs + 1))].tolist()
    return [records[i:j] for i, j in zip(borders, borders[1:])]


def cut_rows(rows: RoleRows, start: int, end: int) -> RoleRows:
    """RETURNS (RoleRows): Those of some tokens, as of a document of their own."""
    first = rows.first[start : end + 1]
    at = slice(first[0], first[-1])
    strength = None if rows.strength is None else rows.strength[at]
    return RoleRows(first - first[0], rows.row[at], strength)
