"""What can follow after each boundary and state: a backward sweep in log domain.

A walk from the left then knows the exact state that it is in. It recomputes the
segments from one token instead of storing a pointer for each of the n |P| entries.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from . cimport logspace
from ..chart.dp_tables cimport Tables
from ..chart.load cimport load

# Entries of a table that may be kept without a thought.
SMALL = 1_000_000


cdef class Completions(Tables):
    """What can follow after each boundary and state.

    maximum (bool): Score of the best completion; else log of their summed exp(score).
    keep_beta (bool): Whether beta is kept for all boundaries of a large document, too,
        instead of made again when asked for: faster, for another n |P| numbers.

    total (float): Of the whole document.
    """

    def __init__(
        self, automaton, potentials, constraints, *, bint maximum, bint keep_beta=False
    ):
        self._start(automaton, potentials, constraints, maximum, keep_beta)
        with nogil:
            self._sweep()

    cdef _start(
        self, automaton, potentials, constraints, bint maximum, bint keep_beta
    ):
        load(self, automaton, potentials, constraints)
        self.maximum, self.keep_beta = maximum, keep_beta
        self._prepare()

    cdef _prepare(self):
        """All that needs the GIL."""
        if self._has_room():
            self._set_arc_weights()
        else:
            self._make_room()

    cdef bint _has_room(self) noexcept nogil:
        if self._lease is None or self.n_tokens >= self.closing.shape[0]:
            return False
        if self.has_tail and self.n_tokens + 2 > self.rests.shape[0]:
            return False
        return self.cells.reach < self.from_start.shape[0]

    cdef _make_room(self):
        cdef Py_ssize_t n_rests = self.n_tokens + 2 if self.has_tail else 0, n_betas = 0
        cdef bint is_small = (self.n_tokens + 1) * self.n_states <= SMALL
        # Where segments have one explicit end, a walk needs beta at their ends only.
        if self.keep_beta or (is_small and self.cells.reach > 2):
            n_betas = self.n_tokens + 1
        self.allocate(in_logs=True, forward=False, n_more=n_rests + n_betas)
        self.rests, self.betas = self.take_rows(n_rests), self.take_rows(n_betas)
        cdef double[::1] scores = np.empty(self.cells.reach + 1 + 2 * self.n_labels)
        cdef int32_t[:, ::1] targets = np.empty((2, self.n_labels), np.int32)
        self.target, self.next_target = targets[0], targets[1]
        self.weight_of = scores[: self.n_labels]
        self.next_weight = scores[self.n_labels : 2 * self.n_labels]
        self.from_start = scores[2 * self.n_labels :]
        self.path = np.empty((self.n_tokens, 4), np.int32)

    cdef void _sweep(self) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* rest = NULL
        logspace.end_row(self)
        for j in range(self.n_tokens, 0, -1):
            self.segments_ending_at(j)
            if self.betas.shape[0]:
                self.betas[j, :] = self.beta
            if self.has_tail:
                logspace.rest_row(
                    self, j, &self.rests[j, 0], &self.rests[j + 1, 0], self.maximum
                )
                rest = &self.rests[j, 0]
            logspace.push_row(self, j, rest, self.maximum)
            logspace.close_row(self, j - 1, self.maximum)
        if self.betas.shape[0]:
            self.betas[0, :] = self.beta
        self.total = self.beta[0]

    def follow_best(self, Py_ssize_t u, Py_ssize_t state, bint with_states=False):
        """The best completion, by the tie rule of `viterbi`; needs `maximum`.

        u, state (int): Where to begin.
        with_states (bool): Whether to tell the state behind each segment.
        RETURNS (List[Tuple[int, int, int]]): start, end, label, and state; [] if none
            is possible.
        """
        cdef Py_ssize_t n = 0
        if self.best_from(u, state) > -INFINITY:
            with nogil:
                n = self._walk(u, state)
        return self._best_path(n, with_states)

    cdef list _best_path(self, Py_ssize_t n, bint with_states):
        """The n segments of the last walk."""
        cdef const int32_t[:, ::1] path = self.path
        cdef Py_ssize_t k
        if with_states:
            return [(path[k, 0], path[k, 1], path[k, 2], path[k, 3]) for k in range(n)]
        return [(path[k, 0], path[k, 1], path[k, 2]) for k in range(n)]

    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t q) noexcept nogil:
        """Whether the tables tell what follows if state q covers token i."""
        return True

    cdef Py_ssize_t _walk(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil:
        """Fill `path`. RETURNS: the number of segments."""
        cdef Py_ssize_t n = 0, y
        while u < self.n_tokens:
            self.follow(state, self.target, self.weight_of)
            y = self._label(u)
            state = self.target[y]
            self.path[n, 0], self.path[n, 2], self.path[n, 3] = u, y, state
            u = self._end(u, state)
            self.path[n, 1] = u
            n += 1
        return n

    cdef Py_ssize_t _label(self, Py_ssize_t u) noexcept nogil:
        """The smallest label of a best segment from u."""
        cdef Py_ssize_t y, best = 0
        cdef double top = -INFINITY, value
        for y in range(self.n_labels):
            if self.target[y] >= 0 and self.is_known(u, self.target[y]):
                value = self.closing[u, self.target[y]] + self.weight_of[y]
                if value > top:
                    best, top = y, value
        return best

    cdef Py_ssize_t _end(self, Py_ssize_t u, Py_ssize_t q) noexcept nogil:
        """The end of the longest best segment from u that leaves in state q."""
        cdef Py_ssize_t g = self.layout.state_group[q], d, end = 0, n
        if self.are_tokens:
            return u + 1
        n = self.ends_from(u, q, self.from_start)
        for d in range(n):
            if self.from_start[d] >= self.from_start[end]:
                end = d
        if end + 1 > self.horizon(u, g):
            return self.running_end(u + end + 1, g, q)
        return u + end + 1

    cdef Py_ssize_t running_end(
        self, Py_ssize_t j, Py_ssize_t g, Py_ssize_t q
    ) noexcept nogil:
        """Where a running segment ends: as late as the best score allows."""
        cdef double more
        while j < self.n_tokens and self.is_known(j, q):
            more = self.more[j, g] + self.tail[g]
            if more == -INFINITY or more + self.rests[j + 1, q] != self.rests[j, q]:
                break
            j += 1
        return j

    cdef double best_from(self, Py_ssize_t j, Py_ssize_t q) noexcept nogil:
        """beta[j, q]"""
        cdef Py_ssize_t y
        cdef double best = -INFINITY, value
        if self.betas.shape[0]:
            return self.betas[j, q] if self.is_known(j - 1, q) else best
        if j == self.n_tokens:
            return self.final_weight(q)
        self.follow(q, self.next_target, self.next_weight)
        for y in range(self.n_labels):
            if self.next_target[y] >= 0 and self.is_known(j, self.next_target[y]):
                value = self.closing[j, self.next_target[y]] + self.next_weight[y]
                best = value if value > best else best
        return best

    cdef Py_ssize_t ends_from(
        self, Py_ssize_t u, Py_ssize_t q, double[::1] value
    ) noexcept nogil:
        """What the segments from u of 1, 2, .. tokens and all behind them are worth.

        The last one may stand for all beyond the horizon. RETURNS: how many.
        """
        cdef Py_ssize_t g = self.layout.state_group[q], d
        cdef Py_ssize_t n = self.segments_starting_at(u, g, value)
        cdef Py_ssize_t j = u + self.horizon(u, g) + 1
        for d in range(1, n + 1):
            value[d - 1] += self.best_from(u + d, q)
        if self.tail[g] == -INFINITY or j > self.n_tokens:
            return n
        value[n] = -INFINITY
        if self.is_known(j - 1, q):
            value[n] = self.running_score(u, j, g) + self.rests[j, q]
        return n + 1
