"""What can follow after each boundary and state: a backward sweep in log domain.

A walk from the left then knows the exact state that it is in. It recomputes the
segments from one token instead of storing a pointer for each of the n |P| entries.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from . cimport lanes, logspace
from ..chart.arc_weights cimport arc_weights_of
from ..chart.buffer_pool import BufferPool
from ..chart.chart cimport Chart
from ..chart.load cimport Room, load_document, share

# Numbers in a table of beta that is kept although `keep_beta` does not ask for it.
SMALL = 1_000_000


cdef Backward swept(automaton, potentials, constraints, bint maximum):
    """The sweep of a document, with beta of all boundaries."""
    cdef Backward backward = Backward(maximum=maximum, keep_beta=True)
    backward.load(automaton, potentials, constraints)
    with nogil:
        backward.sweep()
    return backward


@cython.final
cdef class Backward:
    """What can follow each boundary and state: with `maximum` the score of the best
    completion, else log of their sum. `keep_beta` keeps beta at all boundaries of a
    large document too: faster, for another n |P| numbers. `total` is of the whole
    document."""

    def __init__(self, *, bint maximum, bint keep_beta=False):
        self.chart = Chart()
        self.maximum, self.keep_beta = maximum, keep_beta
        self.closing = self.rests = self.from_start = None
        self.arcs = None

    cdef load(self, automaton, potentials, constraints, bint defer=False):
        """Take a document, in the tables of the last one if they are large enough."""
        load_document(self.chart, automaton, potentials, constraints, defer)
        self._use_weights()

    cdef take_shared(self, Chart shared, Room room):
        """Likewise, all of several documents, one after the other; see there."""
        share(self.chart, shared, room)
        self._use_weights()

    cdef _use_weights(self):
        if not self._has_room():
            self._make_room()
        self.arcs_out = self.chart.layout.arcs_out
        self.out_weight = arc_weights_of(self.chart, in_logs=True).arcs_out

    cdef bint _has_room(self) noexcept nogil:
        cdef Py_ssize_t n_tokens = self.chart.n_tokens
        if n_tokens >= self.closing.shape[0]:
            return False
        if self.chart.has_tail and n_tokens + 2 > self.rests.shape[0]:
            return False
        return self.chart.cells.reach < self.from_start.shape[0]

    cdef _make_room(self):
        cdef Py_ssize_t n_tokens = self.chart.n_tokens, n_labels = self.chart.n_labels
        cdef Py_ssize_t n_states = self.chart.n_states, n_rows = n_tokens + 1
        cdef Py_ssize_t n_slots = self.chart.n_nodes + n_states + 2
        cdef Py_ssize_t n_rests = n_tokens + 2 if self.chart.has_tail else 0
        cdef Py_ssize_t n_betas = 0, reach = self.chart.cells.reach
        cdef double[:, ::1] rows
        cdef bint is_small = n_rows * n_states <= SMALL
        # Where segments have one explicit end, a walk needs beta at their ends only.
        if self.keep_beta or (is_small and reach > 2):
            n_betas = n_rows
        # the old ones, first
        self._pool = self.closing = self.rests = self.betas = None
        self.back_node = self.beta = None
        at = (n_rows + n_rests + n_betas) * n_states
        self._pool = pool = BufferPool(at + n_slots)
        rows = pool.array[:at].reshape(-1, n_states)
        lanes.fill(&rows[0, 0], at, -INFINITY)
        self.closing, rows = rows[:n_rows], rows[n_rows:]
        self.rests, self.betas = rows[:n_rests], rows[n_rests:]
        self.back_node = pool.array[at : at + n_slots]
        self.back_node[:] = 0.0
        self.beta = self.back_node[n_states : 2 * n_states]
        cdef double[::1] scores = np.empty(reach + 1 + 2 * n_labels)
        cdef int32_t[:, ::1] targets = np.empty((2, n_labels), np.int32)
        self.target, self.next_target = targets[0], targets[1]
        self.weight_of = scores[:n_labels]
        self.next_weight = scores[n_labels : 2 * n_labels]
        self.from_start = scores[2 * n_labels :]
        self.path = np.empty((n_tokens, 4), np.int32)

    cdef void sweep(self) noexcept nogil:
        cdef Py_ssize_t j, n_tokens = self.chart.n_tokens, n_numbers
        self.is_bounded = False
        if not (self.maximum and self.chart.are_tokens):  # then all of a row is written
            n_numbers = (n_tokens + 1) * self.chart.n_states
            lanes.fill(&self.closing[0, 0], n_numbers, -INFINITY)
        self.beta[:] = self.chart.edge_weights.final
        for j in range(n_tokens, 0, -1):
            self.chart.segments_ending_at(j)
            if self.betas.shape[0]:
                self.betas[j, :] = self.beta
            if self.chart.has_tail:
                logspace.rest_row(self, j)
            logspace.push_row(self, self.chart, j)
            logspace.close_row(self, j - 1)
        if self.betas.shape[0]:
            self.betas[0, :] = self.beta
        self.total = self.beta[0]

    cdef void follow(self, Py_ssize_t state) noexcept nogil:
        """Set `target` and `weight_of`."""
        self.chart.follow(state, self.target, self.weight_of)

    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t q) noexcept nogil:
        """Whether the tables tell what follows if state q covers token i."""
        if not self.is_bounded:
            return True
        return self.bounds.is_active[i, self.chart.layout.state_group[q]]

    cdef Py_ssize_t walk(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil:
        """Fill `path`. RETURNS: the number of segments."""
        cdef Py_ssize_t n = 0, n_tokens = self.chart.n_tokens
        cdef double best
        while u < n_tokens:
            state = self.best_after(u, state, &best)
            self.path[n, 0], self.path[n, 3] = u, state
            self.path[n, 2] = self.label_of(state)
            u = self._end(u, state)
            self.path[n, 1] = u
            n += 1
        return n

    cdef Py_ssize_t best_after(
        self, Py_ssize_t u, Py_ssize_t q, double* best
    ) noexcept nogil:
        """The state with the smallest label that a best segment from u leads to from
        state q; best: what it and all behind it are worth."""
        cdef const double* closing = &self.closing[u, 0]
        cdef Py_ssize_t y, k, found = 0
        best[0] = -INFINITY
        if self.arcs is None:
            self.chart.follow(q, self.next_target, self.next_weight)
            for y in range(self.next_target.shape[0]):
                k = self.next_target[y]
                if k >= 0 and self.is_known(u, k):
                    if closing[k] + self.next_weight[y] > best[0]:
                        best[0], found = closing[k] + self.next_weight[y], k
        elif self.is_bounded:
            for k in range(self.bounds.first[u], self.bounds.first[u + 1]):
                y = self.chart.layout.group_label[self.bounds.group[k]]
                self._compare(u, q, y, closing, best, &found)
        else:
            for y in range(self.chart.n_labels):
                self._compare(u, q, y, closing, best, &found)
        return found

    cdef void _compare(
        self,
        Py_ssize_t u,
        Py_ssize_t q,
        Py_ssize_t y,
        const double* closing,
        double* best,
        Py_ssize_t* found,
    ) noexcept nogil:
        """Take the segment of label y if it is better than those before."""
        cdef Py_ssize_t target = self.arcs.target[y, q]
        cdef double weight = self.arcs.weight[y, q]
        # Where the weight is -inf, there is no such target.
        if weight > -INFINITY and self.is_known(u, target):
            if closing[target] + weight > best[0]:
                best[0], found[0] = closing[target] + weight, target

    cdef Py_ssize_t label_of(self, Py_ssize_t state) noexcept nogil:
        return self.chart.layout.group_label[self.chart.layout.state_group[state]]

    cdef Py_ssize_t _end(self, Py_ssize_t u, Py_ssize_t q) noexcept nogil:
        """The end of the longest best segment from u that leaves in state q."""
        cdef Py_ssize_t g = self.chart.layout.state_group[q], d, end = 0, n
        if self.chart.are_tokens:
            return u + 1
        n = self.ends_from(u, q, self.from_start)
        for d in range(n):
            if self.from_start[d] >= self.from_start[end]:
                end = d
        if end + 1 > self.chart.horizon(u, g):
            return self.running_end(u + end + 1, g, q)
        return u + end + 1

    cdef Py_ssize_t running_end(
        self, Py_ssize_t j, Py_ssize_t g, Py_ssize_t q
    ) noexcept nogil:
        """Where a running segment ends: as late as the best score allows."""
        cdef double more
        while j < self.chart.n_tokens and self.is_known(j, q):
            more = self.chart.more[j, g] + self.chart.tail[g]
            if more == -INFINITY or more + self.rests[j + 1, q] != self.rests[j, q]:
                break
            j += 1
        return j

    cdef double best_from(self, Py_ssize_t j, Py_ssize_t q) noexcept nogil:
        """beta[j, q]"""
        cdef double best = -INFINITY
        if self.betas.shape[0]:
            return self.betas[j, q] if self.is_known(j - 1, q) else best
        if j == self.chart.n_tokens:
            return self.chart.final_weight(q)
        self.best_after(j, q, &best)
        return best

    cdef Py_ssize_t ends_from(
        self, Py_ssize_t u, Py_ssize_t q, double[::1] value
    ) noexcept nogil:
        """Returns how many segments of 1, 2, .. tokens start at u, the last perhaps for
        all beyond the horizon, and writes what each and all behind it are worth."""
        cdef Py_ssize_t g = self.chart.layout.state_group[q], d
        cdef Py_ssize_t n = self.chart.segments_starting_at(u, g, value)
        cdef Py_ssize_t j = u + self.chart.horizon(u, g) + 1
        for d in range(1, n + 1):
            value[d - 1] += self.best_from(u + d, q)
        if self.chart.tail[g] == -INFINITY or j > self.chart.n_tokens:
            return n
        value[n] = -INFINITY
        if self.is_known(j - 1, q):
            value[n] = self.chart.running_score(u, j, g) + self.rests[j, q]
        return n + 1
