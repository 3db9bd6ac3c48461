"""Both sweeps over up to four documents side by side, in scaled arithmetic.

The recursions of `scaled` for segments of one explicit token (D = 1) without cells,
which is what most models have:

    R[j, q]     = keep[j] R[j-1, q] + enter[j] A[j-2, q]
    alpha[j, q] = here[j] A[j-1, q] + at_end[j] R[j, q]
    B[j-1, q]   = here[j] beta[j, q] + enter[j+1] T[j+1, q]
    T[j, q]     = at_end[j] beta[j, q] + keep[j+1] T[j+1, q]

with exponentials of scores by group; A comes from alpha, and beta from B, through the
arcs. The documents have the same automaton and weights of patterns: what a sum over
arcs reads of them is read once for all four, and a number of all four is one operand of
an instruction. A *lane* is one of the four; those of shorter documents end earlier.

A lane goes through the operations that it would go through alone, so that nothing
depends on what stands beside it.
"""

import numpy as np

from cpython.ref cimport PyObject
from libc.math cimport INFINITY, exp, fabs, rint
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from . cimport scaled, scaled_backward
from ..chart.arc_weights cimport arc_weights_of
from ..chart.chart cimport Chart
from ..chart.layout cimport Sums, layout_of
from ..chart.load cimport finish_loading, load_document
from ..simd.simd cimport N_LANES


cdef class ScaledX4:
    """Tables of up to four documents of an automaton."""

    def __init__(self, automaton):
        self.automaton, self.layout = automaton, layout_of(automaton)
        self.n_groups, self.n_states = automaton.n_groups, automaton.n_states
        self.charts = [Chart() for _ in range(N_LANES)]
        self.n_rows = 0
        self.room = np.zeros(0)

    cdef Chart load(self, Py_ssize_t lane, potentials, constraints):
        """Take a document. RETURNS: its chart; None if its weights of patterns are not
        those of the first one."""
        cdef Chart chart = self.charts[lane]
        load_document(chart, self.automaton, potentials, constraints, defer=True)
        if lane == 0:
            self.weights = arc_weights_of(chart, in_logs=False)
        elif chart.edge_weights is not self.weights.edge_weights:
            return None
        return chart

    cdef forget(self):
        """Let go of the documents."""
        for chart in self.charts:
            (<Chart>chart).forget()
        self.weights = None

    cdef bint set_up(
        self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t lowest, bint keeps_closing
    ):
        """Make ready to be run.

        begin, end: The lanes that have documents.
        lowest: The first boundary whose beta is read.
        keeps_closing: Whether B is read.
        RETURNS: Whether the weights permit it.
        """
        cdef Py_ssize_t a, g
        cdef Chart chart
        self.longest = 0
        for a in range(N_LANES):
            self.n_tokens[a] = 0
            if begin <= a < end:
                chart = self.charts[a]
                self.n_tokens[a] = chart.n_tokens
                self.longest = max(self.longest, chart.n_tokens)
        self._make_room()
        self.lowest, self.keeps_closing = min(lowest, self.longest), keeps_closing
        for a in range(N_LANES):
            if not self.n_tokens[a]:
                continue
            chart = self.charts[a]
            self.chart[a] = <PyObject*>chart
            self.first[a] = &chart.first[0, 0]
            self.more[a], self.end[a] = &chart.more[0, 0], &chart.end[0, 0]
            for g in range(self.n_groups):
                self.length[g, a] = chart.length_backwards[g]
                self.tail[g, a] = chart.tail[g]
        return self.weights.representable

    cdef bint run(self) noexcept nogil:
        """Both sweeps. RETURNS: whether they can be trusted."""
        scaled.clear_flags()
        return (
            self._finish_loading()
            and self._forward()
            and self._backward()
            and scaled.in_range()
            and self._sums_are_exact()
        )

    cdef bint _sums_are_exact(self) noexcept nogil:
        """Whether no scale is so large that small scores are lost beside it."""
        cdef Py_ssize_t a, j
        for a in range(N_LANES):
            for j in range(1, self.n_tokens[a] + 1):
                if fabs(self.scale[j + 1, a]) > kernels.LARGEST_SUM:
                    return False
        return True

    cdef bint _finish_loading(self) noexcept nogil:
        """RETURNS: whether all scores are numbers; if not, `marginals` will say so."""
        cdef Py_ssize_t a
        for a in range(N_LANES):
            if self.n_tokens[a] and (<Chart>self.chart[a]).is_deferred:
                if not finish_loading(<Chart>self.chart[a]):
                    return False
        return True

    cdef _make_room(self):
        """DPTables that are long enough."""
        cdef Py_ssize_t n_rows = self.longest + 2
        cdef Py_ssize_t n_slots = self.layout.n_nodes + self.n_states + 2
        if n_rows <= self.n_rows:
            return
        self.n_rows = n_rows
        shapes = [
            *[(n_rows, self.n_states)] * 3,
            *((n_rows, n) for n in (4 * self.n_groups, self.n_groups)),
            *[(n_rows,)] * 2,
            *((n,) for n in (n_slots, n_slots, self.n_states, self.n_states)),
            *[(self.n_groups,)] * 4,
        ]
        sizes = [N_LANES * int(np.prod(shape)) for shape in shapes]
        room = np.zeros(sum(sizes) + N_LANES)
        # One operand is never in two lines of the cache.
        room = room[-(room.ctypes.data // 8) % N_LANES :]
        self.room = room
        borders = np.cumsum([0, *sizes])
        (
            self.opened,
            self.beta,
            self.closing,
            self.weight,
            self.top,
            self.scale,
            self.opened_scale,
            self.node,
            self.back_node,
            self.running,
            self.rest,
            self.running_top,
            self.length,
            self.tail,
            self.never,
        ) = (
            room[i:j].reshape(*shape, N_LANES)
            for i, j, shape in zip(borders, borders[1:], shapes)
        )
        self.never[:, :] = -INFINITY

    cdef bint _forward(self) noexcept nogil:
        cdef Py_ssize_t j, a, n_groups = self.n_groups
        cdef double best[N_LANES]
        cdef double* weight
        self.share = exp(-70.0 - self.weights.gap)
        self.node[:, :] = 0.0
        self.running[:, :] = 0.0
        self.running_top[:, :] = -INFINITY
        self.opened[0, :, :] = 0.0  # nothing begins before the first token
        self.top[0, :, :] = -INFINITY
        for a in range(N_LANES):
            self.node[0, a] = 1.0 if self.n_tokens[a] else 0.0
            self.z_rest[a] = -INFINITY
            self.scale[1, a] = self.opened_scale[0, a] = 0.0
        self._open(0)
        self.node[0, :] = 0.0  # ^, which no group has, is never entered again
        for j in range(1, self.longest + 1):
            weight = &self.weight[j, 0, 0]
            for a in range(N_LANES):
                self._read(j, a, weight + a)
            kernels.lane_keys(
                n_groups,
                &self.opened_scale[j, 0],
                &self.scale[j, 0],
                &self.opened_scale[j - 1, 0],
                &self.top[j, 0, 0],
                &self.top[j - 1, 0, 0],
                &self.running_top[0, 0],
                weight,
                best,
            )
            for a in range(N_LANES):
                self.scale[j + 1, a] = self.scale[j, a]
                if best[a] > -INFINITY:
                    self.scale[j + 1, a] = rint(best[a])
            if not kernels.lane_settle(
                n_groups,
                self.weights.gap,
                &self.scale[j + 1, 0],
                &self.top[j, 0, 0],
                weight,
            ):
                return False
            kernels.exp_all(weight, 4 * n_groups * N_LANES)
            kernels.lane_arrive(
                &self.layout.first_state[0],
                n_groups,
                self.share,
                weight,
                &self.opened[j, 0, 0],
                &self.opened[j - 1, 0, 0],
                &self.running[0, 0],
                &self.running_top[0, 0],
                &self.node[0, 0],
            )
            for a in range(N_LANES):
                if j == self.n_tokens[a]:
                    self._finish(a)
            if j < self.longest:
                self._open(j)
        return True

    cdef void _read(self, Py_ssize_t j, Py_ssize_t a, double* score) noexcept nogil:
        """Scores of the segments of a lane that end at j, or run on over it."""
        cdef Py_ssize_t n_groups = self.n_groups, at = (j - 1) * n_groups
        cdef const double* never = &self.never[0, 0]
        cdef bint goes_on = j <= self.n_tokens[a]
        kernels.lane_scores(
            n_groups,
            self.first[a] + at - n_groups if goes_on and j > 1 else NULL,
            self.first[a] + at if goes_on else never,
            self.more[a] + at if goes_on else never,
            self.end[a] + at if goes_on else never,
            &self.length[0, a],
            &self.tail[0, a],
            score,
        )

    cdef void _finish(self, Py_ssize_t a) noexcept nogil:
        """Z of a lane, whose alpha is complete."""
        cdef Py_ssize_t p
        self.z_rest[a] = scaled.log_final(
            <Chart>self.chart[a], &self.node[0, a], N_LANES
        )
        for p in range(self.n_states):
            self.node[p, a] = 0.0

    cdef void _open(self, Py_ssize_t j) noexcept nogil:
        """A[j] from alpha[j], which stands in the first nodes."""
        cdef Py_ssize_t a
        _sum(&self.layout.suffix_sums, self.weights.suffix_sums, self.node)
        _sum(&self.layout.arcs_in, self.weights.arcs_in, self.node)
        kernels.lane_bound(
            &self.layout.first_state[0],
            self.n_groups,
            self.share,
            &self.node[self.layout.n_nodes, 0],
            &self.opened[j + 1, 0, 0],
            &self.top[j + 1, 0, 0],
        )
        for a in range(N_LANES):
            self.opened_scale[j + 1, a] = self.scale[j + 1, a] + self.weights.scale

    cdef bint _backward(self) noexcept nogil:
        """beta of all boundaries from `lowest` on, and B if it is kept."""
        cdef Py_ssize_t j, a, n = self.longest, n_states = self.n_states
        cdef size_t size = n_states * N_LANES * sizeof(double)
        cdef double* beta = &self.back_node[n_states, 0]
        self.back_node[:, :] = 0.0
        self.rest[:, :] = 0.0
        self.weight[n + 1, :, :] = 0.0  # nothing goes on
        for j in range(n, self.lowest - 1, -1):
            if j < n:
                _sum(&self.layout.arcs_out, self.weights.arcs_out, self.back_node)
            for a in range(N_LANES):
                if j == self.n_tokens[a] and self.z_rest[a] > -INFINITY:
                    if not scaled_backward.fill_end(
                        <Chart>self.chart[a], self.z_rest[a], beta + a, N_LANES
                    ):
                        return False
            memcpy(&self.beta[j, 0, 0], beta, size)
            kernels.lane_leave(
                &self.layout.first_state[0],
                self.n_groups,
                &self.weight[j, 0, 0],
                &self.weight[j + 1, 0, 0],
                beta,
                &self.rest[0, 0],
                &self.back_node[0, 0],
            )
            if self.keeps_closing:
                memcpy(&self.closing[j, 0, 0], &self.back_node[0, 0], size)
        return True

    cdef double log_z(self, Py_ssize_t a) noexcept nogil:
        """Log Z of a lane; -inf if no segmentation is possible."""
        return self.scale[self.n_tokens[a] + 1, a] + self.z_rest[a]

    cdef double start_probability(
        self, Py_ssize_t a, Py_ssize_t u, Py_ssize_t g
    ) noexcept nogil:
        """P(a segment of the group starts at u) = sum_q A[u, q] B[u, q]"""
        cdef const int32_t* state = &self.layout.first_state[g]
        cdef Py_ssize_t q
        cdef double total = 0.0
        for q in range(state[0], state[1]):
            total += self.opened[u + 1, q, a] * self.closing[u + 1, q, a]
        return total

    cdef double probability(
        self, Py_ssize_t a, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g, double score
    ) noexcept nogil:
        """P(segment u, j, g) = exp(segment) sum_q A[u, q] beta[j, q] / Z"""
        cdef const int32_t* state = &self.layout.first_state[g]
        if score == -INFINITY or self.z_rest[a] == -INFINITY:
            return 0.0
        score += self.opened_scale[u + 1, a] - self.scale[j + 1, a]
        return scaled_backward.probability(
            &self.opened[u + 1, 0, a] + state[0] * N_LANES,
            &self.beta[j, 0, a] + state[0] * N_LANES,
            state[1] - state[0],
            N_LANES,
            score,
        )


cdef void _sum(
    const Sums* sums, const double[::1] weight, double[:, ::1] slot
) noexcept nogil:
    if sums.n_quads:
        kernels.lane_sum(
            sums.fan, sums.output, sums.input, &weight[0], sums.n_quads, &slot[0, 0]
        )
