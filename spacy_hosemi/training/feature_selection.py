"""Selects the features of training documents that get weights, and their columns.

1. Every feature gets weights in all columns if that makes at most MAX_WEIGHTS weights.
2. Otherwise rare features get weights only for the pairs (feature, label of a segment
   that reads the feature) that occur in the gold. Rare are those below the least count
   with which there are at most MAX_WEIGHTS weights. A feature without a pair, such as
   one of tokens where no segment starts, is left out.
3. If that does not suffice with pairs for all features either, all have pairs alone,
   and the minimum count is raised until these are at most MAX_PAIRS.

With `features.all_labels` false all features have pairs alone. Features of transitions
always do, with label patterns instead of labels.
"""

from __future__ import annotations

import warnings
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton
from ..errors import Warnings
from ..features import Extractor, Reading
from ..features.kernels.key_table import RowTable
from ..features.naming import namer, segment_namer
from ..labels.gold import Gold, known_labels
from ..model.active_features import FIRST
from ..model.weights.pairs import MAX_PAIRS, Counts, Keys, Selection, WeightPairs
from .progress import watched

MAX_WEIGHTS = 5_000_000

# Duplicates are removed whenever this many pairs have been collected.
_BUFFER = 8_000_000

# Counts of documents are summed by feature when they are more than this, and more than
# the features.
_N_NEW = 2_000_000


def select_features(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    automaton: PatternAutomaton,
    observed_min_count: int = 1,
    observed_max: int | None = None,
) -> Selection:
    """The features of training documents that get weights.

    extractor (Extractor): Reads the features; has the minimum count.
    docs (Sequence[Doc]): Training documents.
    golds (Sequence[Gold]): The gold of each document.
    automaton (PatternAutomaton): Labels and observed patterns.
    observed_min_count (int): How often a feature of transitions must occur with a
        pattern.
    observed_max (Optional[int]): The most patterns of such a feature.
    RETURNS (Selection): See the head of this module.
    WARNS (UserWarning): HSW03 some features or pairs get no weights.
    """
    roles = extractor.features.transition_roles
    of_roles: dict[str, list[Keys]] = {role: [] for role in roles}
    keys, in_tokens, in_docs = count_features(extractor, docs, of_roles)
    table = RowTable(keys)
    asked = extractor.features.min_count
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    has_patterns, of_patterns = np.zeros(len(keys), bool), np.zeros(0, np.int64)
    if roles and docs:
        read = {role: np.concatenate(parts) for role, parts in of_roles.items()}
        args = read, golds, [*map(len, docs)], table, automaton
        found = mine_transitions(*args, observed_min_count, observed_max)
        has_patterns, of_patterns = found
    n_patterns = np.bincount(of_patterns // n_columns, minlength=len(keys))
    n_weights = np.where(has_patterns, n_patterns, n_labels)
    all_labels, min_count = extractor.features.all_labels, asked
    is_limited = n_weights[in_tokens >= asked].sum() > MAX_WEIGHTS and all_labels
    is_whole = ~has_patterns & all_labels
    of_seen = np.zeros(0, np.int64)
    if is_limited or not all_labels:
        of_seen = mine_pairs(extractor, docs, golds, table, n_columns)
        n_seen = np.bincount(of_seen // n_columns, minlength=len(keys)) + n_patterns
        min_count = _least_count(in_tokens, n_seen, asked, MAX_PAIRS)
        # From which count on there is room for what weights in all columns add.
        room = MAX_WEIGHTS - n_seen[in_tokens >= min_count].sum()
        whole_count = _least_count(in_tokens, n_weights - n_seen, min_count, room)
        is_whole &= in_tokens >= whole_count
        n_weights = np.where(is_whole, n_weights, n_seen)
    keep = (in_tokens >= min_count) & (n_weights > 0)
    if is_limited:
        message = Warnings.HSW03.format(
            found=(in_tokens >= asked).sum(),
            columns=n_labels,
            limit=MAX_WEIGHTS,
            whole=whole_count,
            min_count=min_count,
            left=n_weights[keep].sum(),
        )
        warnings.warn(message, stacklevel=2)
    parts = [np.flatnonzero(keep & x) for x in (~has_patterns, has_patterns)]
    rows, pairs = np.concatenate(parts), None
    if roles or is_limited or not all_labels:
        whole = np.flatnonzero(keep & is_whole)
        of_whole = (whole[:, None] * n_columns + np.arange(n_labels)).ravel()
        of_seen = of_seen[~is_whole[of_seen // n_columns]]
        of_labels = np.sort(np.concatenate([of_whole, of_seen]))
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


def _least_count(
    in_tokens: Counts, weights_of_row: Counts, least: int, limit: float
) -> int:
    """RETURNS (int): The least count, from `least` on, so that features which occur as
    often or more often have at most `limit` weights."""
    n_weights = np.bincount(in_tokens, weights_of_row, minlength=least + 1)
    of_more = np.append(n_weights[::-1].cumsum()[::-1], 0.0)  # by count, and beyond
    return least + int(np.argmax(of_more[least:] <= max(limit, 0)))


def _as_pairs(
    pairs: Counts, rows: NDArray[np.intp], n_rows: int, n_columns: int
) -> WeightPairs:
    """The pairs (row * n_columns + column) of some rows, which get new numbers."""
    row, column = np.divmod(pairs, n_columns)
    is_kept = np.zeros(n_rows, bool)
    is_kept[rows] = True
    sizes = np.bincount(row, minlength=n_rows)[rows]
    first = np.concatenate([[0], np.cumsum(sizes)])
    return WeightPairs(first.astype(np.int32), column[is_kept[row]].astype(np.int32))


def count_features(
    extractor: Extractor,
    docs: Collection[Doc],
    of_roles: Mapping[str, list[Keys]] | None = None,
) -> tuple[Keys, Counts, Counts]:
    """Count the features of training documents.

    of_roles (Optional[Dict[str, List[uint64 [n, T]]]]): For some roles a list, to which
        the keys of each document are appended.
    RETURNS (Tuple[uint64 [R], int64 [R], int64 [R]]): The keys, sorted; the number of
        tokens with each (for a bag: of documents), and of documents.
    """
    bags = extractor.bags
    counted = FeatureCounts()
    for doc in watched(docs, "Counting features"):
        reading = extractor.read([doc], is_train=True)
        for role, parts in (of_roles or {}).items():
            parts.append(reading.keys[role])
        of_tokens = []
        for role, of_role in reading.keys.items():
            if len(bags[role]):
                of_tokens.append(np.unique(of_role[:, bags[role]]))
                of_role = np.delete(of_role, bags[role], axis=1)
            of_tokens.append(of_role.ravel())
        of_functions = [listed.keys for listed in reading.listed]
        keys = np.concatenate([*of_tokens, *of_functions, reading.segments.keys])
        counted.add(*np.unique(keys[keys != 0], return_counts=True))
    return counted.all()


class FeatureCounts:
    """Counts of the features of some documents. Only the features of the last documents
    are in memory twice."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self._in_tokens = self._in_docs = np.zeros(0, np.int64)
        self._new: list[tuple[Keys, Counts]] = []
        self._n_new = 0

    def add(self, keys: Keys, counts: Counts) -> None:
        """Add one document.

        keys (uint64 [K]): Distinct.
        counts (int64 [K]): In how many of its tokens each is.
        """
        self._new.append((keys, counts.astype(np.int32)))
        self._n_new += len(keys)
        # Then the time for all documents together grows as the number of features does.
        if self._n_new > max(_N_NEW, len(self._keys)):
            self._merge()

    def all(self) -> tuple[Keys, Counts, Counts]:
        """RETURNS (Tuple[uint64 [R], int64 [R], int64 [R]]): See `count_features`."""
        self._merge()
        return self._keys, self._in_tokens, self._in_docs

    def _merge(self) -> None:
        if not self._n_new:
            return
        keys = np.concatenate([self._keys, *(x for x, _ in self._new)])
        counts = np.concatenate([self._in_tokens, *(x for _, x in self._new)])
        self._new, self._n_new, n_old = [], 0, len(self._keys)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.append(True, keys[1:] != keys[:-1])
        first = np.flatnonzero(is_first)
        self._keys = keys[first]
        del keys
        self._in_tokens = np.add.reduceat(counts[order], first)
        counts[:n_old], counts[n_old:] = self._in_docs, 1
        self._in_docs = np.add.reduceat(counts[order], first)


def mine_pairs(
    extractor: Extractor,
    docs: Iterable[Doc],
    golds: Iterable[Gold],
    table: RowTable,
    n_columns: int,
) -> Counts:
    """RETURNS (int64 [N]): The pairs (row, label) that occur in the gold, as
    row * n_columns + label, ascending; rows are those of the table."""
    found: list[Counts] = [np.zeros(0, np.int64)]
    n_found = 0
    for doc, gold in zip(docs, golds):
        reading = extractor.read([doc], is_train=True)
        roles = extractor.features.scored_roles
        for keys, label in _with_labels(reading, gold, len(doc), roles):
            chosen = (keys != 0) & (label >= 0)
            rows = table.find(keys[chosen]).astype(np.int64)
            found.append(np.unique(rows * n_columns + label[chosen]))
            n_found += len(found[-1])
        if n_found > _BUFFER:
            found = [np.unique(np.concatenate(found))]
            n_found = 0
    return np.unique(np.concatenate(found))


def _with_labels(
    reading: Reading, gold: Gold, n_tokens: int, roles: Iterable[str]
) -> Iterator[tuple[Keys, NDArray[np.intp]]]:
    """The keys of all features of a document, each with its label in the gold or -1."""
    labels, segments = known_labels(gold, n_tokens), reading.segments
    for role in roles:
        keys = reading.keys[role]
        yield keys.ravel(), labels[role].repeat(keys.shape[1])
    for listed in reading.listed:
        yield listed.keys, labels[listed.role][listed.token]
    label_of = {(start, end): y for start, end, y in gold.segments or ()}
    places = zip(segments.start.tolist(), segments.end.tolist())
    of_segments = [label_of.get(place, -1) for place in places]
    yield segments.keys, np.array(of_segments, np.intp)


def name_features(extractor: Extractor, docs: Collection[Doc], keys: Keys) -> list[str]:
    """RETURNS (List[str]): The readable name of each feature: "role:TEMPLATE=value".

    keys (uint64 [R]): Distinct; each occurs in the documents.
    """
    names: list[str] = [""] * len(keys)
    is_named = np.zeros(len(keys), bool)
    table = RowTable(keys)
    for doc in watched(docs, "Naming features"):
        if is_named.all():
            break
        reading = extractor.read([doc], is_train=True)
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
    """For each part of a reading its role and a function that names feature k."""
    of_token = namer(extractor, doc, is_train=True)

    def in_role(role: str, width: int) -> Callable[[int], str | None]:
        return lambda k: of_token(role, *divmod(k, width))

    namers = [(role, in_role(role, x.shape[1])) for role, x in reading.keys.items()]
    namers += [(listed.role, listed.name) for listed in reading.listed]
    if len(reading.segments.keys):
        namers.append(("whole", segment_namer(extractor, doc, is_train=True)))
    return namers


def mine_transitions(
    read: Mapping[str, Keys],
    golds: Sequence[Gold],
    sizes: Sequence[int],
    table: RowTable,
    automaton: PatternAutomaton,
    min_count: int = 1,
    max_patterns: int | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Features of transitions, and their pairs (row, column of a pattern) in the gold.

    read (Dict[str, uint64 [n, T]]): The keys of concatenated documents, by role.
    golds (Sequence[Gold]), sizes (Sequence[int]): The gold and the number of tokens of
        each document.
    table (RowTable): The R features of the documents.
    automaton (PatternAutomaton): C columns.
    min_count (int): How often a pair must occur.
    max_patterns (Optional[int]): The most pairs of a row: the most frequent ones; of
        equals the shorter patterns, then those of the first labels.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether each row is a feature of transitions;
        row * C + column, ascending. Only completely annotated documents have pairs.
    """
    n_columns = automaton.n_columns
    is_transition = np.zeros(len(table), bool)
    found = [np.zeros(0, np.int64)]
    start, size, column = _observed(golds, sizes, automaton)
    for role, keys in read.items():
        rows = table.find(keys.ravel()).reshape(keys.shape).astype(np.int64)
        is_transition[rows[rows >= 0]] = True
        n_read = np.ones_like(size) if role == FIRST else size
        at = start.repeat(n_read) + _within(n_read)
        columns = column.repeat(n_read)[:, None]
        found.append((rows[at] * n_columns + columns)[rows[at] >= 0])
    pairs, counts = np.unique(np.concatenate(found), return_counts=True)
    is_kept = counts >= min_count
    if max_patterns is not None:
        is_kept &= _ranks(pairs // n_columns, counts) < max_patterns
    return is_transition, pairs[is_kept]


def _ranks(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of each pair among the pairs of its row, by count; rows ascend."""
    order = np.lexsort((-counts, rows))
    _, sizes = np.unique(rows, return_counts=True)
    ranks = np.empty_like(rows)
    ranks[order] = _within(sizes)
    return ranks


def _observed(
    golds: Sequence[Gold], sizes: Sequence[int], automaton: PatternAutomaton
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Gold segments that complete an observed pattern: start, size, column."""
    known = [gold.segments or [] for gold in golds]
    n_segments = np.fromiter(map(len, known), np.intp, len(known))
    first = np.concatenate([[0], np.cumsum(n_segments)])
    flat = np.fromiter(
        chain.from_iterable(chain.from_iterable(known)), np.int32, 3 * first[-1]
    )
    start, end, label = flat.reshape(-1, 3).T
    segment, column = automaton.observed_read(label, first)
    before = (np.cumsum(sizes) - sizes).repeat(n_segments)
    return (before + start)[segment], (end - start)[segment], column


def _within(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """0, 1, .. size - 1 for each size."""
    return np.arange(sizes.sum()) - (np.cumsum(sizes) - sizes).repeat(sizes)
