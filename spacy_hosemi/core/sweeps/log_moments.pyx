"""Expected log weights, beside a forward sweep in scaled arithmetic.

Each number x of the sweep is a sum over the segmentations of a prefix. Beside it stands
m, their sum with each one times the log of it, so that x log x is replaced by an exact
sum (the expectation semiring, Eisner 2002):

    x = sum_i w_i x_i        m = sum_i w_i m_i + (w_i log w_i) x_i

At the end m / x is the mean log weight of a segmentation, relative to the scale of log
Z, so its distance from log x is the entropy. All rows have about the same scale: sums
of logs stay small, however long the document is.
"""

import numpy as np

from libc.math cimport exp, log
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from . cimport scaled


cdef LogMoments log_moments(Chart chart, DPTables tables):
    """For a document, before its forward sweep."""
    cdef LogMoments made = LogMoments()
    cdef Py_ssize_t n_states = chart.n_states, n_groups = chart.n_groups
    made.ring = tables.ring
    rows = np.zeros((2 * tables.ring + 2, n_states))
    made.opened, made.running = rows[2:], rows[:2]
    made.alpha = np.zeros(n_states)
    made.node = np.zeros(chart.n_nodes + n_states + 2)
    made.explicit = np.zeros(n_groups * chart.n_lengths)
    made.keep, made.enter, made.at_end = np.zeros((3, n_groups))
    weight = np.asarray(tables.weights.arcs_in)
    made.arcs = weight * np.log(weight, out=np.zeros_like(weight), where=weight > 0.0)
    made.arcs_varied = None
    if tables.varying is not None:
        made.arcs_varied = np.array(made.arcs)
    return made


cdef class LogMoments:
    """What stands beside the rows of a sweep, which calls the methods."""

    cdef void end_segments(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """Beside alpha[j] and R[j]."""
        cdef Py_ssize_t n_lengths = chart.n_lengths, n_states = chart.n_states
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        self._set_weights(chart, tables, j)
        memset(&self.alpha[0], 0, n_states * sizeof(double))
        kernels.pull(
            &chart.layout.first_state[0],
            chart.n_groups,
            tables.row_weight(j) + low,
            n_lengths,
            &self.opened[first % self.ring, 0],
            n_states,
            n_lengths - low,
            &self.alpha[0],
        )
        kernels.pull(
            &chart.layout.first_state[0],
            chart.n_groups,
            &self.explicit[low],
            n_lengths,
            &tables.opened[first, 0],
            n_states,
            n_lengths - low,
            &self.alpha[0],
        )
        self._add_long(chart, tables, j)
        if chart.has_tail:
            self._add_running(chart, tables, j)

    cdef void _set_weights(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """Of what ends or runs on at j, but for long and late segments."""
        cdef Py_ssize_t g, n_lengths = chart.n_lengths, u = j - n_lengths - 1
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        cdef const double* weight = tables.row_weight(j)
        cdef double top = tables.alpha_scale[j], w
        for g in range(chart.n_groups):
            kernels.moments(
                weight + g * n_lengths + low,
                &chart.score[g * n_lengths + low],
                &tables.opened_scale[first],
                top,
                n_lengths - low,
                &self.explicit[g * n_lengths + low],
            )
        for g in range(chart.n_groups if chart.has_tail else 0):
            self.keep[g] = self.enter[g] = self.at_end[g] = 0.0
            w = weight[tables.at_keep + g]
            if w > 0.0:
                self.keep[g] = chart.more[j - 1, g] + chart.tail[g]
                self.keep[g] = w * (self.keep[g] + tables.alpha_scale[j - 1] - top)
            w = weight[tables.at_enter + g]
            if w > 0.0:
                self.enter[g] = chart.enter_score[g] + tables.opened_scale[u]
                self.enter[g] = w * (self.enter[g] - top)
            w = weight[tables.at_end + g]
            if w > 0.0:
                self.at_end[g] = w * chart.end[j - 1, g]

    cdef void _add_long(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        cdef Py_ssize_t t, u
        cdef double scale
        for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
            u = chart.cells.long_start[t]
            scale = tables.opened_scale[u] - tables.alpha_scale[j]
            _add(
                chart,
                chart.cells.long_group[t],
                tables.long_weight[t],
                chart.cells.long_score[t] + scale,
                &tables.opened[u, 0],
                &self.opened[u % self.ring, 0],
                &self.alpha[0],
            )

    cdef void _add_running(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        cdef Py_ssize_t t, u = j - chart.n_lengths - 1, row = j - tables.base
        cdef double scale
        cdef double* weight = tables.row_weight(j)
        cdef double* running = &self.running[j % 2, 0]
        cdef double* x = &tables.running[row, 0]
        memset(running, 0, chart.n_states * sizeof(double))
        _pull(chart, weight + tables.at_keep, &self.running[1 - j % 2, 0], running)
        _pull(chart, &self.keep[0], &tables.running[row - 1, 0], running)
        if u >= 0:
            _pull(
                chart, weight + tables.at_enter, &self.opened[u % self.ring, 0], running
            )
            _pull(chart, &self.enter[0], &tables.opened[u, 0], running)
        for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
            u = chart.cells.late_start[t]
            scale = tables.opened_scale[u] - tables.alpha_scale[j]
            _add(
                chart,
                chart.cells.late_group[t],
                tables.late_weight[t],
                chart.cells.late_score[t] + scale,
                &tables.opened[u, 0],
                &self.opened[u % self.ring, 0],
                running,
            )
        kernels.keep(x, running, chart.n_states, running)
        _pull(chart, weight + tables.at_end, running, &self.alpha[0])
        _pull(chart, &self.at_end[0], x, &self.alpha[0])

    cdef void open_row(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
        """Beside A[j], whose sums are still in the slots of the tables."""
        cdef Py_ssize_t n_states = chart.n_states, row = j % self.ring
        cdef const double* weight = &tables.weights.arcs_in[0]
        cdef const double* moment = &self.arcs[0]
        cdef bint varies = tables.varies_in(j)
        memcpy(&self.node[0], &self.alpha[0], n_states * sizeof(double))
        scaled.sum_quads(
            &chart.layout.suffix_sums, tables.weights.suffix_sums, self.node
        )
        if varies:
            self._vary(tables, j, False)
            weight, moment = &tables.varying.arcs_in[0], &self.arcs_varied[0]
        kernels.sum_moments(
            chart.layout.arcs_in.fan,
            chart.layout.arcs_in.output,
            chart.layout.arcs_in.input,
            weight,
            moment,
            chart.layout.arcs_in.n_quads,
            &tables.node[0],
            &self.node[0],
        )
        if varies:
            self._vary(tables, j, True)
        kernels.keep(
            &tables.opened[j, 0],
            &self.node[chart.n_nodes],
            n_states,
            &self.opened[row, 0],
        )
        memcpy(
            &self.opened[row + self.ring, 0],
            &self.opened[row, 0],
            n_states * sizeof(double),
        )

    cdef void _vary(self, DPTables tables, Py_ssize_t j, bint undo) noexcept nogil:
        """The weights of arcs that entries at j change."""
        cdef const int32_t[::1] first = tables.varying.entries.arcs.first
        cdef const int32_t[::1] place = tables.varying.entries.arcs.in_place
        cdef Py_ssize_t t, e, i, k
        cdef double w
        for t in range(
            tables.varying.entries.first[j], tables.varying.entries.first[j + 1]
        ):
            e = tables.varying.entries.edge[t]
            for i in range(first[e], first[e + 1]):
                k = place[i]
                w = tables.varying.arcs_in[k]
                if undo:
                    self.arcs_varied[k] = self.arcs[k]
                else:
                    self.arcs_varied[k] = w * log(w) if w > 0.0 else 0.0

    cdef double mean(self, Chart chart, DPTables tables):
        """The mean log weight of a segmentation, relative to `z_scale`; some is
        possible."""
        cdef Py_ssize_t p, row = chart.n_tokens - tables.base
        cdef double total = 0.0, moment = 0.0, x, final
        for p in range(chart.n_states):
            x = tables.alpha[row, p]
            if x > 0.0 and exp(chart.final_weight(p) - tables.z_rest) > 0.0:
                final = chart.final_weight(p)
                x *= exp(final - tables.z_rest)
                total += x
                moment += x * final
                moment += self.alpha[p] * exp(final - tables.z_rest)
        return moment / total


cdef void _pull(
    Chart chart, const double* weight, const double* x, double* out
) noexcept nogil:
    """out += weight * x, with a weight for each group."""
    kernels.pull(
        &chart.layout.first_state[0], chart.n_groups, weight, 1, x, 0, 1, out
    )


cdef void _add(
    Chart chart,
    Py_ssize_t g,
    double weight,
    double log_weight,
    const double* x,
    const double* m,
    double* out,
) noexcept nogil:
    """Add one segment, for the states of a group."""
    cdef Py_ssize_t q
    if weight > 0.0:
        for q in range(chart.layout.first_state[g], chart.layout.first_state[g + 1]):
            out[q] += weight * (m[q] + log_weight * x[q])
