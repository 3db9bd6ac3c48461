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
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton
from ..errors import Warnings
from ..features import Extractor, Reading, Segments
from ..features.kernels.key_table import RowTable
from ..features.naming import namer, segment_namer
from ..labels.gold import Gold, known_labels
from ..model.observed_features import FIRST
from ..model.weights.pairs import MAX_PAIRS, Counts, Keys, Pairs, Selection
from .progress import watched

MAX_WEIGHTS = 5_000_000
RAISE = 2

# Pairs that are collected before those found twice are merged.
_BUFFER = 8_000_000


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
    """The pairs of some rows, which are numbered anew.

    pairs (int64 [N]): row * n_columns + column, of these rows in their order.
    rows (intp [K]): Which of n_rows.
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
    of_roles: Mapping[str, list[Keys]] | None = None,
) -> tuple[Keys, Counts, Counts]:
    """Which features occur in training documents.

    of_roles (Optional[Dict[str, List[uint64 [n, T]]]]): For some roles a list, which
        gets the keys of each document.
    RETURNS: Keys [R], in how many tokens each occurs (in a bag: in how many documents),
        and in how many documents. Keys are sorted: the same documents give the same
        rows.
    """
    bags = extractor.bags
    by_doc = [np.zeros((2, 0), np.uint64)]
    for doc in watched(docs, "Counting features"):
        reading = extractor.read(doc, is_train=True)
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
    """Features that speak for label patterns, and pairs (row, column) that occur in the
    gold.

    read (Dict[str, uint64 [n, T]]): By role, of concatenated documents.
    golds (Sequence[Gold]), sizes (Sequence[int]): Of each document, and its tokens.
    table (RowTable): All R that the documents have.
    automaton (PatternAutomaton): C columns.
    min_count (int): How often a pair must occur.
    max_patterns (Optional[int]): Keep the most frequent of each row, of equals the
        shorter ones, then those of the first labels.
    RETURNS (Tuple[bool [R], int64 [N]]): Whether a row is one of theirs; row * C +
        column, ascending. Partially annotated documents have none.
    """
    n_columns = automaton.n_columns
    is_theirs = np.zeros(len(table), bool)
    found = [np.zeros(0, np.int64)]
    start, size, column = _observed(golds, sizes, automaton)
    for role, keys in read.items():
        rows = table.find(keys.ravel()).reshape(keys.shape).astype(np.int64)
        is_theirs[rows[rows >= 0]] = True
        n_read = np.ones_like(size) if role == FIRST else size
        at = start.repeat(n_read) + _within(n_read)
        columns = column.repeat(n_read)[:, None]
        found.append((rows[at] * n_columns + columns)[rows[at] >= 0])
    pairs, counts = np.unique(np.concatenate(found), return_counts=True)
    is_kept = counts >= min_count
    if max_patterns is not None:
        is_kept &= _ranks(pairs // n_columns, counts) < max_patterns
    return is_theirs, pairs[is_kept]


def _ranks(rows: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same row, ascending, have a higher count, or come first."""
    order = np.lexsort((-counts, rows))
    _, sizes = np.unique(rows, return_counts=True)
    ranks = np.empty_like(rows)
    ranks[order] = _within(sizes)
    return ranks


def _observed(
    golds: Sequence[Gold], sizes: Sequence[int], automaton: PatternAutomaton
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Where observed patterns are complete in documents that are known.

    RETURNS (Tuple[intp [N], intp [N], int64 [N]]): Start and size of a segment, in
        tokens of concatenated documents; the column of a pattern
        that it completes.
    """
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
