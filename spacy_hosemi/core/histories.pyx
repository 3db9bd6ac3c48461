"""Histories: prefixes of the label patterns that tell segmentations apart, and what
fires along one segmentation.

Viterbi goes through them in `firing`; the counts of a segmentation are read here.
"""

import numpy as np

from libc.stdint cimport int32_t

from .columns cimport Entry
from .prefixes import Prefixes


cdef class Histories:
    """Prefixes of the long patterns of an automaton, and what completes which."""

    cdef take(self, Histories other):
        """Be the same, of the same automaton."""
        self.bare, self.n_labels = other.bare, other.n_labels
        self.n_nodes, self.most_names = other.n_nodes, other.most_names
        self.has_bounded_gap = other.has_bounded_gap
        self.parent, self.suffix, self.label = other.parent, other.suffix, other.label
        self.depth, self.first_deep = other.depth, other.first_deep
        self.pair_at, self.is_inner = other.pair_at, other.is_inner
        self.of_observed, self.of_pattern = other.of_observed, other.of_pattern
        self.pattern_last, self.is_long = other.pattern_last, other.is_long

    cdef bint reads(
        self, const Entry entry, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether segment k, (start, end, label), reads an entry at one of its tokens.
        """
        cdef Py_ssize_t c = entry.column - self.n_labels
        if entry.role == 1 and entry.position != segment[k, 0]:
            return False
        if entry.role == 2 and entry.position != segment[k, 1] - 1:
            return False
        if c < 0:
            return entry.column == segment[k, 2]
        return self.is_end(self.of_observed[c], segment, k + 1)

    cdef bint is_end(
        self, Py_ssize_t node, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether the first k segments end with a history."""
        while node >= 0:
            if node == self.n_labels:
                return k == 0
            k -= 1
            if k < 0 or segment[k, 2] != self.label[node]:
                return False
            node = self.parent[node]
        return True


cdef Histories histories_of(automaton):
    """Made when they are first asked for. RETURNS (Histories): None: with a grammar, or
    without observed patterns, there is no use for them."""
    if not automaton.observed or automaton.grammar is not None:
        return None
    if automaton.histories is None:
        automaton.histories = _make_histories(automaton)
    return automaton.histories


cdef Histories _make_histories(automaton):
    cdef Histories made = Histories()
    found = Prefixes(automaton)
    made.bare = type(automaton)(automaton.labels)
    made.n_labels, made.n_nodes = automaton.n_labels, len(found.parent)
    made.parent, made.suffix = found.parent, found.suffix
    made.label, made.depth = found.label, found.depth
    before = np.append(found.label, np.int32(0))[found.parent]
    made.pair_at = found.label * np.int32(made.n_labels + 1) + before
    made.is_inner = found.is_inner.view(np.uint8)
    made.most_names = found.most_names
    depths = np.arange(found.most_names + 1)
    made.first_deep = (np.searchsorted(found.depth, depths) + depths).astype(np.int32)
    made.of_observed = found.observed(automaton.observed)
    made.of_pattern, made.pattern_last = found.places(automaton.patterns)
    made.has_bounded_gap = automaton.has_bounded_gap
    is_long = automaton.pattern_length > 2
    made.is_long = is_long.astype(np.uint8)
    return made


cdef bint speak_for_labels(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil:
    """Whether some are in columns of labels."""
    cdef Py_ssize_t e
    for e in range(entries.shape[0]):
        if entries[e].column < n_labels:
            return True
    return False


cdef int32_t[::1] find_fired(
    Histories histories, list segments, const Entry[::1] entries
):
    """What fires along one segmentation.

    segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    entries (ENTRIES): Of all columns.
    RETURNS (int32 [K]): Which of the entries.
    """
    cdef Py_ssize_t e, k, u, j, y, column, n_found = 0, n_labels = histories.n_labels
    cdef Py_ssize_t n = segments[len(segments) - 1][1] if segments else 0
    cdef int32_t[:, ::1] segment = np.empty((len(segments), 3), np.int32)
    cdef int32_t[::1] covers = np.empty(n, np.int32)
    cdef int32_t[::1] found = np.empty(entries.shape[0], np.int32)
    for k, (u, j, y) in enumerate(segments):
        segment[k, 0], segment[k, 1], segment[k, 2] = <int32_t>u, <int32_t>j, <int32_t>y
        covers[u:j] = <int32_t>k
    for e in range(entries.shape[0]):
        k, column = covers[entries[e].position], entries[e].column
        if column >= n_labels:
            column = histories.label[histories.of_observed[column - n_labels]]
        # most end with another label
        if column == segment[k, 2] and histories.reads(entries[e], segment, k):
            found[n_found] = <int32_t>e
            n_found += 1
    return found[:n_found]
