"""The rows of `Backward`, in logs: B, T and beta as in `lanes`.

With `maximum`, max stands for +, and the sweep is that of Viterbi decoding; else
log-add.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from ..chart.layout cimport Sums
from ..simd.lanes cimport LOGS, lane_sum, log_add
from .backward cimport Backward


cdef void close_row(Backward backward, Py_ssize_t j) noexcept nogil:
    """beta[j] from B[j]: the arcs and the suffix sums, transposed."""
    cdef const Sums* sums = &backward.arcs_out
    cdef const double* weight = &backward.out_weight[0]
    cdef double* slot = &backward.back_node[0]
    memcpy(slot, &backward.closing[j, 0], backward.chart.n_states * sizeof(double))
    if backward.maximum:
        kernels.max_quads(
            sums.fan, sums.output, sums.input, weight, sums.n_quads, slot
        )
    else:
        lane_sum(
            LOGS, sums.fan, sums.output, sums.input, weight, sums.n_quads, slot
        )


cdef void rest_row(Backward backward, Py_ssize_t j) noexcept nogil:
    """T[j, q]: a running segment ends at j, or goes on with token j."""
    cdef const int32_t* state = &backward.chart.layout.first_state[0]
    cdef const double* end = &backward.chart.end[j - 1, 0]
    cdef const double* more = NULL
    cdef const double* tail = &backward.chart.tail[0]
    cdef const double* beta = &backward.beta[0]
    cdef const double* after = &backward.rests[j + 1, 0]
    cdef double* rest = &backward.rests[j, 0]
    cdef Py_ssize_t g, q, n_groups = backward.chart.n_groups
    cdef double weight
    if j < backward.chart.n_tokens:
        more = &backward.chart.more[j, 0]
    if backward.maximum:
        kernels.rest_max(state, n_groups, end, more, tail, beta, after, rest)
        return
    for g in range(n_groups):
        weight = more[g] + tail[g] if more != NULL else -INFINITY
        for q in range(state[g], state[g + 1]):
            rest[q] = -INFINITY
            if tail[g] > -INFINITY:
                rest[q] = end[g] + beta[q]
                if weight > -INFINITY:
                    rest[q] = log_add(rest[q], weight + after[q])


cdef void push_row(Backward backward, Chart chart, Py_ssize_t j) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, t, u, n_lengths = chart.n_lengths, n_groups = chart.n_groups
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef const double* score = &chart.score[low]
    cdef const double* beta = &backward.beta[0]
    cdef const double* rest
    if backward.maximum and chart.are_tokens:  # no other segment is pushed to that row
        kernels.put(
            &chart.layout.first_state[0],
            n_groups,
            score,
            beta,
            &backward.closing[j - 1, 0],
        )
        return
    _push(backward, 0, n_groups, score, n_lengths, beta, first, n_lengths - low)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        _push(backward, g, 1, &chart.cells.long_score[t], 1, beta, u, 1)
    if not chart.has_tail:
        return
    rest = &backward.rests[j, 0]
    if j > n_lengths:
        _push(backward, 0, n_groups, &chart.enter_score[0], 1, rest, first - 1, 1)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        _push(backward, g, 1, &chart.cells.late_score[t], 1, rest, u, 1)


cdef void _push(
    Backward backward,
    Py_ssize_t g,               # the first of n_groups
    Py_ssize_t n_groups,
    const double* score,        # IN  of n segments of each of them, ..
    Py_ssize_t step,            # .. which begin `step` apart
    const double* x,            # IN  [P]
    Py_ssize_t first,           # the start of the first segment
    Py_ssize_t n,
) noexcept nogil:
    """B[first + i] = log(exp(B[first + i]) + exp(score[i] + x)), or the larger."""
    cdef const int32_t* state = &backward.chart.layout.first_state[g]
    cdef Py_ssize_t h, i, q, n_states = backward.chart.n_states
    cdef double* row
    if n <= 0:
        return
    row = &backward.closing[first, 0]
    if backward.maximum:
        kernels.push_max(state, n_groups, score, step, x, n, row, n_states)
        return
    for h in range(n_groups):
        for i in range(n):
            row = &backward.closing[first + i, 0]
            if score[h * step + i] > -INFINITY:
                for q in range(state[h], state[h + 1]):
                    row[q] = log_add(row[q], score[h * step + i] + x[q])
