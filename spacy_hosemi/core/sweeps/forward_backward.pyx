"""Both sweeps over one document, and probabilities of segments.

First in scaled arithmetic; where a number leaves its range, again in logs.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, uint8_t

from . cimport lanes
from ..chart.observed_arcs cimport ObservedArcs, observed_arcs_of
from ..chart.chart cimport Chart
from ..chart.checks cimport check_sum
from ..chart.load cimport make_chart
from ..chart.span_lists cimport SpanLists
from ..parallel.tasks cimport Task
from ..simd.lanes cimport LOGS, ONE, log_add
from .lane_counts cimport counts_of_document
from .lane_tables cimport LaneTables


cdef Chart chart_for_sums(automaton, potentials, constraints):
    """The chart of a document. Observed patterns split no states if all of their scores
    are entries at the start of segments."""
    cdef ObservedArcs entries = observed_arcs_of(automaton, potentials)
    cdef Chart chart
    if entries is not None:
        automaton, potentials = entries.automaton, entries.potentials
    chart = make_chart(automaton, potentials, constraints)
    chart.observed_arcs = entries
    return chart


cdef double segment_probability(
    LaneTables tables,
    Py_ssize_t a,                       # lane of the document
    Chart chart,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t y,
) noexcept nogil:
    """P(segment u, j, y)"""
    cdef Py_ssize_t g
    cdef double total = 0.0, score
    for g in range(chart.n_groups):
        if chart.layout.group_label[g] == y:
            score = chart.segment_score(u, j, g)
            total += lanes.probability(tables, a, u, j, g, score)
    return total


cdef double list_segments(
    LaneTables tables,
    Py_ssize_t a,                       # lane of the document
    Chart chart,
    const double[:, :] starts,          # [n, L] P(a segment of the label starts there)
    double p,
    bint outside,
    Py_ssize_t d,                       # number of the document in the list
    SpanLists spans,
) noexcept nogil:
    """List segments of at least probability p, see `Marginals.segments_above`; a list
    of scores has scores for probabilities. Returns how many segments are expected."""
    cdef double open_, prob, score, n_expected = 0.0
    cdef double some = p * (1.0 - 1e-9), least = some - 1e-12 if p > 0.0 else -INFINITY
    cdef Py_ssize_t u, j, y, g, low, high
    cdef double* more = &chart.enter_score[0]  # of each group; work
    for u in range(chart.n_tokens):
        for y in range(0 if outside else 1, chart.n_labels):
            open_ = starts[u, y]
            n_expected += open_
            if open_ < some:
                continue
            low, high = y, y + 1
            if chart.n_groups > chart.n_labels:
                low, high = 0, chart.n_groups
            for g in range(low, high):
                more[g] = 0.0
            for j in range(u + 1, chart.n_tokens + 1):
                prob = 0.0
                for g in range(low, high):
                    if chart.layout.group_label[g] != y:
                        continue
                    if j > u + 1:
                        more[g] += chart.more[j - 1, g]
                    score = chart.first[u, g] + more[g] + chart.end[j - 1, g]
                    score += chart.length_score(g, j - u)
                    if chart.cells.n_cells:
                        score += chart.cells_of(u, j, g)
                    prob += lanes.probability(tables, a, u, j, g, score)
                if prob >= p * (1.0 - 1e-12):
                    score = chart.segment_score(u, j, y) if spans.has_scores else prob
                    spans.add(d, u, j, y, score)
                open_ -= prob
                if open_ < least:
                    break
    return n_expected


@cython.final
cdef class ForwardBackward(Task):
    """Both sweeps over one document, and what they have left; with `counts` for a
    gradient. Of segments that end before `first`, nothing will be asked; without
    `goes_back`, only log Z."""

    def __init__(
        self,
        automaton,
        potentials,
        constraints,
        bint counts,
        Py_ssize_t first=0,
        bint goes_back=True,
    ):
        self.chart = chart_for_sums(automaton, potentials, constraints)
        self.first, self.goes_back = first, goes_back
        self._allocate(ONE, counts)

    cdef _allocate(self, int kind, bint counts):
        self.tables = self.expected = None  # the other ones, first
        self.tables = LaneTables(self.chart.automaton, kind)
        finds_starts = self.goes_back and not counts
        self.is_fit = self.tables.hold(
            self.chart, finds_starts, counts, self.goes_back
        )
        self.tables.stop_at(self.first)
        if counts:
            self.expected = counts_of_document(self.chart, self.tables)

    cdef void run(self) noexcept nogil:
        """The sweeps, in scaled arithmetic at first."""
        if self.chart.n_tokens:
            self.is_in_range = self.is_fit and lanes.run(self.tables, self.expected)
            self.log_z = lanes.log_z(self.tables, 0)
            return
        self.is_in_range, self.log_z = True, self.chart.final_weight(0)
        if self.expected is not None and self.log_z > -INFINITY:
            self.expected.final[0] = 1.0

    cdef finish(self):
        """Once more in logs, if need be. RAISES (ValueError): HS124."""
        if not self.is_in_range:
            self._allocate(LOGS, self.expected is not None)
            self.do()
        check_sum(self.log_z)

    # after the sweeps

    cdef starts(self):
        """Returns P(a segment of the group starts at a token), float64 [n, G]."""
        cdef Py_ssize_t n = self.chart.n_tokens
        if self.log_z == -INFINITY or not n:
            return np.zeros((n, self.chart.n_groups))
        return np.array(self.tables.starts[:n, :, 0])

    cdef double probability_of_labels(
        self, Py_ssize_t u, const uint8_t[:, ::1] allowed
    ):
        """P(each token from u on has one of the labels that are allowed for it), where
        all segments have one token:

            v[q]  = opened[u, q] exp(score[u, q])
            v[q'] = sum_q v[q] exp(weight[q, q'] + score[i, q'])  for each later token i
            P     = sum_q v[q] beta[j, q] / Z
        """
        cdef Chart chart = self.chart
        cdef Py_ssize_t n_states = chart.n_states, j = u + allowed.shape[0]
        cdef Py_ssize_t i, k, q, y, g, to, edge, n = 0, n_next, now, then, end
        cdef double total = -INFINITY, value, score, scale
        cdef double[:, ::1] v = np.full((2, n_states), -INFINITY)
        cdef int32_t[:, ::1] reached = np.empty((2, n_states), np.int32)
        if self.log_z == -INFINITY:
            return 0.0
        scale = self.tables.opened_scale[u + 1, 0] - self.tables.scale[j + 1, 0]
        for g in range(chart.n_groups):
            if not allowed[0, chart.layout.group_label[g]]:
                continue
            score = chart.segment_score(u, u + 1, g)
            end = chart.layout.first_state[g + 1]
            for q in range(chart.layout.first_state[g], end):
                value = self.tables.opened[u + 1, q, 0]
                value = (value if self.tables.in_logs else log(value)) + score
                if value > -INFINITY:
                    v[0, q], reached[0, n] = value, q
                    n += 1
        for i in range(u + 1, j):
            now, then, n_next = 1 - (i - u) % 2, (i - u) % 2, 0
            for k in range(n):
                q = reached[now, k]
                for y in range(chart.n_labels):
                    edge = chart.edge_of(q, y) if allowed[i - u, y] else -1
                    to = chart.state_behind(edge, q, y) if edge >= 0 else -1
                    if to < 0:
                        continue
                    value = v[now, q] + chart.edge_weight[edge]
                    if chart.observed_arcs is not None:
                        value += chart.score_at_start(i, edge)
                    g = chart.layout.state_group[to]
                    value += chart.segment_score(i, i + 1, g)
                    if value > -INFINITY:
                        if v[then, to] == -INFINITY:
                            reached[then, n_next] = to
                            n_next += 1
                        v[then, to] = log_add(v[then, to], value)
                v[now, q] = -INFINITY
            n = n_next
        then = (j - u - 1) % 2
        for k in range(n):
            q = reached[then, k]
            value = self.tables.beta[j, q, 0]
            value = value if self.tables.in_logs else log(value)
            total = log_add(total, v[then, q] + value)
        return min(exp(total + scale), 1.0)
