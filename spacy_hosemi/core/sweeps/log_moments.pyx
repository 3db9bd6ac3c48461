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
from libc.string cimport memset

from ..simd cimport moments as kernels
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..chart.layout cimport Sums
from . cimport scaled


cdef LogMoments log_moments(Chart chart, DPTables tables):
    """For a document, before its forward sweep."""
    cdef LogMoments made = LogMoments()
    cdef Py_ssize_t n_states = chart.n_states, n_groups = chart.n_groups
    made.ring = tables.ring
    rows = np.zeros((2 * tables.ring + 2, n_states))
    made.opened, made.running = rows[2:], rows[:2]
    made.alpha = np.zeros(n_states)
    made.node = np.zeros((chart.n_nodes + n_states + 2, 2))
    made.explicit = np.zeros(n_groups * chart.n_lengths)
    made.keep, made.enter, made.at_end = np.zeros((3, n_groups))
    weight = np.asarray(tables.weights.arcs_in)
    made.arcs = weight * np.log(weight, out=np.zeros_like(weight), where=weight > 0.0)
    made.suffixes = np.zeros(tables.weights.suffix_sums.shape[0])
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
        kernels.pull_moments(
            &chart.layout.first_state[0],
            chart.n_groups,
            tables.row_weight(j) + low,
            &self.explicit[low],
            n_lengths,
            &tables.opened[first, 0],
            &self.opened[first % self.ring, 0],
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
        memset(running, 0, chart.n_states * sizeof(double))
        kernels.add_moments(
            &chart.layout.first_state[0],
            chart.n_groups,
            weight + tables.at_keep,
            &self.keep[0],
            &tables.running[row - 1, 0],
            &self.running[1 - j % 2, 0],
            running,
        )
        if u >= 0:
            kernels.add_moments(
                &chart.layout.first_state[0],
                chart.n_groups,
                weight + tables.at_enter,
                &self.enter[0],
                &tables.opened[u, 0],
                &self.opened[u % self.ring, 0],
                running,
            )
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
        kernels.end_moments(
            &chart.layout.first_state[0],
            chart.n_groups,
            weight + tables.at_end,
            &self.at_end[0],
            &tables.running[row, 0],
            running,
            &self.alpha[0],
        )

    cdef void open_row(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
        """A[j], as `scaled.open_row` makes it, and what is beside it."""
        cdef Py_ssize_t p, n_states = chart.n_states, row = j % self.ring
        cdef const double* alpha = &tables.alpha[j - tables.base, 0]
        cdef const double* weight = &tables.weights.arcs_in[0]
        cdef const double* moment = &self.arcs[0]
        cdef bint varies = tables.varies_in(j)
        for p in range(n_states):
            self.node[p, 0], self.node[p, 1] = alpha[p], self.alpha[p]
        if chart.layout.suffix_sums.n_quads:
            self._sum(
                &chart.layout.suffix_sums,
                &tables.weights.suffix_sums[0],
                &self.suffixes[0],
            )
        if varies:
            self._vary(tables, j, False)
            weight, moment = &tables.varying.arcs_in[0], &self.arcs_varied[0]
        self._sum(&chart.layout.arcs_in, weight, moment)
        if varies:
            self._vary(tables, j, True)
        for p in range(n_states):
            tables.opened[j, p] = self.node[chart.n_nodes + p, 0]
        scaled.finish_opened(chart, tables, j)
        kernels.keep_moments(
            &tables.opened[j, 0],
            &self.node[chart.n_nodes, 0],
            n_states,
            &self.opened[row, 0],
            &self.opened[row + self.ring, 0],
        )

    cdef void _sum(
        self, const Sums* sums, const double* weight, const double* moment
    ) noexcept nogil:
        kernels.sum_moments(
            sums.fan,
            sums.output,
            sums.input,
            weight,
            moment,
            sums.n_quads,
            &self.node[0, 0],
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
