"""Bounds that prune Viterbi decoding: the groups that may cover a token in a best
segmentation. Where there are many labels, one or two are usually left.

The bounds come from a relaxation of first order. It gives each segment the best length
and the best cell at its start, and between two groups h, g the largest weight of label
patterns T[h, g] that any state of h can give:

    F[i, g] = max(max_h F[i-1, h] + end[i-1, h] + T[h, g] + start(i, g),
                  F[i-1, g] + on(i, g))
    start(i, g) = first[i, g] + max_d length(g, d) + max(0, best cell of g from i)
    on(i, g)    = more[i, g] + tail[g], or with D > 1 + max(tail[g], 0)

and H likewise from the right, without token i. So F[i, g] + H[i, g] is at least the
score of every segmentation in which g covers i. The best path of the relaxation is a
segmentation itself, and its true score is a lower bound on the best one. Where F + H is
below that score, g covers i in no best segmentation and is pruned. Groups that tie are
left, so ties are broken by the same rule. (Bounds from a coarser model are those of A*
parsing: Klein and Manning 2003.)
"""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, uint8_t

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from ..chart.layout cimport Layout
from ..chart.load cimport make_chart

# The largest table of edges, by label and state.
MOST_ARCS = 200_000

# More than rounding can change of the score of a path, as a part of it.
cdef double SLACK = 1e-14


def groups_left(automaton, potentials, constraints=None):
    """Returns the groups of states that bounds leave at each token; None where they
    leave more than half, or there are too many states or no tokens."""
    cdef Chart chart = make_chart(automaton, potentials, constraints)
    cdef ArcTable arcs = arc_table_of(chart)
    cdef Bounds bounds = Bounds(chart.n_tokens, chart.n_groups)
    cdef int32_t[:, ::1] path = np.empty((chart.n_tokens, 3), np.int32)
    if arcs is None or not chart.n_tokens or not bounds.find(chart, arcs, path):
        return None
    group, first = np.asarray(bounds.group), np.asarray(bounds.first).tolist()
    return [group[i:j].tolist() for i, j in zip(first, first[1:])]


cdef class ArcTable:
    """Where each label leads from each state, and the weight of that edge, which is
    -inf where the grammar forbids it; and the most of these by group."""


cdef ArcTable arc_table_of(Chart chart):
    """Returns the last document's if weights are the same; None: there are too many."""
    cdef Layout layout = chart.layout
    cdef ArcTable known = layout.arc_table
    if chart.n_labels * chart.n_states > MOST_ARCS:
        return None
    if known is None or known.edge_weights is not chart.edge_weights:
        layout.arc_table = known = _make_arc_table(chart)
    return known


cdef ArcTable _make_arc_table(Chart chart):
    cdef ArcTable made = ArcTable()
    cdef Py_ssize_t n_labels = chart.n_labels, n_groups = chart.n_groups
    cdef Py_ssize_t y, q, g, h, t
    cdef int32_t[::1] target = np.empty(n_labels, np.int32)
    cdef double[::1] weight = np.empty(n_labels)
    made.edge_weights = chart.edge_weights
    made.n_tried = made.n_pruned = 0
    made.weight = np.full((n_labels, chart.n_states), -np.inf)
    made.target = np.zeros((n_labels, chart.n_states), np.int32)
    made.begin = np.full(n_groups, -np.inf)
    made.pair = np.full((n_groups, n_groups), -np.inf)
    made.finish = np.full(n_groups, -np.inf)
    for q in range(chart.n_states):
        chart.follow(q, target, weight)
        h = chart.layout.state_group[q]
        if h >= 0:
            made.finish[h] = max(made.finish[h], chart.final_weight(q))
        for y in range(n_labels):
            t = target[y]
            if t < 0:
                continue
            made.target[y, q], made.weight[y, q] = <int32_t>t, weight[y]
            g = chart.layout.state_group[t]
            if h >= 0:
                made.pair[h, g] = max(made.pair[h, g], weight[y])
            else:  # of ^, the only state without a group
                made.begin[g] = max(made.begin[g], weight[y])
    made.pair_back = np.ascontiguousarray(made.pair.T)
    return made


cdef class Bounds:
    """The groups left at token i: group[first[i]:first[i + 1]]; for n_tokens or
    fewer."""

    def __init__(self, Py_ssize_t n_tokens, Py_ssize_t n_groups):
        self.forward = np.empty((n_tokens, n_groups))
        self.gain = np.empty((n_tokens, n_groups))
        self.backward = np.empty((2, n_groups))
        self.length, self.on = np.empty(n_groups), np.empty(n_groups)
        self.vector = np.empty(n_groups)
        self.is_active = np.empty((n_tokens, n_groups), np.uint8)
        self.group = np.empty(n_tokens * n_groups, np.int32)
        self.first = np.empty(n_tokens + 1, np.int32)

    cdef bint find(
        self, Chart chart, ArcTable arcs, int32_t[:, ::1] path
    ) noexcept nogil:
        """Find the groups of a document, with int32 [n, 3] work space. Returns whether
        at most half are left; if not, forget it."""
        cdef double least
        self._set_lengths(chart)
        self._set_gain(chart)
        if not self._go_forward(chart, arcs):
            return False
        least = self._score_of_best(chart, arcs, path)
        return least > -INFINITY and self._go_backward(chart, arcs, least)

    cdef void _set_lengths(self, Chart chart) noexcept nogil:
        """The best length of each group, and the most that one more token gives."""
        cdef Py_ssize_t g, d
        cdef double best, tail
        for g in range(chart.n_groups):
            best, tail = -INFINITY, chart.tail[g]
            for d in range(g * chart.n_lengths, (g + 1) * chart.n_lengths):
                best = max(best, chart.length_backwards[d])
            self.length[g] = best
            self.on[g] = tail if chart.n_lengths == 1 else max(tail, 0.0)

    cdef void _set_gain(self, Chart chart) noexcept nogil:
        """The best cell of each start and group, if it is above 0."""
        cdef Py_ssize_t j, k, u, g, n_lengths = chart.n_lengths
        self.has_gain = chart.cells.n_cells > 0
        if not self.has_gain:
            return
        self.gain[: chart.n_tokens, :] = 0.0
        for j in range(1, chart.n_tokens + 1):
            for k in range(chart.cells.first_short[j], chart.cells.first_short[j + 1]):
                g = chart.cells.short_slot[k] // n_lengths
                u = j - ((g + 1) * n_lengths - chart.cells.short_slot[k])
                self.gain[u, g] = max(self.gain[u, g], chart.cells.short_score[k])
            for k in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
                u, g = chart.cells.long_start[k], chart.cells.long_group[k]
                self.gain[u, g] = max(self.gain[u, g], chart.cells.long_extra[k])

    cdef bint _go_forward(self, Chart chart, ArcTable arcs) noexcept nogil:
        """F. RETURNS: whether the relaxation has a path."""
        cdef Py_ssize_t i, g, n_groups = chart.n_groups
        cdef double* x = &self.vector[0]
        cdef const double* on = &self.on[0]
        cdef const double* before = NULL
        cdef const double* end
        cdef const double* more
        cdef double* row
        cdef double top, value, scale = 0.0
        for i in range(chart.n_tokens):
            row = &self.forward[i, 0]
            if i == 0:
                for g in range(n_groups):
                    row[g] = arcs.begin[g]
            else:
                end = &chart.end[i - 1, 0]
                for g in range(n_groups):
                    x[g] = before[g] + end[g]
                    row[g] = -INFINITY
                kernels.relax_max(&arcs.pair[0, 0], x, n_groups, n_groups, row)
            self._add_start(chart, i, row)
            if i > 0:
                more = &chart.more[i, 0]
                for g in range(n_groups):
                    value = before[g] + (more[g] + on[g])
                    row[g] = value if value > row[g] else row[g]
            top = -INFINITY
            for g in range(n_groups):
                top = row[g] if row[g] > top else top
                value = fabs(row[g])
                if value < INFINITY and value > scale:
                    scale = value
            if top == -INFINITY:
                return False
            before = row
        self.scale = scale
        return True

    cdef void _add_start(self, Chart chart, Py_ssize_t i, double* row) noexcept nogil:
        """row[g] += start(i, g)"""
        cdef Py_ssize_t g
        cdef const double* first = &chart.first[i, 0]
        cdef const double* length = &self.length[0]
        for g in range(chart.n_groups):
            row[g] += first[g] + length[g]
        if self.has_gain:
            for g in range(chart.n_groups):
                row[g] += self.gain[i, g]

    cdef double _score_of_best(
        self, Chart chart, ArcTable arcs, int32_t[:, ::1] path
    ) noexcept nogil:
        """The true score of the best path of the relaxation; -inf: it is none."""
        cdef Py_ssize_t i, h, j, g = 0, k = chart.n_tokens, state = 0
        cdef double best = -INFINITY, value, total = 0.0
        i = chart.n_tokens - 1
        for h in range(chart.n_groups):
            value = self.forward[i, h] + chart.end[i, h] + arcs.finish[h]
            if value > best:
                g, best = h, value
        if best == -INFINITY:
            return best
        j = chart.n_tokens
        while True:  # from right to left
            i = j - 1
            while i > 0:
                value = self.forward[i - 1, g] + (chart.more[i, g] + self.on[g])
                if self.forward[i, g] != value:
                    break
                i -= 1
            k -= 1
            path[k, 0], path[k, 1] = <int32_t>i, <int32_t>j
            path[k, 2] = chart.layout.group_label[g]
            if i == 0:
                break
            g, j = self._best_before(chart, arcs, i, g), i
        for k in range(k, chart.n_tokens):
            state = chart.add_step(state, path[k, 0], path[k, 1], path[k, 2], &total)
            if state < 0:
                return -INFINITY
        return total + chart.final_weight(state)

    cdef Py_ssize_t _best_before(
        self, Chart chart, ArcTable arcs, Py_ssize_t i, Py_ssize_t g
    ) noexcept nogil:
        """The group of token i - 1 on the best path that has g begin at i."""
        cdef Py_ssize_t h, found = 0
        cdef double best = -INFINITY, value
        for h in range(chart.n_groups):
            value = self.forward[i - 1, h] + chart.end[i - 1, h] + arcs.pair[h, g]
            if value > best:
                found, best = h, value
        return found

    cdef bint _go_backward(
        self, Chart chart, ArcTable arcs, double least
    ) noexcept nogil:
        """H, through the groups that are left. RETURNS: whether those are few."""
        cdef Py_ssize_t i, g, n_groups = chart.n_groups, n = chart.n_tokens
        cdef Py_ssize_t n_left = n * n_groups
        cdef const double* forward
        cdef const double* end
        cdef double* row
        cdef uint8_t* is_active
        least -= SLACK * (n + 10) * max(self.scale, fabs(least))
        self.least = least
        # The lists grow from the right: they stand at the end of `group`.
        self.first[n] = <int32_t>n_left
        for i in range(n - 1, -1, -1):
            row = &self.backward[i % 2, 0]
            if i == n - 1:
                for g in range(n_groups):
                    row[g] = arcs.finish[g]
            else:
                self._set_begun(chart, arcs, i, row)
            end = &chart.end[i, 0]
            for g in range(n_groups):
                row[g] += end[g]
            if i < n - 1:
                self._set_goes_on(chart, i, row)
            forward, is_active = &self.forward[i, 0], &self.is_active[i, 0]
            for g in range(n_groups):
                is_active[g] = forward[g] + row[g] >= least
            if n_groups > chart.n_labels:
                self._join_labels(chart, i)
            for g in range(n_groups - 1, -1, -1):
                if is_active[g]:
                    n_left -= 1
                    self.group[n_left] = <int32_t>g
            self.first[i] = <int32_t>n_left
            # More than half of those up to here would be about as much work as all.
            if 2 * (self.first[n] - n_left) > n_groups * (n - i + 1):
                return False
        return True

    cdef void _set_begun(
        self, Chart chart, ArcTable arcs, Py_ssize_t i, double* row
    ) noexcept nogil:
        """row[h] = max_g T[h, g] + start(i + 1, g) + H[i + 1, g]"""
        cdef Py_ssize_t k, g
        cdef double value
        for g in range(chart.n_groups):
            row[g] = -INFINITY
        for k in range(self.first[i + 1], self.first[i + 2]):
            g = self.group[k]
            value = chart.first[i + 1, g] + self.length[g]
            if self.has_gain:
                value += self.gain[i + 1, g]
            value += self.backward[(i + 1) % 2, g]
            kernels.relax_max(
                &arcs.pair_back[g, 0], &value, 1, chart.n_groups, row
            )

    cdef void _set_goes_on(self, Chart chart, Py_ssize_t i, double* row) noexcept nogil:
        """row[g] = max(row[g], on(i + 1, g) + H[i + 1, g])"""
        cdef Py_ssize_t k, g
        cdef double value
        for k in range(self.first[i + 1], self.first[i + 2]):
            g = self.group[k]
            value = self.backward[(i + 1) % 2, g] + (chart.more[i + 1, g] + self.on[g])
            row[g] = value if value > row[g] else row[g]

    cdef void _join_labels(self, Chart chart, Py_ssize_t i) noexcept nogil:
        """All groups of a label are left, or none: they stand side by side."""
        cdef Py_ssize_t g
        for g in range(1, chart.n_groups):
            if chart.layout.group_label[g] == chart.layout.group_label[g - 1]:
                self.is_active[i, g] |= self.is_active[i, g - 1]
        for g in range(chart.n_groups - 1, 0, -1):
            if chart.layout.group_label[g] == chart.layout.group_label[g - 1]:
                self.is_active[i, g - 1] |= self.is_active[i, g]
