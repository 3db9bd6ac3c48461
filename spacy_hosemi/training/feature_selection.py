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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from spacy.tokens import Doc

from ..arrays import Bools, Counts, Keys, Places
from ..core import PatternAutomaton
from ..errors import Warnings
from ..features import Extractor, Reading
from ..features.kernels.key_table import RowTable
from ..features.naming import namer, segment_namer
from ..labels.gold import Gold, known_labels
from ..model.active_features import FIRST
from ..model.weights.pairs import MAX_PAIRS, Selection, WeightPairs
from .progress import watched

MAX_WEIGHTS = 5_000_000

# Duplicates are removed whenever this many pairs have been collected.
_BUFFER = 1_000_000

# Counts of documents are summed by feature when they are more than this, and more than
# the features.
_N_NEW = 500_000


def select_features(
    extractor: Extractor,
    docs: Sequence[Doc],
    golds: Sequence[Gold],
    automaton: PatternAutomaton,
    observed_min_count: int = 1,
    observed_max: int | None = None,
) -> Selection:
    """Returns the features of training documents that get weights, see the head of this
    module; warns by HSW03 if some get none. A feature of transitions must occur
    `observed_min_count` times with a pattern, and has at most `observed_max`."""
    roles = extractor.features.transition_roles
    of_roles: dict[str, list[Keys]] = {role: [] for role in roles}
    keys, in_tokens, in_docs = count_features(extractor, docs, of_roles)
    table = RowTable(keys)
    least = extractor.features.min_count
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    has_patterns, of_patterns = np.zeros(len(keys), bool), np.zeros(0, np.int64)
    if roles and docs:
        read = {role: np.concatenate(parts) for role, parts in of_roles.items()}
        args = read, golds, [*map(len, docs)], table, automaton
        limits = observed_min_count, observed_max
        has_patterns, of_patterns = mine_transitions(*args, *limits)
    n_patterns = np.bincount(of_patterns // n_columns, minlength=len(keys))
    n_weights = np.where(has_patterns, n_patterns, n_labels)
    all_labels, min_count = extractor.features.all_labels, least
    is_limited = n_weights[in_tokens >= least].sum() > MAX_WEIGHTS and all_labels
    is_whole = ~has_patterns & all_labels
    of_seen = np.zeros(0, np.int64)
    if is_limited or not all_labels:
        of_seen = mine_pairs(extractor, docs, golds, table, n_columns)
        n_seen = np.bincount(of_seen // n_columns, minlength=len(keys)) + n_patterns
        min_count = _least_count(in_tokens, n_seen, least, MAX_PAIRS)
        # From which count on there is room for what weights in all columns add.
        room = MAX_WEIGHTS - int(n_seen[in_tokens >= min_count].sum())
        whole_count = _least_count(in_tokens, n_weights - n_seen, min_count, room)
        is_whole &= in_tokens >= whole_count
        n_weights = np.where(is_whole, n_weights, n_seen)
    keep = (in_tokens >= min_count) & (n_weights > 0)
    if is_limited:
        values = {"found": (in_tokens >= least).sum(), "left": n_weights[keep].sum()}
        values |= {"whole": whole_count, "min_count": min_count, "columns": n_labels}
        message = Warnings.HSW03.format(limit=MAX_WEIGHTS, **values)
        warnings.warn(message, stacklevel=2)
    parts = [np.flatnonzero(keep & x) for x in (~has_patterns, has_patterns)]
    rows, pairs = np.concatenate(parts), None
    if roles or is_limited or not all_labels:
        whole = np.flatnonzero(keep & is_whole)
        of_whole = (whole[:, None] * n_columns + np.arange(n_labels)).ravel()
        of_seen = of_seen[~is_whole[of_seen // n_columns]]
        of_labels = np.sort(np.concatenate([of_whole, of_seen]))
        row, column = np.divmod(np.append(of_labels, of_patterns), n_columns)
        sizes = np.bincount(row, minlength=len(keys))[rows]
        is_kept = np.bincount(rows, minlength=len(keys)) > 0
        first = np.append(0, np.cumsum(sizes)).astype(np.int32)
        pairs = WeightPairs(first, column[is_kept[row]].astype(np.int32))
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
    """Returns the least count, from `least` on, so that features that occur so often
    have at most `limit` weights."""
    n_weights = np.bincount(in_tokens, weights_of_row, minlength=least + 1)
    of_more = np.append(n_weights[::-1].cumsum()[::-1], 0.0)  # by count, and beyond
    return least + int(np.argmax(of_more[least:] <= max(limit, 0)))


def count_features(
    extractor: Extractor,
    docs: Collection[Doc],
    of_roles: Mapping[str, list[Keys]] | None = None,
) -> tuple[Keys, Counts, Counts]:
    """Returns the keys of the features of training documents, sorted, uint64 [R], and
    for each the number of tokens with it (for a bag: of documents), and of documents.
    The keys of each document, [n, T], are appended to the lists in `of_roles`."""
    return sum_counts(_counts_by_doc(extractor, docs, of_roles or {}))


def _counts_by_doc(
    extractor: Extractor, docs: Collection[Doc], of_roles: Mapping[str, list[Keys]]
) -> Iterator[tuple[Keys, Counts]]:
    """Yields the keys of each document, once each, and the tokens with each."""
    bags = extractor.bags
    for doc in watched(docs, "Counting features"):
        reading = extractor.read([doc], is_train=True)
        for role, parts in of_roles.items():
            parts.append(reading.keys[role])
        of_tokens = []
        for role, of_role in reading.keys.items():
            if len(bags[role]):
                of_tokens.append(np.unique(of_role[:, bags[role]]))
                of_role = np.delete(of_role, bags[role], axis=1)
            of_tokens.append(of_role.ravel())
        of_functions = [listed.keys for listed in reading.listed]
        keys = np.concatenate([*of_tokens, *of_functions, reading.segments.keys])
        yield np.unique(keys[keys != 0], return_counts=True)


def sum_counts(by_doc: Iterable[tuple[Keys, Counts]]) -> tuple[Keys, Counts, Counts]:
    """Returns what `count_features` does, from each document's keys, once each, and
    tokens with each; only features of the last documents are in memory twice."""
    total = np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    new: list[tuple[Keys, Counts]] = []
    n_new = 0
    for keys, in_tokens in by_doc:
        new.append((keys, in_tokens.astype(np.int32)))
        n_new += len(keys)
        if n_new > max(_N_NEW, len(total[0])):
            total, n_new = _merge(*total, new), 0
    return _merge(*total, new) if n_new else total


def _merge(
    keys: Keys, in_tokens: Counts, in_docs: Counts, new: list[tuple[Keys, Counts]]
) -> tuple[Keys, Counts, Counts]:
    """Adds the keys of new documents, once each, and the tokens with each in a
    document, to what `count_features` returns."""
    n_old = len(keys)
    keys = np.concatenate([keys, *(x for x, _ in new)])
    counts = np.concatenate([in_tokens, *(x for _, x in new)])
    new.clear()
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_first = np.append(True, keys[1:] != keys[:-1])
    first = np.flatnonzero(is_first)
    keys = keys[first]
    in_tokens = np.add.reduceat(counts[order], first)
    counts[:n_old], counts[n_old:] = in_docs, 1
    return keys, in_tokens, np.add.reduceat(counts[order], first)


def mine_pairs(
    extractor: Extractor,
    docs: Iterable[Doc],
    golds: Iterable[Gold],
    table: RowTable,
    n_columns: int,
) -> Counts:
    """Returns the pairs (row of the table, label) that occur in the gold, as
    row * n_columns + label, int64 [N], ascending."""
    pairs: list[Counts] = [np.zeros(0, np.int64)]
    n_pairs = 0
    for doc, gold in zip(docs, golds):
        reading = extractor.read([doc], is_train=True)
        roles = extractor.features.scored_roles
        for keys, label in _with_labels(reading, gold, len(doc), roles):
            chosen = (keys != 0) & (label >= 0)
            rows = table.find(keys[chosen]).astype(np.int64)
            pairs.append(np.unique(rows * n_columns + label[chosen]))
            n_pairs += len(pairs[-1])
        if n_pairs > _BUFFER:
            pairs, n_pairs = [np.unique(np.concatenate(pairs))], 0
    return np.unique(np.concatenate(pairs))


def _with_labels(
    reading: Reading, gold: Gold, n_tokens: int, roles: Iterable[str]
) -> Iterator[tuple[Keys, Places]]:
    """Yields the keys of all features of a document, with their gold labels or -1."""
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
    """Returns a readable name, "role:TEMPLATE=value", of keys that documents have."""
    names: list[str] = [""] * len(keys)
    is_named = np.zeros(len(keys), bool)
    table = RowTable(keys)
    for doc in watched(docs, "Naming features"):
        if is_named.all():
            break
        reading = extractor.read([doc], is_train=True)
        parts = [*reading.keys.values(), *(listed.keys for listed in reading.listed)]
        parts.append(reading.segments.keys)
        rows = table.find(np.concatenate([part.ravel() for part in parts]))
        new = np.flatnonzero((rows >= 0) & ~is_named[rows])
        if not len(new):
            continue
        is_named[rows[new]] = True
        once = new[np.unique(rows[new], return_index=True)[1]]
        namers = _namers(extractor, doc, reading)
        first = np.cumsum([0, *(part.size for part in parts)])
        part_of = np.searchsorted(first, once, side="right") - 1
        within = (once - first[part_of]).tolist()
        for row, part, k in zip(rows[once].tolist(), part_of.tolist(), within):
            role, name = namers[part]
            names[row] = f"{role}:{name(k)}".replace("\n", "\\n")
    return names


def _namers(
    extractor: Extractor, doc: Doc, reading: Reading
) -> list[tuple[str, Callable[[int], str | None]]]:
    """Returns for each part of a reading its role and what names its feature k."""
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
) -> tuple[Bools, Counts]:
    """Returns whether each row of the table is a feature of transitions, bool [R], and
    their pairs in the gold of completely annotated documents, as row * C + column of a
    pattern, int64 [N], ascending. `read` has keys by role, uint64 [n, T]. A pair must
    occur `min_count` times, and a row has its `max_patterns` most frequent ones,
    shorter patterns first."""
    n_columns = automaton.n_columns
    is_transition = np.zeros(len(table), bool)
    occurrences = [np.zeros(0, np.int64)]
    start, size, column = _observed(golds, sizes, automaton)
    for role, keys in read.items():
        rows = table.find(keys.ravel()).reshape(keys.shape).astype(np.int64)
        is_transition[rows[rows >= 0]] = True
        n_read = np.ones_like(size) if role == FIRST else size
        at = start.repeat(n_read) + _within(n_read)
        columns = column.repeat(n_read)[:, None]
        occurrences.append((rows[at] * n_columns + columns)[rows[at] >= 0])
    pairs, counts = np.unique(np.concatenate(occurrences), return_counts=True)
    is_kept = counts >= min_count
    if max_patterns is not None:
        of_rows = pairs // n_columns
        ranks, n_pairs = np.empty_like(pairs), np.unique(of_rows, return_counts=True)[1]
        ranks[np.lexsort((-counts, of_rows))] = _within(n_pairs)
        is_kept &= ranks < max_patterns
    return is_transition, pairs[is_kept]


def _observed(
    golds: Sequence[Gold], sizes: Sequence[int], automaton: PatternAutomaton
) -> tuple[Places, Places, Counts]:
    """Returns start, size, column of gold segments that end an observed pattern."""
    segments = [gold.segments or [] for gold in golds]
    n_segments = np.fromiter(map(len, segments), np.intp, len(segments))
    first = np.concatenate([[0], np.cumsum(n_segments)])
    flat = np.fromiter(
        chain.from_iterable(chain.from_iterable(segments)), np.int32, 3 * first[-1]
    )
    start, end, label = flat.reshape(-1, 3).T
    segment, column = automaton.observed_read(label, first)
    lengths = np.asarray(sizes, np.intp)
    before = (np.cumsum(lengths) - lengths).repeat(n_segments)
    return (before + start)[segment], (end - start)[segment], column


def _within(sizes: Places) -> Places:
    """Returns 0, 1, .. size - 1 for each size."""
    return np.arange(sizes.sum()) - (np.cumsum(sizes) - sizes).repeat(sizes)
