"""Expected counts: the backward sweep, boundary by boundary.

    P(segment u, j, g) = exp(segment) sum_{q of group g} A[u, q] beta[j, q] / Z
    P(arc e at u)      = mass[e] exp(weight[e]) B[u, q(e)] / Z

Every derivative of log Z is such a probability, or a sum of them. Sums of probabilities
are formed by additions only: the tokens that a segment covers, for instance, from the
longest segment to the shortest and not as a difference of starts and ends.

The forward states suffice for the backward pass and all marginals; the separate
backward states of Nguyen et al. (2011) are not needed.
"""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from . cimport scaled as linear, logspace
from ..chart.columns cimport entries_of
from ..chart.columns import columns_of_groups, set_entry_counts
from ..simd.simd cimport N_LANES
from ..potentials import ROLES, Potentials
from ..chart.dp_tables cimport Tables
from ..chart.dp_tables import Lease

# Rows of beta are kept, without counts, if they have no more numbers.
KEPT = 1_000_000
_NO_ROWS = np.empty((0, 0))


cdef class Expectations(Tables):
    """What follows from the backward sweep of a document: see `inference.Marginals`."""

    cdef clear_counts(self):
        # the log of 1 where that is what weights are
        self.one = np.full(self.n_groups, 0.0 if self.in_logs else 1.0)
        self.betas = _NO_ROWS
        if not self.has_counts:
            self._keep_betas()
            return
        cdef Py_ssize_t n_arcs = self.layout.arc_edge.shape[0]
        cdef Py_ssize_t n_edges = self.edge_weight.shape[0]
        cdef Py_ssize_t n_slots = self.n_groups * self.n_lengths
        cdef double[::1] room
        counts = {
            "inside": np.zeros((self.n_groups, self.n_tokens)),
            "end": np.zeros((self.n_tokens, self.n_groups)),
            "length": np.zeros(n_slots),
            "tail": np.zeros(self.n_groups),
            "pattern": np.zeros(self.pattern_weight.shape[0]),
        }
        self.counts = counts
        self.inside_count, self.end_count = counts["inside"], counts["end"]
        self.slot_count, self.tail_count = counts["length"], counts["tail"]
        self.pattern_count = counts["pattern"]
        if self.starts is not None:
            self.start_count = np.zeros(self.starts.score.shape[0])
        self._clear_lanes(n_arcs)
        room = np.zeros(n_edges + n_slots + self.n_groups + self.cells.n_cells)
        self.edge_count, room = room[:n_edges], room[n_edges:]
        self.prob, room = room[:n_slots], room[n_slots:]
        self.long_prob, self.cell_count = room[: self.n_groups], room[self.n_groups :]

    cdef _keep_betas(self):
        """Room for those that `_set_beta` would have to compute again."""
        cdef Py_ssize_t n_rows = self.n_tokens + 1, size = n_rows * self.n_states
        if size <= KEPT:
            self._lane_lease = lease = Lease(size)
            self.betas = lease.array[:size].reshape(n_rows, self.n_states)

    cdef _clear_lanes(self, Py_ssize_t n_arcs):
        cdef Py_ssize_t n_nodes = self.n_nodes + self.n_states + 2
        self.n_lanes = 1 if self.in_logs else N_LANES
        self._lane_lease = lease = Lease(N_LANES * (n_nodes + n_arcs) + 2 * n_arcs)
        at, end = N_LANES * n_nodes, N_LANES * n_nodes + n_arcs
        array = lease.array
        array[:end] = 0.0
        self.lane_node = array[:at].reshape(n_nodes, N_LANES)
        self.arc_count, self.arc_prob = array[at:end], array[end : end + n_arcs]
        self.arc_more = None
        if self.starts is not None:
            more = array[end + n_arcs : end + n_arcs + N_LANES * n_arcs]
            more[:] = 0.0 if self.in_logs else 1.0
            self.arc_more = more

    cdef bint backward(self) noexcept nogil:
        """Backward sweep; expected counts at each boundary while its row is at hand."""
        cdef Py_ssize_t j, n = self.n_tokens
        linear.clear_flags()
        for j in range(n, -1, -1):
            if 0 < j <= self.base and not self._refill(j):
                return False
            if j == n:
                if not self._end():
                    return False
            else:
                if self.has_counts:
                    self._count_arcs(j)
                if self.in_logs:
                    logspace.close_row(self, j, False)
                else:
                    linear.close_row(self, j)
            if self.betas.shape[0]:
                memcpy(&self.betas[j, 0], &self.beta[0], self.n_states * sizeof(double))
            if j > 0:
                self._count_row(j)
        if self.has_counts:
            self._collect_patterns()
        return self.in_logs or linear.in_range()

    cdef void _count_arcs(self, Py_ssize_t j) noexcept nogil:
        """Those at j, the last boundary with a row; four boundaries at a time. Row 0 of
        a later block is a copy: its boundary belongs to the block before."""
        cdef Py_ssize_t row = j - self.base, end
        if self.in_logs:
            self._count_arcs_at(j, j + 1)
        elif row % N_LANES == 0 or (row == 1 and self.base > 0):
            end = self.base + min(row - row % N_LANES + N_LANES, self.n_rows + 1)
            self._count_arcs_at(j, min(end, self.n_tokens))

    cdef void _count_arcs_at(self, Py_ssize_t j, Py_ssize_t end) noexcept nogil:
        cdef double* more = NULL
        cdef double* count
        cdef Py_ssize_t a
        if not self.arc_count.shape[0]:
            return
        count = &self.arc_count[0]
        if self.starts is not None:
            more = &self.arc_more[0]
            for a in range(end - j):
                self.vary(j + a, more + a, self.starts.arcs.arc, self.n_lanes)
        if self.in_logs:
            logspace.count_arcs(self, j, more, &self.arc_prob[0], count)
        else:
            linear.count_arcs(self, j, end, self.lane_node, more, count)
        if self.starts is not None:
            for a in range(end - j):
                self._count_starts_at(j + a, a)

    cdef void _count_starts_at(self, Py_ssize_t j, Py_ssize_t a) noexcept nogil:
        # Expected count of a pattern at j: that of the arcs that complete it.
        cdef const int32_t[::1] first = self.starts.arcs.first
        cdef const int32_t[::1] arc = self.starts.arcs.arc
        cdef double* more = &self.arc_more[0] + a
        cdef Py_ssize_t t, e, i, n_lanes = self.n_lanes
        cdef Py_ssize_t begin = self.starts.first[j], end = self.starts.first[j + 1]
        cdef double none = 0.0 if self.in_logs else 1.0
        for t in range(begin, end):
            e = self.starts.edge[t]
            if first[e] < first[e + 1]:
                self.start_count[t] += self._arc_probs(
                    &arc[first[e]], first[e + 1] - first[e], a
                )
        for t in range(begin, end):
            e = self.starts.edge[t]
            for i in range(first[e], first[e + 1]):
                more[arc[i] * n_lanes] = none

    cdef double _arc_probs(
        self, const int32_t* arc, Py_ssize_t n, Py_ssize_t a
    ) noexcept nogil:
        """Sum of P(arc at the boundary of this lane) over some arcs."""
        cdef const double* x = &self.lane_node[0, 0] + a
        cdef const double* y = x + self.n_nodes * N_LANES
        cdef const double* more = &self.arc_more[0] + a
        cdef const double* weight = &self.arc_weight[0]
        cdef const int32_t* node = &self.layout.arc_node[0]
        cdef const int32_t* target = &self.layout.arc_target[0]
        cdef Py_ssize_t i, k
        cdef double total = 0.0
        for i in range(n):
            k = arc[i]
            if self.in_logs:
                total += self.arc_prob[k]
            else:
                total += (
                    x[node[k] * N_LANES]
                    * y[target[k] * N_LANES]
                    * (more[k * N_LANES] * weight[k])
                )
        return total

    cdef bint _refill(self, Py_ssize_t j) noexcept nogil:
        if self.in_logs:
            logspace.refill(self, j)
            return True
        return linear.refill(self, j)

    cdef bint _end(self) noexcept nogil:
        """beta at the end; P(state p there) = alpha[n, p] beta[n, p]."""
        cdef Py_ssize_t p
        cdef const double* alpha = &self.alpha[self.n_tokens - self.base, 0]
        cdef double prob
        if self.in_logs:
            logspace.end_row(self)
        elif not linear.end_row(self):
            return False
        for p in range(self.n_states):
            if self.has_counts and self.layout.final_edge[p] >= 0:
                prob = alpha[p] * self.beta[p]
                if self.in_logs:
                    prob = exp(alpha[p] + self.beta[p] - self.log_z)
                self.edge_count[self.layout.final_edge[p]] += prob
        return True

    cdef void _count_row(self, Py_ssize_t j) noexcept nogil:
        """Segments that end at j or run on over it, and B[u] of their starts."""
        if self.in_logs:
            self.segments_ending_at(j)
        if self.has_tail:
            if j < self.n_tokens and self.has_counts:
                self._count_running(j)
            self._set_rest(j)
            if self.has_counts:
                self._count_entering(j)
        if self.has_counts:
            self._count_explicit(j)
            self._count_ends(j)  # may read what the other one has found
        if self.in_logs:
            logspace.push_row(self, j, &self.rest[j % 2, 0], False)
        else:
            linear.push_row(self, j)

    cdef void _set_rest(self, Py_ssize_t j) noexcept nogil:
        """T[j]; and the weights with which R[j - 1] runs on, for the row before."""
        cdef Py_ssize_t g
        cdef const double* keep
        if self.in_logs:
            logspace.rest_row(
                self, j, &self.rest[j % 2, 0], &self.rest[1 - j % 2, 0], False
            )
            for g in range(self.n_groups):
                self.keep[g] = self.more[j - 1, g] + self.tail[g]
            return
        linear.rest_row(self, j)
        keep = self.row_weight(j) + self.at_keep()
        for g in range(self.n_groups):
            self.keep[g] = keep[g]

    cdef double _product(
        self,
        Py_ssize_t g,
        double weight,
        const double* x,
        const double* y,
    ) noexcept nogil:
        """weight sum_q x[q] y[q] over the states of a group, or exp of it in logs."""
        cdef Py_ssize_t a = self.layout.first_state[g]
        cdef Py_ssize_t b = self.layout.first_state[g + 1]
        cdef double prob
        if self.in_logs:
            if weight == -INFINITY:
                return 0.0
            return exp(logspace.log_dot(x + a, y + a, b - a) + (weight - self.log_z))
        if weight == 0.0:
            return 0.0
        kernels.pair(&self.layout.first_state[g], 1, &weight, 1, y, 1, x, 0, &prob)
        return prob

    cdef void _products(
        self,
        const double* weight,
        const double* x,
        const double* y,
        double* found,
    ) noexcept nogil:
        """The same for all groups."""
        cdef Py_ssize_t g, n_groups = self.n_groups
        if self.in_logs:
            for g in range(n_groups):
                found[g] = self._product(g, weight[g], x, y)
        else:
            kernels.pair(
                &self.layout.first_state[0], n_groups, weight, 1, y, 1, x, 0, found
            )

    cdef void count_starts(self, double[:, ::1] start_count) noexcept nogil:
        # P(a segment of the group starts at u) = sum_q A[u, q] B[u, q]
        cdef Py_ssize_t u
        if self.are_tokens and self.has_counts:
            start_count[:, :] = self.end_count
            return
        if self.log_z == -INFINITY:
            return
        for u in range(self.n_tokens):
            self._products(
                &self.one[0],
                &self.opened[u, 0],
                &self.closing[u, 0],
                &start_count[u, 0],
            )

    cdef void _count_ends(self, Py_ssize_t j) noexcept nogil:
        # P(a segment of the group ends at j) = sum_q alpha[j, q] beta[j, q]
        cdef Py_ssize_t g
        if self.are_tokens:
            for g in range(self.n_groups):
                self.end_count[j - 1, g] = self.prob[g]
            return
        self._products(
            &self.one[0],
            &self.alpha[j - self.base, 0],
            &self.beta[0],
            &self.end_count[j - 1, 0],
        )

    cdef void _count_running(self, Py_ssize_t j) noexcept nogil:
        # P(token j lies beyond the horizon of a segment of the group)
        #     = sum_q R[j, q] exp(more[j] + tail) T[j + 1, q]
        cdef Py_ssize_t g
        self._products(
            &self.keep[0],
            &self.running[j - self.base, 0],
            &self.rest[1 - j % 2, 0],
            &self.long_prob[0],
        )
        for g in range(self.n_groups):
            self.inside_count[g, j] += self.long_prob[g]
            self.tail_count[g] += self.long_prob[g]

    cdef void _count_entering(self, Py_ssize_t j) noexcept nogil:
        """Segments whose token j - 1 is the first one beyond the horizon."""
        cdef Py_ssize_t g, t, u = j - self.n_lengths - 1
        cdef const double* enter = &self.enter_score[0]
        cdef double weight
        if not self.in_logs:
            enter = self.row_weight(j) + self.at_enter()
        if u >= 0:
            self._products(
                enter, &self.opened[u, 0], &self.rest[j % 2, 0], &self.long_prob[0]
            )
            for g in range(self.n_groups):
                self._count_long(g, u, j, self.long_prob[g])
        for t in range(self.cells.first_late[j], self.cells.first_late[j + 1]):
            weight = self.cells.late_score[t] if self.in_logs else self.late_weight[t]
            g, u = self.cells.late_group[t], self.cells.late_start[t]
            self._count_one(g, u, j, weight, &self.rest[j % 2, 0])

    cdef double _count_one(
        self,
        Py_ssize_t g,
        Py_ssize_t u,
        Py_ssize_t j,
        double weight,
        const double* follows,
    ) noexcept nogil:
        """A segment of more than D tokens. RETURNS: its probability."""
        cdef double prob = self._product(g, weight, &self.opened[u, 0], follows)
        self._count_long(g, u, j, prob)
        return prob

    cdef void _count_long(
        self, Py_ssize_t g, Py_ssize_t u, Py_ssize_t j, double prob
    ) noexcept nogil:
        cdef Py_ssize_t k
        if prob > 0.0:
            self.slot_count[g * self.n_lengths] += prob
            self.tail_count[g] += prob * (j - u - self.n_lengths)
            for k in range(u, j):
                self.inside_count[g, k] += prob

    cdef void _count_explicit(self, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t g, i, t, u, n_lengths = self.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        cdef double* prob
        cdef double covered, weight
        self._set_probs(j)
        for g in range(self.n_groups):
            prob = &self.prob[g * n_lengths]
            # covered = P(token u is in a segment that ends at j): from long to short
            covered = 0.0
            for i in range(low, n_lengths):
                covered += prob[i]
                self.inside_count[g, first + i - low] += covered
            for i in range(low, n_lengths):
                self.slot_count[g * n_lengths + i] += prob[i]
        for i in range(self.cells.first_short[j], self.cells.first_short[j + 1]):
            t = self.cells.short_cell[i]
            self.cell_count[t] += self.prob[self.cells.short_slot[i]]
        for t in range(self.cells.first_long[j], self.cells.first_long[j + 1]):
            g, u = self.cells.long_group[t], self.cells.long_start[t]
            weight = self.cells.long_score[t] if self.in_logs else self.long_weight[t]
            covered = self._count_one(g, u, j, weight, &self.beta[0])
            if self.cells.long_cell[t] >= 0:
                self.cell_count[self.cells.long_cell[t]] += covered

    cdef void _set_probs(self, Py_ssize_t j) noexcept nogil:
        """Probabilities of the explicit segments that end at j, by slot."""
        cdef Py_ssize_t g, i, n_lengths = self.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
        cdef double* prob = &self.prob[0]
        for g in range(self.n_groups):
            for i in range(low):
                prob[g * n_lengths + i] = 0.0
        if not self.in_logs:
            kernels.pair(
                &self.layout.first_state[0],
                self.n_groups,
                self.row_weight(j) + low,
                n_lengths,
                &self.beta[0],
                n_lengths - low,
                &self.opened[first, 0],
                self.n_states,
                prob + low,
            )
            return
        for g in range(self.n_groups):
            for i in range(low, n_lengths):
                prob[g * n_lengths + i] = self._product(
                    g,
                    self.score[g * n_lengths + i],
                    &self.opened[first + i - low, 0],
                    &self.beta[0],
                )

    cdef void _collect_patterns(self) noexcept nogil:
        # A pattern fires on its own edge and on every edge that it is a suffix of.
        cdef Py_ssize_t e, k
        for k in range(self.arc_count.shape[0]):
            if not self.in_logs:
                self.arc_count[k] *= self.arc_weight[k]
            self.edge_count[self.layout.arc_edge[k]] += self.arc_count[k]
        for e in range(self.edge_count.shape[0] - 1, -1, -1):
            if self.layout.edge_suffix[e] >= 0:
                self.edge_count[self.layout.edge_suffix[e]] += self.edge_count[e]
            if self.layout.edge_pattern[e] >= 0:
                self.pattern_count[self.layout.edge_pattern[e]] = self.edge_count[e]

    cdef set_gradient(self, potentials):
        """From groups back to columns."""
        automaton = self.automaton
        entries = self._entries(potentials)
        dense = {}
        for role in ROLES:  # one after the other: for long documents memory counts
            counts = self._take_counts(role)
            n_columns = np.shape(getattr(potentials, role))[1]
            dense[role] = columns_of_groups(automaton, counts, n_columns)
            if entries is not None and self.starts is None:
                set_entry_counts(automaton, entries, role, counts)
            del counts
        self.tokens = dense["inside"]
        if self.tokens.shape[1] > self.n_labels:
            self.tokens = self.tokens[:, : self.n_labels].copy()
        length = self.counts["length"].reshape(self.n_groups, self.n_lengths)
        length, tail = length[:, ::-1], self.counts["tail"]
        if automaton.observed:
            length = columns_of_groups(automaton, length, self.n_labels).T
            tail = columns_of_groups(automaton, tail[:, None], self.n_labels)[0]
        self.gradient = Potentials(
            **dense,
            length=length.copy(),
            tail=tail,
            cells=self.cell_gradient(self.cell_count),
            pattern=self.counts["pattern"][: len(potentials.pattern)].copy(),
            entries=entries,
        )

    cdef _entries(self, potentials):
        """A copy of those that are given; with counts, where they are at starts."""
        if potentials.entries is None:
            return None
        if self.starts is None:
            n_columns = self.automaton.n_columns
            return entries_of(potentials, self.n_tokens, n_columns).copy()
        entries, counts = potentials.entries.copy(), np.asarray(self.start_count)
        entries["score"] = counts[np.asarray(self.starts.place)]
        return entries

    cdef _take_counts(self, role):
        """RETURNS (float64 [G, n]): Expected counts, which are forgotten here."""
        if role == "inside":
            self.inside_count = None
            return self.counts.pop(role)
        if role == "end":
            self.end_count = None
        else:
            self.counts["start"] = counts = np.zeros((self.n_tokens, self.n_groups))
            self.count_starts(counts)
        return self.counts.pop(role).T
