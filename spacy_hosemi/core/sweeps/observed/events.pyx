"""What one document has for patterns: entries by token, and weights.

Let no score of a pattern of three or more symbols be negative. Then a history of two
or more labels need only be told apart from its suffixes where a pattern that has a
score farther on begins with it; all other histories have the best completion of their
last label. So a document pays for the L * L pairs of each token, and for the entries
that it has. `token_sweep` has the recursion.

It is the decoder of Qian and Liu ("Sequence Labeling with Non-Negative Weighted Higher
Order Features"), whose patterns are those of single places too, from the right; the
proof is that of `nonnegative`. Pairs may have scores of any sign: every history knows
the last label. Patterns with a weight but no feature are active at every token.
"""

import numpy as np

from libc.stdint cimport int32_t

from ...simd cimport simd as kernels
from ...chart.chart cimport Chart
from ...chart.columns cimport Entry, are_entries
from .histories cimport Histories

# Arrays grow by at least this number of elements.
ROOM = 256


cdef class Events:
    """Entries and pattern weights of one document."""

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1
        self.histories = histories
        self.pair, self.pair_here = np.empty((2, n, n))
        self.weight, self.final_weight = np.zeros((2, histories.n_nodes))
        self.weighted = np.empty(n * n, np.int32)
        self.marked = np.zeros(histories.n_nodes, np.int64)
        self.n_documents = self.n_weighted = 0
        self.first = np.empty(0, np.int32)

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials):
        """Take a document, whose labels the chart knows. Returns whether its patterns
        can be decoded by entries."""
        cdef Py_ssize_t n_columns = chart.n_labels + self.histories.of_observed.shape[0]
        self.n_tokens = chart.n_tokens
        try:
            self.pattern, self.entries = potentials.pattern, entries
        except (TypeError, ValueError, BufferError):
            return False
        if self.pattern.shape[0] != self.histories.of_pattern.shape[0]:
            return False
        if not are_entries(self.entries, self.n_tokens, n_columns):
            return False
        if self.first.shape[0] <= self.n_tokens:
            self.first = np.empty(self.n_tokens + ROOM, np.int32)
        if not self._sort_by_token():
            order = np.argsort(potentials.entries["position"], kind="stable")
            self.entries = potentials.entries[order]
        self.n_documents += 1
        return self._set_weights() and self._only_add()

    cdef forget(self):
        """Let go of the document."""
        self.pattern, self.entries = None, None

    cdef bint _sort_by_token(self) noexcept nogil:
        """Set `first`. RETURNS: whether the entries come token by token."""
        cdef Py_ssize_t e, i, last = 0
        cdef int32_t* first = &self.first[0]
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
        """Set the weights of pairs and longer patterns. Returns whether all are
        numbers, no long one is below 0, and few enough are above it."""
        cdef Py_ssize_t k, m, end = self.histories.n_labels
        cdef const int32_t* last = NULL
        cdef double weight
        for m in range(self.n_weighted):  # of the document before
            k = self.weighted[m]
            self.weight[k] = self.final_weight[k] = 0.0
        self.pair[:, :], self.n_weighted, self.n_marked = 0.0, 0, 0
        if self.pattern.shape[0]:
            last = &self.histories.pattern_last[0]
        for m in range(self.pattern.shape[0]):
            weight, k = self.pattern[m], self.histories.of_pattern[m]
            if not kernels.is_score(weight):
                return False
            if not self.histories.is_long[m]:
                # $ stands in the row of ^, which is never last
                self.pair[min(last[m], end), k] += weight
            elif weight < 0.0 or (weight > 0.0 and self.n_weighted >= end * end):
                return False
            elif weight > 0.0:
                self.weighted[self.n_weighted] = <int32_t>k
                self.n_weighted += 1
                self._mark(k)
                if last[m] > end:
                    self.final_weight[k] = weight
                else:
                    self.weight[k] = weight
        return True

    cdef void _mark(self, Py_ssize_t node) noexcept nogil:
        """A node and the histories that it begins with as part of the document."""
        while node > self.histories.n_labels and self.marked[node] != self.n_documents:
            self.marked[node] = self.n_documents
            self.n_marked += 1
            node = self.histories.parent[node]

    cdef bint _only_add(self) noexcept nogil:
        """Whether no score of a long pattern is below 0. Sets `has_pairs`."""
        cdef Py_ssize_t e, n_labels = self.histories.n_labels
        cdef Py_ssize_t first_long = self.histories.first_long
        cdef const int32_t* of_observed = &self.histories.of_observed[0]
        cdef const Entry* entry
        self.has_pairs = False
        for e in range(self.entries.shape[0]):
            entry = &self.entries[e]
            if entry.column < n_labels or entry.score == 0.0:
                continue
            if of_observed[entry.column - n_labels] < first_long:
                self.has_pairs = True
            elif entry.score < 0.0:
                return False
        return True

    cdef const double* pairs_at(self, Py_ssize_t i) noexcept nogil:
        """RETURNS: weights of label pairs at a token, with its entries."""
        cdef Py_ssize_t e, node, n_labels = self.histories.n_labels
        cdef const int32_t* parent = &self.histories.parent[0]
        cdef const Entry* entry
        cdef double* pair = &self.pair_here[0, 0]
        if not self.has_pairs:
            return &self.pair[0, 0]
        self.pair_here[:, :] = self.pair
        for e in range(self.first[i], self.first[i + 1]):
            entry = &self.entries[e]
            if entry.column < n_labels:
                continue
            node = self.histories.of_observed[entry.column - n_labels]
            # ^ stands before the first token alone
            if parent[node] < n_labels or (parent[node] == n_labels and i == 0):
                pair[self.histories.pair_at[node]] += entry.score
        return pair
