"""The backward sweep of Viterbi decoding through the groups that bounds leave.

Rows of other groups are neither written nor read.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from .backward cimport Backward
from .viterbi_bounds cimport ArcTable, Bounds


cdef void sweep_bounded(Backward backward, ArcTable arcs) noexcept nogil:
    """As `Backward.sweep`, through the groups in `backward.bounds`."""
    cdef Py_ssize_t j
    cdef double total
    backward.is_bounded = True
    _clear(backward, backward.chart, backward.bounds)
    for j in range(backward.chart.n_tokens, 0, -1):
        _close(backward, backward.chart, backward.bounds, arcs, j)
        if backward.betas.shape[0]:
            _keep_beta(backward, backward.bounds, j)
        _push_row(backward, backward.chart, backward.bounds, j)
    backward.best_after(0, 0, &total)
    backward.total = total


cdef void _clear(Backward backward, Chart chart, Bounds bounds) noexcept nogil:
    """B = -inf."""
    cdef Py_ssize_t i, k, q
    cdef const int32_t* state
    cdef double* row
    for i in range(chart.n_tokens):
        row = &backward.closing[i, 0]
        for k in range(bounds.first[i], bounds.first[i + 1]):
            state = &chart.layout.first_state[bounds.group[k]]
            for q in range(state[0], state[1]):
                row[q] = -INFINITY


cdef void _close(
    Backward backward, Chart chart, Bounds bounds, ArcTable arcs, Py_ssize_t j
) noexcept nogil:
    """beta[j, p] = max over y of weight[y, p] + B[j, target[y, p]], or of $."""
    cdef Py_ssize_t k, t, a, b, q, y, last
    cdef const int32_t* state
    cdef double* beta = &backward.beta[0]
    for k in range(bounds.first[j - 1], bounds.first[j]):
        state = &chart.layout.first_state[bounds.group[k]]
        a, b = state[0], state[1]
        if a == b:  # the grammar permits no state of the group
            continue
        if j == chart.n_tokens:
            for q in range(a, b):
                beta[q] = chart.final_weight(q)
            continue
        for q in range(a, b):
            beta[q] = -INFINITY
        last = -1
        for t in range(bounds.first[j], bounds.first[j + 1]):
            y = chart.layout.group_label[bounds.group[t]]
            if y != last:  # groups of one label stand side by side
                kernels.leap_max(
                    &arcs.weight[y, a],
                    &arcs.target[y, a],
                    &backward.closing[j, 0],
                    b - a,
                    beta + a,
                )
            last = y


cdef void _keep_beta(Backward backward, Bounds bounds, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t k, q
    cdef const int32_t* state
    for k in range(bounds.first[j - 1], bounds.first[j]):
        state = &backward.chart.layout.first_state[bounds.group[k]]
        for q in range(state[0], state[1]):
            backward.betas[j, q] = backward.beta[q]


cdef void _push_row(
    Backward backward, Chart chart, Bounds bounds, Py_ssize_t j
) noexcept nogil:
    """T[j], and what the segments from u that end, or enter, at j give to B[u]."""
    cdef Py_ssize_t k, g, t, u
    cdef const double* beta = &backward.beta[0]
    cdef const double* rest = NULL
    for k in range(bounds.first[j - 1], bounds.first[j]):
        chart.segments_of(j, bounds.group[k])
    chart.add_cells(j)
    if chart.has_tail:
        rest = &backward.rests[j, 0]
    for k in range(bounds.first[j - 1], bounds.first[j]):
        g = bounds.group[k]
        if chart.has_tail:
            _set_rest(backward, chart, bounds, beta, j, g)
        _push_group(backward, chart, bounds, rest, j, g)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        u, g = chart.cells.long_start[t], chart.cells.long_group[t]
        if bounds.is_active[j - 1, g] and bounds.is_active[u, g]:
            _push(backward, chart, u, g, chart.cells.long_score[t], beta)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        u, g = chart.cells.late_start[t], chart.cells.late_group[t]
        if bounds.is_active[j - 1, g] and bounds.is_active[u, g]:
            _push(backward, chart, u, g, chart.cells.late_score[t], rest)


cdef void _set_rest(
    Backward backward,
    Chart chart,
    Bounds bounds,
    const double* beta,
    Py_ssize_t j,
    Py_ssize_t g,
) noexcept nogil:
    cdef bint goes_on = j < chart.n_tokens and bounds.is_active[j, g]
    kernels.rest_max(
        &chart.layout.first_state[g],
        1,
        &chart.end[j - 1, g],
        &chart.more[j, g] if goes_on else NULL,
        &chart.tail[g],
        beta,
        <const double*>&backward.rests[j + 1, 0] if goes_on else beta,
        &backward.rests[j, 0],
    )


cdef void _push_group(
    Backward backward,
    Chart chart,
    Bounds bounds,
    const double* rest,
    Py_ssize_t j,
    Py_ssize_t g,
) noexcept nogil:
    """Segments of a group that end, or enter, at j."""
    cdef Py_ssize_t d, u = j - 1, n_lengths = chart.n_lengths
    cdef const double* score = &chart.score[g * n_lengths] + n_lengths
    cdef const double* beta = &backward.beta[0]
    for d in range(1, min(n_lengths, j) + 1):
        u = j - d
        if not bounds.is_active[u, g]:
            return
        _push(backward, chart, u, g, score[-d], beta)
    if u > 0 and chart.has_tail and bounds.is_active[u - 1, g]:
        _push(backward, chart, u - 1, g, chart.enter_score[g], rest)


cdef inline void _push(
    Backward backward,
    Chart chart,
    Py_ssize_t u,
    Py_ssize_t g,
    double score,
    const double* after,
) noexcept nogil:
    """B[u] = max(B[u], score + after), for the states of a group."""
    if score > -INFINITY:
        kernels.push_max(
            &chart.layout.first_state[g],
            1,
            &score,
            1,
            after,
            1,
            &backward.closing[u, 0],
            chart.n_states,
        )
