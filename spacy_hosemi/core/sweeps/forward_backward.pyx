"""The forward and the backward sweep over one document, and probabilities of segments.

First in scaled arithmetic; where a number leaves its range, again in log domain.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from . cimport logspace, scaled, scaled_backward
from ..chart.observed_arcs cimport ObservedArcs, observed_arcs_of
from ..chart.chart cimport Chart
from ..chart.checks cimport check_sum
from ..chart.dp_tables cimport DPTables
from ..chart.dp_tables import Lease
from ..chart.load cimport make_chart
from ..chart.span_lists cimport Open, SpanLists
from .expectations cimport expectations, start_probabilities

# Rows of beta are kept, without counts, if they have no more numbers.
KEPT = 1_000_000
_NO_ROWS = np.empty((0, 0))


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


cdef bint forward(Chart chart, DPTables tables) noexcept nogil:
    """Fill the forward tables, set log_z. RETURNS: whether it can be trusted."""
    cdef Py_ssize_t j
    if not tables.in_logs and not scaled.begin(tables):
        return False
    tables.clear()
    tables.base = 0
    tables.alpha[0, 0] = 0.0 if tables.in_logs else 1.0
    for j in range(chart.n_tokens + 1):
        if j > 0:
            if j - tables.base > tables.n_rows:
                tables.begin_block(j - 1)
            chart.segments_ending_at(j)
            if tables.in_logs:
                logspace.end_segments(chart, tables, j)
            elif not scaled.end_segments(chart, tables, j):
                return False
        if j == 0 or j < chart.n_tokens:
            if tables.in_logs:
                logspace.open_row(chart, tables, j)
            else:
                scaled.open_row(chart, tables, j)
    if tables.in_logs:
        logspace.set_log_z(chart, tables)
        return True
    return scaled.set_log_z(chart, tables)


cdef bint _refill(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Make the forward rows of the block of boundary j > 0 again."""
    cdef Py_ssize_t block = (j - 1) // tables.n_rows, k
    cdef Py_ssize_t last = min((block + 1) * tables.n_rows, chart.n_tokens)
    tables.begin_again(block)
    if not tables.in_logs:
        scaled.begin_again(chart, tables)
    for k in range(tables.base + 1, last + 1):
        chart.segments_ending_at(k)
        if tables.in_logs:
            logspace.end_segments(chart, tables, k)
            continue
        if not scaled.end_segments(chart, tables, k):
            return False
        if k < chart.n_tokens:
            scaled.bound_opened(chart, tables, k)
    return True


@cython.final
cdef class ForwardBackward:
    """Both sweeps over one document, and what they have left.

    first (int): The boundary at which the backward sweep ends, where no segment that
        ends earlier will be asked for; else 0.
    """

    cdef load(self, automaton, potentials, constraints, bint counts):
        """counts: Whether there shall be a gradient."""
        self.chart = chart_for_sums(automaton, potentials, constraints)
        self.tables = DPTables()
        self._allocate(in_logs=False, counts=counts)

    cdef _allocate(self, bint in_logs, bint counts):
        cdef Py_ssize_t n_rows = self.chart.n_tokens + 1, n_states = self.chart.n_states
        self.tables.allocate(self.chart, in_logs=in_logs)
        self.betas = _NO_ROWS
        if counts:
            self.expected = expectations(self.chart, self.tables)
        elif n_rows * n_states <= KEPT:
            self._lease = lease = Lease(n_rows * n_states)
            self.betas = lease.array[: n_rows * n_states].reshape(n_rows, n_states)

    cdef list_spans(self, SpanLists spans):
        """Let the task list spans, if there are no observed patterns."""
        if self.chart.n_groups == self.chart.n_labels:
            self.spans = spans
            self.start_prob = np.zeros((self.chart.n_tokens, self.chart.n_groups))

    cdef void run(self) noexcept nogil:
        """The sweeps in scaled arithmetic, of this document and the next ones."""
        self.is_in_range = forward(self.chart, self.tables)
        if self.is_in_range and self.tables.log_z > -INFINITY:
            self.is_in_range = self._backward()
        if self.is_in_range and self.spans is not None:
            start_probabilities(self.chart, self.tables, self.start_prob)
            self.first_span = self.spans.n
            self.add_spans(self.start_prob, self.spans, False)
            self.end_span = self.spans.n
        if self.next is not None:
            self.next.run()

    cdef finish(self):
        """Once more in log domain, if need be. RAISES (ValueError): HS124."""
        self.next = None
        if not self.is_in_range:
            self.spans = None
            self._allocate(in_logs=True, counts=self.expected is not None)
            with nogil:
                forward(self.chart, self.tables)
                if self.tables.log_z > -INFINITY:
                    self._backward()
        check_sum(self.tables.log_z)

    cdef bint _backward(self) noexcept nogil:
        """Expected counts at each boundary while its row is at hand. RETURNS: whether
        the sweep can be trusted."""
        cdef Py_ssize_t j, n = self.chart.n_tokens, n_states = self.chart.n_states
        scaled.clear_flags()
        for j in range(n, self.first - 1, -1):
            if 0 < j <= self.tables.base and not _refill(self.chart, self.tables, j):
                return False
            if j == n:
                if not self._end_row():
                    return False
            else:
                if self.expected is not None:
                    self.expected.arcs.add(self.chart, self.tables, j)
                if self.tables.in_logs:
                    logspace.close_row(self.chart, self.tables, j, False)
                else:
                    scaled_backward.close_row(self.chart, self.tables, j)
            if self.betas.shape[0]:
                memcpy(
                    &self.betas[j, 0], &self.tables.beta[0], n_states * sizeof(double)
                )
            if j > 0:
                self._count_row(j)
        if self.expected is not None:
            self.expected.arcs.finish(self.chart, self.tables)
        return self.tables.in_logs or scaled.in_range()

    cdef bint _end_row(self) noexcept nogil:
        """beta at the end."""
        cdef Py_ssize_t row = self.chart.n_tokens - self.tables.base
        if self.tables.in_logs:
            logspace.end_row(self.chart, self.tables)
        elif not scaled_backward.end_row(self.chart, self.tables):
            return False
        if self.expected is not None:
            self.expected.arcs.add_end(
                self.chart, self.tables, &self.tables.alpha[row, 0]
            )
        return True

    cdef void _count_row(self, Py_ssize_t j) noexcept nogil:
        """Segments that end at j or run on over it, and B[u] of their starts."""
        if self.tables.in_logs:
            self.chart.segments_ending_at(j)
        if self.chart.has_tail:
            if j < self.chart.n_tokens and self.expected is not None:
                self.expected.add_running(self.chart, self.tables, j)
            self._set_rest(j)
            if self.expected is not None:
                self.expected.add_entering(self.chart, self.tables, j)
        if self.expected is not None:
            self.expected.add_explicit(self.chart, self.tables, j)
        if self.tables.in_logs:
            logspace.push_row(
                self.chart, self.tables, j, &self.tables.rest[j % 2, 0], False
            )
        else:
            scaled_backward.push_row(self.chart, self.tables, j)

    cdef void _set_rest(self, Py_ssize_t j) noexcept nogil:
        """T[j]; and the weights with which R[j - 1] runs on, for the row before."""
        cdef Py_ssize_t g
        cdef double* rest = &self.tables.rest[j % 2, 0]
        cdef const double* keep
        if self.tables.in_logs:
            logspace.rest_row(
                self.chart,
                self.tables,
                j,
                rest,
                &self.tables.rest[1 - j % 2, 0],
                False,
            )
            for g in range(self.chart.n_groups):
                self.tables.keep[g] = self.chart.more[j - 1, g] + self.chart.tail[g]
            return
        scaled_backward.rest_row(self.chart, self.tables, j)
        keep = self.tables.row_weight(j) + self.tables.at_keep
        for g in range(self.chart.n_groups):
            self.tables.keep[g] = keep[g]

    # after the sweeps

    cdef double probability(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y
    ) noexcept nogil:
        """P(segment u, j, y)"""
        cdef Py_ssize_t g
        cdef double total = 0.0
        cdef const double* beta
        if self.tables.log_z == -INFINITY:
            return 0.0
        beta = self._beta(j)
        for g in range(self.chart.n_groups):
            if self.chart.layout.group_label[g] == y:
                total += self._one(u, g, self.chart.segment_score(u, j, g), j, beta)
        return total

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
        cdef double total = -INFINITY, value, score, scale = -self.tables.log_z
        cdef double[:, ::1] v = np.full((2, n_states), -INFINITY)
        cdef int32_t[:, ::1] reached = np.empty((2, n_states), np.int32)
        cdef const double* beta
        if self.tables.log_z == -INFINITY:
            return 0.0
        if not self.tables.in_logs:
            scale = self.tables.opened_scale[u] - self.tables.alpha_scale[j]
        for g in range(chart.n_groups):
            if not allowed[0, chart.layout.group_label[g]]:
                continue
            score = chart.segment_score(u, u + 1, g)
            end = chart.layout.first_state[g + 1]
            for q in range(chart.layout.first_state[g], end):
                value = self.tables.opened[u, q]
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
                        v[then, to] = logspace.log_add(v[then, to], value)
                v[now, q] = -INFINITY
            n = n_next
        beta, then = self._beta(j), (j - u - 1) % 2
        for k in range(n):
            q = reached[then, k]
            value = beta[q] if self.tables.in_logs else log(beta[q])
            total = logspace.log_add(total, v[then, q] + value)
        return min(exp(total + scale), 1.0)

    cdef void add_spans(
        self, const double[:, :] starts, SpanLists spans, bint outside
    ) noexcept nogil:
        """Add what `Marginals.segments_above` lists; starts [n, L] are
        probabilities."""
        cdef double p = spans.p, total, score, more
        cdef double some = p * (1.0 - 1e-9), least = some - 1e-12
        cdef Py_ssize_t j, u, g, y, i, k, n_left
        cdef Open* one
        cdef const double* beta
        spans.n_open = 0
        for j in range(1, self.chart.n_tokens + 1):
            for y in range(0 if outside else 1, self.chart.n_labels):
                if starts[j - 1, y] < some:
                    continue
                for g in range(self.chart.n_groups):
                    if self.chart.layout.group_label[g] == y:
                        spans.begin(j - 1, y, g, starts[j - 1, y])
            if not spans.n_open:
                continue
            beta = self._beta(j)
            i = n_left = 0
            while i < spans.n_open:
                k, total = i, 0.0
                u, y = spans.open[i].start, spans.open[i].label
                # group by group
                while k < spans.n_open:
                    one = &spans.open[k]
                    if one.start != u or one.label != y:
                        break
                    g = one.group
                    if j > u + 1:
                        one.more += self.chart.more[j - 1, g]
                    score = self.chart.first[u, g] + one.more + self.chart.end[j - 1, g]
                    more = self.chart.cells_of(u, j, g)
                    score += self.chart.length_score(g, j - u) + more
                    total += self._one(u, g, score, j, beta)
                    k += 1
                if total >= p * (1.0 - 1e-12):
                    spans.add(0, u, j, y, total)
                spans.open[i].left -= total
                if spans.open[i].left >= least:
                    for g in range(i, k):
                        spans.open[n_left] = spans.open[g]
                        n_left += 1
                i = k
            spans.n_open = n_left

    cdef const double* _beta(self, Py_ssize_t j) noexcept nogil:
        """beta of one boundary: stored, or formed from B."""
        if self.betas.shape[0]:
            return &self.betas[j, 0]
        if j == self.chart.n_tokens:
            if self.tables.in_logs:
                logspace.end_row(self.chart, self.tables)
            else:
                scaled_backward.end_row(self.chart, self.tables)
        elif self.tables.in_logs:
            logspace.close_row(self.chart, self.tables, j, False)
        else:
            scaled_backward.close_row(self.chart, self.tables, j)
        return &self.tables.beta[0]

    cdef double _one(
        self,
        Py_ssize_t u,
        Py_ssize_t g,
        double score,
        Py_ssize_t j,
        const double* beta,         # of j
    ) noexcept nogil:
        """Probability of a segment from u with this score."""
        cdef Py_ssize_t a = self.chart.layout.first_state[g]
        cdef Py_ssize_t n = self.chart.layout.first_state[g + 1] - a
        cdef const double* opened = &self.tables.opened[u, 0] + a
        if self.tables.log_z == -INFINITY or score == -INFINITY:
            return 0.0
        if self.tables.in_logs:
            score -= self.tables.log_z
            return exp(logspace.log_dot(opened, beta + a, n) + score)
        score += self.tables.opened_scale[u] - self.tables.alpha_scale[j]
        return scaled_backward.probability(opened, beta + a, n, 1, score)
