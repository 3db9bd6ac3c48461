"""Both sweeps over up to four documents side by side, in scaled arithmetic.

The recursions of `scaled` for segments of one explicit token (D = 1), which is what
most models have:

    R[j, q]     = keep[j] R[j-1, q] + enter[j] A[j-2, q]
    alpha[j, q] = here[j] A[j-1, q] + at_end[j] R[j, q]
    B[j-1, q]   = here[j] beta[j, q] + enter[j+1] T[j+1, q]
    T[j, q]     = at_end[j] beta[j, q] + keep[j+1] T[j+1, q]

with exponentials of scores by group; A comes from alpha, and beta from B, through the
arcs. What cells of longer segments add, which few documents have, is in `lane_cells`.
The documents have the same automaton and weights of patterns: what a sum over arcs
reads of them is read once for all four, and a number of all four is one operand of an
instruction. A *lane* is one of the four; those of shorter documents end earlier.

A lane goes through the operations that it would go through alone, so that nothing
depends on what stands beside it.
"""

from libc.math cimport INFINITY, exp, fabs, rint
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from . cimport lane_cells, scaled, scaled_backward
from ..chart.chart cimport Chart
from ..chart.layout cimport Sums
from ..chart.load cimport finish_loading
from ..simd.simd cimport N_LANES
from .lane_tables cimport LaneTables


cdef class ScaledX4(LaneTables):
    """Both sweeps over the tables."""

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
            if self.has_cells:
                lane_cells.add_keys(self, j, best)
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
            if self.has_cells and not lane_cells.settle(self, j):
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
            if self.has_cells:
                lane_cells.arrive(self, j)
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
        if self.has_cells and goes_on:
            lane_cells.read(self, j, a, score)

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
        if self.has_cells:
            self.long_closing[: n + 2, :, :] = 0.0
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
            if self.has_cells:
                lane_cells.leave(self, j)
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
