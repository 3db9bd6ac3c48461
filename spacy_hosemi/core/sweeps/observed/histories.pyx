"""Histories: prefixes of label patterns, used as decoder states.

Also lists the entries of observed patterns that one segmentation activates.
"""

import numpy as np

from libc.stdint cimport int32_t

from ...chart.columns cimport Entry
from ...automaton.pattern_trie import PatternTrie
from ...potentials import ENTRIES


cdef class Histories:
    """Prefixes of the long patterns of an automaton, and which patterns they end."""

    cdef bint is_read(
        self, const Entry* entry, const int32_t* segments, Py_ssize_t k
    ) noexcept nogil:
        """Returns whether segment k of [K, 3] reads an entry at one of its tokens."""
        cdef Py_ssize_t c = entry.column - self.n_labels
        if entry.role == 1 and entry.position != segments[3 * k]:
            return False
        if entry.role == 2 and entry.position != segments[3 * k + 1] - 1:
            return False
        if c < 0:
            return entry.column == segments[3 * k + 2]
        return self.is_end(self.of_observed[c], segments + 2, 3, k + 1)

    cdef bint is_end(
        self, Py_ssize_t node, const int32_t* label, Py_ssize_t stride, Py_ssize_t k
    ) noexcept nogil:
        """Whether the first k segments, with labels `stride` apart, end with a
        history."""
        while node >= 0:
            if node == self.n_labels:
                return k == 0
            k -= 1
            if k < 0 or label[k * stride] != self.label[node]:
                return False
            node = self.parent[node]
        return True


cdef Histories histories_of(automaton):
    """Returns the histories; None with a grammar or without observed patterns."""
    if not automaton.observed or automaton.grammar is not None:
        return None
    if automaton.histories is None:
        automaton.histories = _make_histories(automaton)
    return automaton.histories


cdef Histories _make_histories(automaton):
    cdef Histories made = Histories()
    found = PatternTrie(automaton)
    made.bare = type(automaton)(automaton.labels)
    made.n_labels, made.n_nodes = automaton.n_labels, len(found.parent)
    made.parent, made.suffix = found.parent, found.suffix
    made.label, made.depth = found.label, found.depth
    made.before = np.append(found.label, np.int32(0))[found.parent]
    made.pair_at = found.label * np.int32(made.n_labels + 1) + np.asarray(made.before)
    made.most_names = found.most_names
    made.first_long = np.searchsorted(found.depth, 3)
    depths = np.arange(found.most_names + 1)
    made.first_deep = (np.searchsorted(found.depth, depths) + depths).astype(np.int32)
    made.of_observed = found.observed(automaton.observed)
    made.of_pattern, made.pattern_last = found.places(automaton.patterns)
    made.is_long = (automaton.pattern_length > 2).astype(np.uint8)
    return made


cdef bint are_of_labels(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil:
    """Whether some are in columns of labels."""
    cdef Py_ssize_t e
    for e in range(entries.shape[0]):
        if entries[e].column < n_labels:
            return True
    return False


cdef bint has_sparse_columns(automaton, potentials):
    """Whether observed patterns have no scores but those of entries."""
    if getattr(potentials.entries, "dtype", None) != ENTRIES:
        return False
    if getattr(potentials.cells, "size", 1):
        return False
    for x in (potentials.inside, potentials.start, potentials.end):
        if getattr(x, "ndim", 0) != 2 or x.shape[1] != automaton.n_labels:
            return False
    return True


cdef class ActiveEntries:
    """The checked entries, of all columns, that segmentations of one document read."""

    def __init__(self, Histories histories, const Entry[::1] entries, n_tokens):
        cdef Py_ssize_t n = n_tokens
        self.histories, self.entries = histories, entries
        self.n_found = 0
        # entries; of tokens the segment; of segments start, end and label
        self.room = np.empty(entries.shape[0] + 4 * n, np.int32)
        self.found = &self.room[0] if self.room.shape[0] else NULL
        self.covers = self.found + entries.shape[0]
        self.segments = self.covers + n

    cdef double find(self, list segments) except? -1.0:
        """Find the entries that a segmentation, covering every token, reads. Returns
        the sum of their scores."""
        cdef Py_ssize_t i, k, u, j, y
        self.n_found = 0
        if not self.entries.shape[0]:
            return 0.0
        for k, (u, j, y) in enumerate(segments):
            self.segments[3 * k] = <int32_t>u
            self.segments[3 * k + 1] = <int32_t>j
            self.segments[3 * k + 2] = <int32_t>y
            for i in range(u, j):
                self.covers[i] = <int32_t>k
        return self._find()

    cdef double _find(self) noexcept nogil:
        cdef Py_ssize_t e, k, column, node, n_labels = self.histories.n_labels
        cdef const int32_t* label = &self.histories.label[0]
        cdef const int32_t* before = &self.histories.before[0]
        cdef const int32_t* of_observed = &self.histories.of_observed[0]
        cdef const int32_t* segments = self.segments
        cdef const Entry* entry
        cdef double score = 0.0
        for e in range(self.entries.shape[0]):
            entry = &self.entries[e]
            k, column = self.covers[entry.position], entry.column
            if column >= n_labels:
                node = of_observed[column - n_labels]
                # most have other labels
                if label[node] != segments[3 * k + 2]:
                    continue
                if before[node] != (segments[3 * k - 1] if k else n_labels):
                    continue
            if self.histories.is_read(entry, segments, k):
                self.found[self.n_found] = <int32_t>e
                self.n_found += 1
                score += entry.score
        return score

    cdef add(self, double times, Entry[::1] counts):
        """Add `times` to the scores of those that were found."""
        cdef Py_ssize_t k
        for k in range(self.n_found):
            counts[self.found[k]].score += times
