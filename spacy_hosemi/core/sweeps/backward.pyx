"""What can follow after each boundary and state: a backward sweep in log domain.

A walk from the left then knows the exact state that it is in. It recomputes the
segments from one token instead of storing a pointer for each of the n |P| entries. The
rows are B, T and beta as in `lanes`, in logs; with `maximum`, max stands for +, and the
sweep is that of Viterbi decoding.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from . cimport lanes
from ..chart.arc_weights cimport arc_weights_of
from ..chart.buffer_pool import BufferPool
from ..chart.chart cimport Chart
from ..chart.layout cimport Sums
from ..chart.load cimport Room, load_document, share
from ..simd cimport simd as kernels
from ..simd.lanes cimport LOGS, lane_sum, log_add

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
                _rest_row(self, j)
            _push_row(self, self.chart, j)
            _close_row(self, j - 1)
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


cdef void _close_row(Backward backward, Py_ssize_t j) noexcept nogil:
    """beta[j] from B[j]: the arcs and the suffix sums, transposed."""
    cdef const Sums* sums = &backward.arcs_out
    cdef const double* weight = &backward.out_weight[0]
    cdef double* slot = &backward.back_node[0]
    memcpy(slot, &backward.closing[j, 0], backward.chart.n_states * sizeof(double))
    if backward.maximum:
        kernels.max_quads(
            sums.fan, sums.output, sums.input, weight, sums.n_quads, slot
        )
    else:
        lane_sum(
            LOGS, sums.fan, sums.output, sums.input, weight, sums.n_quads, slot
        )


cdef void _rest_row(Backward backward, Py_ssize_t j) noexcept nogil:
    """T[j, q]: a running segment ends at j, or goes on with token j."""
    cdef const int32_t* state = &backward.chart.layout.first_state[0]
    cdef const double* end = &backward.chart.end[j - 1, 0]
    cdef const double* more = NULL
    cdef const double* tail = &backward.chart.tail[0]
    cdef const double* beta = &backward.beta[0]
    cdef const double* after = &backward.rests[j + 1, 0]
    cdef double* rest = &backward.rests[j, 0]
    cdef Py_ssize_t g, q, n_groups = backward.chart.n_groups
    cdef double weight
    if j < backward.chart.n_tokens:
        more = &backward.chart.more[j, 0]
    if backward.maximum:
        kernels.rest_max(state, n_groups, end, more, tail, beta, after, rest)
        return
    for g in range(n_groups):
        weight = more[g] + tail[g] if more != NULL else -INFINITY
        for q in range(state[g], state[g + 1]):
            rest[q] = -INFINITY
            if tail[g] > -INFINITY:
                rest[q] = end[g] + beta[q]
                if weight > -INFINITY:
                    rest[q] = log_add(rest[q], weight + after[q])


cdef void _push_row(Backward backward, Chart chart, Py_ssize_t j) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, t, u, n_lengths = chart.n_lengths, n_groups = chart.n_groups
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef const double* score = &chart.score[low]
    cdef const double* beta = &backward.beta[0]
    cdef const double* rest
    if backward.maximum and chart.are_tokens:  # no other segment is pushed to that row
        kernels.put(
            &chart.layout.first_state[0],
            n_groups,
            score,
            beta,
            &backward.closing[j - 1, 0],
        )
        return
    _push(backward, 0, n_groups, score, n_lengths, beta, first, n_lengths - low)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        _push(backward, g, 1, &chart.cells.long_score[t], 1, beta, u, 1)
    if not chart.has_tail:
        return
    rest = &backward.rests[j, 0]
    if j > n_lengths:
        _push(backward, 0, n_groups, &chart.enter_score[0], 1, rest, first - 1, 1)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        _push(backward, g, 1, &chart.cells.late_score[t], 1, rest, u, 1)


cdef void _push(
    Backward backward,
    Py_ssize_t g,               # the first of n_groups
    Py_ssize_t n_groups,
    const double* score,        # IN  of n segments of each of them, ..
    Py_ssize_t step,            # .. which begin `step` apart
    const double* x,            # IN  [P]
    Py_ssize_t first,           # the start of the first segment
    Py_ssize_t n,
) noexcept nogil:
    """B[first + i] = log(exp(B[first + i]) + exp(score[i] + x)), or the larger."""
    cdef const int32_t* state = &backward.chart.layout.first_state[g]
    cdef Py_ssize_t h, i, q, n_states = backward.chart.n_states
    cdef double* row
    if n <= 0:
        return
    row = &backward.closing[first, 0]
    if backward.maximum:
        kernels.push_max(state, n_groups, score, step, x, n, row, n_states)
        return
    for h in range(n_groups):
        for i in range(n):
            row = &backward.closing[first + i, 0]
            if score[h * step + i] > -INFINITY:
                for q in range(state[h], state[h + 1]):
                    row[q] = log_add(row[q], score[h * step + i] + x[q])
