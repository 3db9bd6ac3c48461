"""The rows of `Backward`, in logs: B, T and beta as in `lanes`.

With `maximum`, max stands for +, and the sweep is that of Viterbi decoding; else
log-add.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..simd.lanes cimport LOGS, lane_sum, log_add


cdef void end_row(Chart chart, DPTables tables) noexcept nogil:
    """beta[n, p] = weight of the patterns that end in $ after p."""
    cdef const double* final = &chart.edge_weights.final[0]
    memcpy(&tables.beta[0], final, chart.n_states * sizeof(double))


cdef void close_row(
    Chart chart, DPTables tables, Py_ssize_t j, bint maximum
) noexcept nogil:
    """beta[j] from B[j]: the arcs and the suffix sums, transposed."""
    memcpy(
        &tables.back_node[0],
        &tables.closing[j, 0],
        chart.n_states * sizeof(double),
    )
    if not maximum:
        if tables.arcs_out.n_quads:
            lane_sum(
                LOGS,
                tables.arcs_out.fan,
                tables.arcs_out.output,
                tables.arcs_out.input,
                &tables.out_weight[0],
                tables.arcs_out.n_quads,
                &tables.back_node[0],
            )
        return
    kernels.max_quads(
        tables.arcs_out.fan,
        tables.arcs_out.output,
        tables.arcs_out.input,
        &tables.out_weight[0],
        tables.arcs_out.n_quads,
        &tables.back_node[0],
    )


cdef void rest_row(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    double* rest,               # T[j]
    const double* after,        # T[j + 1]
    bint maximum,
) noexcept nogil:
    """T[j, q]: a running segment ends at j, or goes on with token j."""
    cdef Py_ssize_t g, q
    cdef double weight
    if maximum:
        kernels.rest_max(
            &chart.layout.first_state[0],
            chart.n_groups,
            &chart.end[j - 1, 0],
            &chart.more[j, 0] if j < chart.n_tokens else NULL,
            &chart.tail[0],
            &tables.beta[0],
            after,
            rest,
        )
        return
    for g in range(chart.n_groups):
        weight = -INFINITY
        if j < chart.n_tokens:
            weight = chart.more[j, g] + chart.tail[g]
        for q in range(chart.layout.first_state[g], chart.layout.first_state[g + 1]):
            rest[q] = -INFINITY
            if chart.tail[g] > -INFINITY:
                rest[q] = chart.end[j - 1, g] + tables.beta[q]
                if weight > -INFINITY:
                    rest[q] = log_add(rest[q], weight + after[q])


cdef void push_row(
    Chart chart, DPTables tables, Py_ssize_t j, const double* rest, bint maximum
) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, t, u, n_lengths = chart.n_lengths, n_groups = chart.n_groups
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef const double* beta = &tables.beta[0]
    cdef const double* score
    if maximum and chart.are_tokens:  # no other segment is pushed to that row
        kernels.put(
            &chart.layout.first_state[0],
            chart.n_groups,
            &chart.score[0],
            beta,
            &tables.closing[j - 1, 0],
        )
        return
    _push(
        chart,
        tables,
        0,
        n_groups,
        &chart.score[low],
        n_lengths,
        beta,
        first,
        n_lengths - low,
        maximum,
    )
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        score = &chart.cells.long_score[t]
        _push(chart, tables, g, 1, score, 1, beta, u, 1, maximum)
    if not chart.has_tail:
        return
    if j > n_lengths:
        score = &chart.enter_score[0]
        _push(chart, tables, 0, n_groups, score, 1, rest, first - 1, 1, maximum)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        score = &chart.cells.late_score[t]
        _push(chart, tables, g, 1, score, 1, rest, u, 1, maximum)


cdef void _push(
    Chart chart,
    DPTables tables,
    Py_ssize_t g,               # the first of n_groups
    Py_ssize_t n_groups,
    const double* score,        # IN  of n segments of each of them, ..
    Py_ssize_t step,            # .. which begin `step` apart
    const double* x,            # IN  [P]
    Py_ssize_t first,           # the start of the first segment
    Py_ssize_t n,
    bint maximum,
) noexcept nogil:
    """B[first + i] = log(exp(B[first + i]) + exp(score[i] + x)), or the larger."""
    cdef const int32_t* state = &chart.layout.first_state[g]
    cdef Py_ssize_t h, i, q
    cdef double* row
    if n <= 0:
        return
    row = &tables.closing[first, 0]
    if maximum:
        kernels.push_max(state, n_groups, score, step, x, n, row, chart.n_states)
        return
    for h in range(n_groups):
        for i in range(n):
            row = &tables.closing[first + i, 0]
            if score[h * step + i] > -INFINITY:
                for q in range(state[h], state[h + 1]):
                    row[q] = log_add(row[q], score[h * step + i] + x[q])
