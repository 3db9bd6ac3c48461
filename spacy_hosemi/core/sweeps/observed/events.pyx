"""Long patterns that count only where a feature of theirs fires.

Let no score of a pattern of three or more symbols be negative. Then a history of two
or more labels need only be told apart from its suffixes where a pattern that has a
score farther on begins with it; all other histories have the best completion of their
last label. So a document pays for the L * L pairs of each token, and for the patterns
that fire in it. `firing_segments` and `firing_tokens` have the recursions.

It is the decoder of Qian and Liu ("Sequence Labeling with Non-Negative Weighted Higher
Order Features"), whose patterns are those of single places too, from the right; the
proof is that of `nonnegative`. Pairs may have scores of any sign: every history knows
those that are read at the start. Patterns without a feature fire everywhere.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ...chart.chart cimport Chart
from ...chart.columns cimport Entry, are_entries
from .histories cimport Histories

# Arrays grow by at least so much.
ROOM = 256


cdef class Firings(Histories):
    """What fires in one document.

    histories (Histories): Of the automaton.
    """

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1
        self.histories = histories
        self.take(histories)
        self.pair, self.pair_here = np.empty((2, n, n))
        self.begun = np.empty(n)
        self.n_documents = self.n_steady = 0
        self.n_passed = 1
        self.steady = np.empty(n * n, np.int32)
        self.marked = np.zeros(self.n_nodes, np.int64)
        self.first_event = np.empty(0, np.int32)
        # a list may be written one behind its last one
        self.here = np.empty((2, self.n_nodes + self.most_names + 1), np.int32)
        self.n_here = np.zeros((2, self.most_names + 1), np.int32)
        self.after_listed = np.empty(0, np.int64)
        self.listed = np.empty(0, np.int32)

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials):
        """Take a document, whose labels the chart knows.

        entries (ENTRIES): Those of the potentials.
        potentials (Potentials): Of all columns.
        RETURNS: Whether nothing in it stands in the way.
        """
        cdef Py_ssize_t n_columns = self.n_labels + self.of_observed.shape[0]
        if chart.n_lengths > 1 or chart.n_cells:
            return False
        self.n_passed += self.n_tokens + 1
        self.n_tokens = chart.n_tokens
        try:
            self.pattern, self.entries = potentials.pattern, entries
        except (TypeError, ValueError, BufferError):
            return False
        if self.pattern.shape[0] != self.of_pattern.shape[0]:
            return False
        if not are_entries(self.entries, self.n_tokens, n_columns):
            return False
        if self.first_event.shape[0] <= self.n_tokens:
            self.first_event = np.empty(self.n_tokens + ROOM, np.int32)
        if not self._count_events():
            order = np.argsort(potentials.entries["position"], kind="stable")
            self.entries = potentials.entries[order]
        self.n_documents += 1
        if not self._set_weights() or not self._find():
            return False
        self._make_room()
        return True

    cdef forget(self):
        """Let go of the document."""
        self.pattern, self.entries = None, None

    cdef bint _count_events(self) noexcept nogil:
        """Entries by token. RETURNS: whether they come token by token."""
        cdef Py_ssize_t e, i, last = 0
        cdef int32_t* first = &self.first_event[0]
        cdef bint are_sorted = True
        for i in range(self.n_tokens + 1):
            first[i] = 0
        for e in range(self.entries.shape[0]):
            i = self.entries[e].position
            first[i + 1] += 1
            are_sorted &= i >= last
            last = i
        for i in range(self.n_tokens):
            first[i + 1] += first[i]
        return are_sorted

    cdef bint _set_weights(self):
        """Weights of pairs, and those that need no event.

        RETURNS: Whether all are numbers, no long one is below 0, and so few are above
            it that going through all states takes longer.
        """
        cdef Py_ssize_t k, m, end = self.n_labels
        cdef double weight
        self._forget_steady()
        self.pair[:, :], self.n_steady, self.n_marked = 0.0, 0, 0
        for m in range(self.pattern.shape[0]):
            weight, k = self.pattern[m], self.of_pattern[m]
            if not weight < INFINITY:
                return False
            if not self.is_long[m]:
                # $ stands in the row of ^, which is never last
                self.pair[min(self.pattern_last[m], end), k] += weight
            elif weight < 0.0 or (weight > 0.0 and self.n_steady >= end * end):
                return False
            elif weight > 0.0:
                self.steady[self.n_steady] = <int32_t>k
                self.n_steady += 1
                self._mark(k)
                self._keep_steady(k, weight, self.pattern_last[m] > end)
        return True

    cdef void _mark(self, Py_ssize_t node) noexcept nogil:
        """A node, and those that it needs, as part of the document."""
        while node > self.n_labels and self.marked[node] != self.n_documents:
            self.marked[node] = self.n_documents
            self.n_marked += 1
            node = self.parent[node]

    cdef Py_ssize_t _role(self, const Entry* entry, Py_ssize_t node) noexcept nogil:
        """RETURNS: START, if the label has one token."""
        return START

    cdef const double* _pairs(self, Py_ssize_t i) noexcept nogil:
        """RETURNS: weights of label pairs, with what fires at a token."""
        cdef Py_ssize_t e, node
        cdef const Entry* entry
        cdef double* pair = &self.pair_here[0, 0]
        if not self.has_pairs:
            return &self.pair[0, 0]
        self.pair_here[:, :] = self.pair
        for e in range(self.first_event[i], self.first_event[i + 1]):
            entry = &self.entries[e]
            if entry.column < self.n_labels:
                continue
            node = self.of_observed[entry.column - self.n_labels]
            if self.parent[node] > self.n_labels:
                continue
            # what speaks for ^ does so at the first token alone
            if self.parent[node] < self.n_labels or i == 0:
                if self._role(entry, node) == START:
                    pair[self.pair_at[node]] += entry.score
        return pair

    cdef void _forget_steady(self) noexcept nogil:
        """Weights of the document before that needed no event."""

    cdef void _keep_steady(
        self, Py_ssize_t node, double weight, bint is_end
    ) noexcept nogil:
        """One of the document.

        is_end: Whether $ stands behind the history.
        """

    cdef bint _find(self) noexcept nogil:
        """Mark what is told apart because of entries.

        RETURNS: whether no score of a long pattern is below 0, and nothing else would
            be faster.
        """
        return False

    cdef _make_room(self):
        """For what is listed."""

    cdef Py_ssize_t room(self):
        """RETURNS: for about how many numbers there is some."""
        return 0

    cdef double sweep(self, Chart chart) noexcept nogil:
        """RETURNS: the score of the best segmentation."""
        return -INFINITY

    cdef Py_ssize_t walk(self, Chart chart, int32_t[:, ::1] path) noexcept nogil:
        """Fill in the best segmentation, if there is one. RETURNS: its segments."""
        return 0
