"""Which features of the training documents get weights, and in which columns.

all columns of every feature        while rows * columns <= MAX_WEIGHTS
else of the more frequent features  minimum count raised, up to RAISE times
else only the pairs (row, column)   that occur in the gold: a feature and the label
                                    of the segment that reads it; the minimum count
                                    raised until they are no more than MAX_PAIRS

With `features.all_labels` false it is such pairs in any case. Features of transitions
only have weights for such pairs, with patterns in the place of labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .core import PatternAutomaton
from .core.rows import RowTable
from .errors import Warnings
from .features import Extractor, Reading, Segments
from .progress import watched
from .segmentation import Gold, known_labels
from .transitions import mine_transitions

MAX_WEIGHTS = 5_000_000
MAX_PAIRS = 30_000_000
RAISE = 2

# Pairs that are collected before those found twice are merged.
_BUFFER = 8_000_000

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Columns in which rows have weights, row by row.

    first (int32 [R + 1]): Row r has columns[first[r]:first[r + 1]].
    columns (int32 [N]): Ascending within a row.
    """

    first: NDArray[np.int32]
    columns: NDArray[np.int32]

    @property
    def sizes(self) -> NDArray[np.int32]:
        """RETURNS (int32 [R]): How many weights each row has."""
        return np.diff(self.first)

    def n_whole(self, n_columns: int) -> int:
        """RETURNS (int): How many rows, the first ones, have weights in just these
        columns: 0 to n_columns - 1."""
        last = self.first[1:] - 1
        is_whole = (self.sizes == n_columns) & (n_columns > 0)
        # ascending from 0, as many as there are
        is_whole[is_whole] = self.columns[last[is_whole]] == n_columns - 1
        return int(np.append(is_whole, False).argmin())

    def sizes_of(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """RETURNS (int32 [K]): How many weights each of these rows has."""
        return self.first[rows + 1] - self.first[rows]

    def with_columns(
        self,
        weights: NDArray[np.float64],
        at: int,
        n_new: int,
        is_wanted: NDArray[np.bool_],
    ) -> tuple[Pairs, NDArray[np.float64]]:
        """With more columns, whose weights are the least of their row.

        weights (float64 [N]): Of the pairs; 0 where there is none.
        at (int): Before which column; those behind move on.
        n_new (int): How many.
        is_wanted (bool [R]): Rows that get them.
        RETURNS (Tuple[Pairs, float64 [N']]): And their weights.
        """
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        column = self.columns + np.where(self.columns >= at, n_new, 0)
        least = np.zeros(len(self.sizes))
        np.minimum.at(least, row, weights)
        rows = np.flatnonzero(is_wanted).repeat(n_new)
        columns = np.tile(np.arange(at, at + n_new), int(is_wanted.sum()))
        row, column = np.concatenate([row, rows]), np.concatenate([column, columns])
        order = np.lexsort((column, row))
        sizes = np.bincount(row, minlength=len(least))
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        pairs = Pairs(first, column[order].astype(np.int32))
        return pairs, np.concatenate([weights, least[rows]])[order]

    def with_rows(self, n_new: int, n_columns: int) -> Pairs:
        """With more rows behind, which have a weight in each of these columns."""
        more = np.arange(1, n_new + 1, dtype=np.int32) * n_columns
        columns = np.tile(np.arange(n_columns, dtype=np.int32), n_new)
        return Pairs(
            np.concatenate([self.first, self.first[-1] + more]),
            np.concatenate([self.columns, columns]),
        )

    def column(self, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """RETURNS (Tuple[intp [K], intp [K]]): Rows that have a weight in a column, and
        where these weights are, of 0 to N - 1."""
        slots = np.flatnonzero(self.columns == column)
        return np.searchsorted(self.first, slots, side="right") - 1, slots

    def merged(self, other: Pairs, n_columns: int) -> tuple[Pairs, NDArray[np.intp]]:
        """Those of both.

        other (Pairs): Of as many rows, or more.
        n_columns (int): More than any column.
        RETURNS (Tuple[Pairs, int64 [K]]): And for each of those that are new before
            which of the old ones it is.
        """
        old, new = self._keys(n_columns), other._keys(n_columns)
        new = np.setdiff1d(new, old, assume_unique=True)
        at = np.searchsorted(old, new)
        row, column = np.divmod(np.insert(old, at, new), n_columns)
        counts = np.bincount(row, minlength=len(other.sizes))
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return Pairs(first, column.astype(np.int32)), at

    def _keys(self, n_columns: int) -> NDArray[np.int64]:
        row = np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes)
        return row * n_columns + self.columns

    def check(self, n_rows: int, n_columns: int) -> None:
        """RAISES (ValueError): Something would be read out of bounds."""
        columns = self.columns
        is_sound = (
            self.first.shape == (n_rows + 1,)
            and self.first.dtype == columns.dtype == np.int32
            and self.first[0] == 0
            and self.first[-1] == len(columns)
            and (self.sizes >= 0).all()
            and ((columns >= 0) & (columns < n_columns)).all()
        )
        if not is_sound:
            raise ValueError(f"pairs do not fit {n_rows} rows, {n_columns} columns")

    def slots(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """RETURNS (int32): Where the weights of these rows are, of 0 to N - 1."""
        sizes = self.sizes_of(rows)
        before = np.cumsum(sizes) - sizes
        slots = np.repeat(self.first[rows] - before, sizes) + np.arange(sizes.sum())
        return slots.astype(np.int32)


@dataclass(frozen=True)
class Selection:
    """What gets weights.

    keys (uint64 [R]): Distinct feature keys, those of transitions last, sorted: the
        same documents give the same.
    names (List[str]): "role:TEMPLATE=value" of each.
    counts (int64 [R]): Training documents in which each fires.
    n_docs (int): Training documents.
    pairs (Optional[Pairs]): None: each row has a weight in every column.
    is_limited (bool): Whether frequent features were left out, as there were too many.
    """

    keys: Keys
    names: list[str]
    counts: NDArray[np.int64]
    n_docs: int
    pairs: Pairs | None
    is_limited: bool = False


def select_features(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    automaton: PatternAutomaton,
    observed_min_count: int = 1,
    observed_max: int | None = None,
) -> Selection:
    """The features of training documents that get weights.

    extractor (Extractor): What is read, and how often it must occur.
    docs (Sequence[Doc]): Training documents.
    golds (Sequence[Gold]): What is known of each.
    automaton (PatternAutomaton): Labels and observed patterns.
    observed_min_count (int): How often a transition must occur with a pattern.
    observed_max (Optional[int]): For how many patterns it has weights at most.
    RETURNS (Selection): See the head of this module.
    WARNS (UserWarning): HSW02, HSW03 if these are not all weights.
    """
    roles = extractor.features.transition_roles
    kept: dict[str, list[Keys]] = {role: [] for role in roles}
    keys, in_tokens, in_docs = count_features(extractor, docs, kept)
    table = RowTable(keys)
    asked = extractor.features.min_count
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    has_patterns, of_patterns = np.zeros(len(keys), bool), np.zeros(0, np.int64)
    if roles and docs:
        read = {role: np.concatenate(parts) for role, parts in kept.items()}
        args = read, golds, [*map(len, docs)], table, automaton
        found = mine_transitions(*args, observed_min_count, observed_max)
        has_patterns, of_patterns = found
    weights_of_row = np.bincount(of_patterns // n_columns, minlength=len(keys))
    weights_of_row[~has_patterns] = n_labels
    all_labels, of_labels = extractor.features.all_labels, None
    limit = MAX_WEIGHTS if all_labels else np.inf
    min_count = _raise_min_count(in_tokens, weights_of_row, asked, limit)
    only_pairs = not all_labels or min_count > RAISE * asked
    if only_pairs:
        of_labels = mine_pairs(extractor, docs, golds, table, n_columns)
        row = np.concatenate([of_labels, of_patterns]) // n_columns
        weights_of_row = np.bincount(row, minlength=len(keys))
        min_count = _raise_min_count(in_tokens, weights_of_row, asked, MAX_PAIRS)
    keep = (in_tokens >= min_count) & (weights_of_row > 0)
    is_limited = min_count > asked or (only_pairs and all_labels)
    if is_limited:
        message = Warnings.HSW03 if only_pairs else Warnings.HSW02
        message = message.format(
            found=(in_tokens >= asked).sum(),
            columns=n_labels,
            limit=MAX_WEIGHTS,
            min_count=min_count,
            left=weights_of_row[keep].sum(),
        )
        warnings.warn(message, stacklevel=2)
    parts = [np.flatnonzero(keep & x) for x in (~has_patterns, has_patterns)]
    if of_labels is None and roles:
        of_labels = (parts[0][:, None] * n_columns + np.arange(n_labels)).ravel()
    rows, pairs = np.concatenate(parts), None
    if of_labels is not None:
        joined = np.concatenate([of_labels, of_patterns])
        pairs = _as_pairs(joined, rows, len(keys), n_columns)
    return Selection(
        keys[rows],
        name_features(extractor, docs, keys[rows]),
        in_docs[rows],
        max(len(docs), 1),
        pairs,
        is_limited,
    )


def _raise_min_count(
    in_tokens: Counts, weights_of_row: Counts, asked: int, limit: float
) -> int:
    """The least minimum count, from `asked`, that leaves no more weights than this."""
    min_count = asked
    while weights_of_row[in_tokens >= min_count].sum() > limit:
        min_count += 1
    return min_count


def _as_pairs(
    pairs: Counts, rows: NDArray[np.intp], n_rows: int, n_columns: int
) -> Pairs:
    """Those of the rows that are kept; rows are counted anew.

    pairs (int64 [N]): row * n_columns + column, of kept rows in their order.
    rows (intp [K]): Which of n_rows are kept.
    """
    row, column = np.divmod(pairs, n_columns)
    is_kept = np.zeros(n_rows, bool)
    is_kept[rows] = True
    sizes = np.bincount(row, minlength=n_rows)[rows]
    first = np.concatenate([[0], np.cumsum(sizes)])
    return Pairs(first.astype(np.int32), column[is_kept[row]].astype(np.int32))


def count_features(
    extractor: Extractor,
    docs: Collection[Doc],
    kept: Mapping[str, list[Keys]] | None = None,
) -> tuple[Keys, Counts, Counts]:
    """Which features occur in training documents.

    kept (Optional[Dict[str, List[uint64 [n, T]]]]): For some roles a list, to which the
        keys of each document are added.
    RETURNS: Keys [R], in how many tokens each fires (in a bag: in how many documents),
        and in how many documents. Keys are sorted: the same documents give the same
        rows.
    """
    bags = extractor.bags
    by_doc = [np.zeros((2, 0), np.uint64)]
    for doc in watched(docs, "Counting features"):
        reading = extractor.read(doc, is_train=True)
        for role, parts in (kept or {}).items():
            parts.append(reading.keys[role])
        of_tokens = []
        for role, of_role in reading.keys.items():
            if len(bags[role]):
                of_tokens.append(np.unique(of_role[:, bags[role]]))
                of_role = np.delete(of_role, bags[role], axis=1)
            of_tokens.append(of_role.ravel())
        of_functions = [listed.keys for listed in reading.listed]
        keys = np.concatenate([*of_tokens, *of_functions, reading.segments.keys])
        distinct, counts = np.unique(keys[keys != 0], return_counts=True)
        by_doc.append(np.stack([distinct, counts.astype(np.uint64)]))
    together = np.concatenate(by_doc, axis=1)
    keys, inverse, in_docs = np.unique(
        together[0], return_inverse=True, return_counts=True
    )
    in_tokens = np.zeros(len(keys), np.int64)
    np.add.at(in_tokens, inverse.reshape(-1), together[1].astype(np.int64))
    return keys, in_tokens, in_docs.astype(np.int64)


def mine_pairs(
    extractor: Extractor,
    docs: Iterable[Doc],
    golds: Iterable[Gold],
    table: RowTable,
    n_columns: int,
) -> Counts:
    """Pairs (row, label) that occur in the gold.

    table (RowTable): Of all features that the documents have.
    RETURNS (int64 [N]): row * n_columns + column, ascending.
    """
    found: list[Counts] = [np.zeros(0, np.int64)]
    n_found = 0
    for doc, gold in zip(docs, golds):
        labels = known_labels(gold, len(doc))
        reading = extractor.read(doc, is_train=True)
        for role in extractor.features.scored_roles:
            of_role = reading.keys[role]
            i, t = np.nonzero((of_role != 0) & (labels[role] >= 0)[:, None])
            rows = table.find(of_role[i, t]).astype(np.int64)
            found.append(np.unique(rows * n_columns + labels[role][i]))
            n_found += len(found[-1])
        for listed in reading.listed:
            label = labels[listed.role][listed.token]
            k = np.flatnonzero((listed.keys != 0) & (label >= 0))
            rows = table.find(listed.keys[k]).astype(np.int64)
            found.append(np.unique(rows * n_columns + label[k]))
            n_found += len(found[-1])
        found.append(_segment_pairs(reading.segments, gold, table, n_columns))
        if n_found > _BUFFER:
            found = [np.unique(np.concatenate(found))]
            n_found = 0
    return np.unique(np.concatenate(found))


def _segment_pairs(
    segments: Segments, gold: Gold, table: RowTable, n_columns: int
) -> Counts:
    """The same for the features of whole segments."""
    label_of = {(start, end): y for start, end, y in gold.segments or ()}
    ends = zip(segments.start.tolist(), segments.end.tolist())
    labels = np.array([label_of.get(pair, -1) for pair in ends], np.int64)
    known = labels >= 0
    rows = table.find(segments.keys[known]).astype(np.int64)
    return np.unique(rows * n_columns + labels[known])


def name_features(extractor: Extractor, docs: Collection[Doc], keys: Keys) -> list[str]:
    """Readable names of rows.

    keys (uint64 [R]): Distinct; each occurs in the documents.
    RETURNS (List[str]): "role:TEMPLATE=value" of each.
    """
    names: list[str] = [""] * len(keys)
    is_named = np.zeros(len(keys), bool)
    table = RowTable(keys)
    for doc in watched(docs, "Naming features"):
        if is_named.all():
            break
        reading = extractor.read(doc, is_train=True)
        found = [*reading.keys.values(), *(listed.keys for listed in reading.listed)]
        found.append(reading.segments.keys)
        rows = table.find(np.concatenate([part.ravel() for part in found]))
        new = np.flatnonzero((rows >= 0) & ~is_named[rows])
        if not len(new):
            continue
        is_named[rows[new]] = True
        once = new[np.unique(rows[new], return_index=True)[1]]
        namers = _namers(extractor, doc, reading)
        first = np.cumsum([0, *(part.size for part in found)])
        part_of = np.searchsorted(first, once, side="right") - 1
        within = (once - first[part_of]).tolist()
        for row, part, k in zip(rows[once].tolist(), part_of.tolist(), within):
            role, name = namers[part]
            names[row] = f"{role}:{name(k)}".replace("\n", "\\n")
    return names


def _namers(
    extractor: Extractor, doc: Doc, reading: Reading
) -> list[tuple[str, Callable[[int], str | None]]]:
    """For each role of tokens, function and segments of a document the role, and the
    name of the k-th feature that was read."""
    of_token = extractor.namer(doc, is_train=True)

    def in_role(role: str, width: int) -> Callable[[int], str | None]:
        return lambda k: of_token(role, *divmod(k, width))

    namers = [(role, in_role(role, x.shape[1])) for role, x in reading.keys.items()]
    namers += [(listed.role, listed.name) for listed in reading.listed]
    if len(reading.segments.keys):
        namers.append(("whole", extractor.segment_namer(doc, is_train=True)))
    return namers
