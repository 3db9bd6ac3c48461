"""Expected counts of arcs, and so of label patterns.

    P(arc e at u) = mass[e] exp(weight[e]) B[u, q(e)] / Z

A pattern is completed on its own edge and on every edge that it is a suffix of.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t

from . cimport logspace, scaled_backward
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..chart.dp_tables import Lease
from ..simd.simd cimport N_LANES


cdef ArcCounts arc_counts(Chart chart, DPTables tables):
    """Zeros for a document."""
    cdef ArcCounts made = ArcCounts()
    cdef Py_ssize_t n_arcs = chart.layout.arc_edge.shape[0]
    cdef Py_ssize_t n_nodes = chart.n_nodes + chart.n_states + 2
    cdef Py_ssize_t n_patterns = chart.pattern_weight.shape[0]
    counts = np.zeros(n_patterns + chart.edge_weight.shape[0])
    made.patterns, made.edge = counts[:n_patterns], counts[n_patterns:]
    made.pattern = made.patterns
    made.n_lanes = 1 if tables.in_logs else N_LANES
    made._lease = lease = Lease(N_LANES * (n_nodes + n_arcs) + 2 * n_arcs)
    at, end = N_LANES * n_nodes, N_LANES * n_nodes + n_arcs
    array = lease.array
    array[:end] = 0.0
    made.node = array[:at].reshape(n_nodes, N_LANES)
    made.arc, made.prob = array[at:end], array[end : end + n_arcs]
    if chart.observed_arcs is not None:
        made.entry = np.zeros(chart.observed_arcs.score.shape[0])
        more = array[end + n_arcs : end + n_arcs + N_LANES * n_arcs]
        more[:] = 0.0 if tables.in_logs else 1.0
        made.more = more
    return made


cdef class ArcCounts:
    """Sums of the probabilities of arcs over all boundaries."""

    cdef void add(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
        """Those at j, the last boundary with a row; four boundaries at a time. Row 0 of
        a later block is a copy: its boundary belongs to the block before."""
        cdef Py_ssize_t row = j - tables.base, end
        if tables.in_logs:
            self._add_rows(chart, tables, j, j + 1)
        elif row % N_LANES == 0 or (row == 1 and tables.base > 0):
            end = row - row % N_LANES + N_LANES
            end = tables.base + min(end, tables.n_rows + 1)
            self._add_rows(chart, tables, j, min(end, chart.n_tokens))

    cdef void add_end(
        self, Chart chart, DPTables tables, const double* alpha
    ) noexcept nogil:
        """P(state p at the end) = alpha[n, p] beta[n, p]."""
        cdef Py_ssize_t p
        cdef double prob
        for p in range(chart.n_states):
            if chart.layout.final_edge[p] >= 0:
                prob = alpha[p] * tables.beta[p]
                if tables.in_logs:
                    prob = exp(alpha[p] + tables.beta[p] - tables.log_z)
                self.edge[chart.layout.final_edge[p]] += prob

    cdef void _add_rows(
        self, Chart chart, DPTables tables, Py_ssize_t j, Py_ssize_t end
    ) noexcept nogil:
        cdef double* more = NULL
        cdef double* count
        cdef Py_ssize_t a
        if not self.arc.shape[0]:
            return
        count = &self.arc[0]
        if chart.observed_arcs is not None:
            more = &self.more[0]
            for a in range(end - j):
                tables.varying.add(
                    j + a, more + a, chart.observed_arcs.arcs.arc, self.n_lanes
                )
        if tables.in_logs:
            logspace.count_arcs(chart, tables, j, more, &self.prob[0], count)
        else:
            scaled_backward.count_arcs(chart, tables, j, end, self.node, more, count)
        if chart.observed_arcs is not None:
            for a in range(end - j):
                self._add_entries(chart, tables, j + a, a)

    cdef void _add_entries(
        self, Chart chart, DPTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """The expected count of an entry at j: that of the arcs that complete its
        pattern. Resets `more`."""
        cdef const int32_t[::1] first = chart.observed_arcs.arcs.first
        cdef const int32_t[::1] arc = chart.observed_arcs.arcs.arc
        cdef double* more = &self.more[0] + a
        cdef Py_ssize_t t, e, i, n_lanes = self.n_lanes
        cdef Py_ssize_t begin = chart.observed_arcs.first[j]
        cdef Py_ssize_t end = chart.observed_arcs.first[j + 1]
        cdef double none = 0.0 if tables.in_logs else 1.0
        for t in range(begin, end):
            e = chart.observed_arcs.edge[t]
            if first[e] < first[e + 1]:
                self.entry[t] += self._sum(
                    chart, tables, &arc[first[e]], first[e + 1] - first[e], a
                )
        for t in range(begin, end):
            e = chart.observed_arcs.edge[t]
            for i in range(first[e], first[e + 1]):
                more[arc[i] * n_lanes] = none

    cdef double _sum(
        self,
        Chart chart,
        DPTables tables,
        const int32_t* arc,
        Py_ssize_t n,
        Py_ssize_t a,
    ) noexcept nogil:
        """The probabilities of some arcs at the boundary of a lane."""
        cdef const double* x = &self.node[0, 0] + a
        cdef const double* y = x + chart.n_nodes * N_LANES
        cdef const double* more = &self.more[0] + a
        cdef const double* weight = &tables.weights.arc[0]
        cdef const int32_t* node = &chart.layout.arc_node[0]
        cdef const int32_t* target = &chart.layout.arc_target[0]
        cdef Py_ssize_t i, k
        cdef double total = 0.0
        for i in range(n):
            k = arc[i]
            if tables.in_logs:
                total += self.prob[k]
            else:
                total += (
                    x[node[k] * N_LANES]
                    * y[target[k] * N_LANES]
                    * (more[k * N_LANES] * weight[k])
                )
        return total

    cdef void finish(self, Chart chart, DPTables tables) noexcept nogil:
        """From arcs to edges to patterns."""
        cdef Py_ssize_t e, k
        for k in range(self.arc.shape[0]):
            if not tables.in_logs:
                self.arc[k] *= tables.weights.arc[k]
            self.edge[chart.layout.arc_edge[k]] += self.arc[k]
        for e in range(self.edge.shape[0] - 1, -1, -1):
            if chart.layout.edge_suffix[e] >= 0:
                self.edge[chart.layout.edge_suffix[e]] += self.edge[e]
            if chart.layout.edge_pattern[e] >= 0:
                self.pattern[chart.layout.edge_pattern[e]] = self.edge[e]
