"""Expected counts of up to four documents side by side, see `scaled_x4`.

Those of `expectations`, for segments of one explicit token (D = 1). With the rows of
the forward sweep, and each row of the backward sweep while it is at hand:

    P(a segment starts at j - 1, q)       = A[j-1, q] B[j-1, q]
    P(a segment ends at j, q)             = alpha[j, q] beta[j, q]
    P(token j - 1 is within a segment, q) = R[j, q] T[j, q]
    P(arc e at j)                         = mass[e] exp(weight[e]) B[j, q(e)]

A token is covered by a segment that starts there, or lies within one. What cells of
longer segments add is in `cell_counts_x4`.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

from ..simd cimport counts as kernels
from . cimport cell_counts_x4, cells_x4, scaled, scaled_backward, scaled_x4
from ..chart.chart cimport Chart
from ..simd.simd cimport N_LANES
from .tables_x4 cimport TablesX4


cdef CountsX4 counts_x4(TablesX4 tables):
    """Zeros for documents that tables will have."""
    cdef CountsX4 made = CountsX4()
    made.arc = np.zeros(N_LANES * tables.layout.arc_edge.shape[0])
    made.final = np.zeros(tables.n_states)
    made.edge = np.zeros(tables.layout.edge_suffix.shape[0])
    made.group = np.zeros((3, tables.n_groups, N_LANES))
    made.cell = np.zeros((N_LANES, 0))
    return made


cdef class CountsX4:
    """Where expected counts are written; those of arcs are summed over documents."""

    cdef reserve_cells(self, Py_ssize_t n):
        """Memory for n cells of a document."""
        cdef Py_ssize_t a
        if self.cell.shape[1] < n:
            self.cell = np.zeros((N_LANES, n))
        for a in range(N_LANES if n else 0):
            self.lane[a].cell = &self.cell[a, 0]

    cdef void clear(self) noexcept nogil:
        """Forget what was summed."""
        if self.arc.shape[0]:
            memset(&self.arc[0], 0, self.arc.shape[0] * sizeof(double))
        self.final[:] = 0.0

    cdef bint run(self, TablesX4 tables) noexcept nogil:
        """Both sweeps. RETURNS: whether they can be trusted; if not, counts of tokens
        may have been written, and those of arcs must be cleared."""
        scaled.clear_flags()
        if not scaled_x4.forward(tables):
            return False
        if tables.has_cells:
            self._clear_tokens(tables)
        return (
            self._backward(tables)
            and scaled.in_range()
            and scaled_x4.sums_are_exact(tables)
        )

    cdef void _clear_tokens(self, TablesX4 tables) noexcept nogil:
        """Where scores were, which have been read, counts are added up."""
        cdef Py_ssize_t a, n
        cdef size_t size
        for a in range(N_LANES):
            size = tables.n_tokens[a] * tables.n_groups * sizeof(double)
            if size:
                memset(self.lane[a].start, 0, size)
                memset(self.lane[a].inside, 0, size)
                memset(self.lane[a].end, 0, size)
                if self.lane[a].within != NULL:
                    memset(self.lane[a].within, 0, size)
                n = (<Chart>tables.chart[a]).cells.n_cells
                if n:
                    memset(self.lane[a].cell, 0, n * sizeof(double))

    cdef bint _backward(self, TablesX4 tables) noexcept nogil:
        cdef Py_ssize_t j, a, n = tables.longest, n_states = tables.n_states
        cdef double* beta = &tables.back_node[n_states, 0]
        tables.back_node[:, :] = 0.0
        tables.rest[:, :] = 0.0
        tables.weight[n + 1, :, :] = 0.0  # nothing goes on
        for j in range(n, -1, -1):
            if j < n:
                self._add_arcs(tables, j)
                if j == 0:
                    break
                scaled_x4.sum_lanes(
                    &tables.layout.arcs_out, tables.weights.arcs_out, tables.back_node
                )
            for a in range(N_LANES):
                if j == tables.n_tokens[a] and tables.z_rest[a] > -INFINITY:
                    if not scaled_backward.fill_end(
                        <Chart>tables.chart[a], tables.z_rest[a], beta + a, N_LANES
                    ):
                        return False
                    self._add_final(tables, j, a)
            self._add_row(tables, j)
        return True

    cdef void _add_arcs(self, TablesX4 tables, Py_ssize_t j) noexcept nogil:
        """Arcs at j: B[j] stands in the first nodes."""
        if self.arc.shape[0]:
            kernels.lane_count_arcs(
                &tables.layout.arc_node[0],
                &tables.layout.arc_target[0],
                tables.layout.arc_node.shape[0],
                &tables.nodes[j, 0, 0],
                &tables.back_node[0, 0],
                &self.arc[0],
            )

    cdef void _add_final(
        self, TablesX4 tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """P(state p at the end) = alpha[n, p] beta[n, p], of a lane that ends at j."""
        cdef Py_ssize_t p, g, n_groups = tables.n_groups
        cdef const double* beta = &tables.back_node[tables.n_states, 0]
        cdef double alpha
        for p in range(tables.n_states):
            if tables.layout.final_edge[p] >= 0:
                g = tables.layout.state_group[p]
                alpha = tables.weight[j, g, a] * tables.opened[j, p, a]
                alpha += tables.weight[j, 3 * n_groups + g, a] * tables.runs[j, p, a]
                self.final[p] += alpha * beta[p * N_LANES + a]

    cdef void _add_row(self, TablesX4 tables, Py_ssize_t j) noexcept nogil:
        """Segments that end at j or run on over it; B[j - 1] and T[j]."""
        cdef Py_ssize_t a, at, n_groups = tables.n_groups
        kernels.lane_leave_counting(
            &tables.layout.first_state[0],
            n_groups,
            &tables.weight[j, 0, 0],
            &tables.weight[j + 1, 0, 0],
            &tables.back_node[tables.n_states, 0],
            &tables.opened[j, 0, 0],
            &tables.runs[j, 0, 0],
            &tables.rest[0, 0],
            &tables.back_node[0, 0],
            &self.group[0, 0, 0],
        )
        for a in range(N_LANES):
            if j <= tables.n_tokens[a]:
                at = (j - 1) * n_groups
                self._write_row(n_groups, at, a, tables.has_cells)
        if tables.has_cells:
            memcpy(
                &tables.beta[j, 0, 0],
                &tables.back_node[tables.n_states, 0],
                tables.n_states * N_LANES * sizeof(double),
            )
            cell_counts_x4.add_cells(tables, self.lane, &self.final[0], j)
            cells_x4.leave(tables, j)

    cdef void _write_row(
        self, Py_ssize_t n_groups, Py_ssize_t at, Py_ssize_t a, bint adds
    ) noexcept nogil:
        """Write down what a row has, in one lane, or add it."""
        cdef Py_ssize_t g
        cdef LaneCounts lane = self.lane[a]
        if adds:
            for g in range(n_groups):
                lane.start[at + g] += self.group[0, g, a]
                lane.end[at + g] += self.group[1, g, a]
                lane.inside[at + g] += self.group[0, g, a] + self.group[2, g, a]
            for g in range(n_groups if lane.within != NULL else 0):
                lane.within[at + g] += self.group[2, g, a]
            return
        for g in range(n_groups):
            lane.start[at + g] = self.group[0, g, a]
            lane.end[at + g] = self.group[1, g, a]
            lane.inside[at + g] = self.group[0, g, a] + self.group[2, g, a]
        for g in range(n_groups if lane.within != NULL else 0):
            lane.within[at + g] = self.group[2, g, a]

    cdef void add_patterns(
        self, TablesX4 tables, double[::1] pattern      # [M] added to
    ) noexcept nogil:
        """From arcs to edges to patterns, as `ArcCounts` does it."""
        cdef Py_ssize_t e, k, p
        cdef const double* count
        self.edge[:] = 0.0
        for p in range(tables.n_states):
            if tables.layout.final_edge[p] >= 0:
                self.edge[tables.layout.final_edge[p]] += self.final[p]
        for k in range(tables.layout.arc_edge.shape[0]):
            count = &self.arc[N_LANES * k]
            self.edge[tables.layout.arc_edge[k]] += tables.weights.arc[k] * (
                (count[0] + count[1]) + (count[2] + count[3])
            )
        for e in range(self.edge.shape[0] - 1, -1, -1):
            if tables.layout.edge_suffix[e] >= 0:
                self.edge[tables.layout.edge_suffix[e]] += self.edge[e]
            if tables.layout.edge_pattern[e] >= 0:
                pattern[tables.layout.edge_pattern[e]] += self.edge[e]
