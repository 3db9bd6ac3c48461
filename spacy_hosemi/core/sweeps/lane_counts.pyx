"""Expected counts of documents in lanes, see `lanes`: the gradient of log Z.

Every derivative of log Z is the probability of a segment, or a sum of them:

    P(segment u, j, q) = exp(segment) A[u, q] beta[j, q]

With the rows of the forward sweep, and each row of the backward sweep while it is at
hand:

    P(a segment starts at j - 1, q)       = A[j-1, q] B[j-1, q]
    P(a segment ends at j, q)             = alpha[j, q] beta[j, q]
    P(token j - 1 is beyond D tokens, q)  = R[j, q] T[j, q]
    P(arc e at j)                         = mass[e] exp(weight[e]) B[j, q(e)]

Sums of probabilities are formed by additions only: the tokens that a segment covers,
for instance, from the longest segment to the shortest and not as a difference of starts
and ends. Where D = 1, a token is covered by a segment that starts there, or beyond D
tokens of one; else the explicit segments and those that enter are counted one by one.
Long segments of cells are, too: what they add to starts is not yet in B.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t
from libc.string cimport memset

from ..simd cimport lanes as kernels
from ..chart.columns cimport entries_of
from ..chart.columns import columns_of_groups, set_entry_counts
from ..potentials import ROLES, Potentials


cdef LaneCounts lane_counts(LaneTables tables):
    """Zeros for documents that tables will have, of D = 1."""
    cdef LaneCounts counts = LaneCounts()
    n_groups, n_lanes = tables.n_groups, tables.n_lanes
    counts.arc = np.zeros(n_lanes * tables.layout.arc_edge.shape[0])
    counts.final = np.zeros(tables.n_states)
    counts.edge = np.zeros(tables.layout.edge_suffix.shape[0])
    counts.group = np.zeros((3, n_groups, n_lanes))
    counts.cell = np.zeros((n_lanes, 0))
    for a in range(n_lanes):
        counts.lane[a].within = counts.lane[a].slot = counts.lane[a].tail = NULL
    return counts


cdef LaneCounts counts_of_document(Chart chart, LaneTables tables):
    """Zeros for one document, whose gradient will be asked for."""
    cdef LaneCounts counts = lane_counts(tables)
    cdef Py_ssize_t n_groups = chart.n_groups, n_slots = n_groups * chart.n_lengths
    counts.reserve_cells(chart.cells.n_cells)
    counts.prob, counts.entered = np.zeros((n_slots, 1)), np.zeros((n_groups, 1))
    if chart.observed_arcs is not None:
        counts.entry = np.zeros(chart.observed_arcs.score.shape[0])
    counts.arrays = {role: np.zeros((chart.n_tokens, n_groups)) for role in ROLES}
    counts.arrays["slot"] = np.zeros((n_groups, chart.n_lengths))
    counts.arrays["tail"] = np.zeros((1, n_groups))
    counts.lane[0].start = _begin_of(counts.arrays["start"])
    counts.lane[0].inside = _begin_of(counts.arrays["inside"])
    counts.lane[0].end = _begin_of(counts.arrays["end"])
    counts.lane[0].slot = _begin_of(counts.arrays["slot"])
    counts.lane[0].tail = _begin_of(counts.arrays["tail"])
    return counts


cdef double* _begin_of(double[:, ::1] array):
    return &array[0, 0] if array.shape[0] else NULL


cdef class LaneCounts:
    """Where expected counts are written; those of arcs are summed over documents."""

    cdef reserve_cells(self, Py_ssize_t n):
        """Memory for n cells of a document."""
        cdef Py_ssize_t a, n_lanes = self.cell.shape[0]
        if self.cell.shape[1] < n:
            self.cell = np.zeros((n_lanes, n))
        for a in range(n_lanes if n else 0):
            self.lane[a].cell = &self.cell[a, 0]

    cdef void clear(self) noexcept nogil:
        """Forget what was summed."""
        if self.arc.shape[0]:
            memset(&self.arc[0], 0, self.arc.shape[0] * sizeof(double))
        self.final[:] = 0.0

    cdef void begin(self, LaneTables tables) noexcept nogil:
        """Where scores were, which have been read, counts are added up."""
        cdef Py_ssize_t a, n
        cdef size_t size
        if not tables.has_cells and tables.n_lengths == 1:
            return  # all of it will be written
        for a in range(tables.n_lanes):
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

    cdef void add_arcs(self, LaneTables tables, Py_ssize_t j) noexcept nogil:
        """Arcs at j: B[j] stands in the first nodes."""
        cdef const double* weight = NULL
        cdef bint varies = tables.varying is not None and tables.varying.vary_arcs(j)
        if not self.arc.shape[0]:
            return
        if varies:
            weight = &tables.varying.arc[0]
        elif tables.in_logs or tables.varying is not None:
            weight = &tables.weights.arc[0]
        kernels.lane_count_arcs(
            tables.kind,
            &tables.layout.arc_node[0],
            &tables.layout.arc_target[0],
            tables.layout.arc_node.shape[0],
            &tables.nodes[j - tables.base, 0, 0],
            &tables.back_node[0, 0],
            weight,
            &self.arc[0],
        )
        if varies:
            self._add_entries(tables, j, weight)

    cdef void _add_entries(
        self, LaneTables tables, Py_ssize_t j, const double* weight
    ) noexcept nogil:
        """The expected count of an entry at j: that of the arcs that complete its
        pattern."""
        cdef const int32_t[::1] first = tables.varying.entries.arcs.first
        cdef const int32_t[::1] arc = tables.varying.entries.arcs.arc
        cdef const int32_t[::1] begin = tables.varying.entries.first
        cdef Py_ssize_t t, e, i, k, row = j - tables.base
        cdef double x, y
        for t in range(begin[j], begin[j + 1]):
            e = tables.varying.entries.edge[t]
            for i in range(first[e], first[e + 1]):
                k = arc[i]
                x = tables.nodes[row, tables.layout.arc_node[k], 0]
                y = tables.back_node[tables.layout.arc_target[k], 0]
                self.entry[t] += exp(x + weight[k] + y) if tables.in_logs else (
                    x * weight[k] * y
                )

    cdef void add_final(
        self, LaneTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """P(state p at the end) = alpha[n, p] beta[n, p], of a lane that ends at j."""
        cdef Py_ssize_t p
        cdef double x, y
        for p in range(tables.n_states):
            if tables.layout.final_edge[p] >= 0:
                x = tables.nodes[j - tables.base, p, a]
                y = tables.back_node[tables.n_states + p, a]
                self.final[p] += exp(x + y) if tables.in_logs else x * y

    cdef void add_row(self, LaneTables tables, Py_ssize_t j) noexcept nogil:
        """Segments that end at j or run on over it, after `lanes` has summed them by
        group."""
        cdef Py_ssize_t a, n_groups = tables.n_groups, n_lengths = tables.n_lengths
        if n_lengths > 1:
            self._pair(tables, j)
        for a in range(tables.n_lanes):
            if j > tables.n_tokens[a]:
                continue
            self._write_tokens(tables, (j - 1) * n_groups, a)
            if self.lane[a].slot != NULL:
                self._add_lengths(tables, j, a)
            if (<Chart>tables.chart[a]).cells.n_cells:
                self._add_short(tables, (<Chart>tables.chart[a]).cells, j, a)
                self._add_long(tables, (<Chart>tables.chart[a]).cells, j, a)
                self._add_late(tables, (<Chart>tables.chart[a]).cells, j, a)

    cdef void _pair(self, LaneTables tables, Py_ssize_t j) noexcept nogil:
        """Probabilities of the segments of up to D tokens that end at j, and of those
        that enter there."""
        cdef Py_ssize_t n_lengths = tables.n_lengths, low = max(n_lengths - j, 0)
        cdef Py_ssize_t row = j - tables.base
        self.prob[:, :] = 0.0
        kernels.lane_pair(
            tables.kind,
            &tables.layout.first_state[0],
            tables.n_groups,
            &tables.weight[row, low, 0],
            n_lengths,
            &tables.beta[j, 0, 0],
            n_lengths - low,
            &tables.opened[j + 1 - n_lengths + low, 0, 0],
            tables.n_states * tables.n_lanes,
            &self.prob[low, 0],
        )
        kernels.lane_pair(
            tables.kind,
            &tables.layout.first_state[0],
            tables.n_groups,
            &tables.weight[row, tables.at_enter, 0],
            1,
            &tables.rest[j % n_lengths, 0, 0],
            1,
            &tables.opened[max(j - n_lengths, 0), 0, 0],
            0,
            &self.entered[0, 0],
        )

    cdef void _write_tokens(
        self, LaneTables tables, Py_ssize_t at, Py_ssize_t a
    ) noexcept nogil:
        """Write down what a row has, in one lane, or add it."""
        cdef Py_ssize_t g, n_groups = tables.n_groups
        cdef CountsOfLane lane = self.lane[a]
        if tables.has_cells or tables.n_lengths > 1:
            for g in range(n_groups):
                lane.start[at + g] += self.group[0, g, a]
                lane.end[at + g] += self.group[1, g, a]
                lane.inside[at + g] += self.group[2, g, a]
            for g in range(n_groups if tables.n_lengths == 1 else 0):
                lane.inside[at + g] += self.group[0, g, a]
            for g in range(n_groups if lane.within != NULL else 0):
                lane.within[at + g] += self.group[2, g, a]
            return
        for g in range(n_groups):
            lane.start[at + g] = self.group[0, g, a]
            lane.end[at + g] = self.group[1, g, a]
            lane.inside[at + g] = self.group[0, g, a] + self.group[2, g, a]
        for g in range(n_groups if lane.within != NULL else 0):
            lane.within[at + g] = self.group[2, g, a]

    cdef void _add_lengths(
        self, LaneTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """Counts by length; where D > 1, explicit segments cover tokens, and those that
        enter the ones before j - 1."""
        cdef Py_ssize_t g, i, u, n_groups = tables.n_groups
        cdef Py_ssize_t n_lengths = tables.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0)
        cdef CountsOfLane lane = self.lane[a]
        cdef double covered
        for g in range(n_groups):
            lane.tail[g] += self.group[2, g, a]
            if n_lengths == 1:
                lane.slot[g] += self.group[0, g, a]
                continue
            # covered = P(token u is in a segment that ends at j), from the longest on
            covered = 0.0
            u = j - n_lengths + low
            for i in range(low, n_lengths):
                covered += self.prob[g * n_lengths + i, a]
                lane.inside[u * n_groups + g] += covered
                lane.slot[g * n_lengths + i] += self.prob[g * n_lengths + i, a]
                u += 1
            if j > n_lengths:
                lane.slot[g * n_lengths] += self.entered[g, a]
                for u in range(j - n_lengths - 1, j - 1):
                    lane.inside[u * n_groups + g] += self.entered[g, a]

    cdef void _add_short(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        cdef Py_ssize_t i, g
        for i in range(cells.first_short[j], cells.first_short[j + 1]):
            g = cells.short_slot[i]
            if tables.n_lengths > 1:
                self.lane[a].cell[cells.short_cell[i]] += self.prob[g, a]
                continue
            self.lane[a].cell[cells.short_cell[i]] += _product(
                tables,
                g,
                tables.weight[j - tables.base, g, a],
                &tables.opened[j, 0, a],
                &tables.beta[j, 0, a],
            )

    cdef void _add_long(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """P(a long segment from u ends at j, q) = long A[u, q] beta[j, q]"""
        cdef Py_ssize_t t, g, u
        cdef double prob
        for t in range(cells.first_long[j], cells.first_long[j + 1]):
            g, u = cells.long_group[t], cells.long_start[t]
            prob = _product(
                tables,
                g,
                tables.long_weight[a][t],
                &tables.opened[u + 1, 0, a],
                &tables.beta[j, 0, a],
            )
            self._cover(tables, a, g, u, j, prob)
            if cells.long_cell[t] >= 0:
                self.lane[a].cell[cells.long_cell[t]] += prob

    cdef void _add_late(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil:
        """P(a late segment from u enters, q) = late A[u, q] T[j, q]: it has the tokens
        before j - 1 beside those that R counts."""
        cdef Py_ssize_t t, g, u
        cdef const double* rest = &tables.rest[j % tables.n_lengths, 0, a]
        cdef double prob
        for t in range(cells.first_late[j], cells.first_late[j + 1]):
            g, u = cells.late_group[t], cells.late_start[t]
            prob = _product(
                tables, g, tables.late_weight[a][t], &tables.opened[u + 1, 0, a], rest
            )
            self._cover(tables, a, g, u, j - 1, prob)

    cdef void _cover(
        self,
        LaneTables tables,
        Py_ssize_t a,
        Py_ssize_t g,
        Py_ssize_t u,
        Py_ssize_t end,
        double prob,
    ) noexcept nogil:
        """A segment from u has the tokens before `end`, more than D of them."""
        cdef Py_ssize_t k, n_groups = tables.n_groups, n_lengths = tables.n_lengths
        cdef CountsOfLane lane = self.lane[a]
        lane.start[u * n_groups + g] += prob
        for k in range(u, end):
            lane.inside[k * n_groups + g] += prob
        if lane.within != NULL:
            for k in range(u + 1, end):
                lane.within[k * n_groups + g] += prob
        if lane.slot != NULL:
            lane.slot[g * n_lengths] += prob
            lane.tail[g] += prob * (end - u - n_lengths)

    cdef void add_patterns(
        self, LaneTables tables, double[::1] pattern      # [M] added to
    ) noexcept nogil:
        """From arcs to edges to patterns: a pattern is completed on its own edge and on
        every edge that it is a suffix of."""
        cdef Py_ssize_t e, k, p, n_lanes = tables.n_lanes
        cdef bint is_weighted = tables.in_logs or tables.varying is not None
        cdef const double* count
        cdef double total
        self.edge[:] = 0.0
        for p in range(tables.n_states):
            if tables.layout.final_edge[p] >= 0:
                self.edge[tables.layout.final_edge[p]] += self.final[p]
        for k in range(tables.layout.arc_edge.shape[0]):
            count = &self.arc[n_lanes * k]
            total = count[0]
            if n_lanes > 1:
                total = (count[0] + count[1]) + (count[2] + count[3])
            if not is_weighted:
                total *= tables.weights.arc[k]
            self.edge[tables.layout.arc_edge[k]] += total
        for e in range(self.edge.shape[0] - 1, -1, -1):
            if tables.layout.edge_suffix[e] >= 0:
                self.edge[tables.layout.edge_suffix[e]] += self.edge[e]
            if tables.layout.edge_pattern[e] >= 0:
                pattern[tables.layout.edge_pattern[e]] += self.edge[e]

    # of one document

    cdef gradient(self, Chart chart, LaneTables tables, potentials):
        """From groups back to columns. What is counted by token is forgotten here."""
        automaton = chart.automaton
        entries = self._entries(chart, potentials)
        pattern = np.zeros(chart.pattern_weight.shape[0])
        self.add_patterns(tables, pattern)
        dense = {}
        for role in ROLES:  # one after the other: for long documents memory counts
            counts = self.arrays.pop(role).T
            n_columns = np.shape(getattr(potentials, role))[1]
            dense[role] = columns_of_groups(automaton, counts, n_columns)
            if entries is not None and chart.observed_arcs is None:
                set_entry_counts(automaton, entries, role, counts)
            del counts
        length, tail = self.arrays["slot"][:, ::-1], self.arrays["tail"][0]
        if automaton.observed:
            length = columns_of_groups(automaton, length, chart.n_labels).T
            tail = columns_of_groups(automaton, tail[:, None], chart.n_labels)[0]
        return Potentials(
            **dense,
            length=length.copy(),
            tail=tail,
            cells=chart.cell_gradient(self.cell[0]),
            pattern=pattern[: len(potentials.pattern)].copy(),
            entries=entries,
        )

    cdef _entries(self, Chart chart, potentials):
        """A copy of those that are given; with counts, where they are at starts."""
        if potentials.entries is None:
            return None
        if chart.observed_arcs is None:
            n_columns = chart.automaton.n_columns
            return entries_of(potentials, chart.n_tokens, n_columns).copy()
        entries, counts = potentials.entries.copy(), np.asarray(self.entry)
        entries["score"] = counts[np.asarray(chart.observed_arcs.place)]
        return entries


cdef double _product(
    LaneTables tables, Py_ssize_t g, double weight, const double* x, const double* y
) noexcept nogil:
    """weight sum_q x[q] y[q] over the states of a group, of one lane."""
    cdef Py_ssize_t first = tables.layout.first_state[g], step = tables.n_lanes
    return kernels.lane_product(
        tables.in_logs,
        tables.layout.first_state[g + 1] - first,
        weight,
        x + first * step,
        y + first * step,
        step,
    )
