"""Inference over segmentations made of given segments only.

If few of all segments (start, end, label) are given, a document is a small graph, see
`lattice_graph`. Patterns may have any length. Sums are in the log domain, and each
probability is a product of conditional probabilities, so nothing cancels or overflows.

Adjacent segments in the list with the same tokens and label form one group: many nodes
of a label tree may share one label of the automaton. The score of a group is log sum
exp of the scores of its segments, which divide its probability.
"""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t

from ...errors import Errors
from ..simd cimport simd as kernels
from .lattice_graph cimport LatticeGraph


cdef class Lattice:
    """Segments of N documents and the groups that they form: of document d first[d] to
    first[d + 1] - 1, sorted by their ends. Raises HS113 if they are not so."""

    cdef readonly object table
    cdef LatticeGraph graph
    cdef const int32_t[::1] first, sizes, starts, ends, labels
    # Group g: segments group[g] .. group[g + 1] - 1
    cdef int32_t[::1] group, group_of_doc
    cdef double[::1] part           # [K] of each segment in its group
    cdef int32_t[::1] chosen        # of each group the best segment

    def __init__(self, table, pattern, first, sizes, starts, ends, labels):
        self.table = table
        self.first, self.sizes = first, sizes
        self.starts, self.ends, self.labels = starts, ends, labels
        self._check(table.next.shape[1])
        self._find_groups()
        groups = np.asarray(self.group)[: self.group_of_doc[len(sizes)]]
        self.graph = LatticeGraph(
            table,
            pattern,
            np.asarray(starts)[groups],
            np.asarray(ends)[groups],
            np.asarray(labels)[groups],
            np.max(sizes, initial=0),
        )
        self.part = np.empty(self.starts.shape[0])
        self.chosen = np.empty(len(groups), np.int32)

    cdef _check(self, Py_ssize_t n_labels):
        cdef Py_ssize_t d, k, last
        cdef bint is_sound = (
            self.first.shape[0] == self.sizes.shape[0] + 1
            and self.first[0] == 0
            and self.first[self.first.shape[0] - 1] == self.starts.shape[0]
            and self.starts.shape[0] == self.ends.shape[0] == self.labels.shape[0]
        )
        for d in range(self.sizes.shape[0] if is_sound else 0):
            last = 0
            is_sound = is_sound and self.first[d] <= self.first[d + 1]
            for k in range(self.first[d], self.first[d + 1]):
                is_sound = (
                    is_sound
                    and 0 <= self.starts[k] < self.ends[k] <= self.sizes[d]
                    and last <= self.ends[k]
                    and 0 <= self.labels[k] < n_labels
                )
                last = self.ends[k]
        if not is_sound:
            raise ValueError(Errors.HS113)

    cdef _find_groups(self):
        cdef Py_ssize_t d, k, n_groups = 0
        self.group = np.empty(self.starts.shape[0] + 1, np.int32)
        self.group_of_doc = np.zeros(self.first.shape[0], np.int32)
        for d in range(self.sizes.shape[0]):
            for k in range(self.first[d], self.first[d + 1]):
                if (
                    k == self.first[d]
                    or self.starts[k] != self.starts[k - 1]
                    or self.ends[k] != self.ends[k - 1]
                    or self.labels[k] != self.labels[k - 1]
                ):
                    self.group[n_groups] = <int32_t>k
                    n_groups += 1
            self.group_of_doc[d + 1] = <int32_t>n_groups
        self.group[n_groups] = <int32_t>self.starts.shape[0]

    def sums(self, const double[::1] scores, kept=None):
        """Returns log Z of each document [N] (-inf: no segmentation), the probability
        of each segment [K], expected steps [P, L] and ends [P]. `scores` [K]: -inf
        forbids; `kept` (uint8 [K] or None): which segments there are."""
        cdef const unsigned char[::1] mask = kept
        cdef double[::1] log_z = np.empty(self.sizes.shape[0])
        cdef double[::1] prob, ends
        cdef double[:, ::1] counts
        cdef Py_ssize_t d
        self._check_scores(scores, mask)
        prob, counts, ends = self._no_counts()
        with nogil:
            for d in range(self.sizes.shape[0]):
                log_z[d] = self._spread(d, scores, mask, prob, counts, ends)
        return tuple(map(np.asarray, (log_z, prob, counts, ends)))

    def solve(self, const double[::1] scores, const int32_t[::1] order):
        """Returns the probability of each segment [K], the best segments from left to
        right [B] and their score by document [N], -inf where there is none. Among
        equals that with the smallest `order` [K] goes first, then the longest, as in
        `viterbi`."""
        cdef double[::1] found = np.empty(self.sizes.shape[0])
        cdef double[::1] prob, ends
        cdef double[:, ::1] counts
        cdef Py_ssize_t d, g
        cdef list path = []
        self._check_scores(scores, None)
        prob, counts, ends = self._no_counts()
        for d in range(self.sizes.shape[0]):
            with nogil:
                self._spread(d, scores, None, prob, counts, ends)
                self._choose(d, scores, order)
                found[d] = self.graph.complete()
            if found[d] > -INFINITY:
                for g in self.graph.best():
                    path.append(self.chosen[g])
        return np.asarray(prob), np.array(path, np.int32), np.asarray(found)

    def entropies(self, const double[::1] scores):
        """How uncertain the segmentation of each document is.

        Seen from the right, each node chooses one of the arcs that reach it:

            H = sum over nodes t of mass[t] * sum over arcs to t of -q log q;
            q = share / total[t]

        and each group one of its segments.

        scores (float64 [K]): Of each segment; -inf forbids.
        RETURNS (float64 [N]): In nats; 0 where there is no segmentation.
        """
        cdef double[::1] found = np.zeros(self.sizes.shape[0])
        cdef double[::1] prob, ends
        cdef double[:, ::1] counts
        cdef Py_ssize_t d, k
        self._check_scores(scores, None)
        prob, counts, ends = self._no_counts()
        with nogil:
            for d in range(self.sizes.shape[0]):
                if self._spread(d, scores, None, prob, counts, ends) == -INFINITY:
                    continue
                found[d] = self.graph.entropy()
                for k in range(self.first[d], self.first[d + 1]):
                    if prob[k] > 0.0:
                        found[d] -= prob[k] * log(self.part[k])
                found[d] = max(found[d], 0.0)
        return np.asarray(found)

    def kbest(
        self, Py_ssize_t d, const double[::1] scores, const int32_t[::1] order, k
    ):
        """Returns the k best segmentations of document d, best first, as segments from
        left to right and score; equal ones by the rule of `solve`. Raises HS113 if
        there is no such document."""
        cdef Py_ssize_t g
        self._check_scores(scores, None)
        if not 0 <= d < self.sizes.shape[0]:
            raise ValueError(Errors.HS113)
        self._build(d, scores, None)
        cdef list options = [[] for _ in range(self.group_of_doc[d + 1])]
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            options[g] = [
                ((order[i], -self.ends[i]), i, scores[i])
                for i in range(self.group[g], self.group[g + 1])
                if scores[i] > -INFINITY
            ]
        return self.graph.best_completions(options, k)

    cdef _check_scores(self, const double[::1] scores, const unsigned char[::1] mask):
        cdef Py_ssize_t n = self.starts.shape[0]
        if scores.shape[0] != n or (mask is not None and mask.shape[0] != n):
            raise ValueError(Errors.HS113)

    cdef _no_counts(self):
        """RETURNS: zeros for segments, for steps by state and label, and for ends."""
        n_segments, n_states = self.starts.shape[0], self.graph.n_states
        steps = np.zeros_like(self.graph.weight)
        return np.zeros(n_segments), steps, np.zeros(n_states)

    cdef double _build(
        self, Py_ssize_t d, const double[::1] scores, const unsigned char[::1] mask
    ) except? -1.0 nogil:
        """The graph of a document. RETURNS: log Z."""
        self._merge(d, scores, mask)
        return self.graph.build(
            self.group_of_doc[d], self.group_of_doc[d + 1], self.sizes[d]
        )

    cdef void _merge(
        self, Py_ssize_t d, const double[::1] scores, const unsigned char[::1] mask
    ) noexcept nogil:
        """Scores of groups, and the part of each segment."""
        cdef Py_ssize_t low = self.group_of_doc[d], high = self.group_of_doc[d + 1]
        cdef Py_ssize_t g, k
        cdef double top, total
        for g in range(low, high):
            top = -INFINITY
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] = -INFINITY
                if mask is None or mask[k]:
                    self.part[k] = scores[k]
                    top = max(top, scores[k])
            self.graph.score[g] = top
            if top == -INFINITY:
                continue
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] -= top
        if low == high:
            return
        k = self.first[d]
        kernels.exp_all(&self.part[k], self.first[d + 1] - k)
        for g in range(low, high):
            total = 0.0
            for k in range(self.group[g], self.group[g + 1]):
                total += self.part[k]
            if total == 0.0:
                continue
            self.graph.score[g] += log(total)
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] /= total

    cdef double _spread(
        self,
        Py_ssize_t d,
        const double[::1] scores,
        const unsigned char[::1] mask,
        double[::1] prob,
        double[:, ::1] counts,
        double[::1] ends,
    ) except? -1.0 nogil:
        """The graph of a document, and its probabilities. RETURNS: log Z."""
        cdef double log_z = self._build(d, scores, mask), share
        cdef Py_ssize_t g, k
        if log_z == -INFINITY:
            return log_z
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            self.graph.mass_of[g] = 0.0
        self.graph.spread(log_z, counts, ends)
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            share = self.graph.mass_of[g]
            for k in range(self.group[g], self.group[g + 1]):
                prob[k] = share * self.part[k]
        return log_z

    cdef void _choose(
        self, Py_ssize_t d, const double[::1] scores, const int32_t[::1] order
    ) noexcept nogil:
        """The best segment of each group: the first of them in `order`."""
        cdef Py_ssize_t g, k, best
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            best = self.group[g]
            for k in range(best + 1, self.group[g + 1]):
                if scores[k] > scores[best] or (
                    scores[k] == scores[best] and order[k] < order[best]
                ):
                    best = k
            self.chosen[g] = <int32_t>best
            self.graph.score[g], self.graph.order[g] = scores[best], order[best]
