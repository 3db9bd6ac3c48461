"""Expected counts of segments, and the gradient of log Z that consists of them.

    P(segment u, j, g) = exp(segment) sum_{q of group g} A[u, q] beta[j, q] / Z

Every derivative of log Z is such a probability, or a sum of them. Sums of probabilities
are formed by additions only: the tokens that a segment covers, for instance, from the
longest segment to the shortest and not as a difference of starts and ends.

The forward states suffice for the backward pass and all marginals; the separate
backward states of Nguyen et al. (2011) are not needed.
"""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t

from ..simd cimport simd as kernels
from . cimport logspace
from .arc_counts cimport arc_counts
from ..chart.chart cimport Chart
from ..chart.columns cimport entries_of
from ..chart.columns import columns_of_groups, set_entry_counts
from ..chart.dp_tables cimport DPTables
from ..potentials import ROLES, Potentials


cdef Expectations expectations(Chart chart, DPTables tables):
    """Zeros for a document."""
    cdef Expectations made = Expectations()
    cdef Py_ssize_t n_groups = chart.n_groups, n_slots = n_groups * chart.n_lengths
    cdef double[::1] room = np.zeros(n_slots + n_groups + chart.cells.n_cells)
    made.arcs = arc_counts(chart, tables)
    made.arrays = arrays = {
        "inside": np.zeros((n_groups, chart.n_tokens)),
        "end": np.zeros((chart.n_tokens, n_groups)),
        "slot": np.zeros(n_slots),
        "tail": np.zeros(n_groups),
    }
    made.inside, made.end = arrays["inside"], arrays["end"]
    made.slot, made.tail = arrays["slot"], arrays["tail"]
    made.prob, room = room[:n_slots], room[n_slots:]
    made.long_prob, made.cell = room[:n_groups], room[n_groups:]
    # the log of 1 where that is what weights are
    made.one = np.full(n_groups, 0.0 if tables.in_logs else 1.0)
    return made


cdef class Expectations:
    """Expected counts of one document, by group."""

    cdef void add_running(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """P(token j lies beyond the horizon of a segment of the group)
            = sum_q R[j, q] exp(more[j] + tail) T[j + 1, q]"""
        cdef Py_ssize_t g
        _products(
            chart,
            tables,
            &tables.keep[0],
            &tables.running[j - tables.base, 0],
            &tables.rest[1 - j % 2, 0],
            &self.long_prob[0],
        )
        for g in range(chart.n_groups):
            self.inside[g, j] += self.long_prob[g]
            self.tail[g] += self.long_prob[g]

    cdef void add_entering(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """Segments whose token j - 1 is the first one beyond the horizon."""
        cdef Py_ssize_t g, t, u = j - chart.n_lengths - 1
        cdef const double* enter = &chart.enter_score[0]
        cdef const double* rest = &tables.rest[j % 2, 0]
        cdef double weight, prob
        if not tables.in_logs:
            enter = tables.row_weight(j) + tables.at_enter
        if u >= 0:
            _products(
                chart, tables, enter, &tables.opened[u, 0], rest, &self.long_prob[0]
            )
            for g in range(chart.n_groups):
                self._add_long(chart, g, u, j, self.long_prob[g])
        for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
            weight = chart.cells.late_score[t]
            if not tables.in_logs:
                weight = tables.late_weight[t]
            g, u = chart.cells.late_group[t], chart.cells.late_start[t]
            prob = _product(chart, tables, g, weight, &tables.opened[u, 0], rest)
            self._add_long(chart, g, u, j, prob)

    cdef void add_explicit(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """Segments that are listed one by one, and all that end at j."""
        cdef Py_ssize_t g, i, t, u, n_lengths = chart.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        cdef const double* prob
        cdef double covered, weight
        self._set_probs(chart, tables, j)
        for g in range(chart.n_groups):
            prob = &self.prob[g * n_lengths]
            # covered = P(token u is in a segment that ends at j), from the longest on
            covered = 0.0
            for i in range(low, n_lengths):
                covered += prob[i]
                self.inside[g, first + i - low] += covered
            for i in range(low, n_lengths):
                self.slot[g * n_lengths + i] += prob[i]
        for i in range(chart.cells.first_short[j], chart.cells.first_short[j + 1]):
            t = chart.cells.short_cell[i]
            self.cell[t] += self.prob[chart.cells.short_slot[i]]
        for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
            g, u = chart.cells.long_group[t], chart.cells.long_start[t]
            weight = chart.cells.long_score[t]
            if not tables.in_logs:
                weight = tables.long_weight[t]
            covered = _product(
                chart, tables, g, weight, &tables.opened[u, 0], &tables.beta[0]
            )
            self._add_long(chart, g, u, j, covered)
            if chart.cells.long_cell[t] >= 0:
                self.cell[chart.cells.long_cell[t]] += covered
        self._add_ends(chart, tables, j)

    cdef void _add_ends(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """P(a segment of the group ends at j) = sum_q alpha[j, q] beta[j, q]"""
        cdef Py_ssize_t g
        if chart.are_tokens:
            for g in range(chart.n_groups):
                self.end[j - 1, g] = self.prob[g]
            return
        _products(
            chart,
            tables,
            &self.one[0],
            &tables.alpha[j - tables.base, 0],
            &tables.beta[0],
            &self.end[j - 1, 0],
        )

    cdef void _add_long(
        self, Chart chart, Py_ssize_t g, Py_ssize_t u, Py_ssize_t j, double prob
    ) noexcept nogil:
        """A segment of more than D tokens."""
        cdef Py_ssize_t k
        if prob > 0.0:
            self.slot[g * chart.n_lengths] += prob
            self.tail[g] += prob * (j - u - chart.n_lengths)
            for k in range(u, j):
                self.inside[g, k] += prob

    cdef void _set_probs(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil:
        """Probabilities of the segments of up to D tokens that end at j, by slot."""
        cdef Py_ssize_t g, i, n_lengths = chart.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        cdef double* prob = &self.prob[0]
        for g in range(chart.n_groups):
            for i in range(low):
                prob[g * n_lengths + i] = 0.0
        if not tables.in_logs:
            kernels.pair(
                &chart.layout.first_state[0],
                chart.n_groups,
                tables.row_weight(j) + low,
                n_lengths,
                &tables.beta[0],
                n_lengths - low,
                &tables.opened[first, 0],
                chart.n_states,
                prob + low,
            )
            return
        for g in range(chart.n_groups):
            for i in range(low, n_lengths):
                prob[g * n_lengths + i] = _product(
                    chart,
                    tables,
                    g,
                    chart.score[g * n_lengths + i],
                    &tables.opened[first + i - low, 0],
                    &tables.beta[0],
                )

    cdef gradient(self, Chart chart, DPTables tables, potentials):
        """From groups back to columns. What is counted by token is forgotten here."""
        automaton = chart.automaton
        entries = self._entries(chart, potentials)
        dense = {}
        for role in ROLES:  # one after the other: for long documents memory counts
            counts = self._take(chart, tables, role)
            n_columns = np.shape(getattr(potentials, role))[1]
            dense[role] = columns_of_groups(automaton, counts, n_columns)
            if entries is not None and chart.observed_arcs is None:
                set_entry_counts(automaton, entries, role, counts)
            del counts
        length = self.arrays["slot"].reshape(chart.n_groups, chart.n_lengths)
        length, tail = length[:, ::-1], self.arrays["tail"]
        if automaton.observed:
            length = columns_of_groups(automaton, length, chart.n_labels).T
            tail = columns_of_groups(automaton, tail[:, None], chart.n_labels)[0]
        return Potentials(
            **dense,
            length=length.copy(),
            tail=tail,
            cells=chart.cell_gradient(self.cell),
            pattern=self.arcs.patterns[: len(potentials.pattern)].copy(),
            entries=entries,
        )

    cdef _entries(self, Chart chart, potentials):
        """A copy of those that are given; with counts, where they are at starts."""
        if potentials.entries is None:
            return None
        if chart.observed_arcs is None:
            n_columns = chart.automaton.n_columns
            return entries_of(potentials, chart.n_tokens, n_columns).copy()
        entries, counts = potentials.entries.copy(), np.asarray(self.arcs.entry)
        entries["score"] = counts[np.asarray(chart.observed_arcs.place)]
        return entries

    cdef _take(self, Chart chart, DPTables tables, role):
        """RETURNS (float64 [G, n]): Expected counts."""
        if role == "inside":
            self.inside = None
            return self.arrays.pop(role)
        if role == "end":
            self.end = None
            return self.arrays.pop(role).T
        if chart.are_tokens:
            return self.arrays["end"].copy().T
        counts = np.zeros((chart.n_tokens, chart.n_groups))
        start_probabilities(chart, tables, counts)
        return counts.T


cdef void start_probabilities(
    Chart chart, DPTables tables, double[:, ::1] found
) noexcept nogil:
    """P(a segment of the group starts at u) = sum_q A[u, q] B[u, q]; [n, G]"""
    cdef Py_ssize_t u, g
    if tables.log_z == -INFINITY:
        return
    for u in range(chart.n_tokens):
        for g in range(chart.n_groups):  # the weight 1, or its log
            found[u, g] = 0.0 if tables.in_logs else 1.0
        _products(
            chart,
            tables,
            &found[u, 0],
            &tables.opened[u, 0],
            &tables.closing[u, 0],
            &found[u, 0],
        )


cdef double _product(
    Chart chart,
    DPTables tables,
    Py_ssize_t g,
    double weight,
    const double* x,
    const double* y,
) noexcept nogil:
    """weight sum_q x[q] y[q] over the states of a group, or exp of it in logs."""
    cdef const int32_t* state = &chart.layout.first_state[g]
    cdef double prob
    if tables.in_logs:
        if weight == -INFINITY:
            return 0.0
        prob = logspace.log_dot(x + state[0], y + state[0], state[1] - state[0])
        return exp(prob + (weight - tables.log_z))
    if weight == 0.0:
        return 0.0
    kernels.pair(state, 1, &weight, 1, y, 1, x, 0, &prob)
    return prob


cdef void _products(
    Chart chart,
    DPTables tables,
    const double* weight,
    const double* x,
    const double* y,
    double* found,
) noexcept nogil:
    """The same for all groups."""
    cdef Py_ssize_t g
    if tables.in_logs:
        for g in range(chart.n_groups):
            found[g] = _product(chart, tables, g, weight[g], x, y)
    else:
        kernels.pair(
            &chart.layout.first_state[0], chart.n_groups, weight, 1, y, 1, x, 0, found
        )
