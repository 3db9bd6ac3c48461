"""The sweeps in log domain: slower, but no score is too large or too small.

The same recursions as in `scaled`, with log-add for + and + for *. With `maximum`, max
stands for +, and the backward sweep is that of Viterbi decoding.
"""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.layout cimport Sums
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables


cdef void set_log_z(Chart chart, DPTables tables) noexcept nogil:
    cdef Py_ssize_t p, last = chart.n_tokens - tables.base
    cdef double total = -INFINITY
    for p in range(chart.n_states):
        total = log_add(total, tables.alpha[last, p] + chart.final_weight(p))
    tables.log_z = tables.z_rest = total


cdef void end_segments(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t g, i, t, u, n_lengths = chart.n_lengths, row = j - tables.base
    cdef double* alpha = &tables.alpha[row, 0]
    cdef double* running
    cdef double score
    for g in range(chart.n_groups):
        for i in range(max(n_lengths - j, 0), n_lengths):
            u = j - n_lengths + i
            score = chart.score[g * n_lengths + i]
            _add(chart, g, score, &tables.opened[u, 0], alpha)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        _add(chart, g, chart.cells.long_score[t], &tables.opened[u, 0], alpha)
    if not chart.has_tail:
        return
    running = &tables.running[row, 0]
    u = j - n_lengths - 1
    for g in range(chart.n_groups):
        score = chart.more[j - 1, g] + chart.tail[g]
        _add(chart, g, score, &tables.running[row - 1, 0], running)
        if u >= 0:
            _add(chart, g, chart.enter_score[g], &tables.opened[u, 0], running)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        _add(chart, g, chart.cells.late_score[t], &tables.opened[u, 0], running)
    for g in range(chart.n_groups):
        _add(chart, g, chart.end[j - 1, g], running, alpha)


cdef void _add(
    Chart chart, Py_ssize_t g, double weight, const double* x, double* y
) noexcept nogil:
    """y = log(exp(y) + exp(weight + x)), for the states of one group."""
    cdef Py_ssize_t q
    if weight == -INFINITY:
        return
    for q in range(chart.layout.first_state[g], chart.layout.first_state[g + 1]):
        y[q] = log_add(y[q], weight + x[q])


cdef void open_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j] through the suffix sums and the arcs."""
    _sum_suffixes(chart, tables, j)
    if tables.varies_in(j):
        _sum_quads(&chart.layout.arcs_in, tables.varying.arcs_in, tables.node)
    else:
        _sum_quads(&chart.layout.arcs_in, tables.weights.arcs_in, tables.node)
    memcpy(
        &tables.opened[j, 0],
        &tables.node[chart.n_nodes],
        chart.n_states * sizeof(double),
    )


cdef void _sum_suffixes(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Sums over the subtrees of the suffix tree; the first P nodes are alpha[j]."""
    memcpy(
        &tables.node[0],
        &tables.alpha[j - tables.base, 0],
        chart.n_states * sizeof(double),
    )
    _sum_quads(&chart.layout.suffix_sums, tables.weights.suffix_sums, tables.node)


cdef void _sum_quads(
    const Sums* sums, const double[::1] weight, double[::1] slot
) noexcept nogil:
    """As the kernel of that name, with log-add for +."""
    cdef Py_ssize_t i, a, k, at = 0
    cdef double total
    for i in range(sums.n_quads):
        for a in range(4):
            total = -INFINITY
            for k in range(at + a, at + 4 * sums.fan[i], 4):
                total = log_add(total, slot[sums.input[k]] + weight[k])
            slot[sums.output[4 * i + a]] = total
        at += 4 * sums.fan[i]


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
    if tables.varies_out(j):  # in sums alone, see `load_sums`
        _sum_quads(&tables.arcs_out, tables.varying.arcs_out, tables.back_node)
        return
    if not maximum:
        _sum_quads(&tables.arcs_out, tables.out_weight, tables.back_node)
        return
    kernels.max_quads(
        tables.arcs_out.fan,
        tables.arcs_out.output,
        tables.arcs_out.input,
        &tables.out_weight[0],
        tables.arcs_out.n_quads,
        &tables.back_node[0],
    )


cdef void count_arcs(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    const double* more,         # IN  [A] what is added to their weights; NULL: 0
    double* prob,               # OUT [A]
    double* count,              # OUT [A] added to
) noexcept nogil:
    """P(arc k at j) = mass exp(weight) B[j, q] / Z"""
    cdef Py_ssize_t k
    cdef double closing
    _sum_suffixes(chart, tables, j)
    for k in range(chart.layout.arc_edge.shape[0]):
        closing = tables.closing[j, chart.layout.arc_target[k]]
        if more != NULL:
            closing += more[k]
        prob[k] = 0.0
        if closing > -INFINITY:
            prob[k] = exp(
                tables.node[chart.layout.arc_node[k]]
                + tables.weights.arc[k]
                + (closing - tables.log_z)
            )
        count[k] += prob[k]


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


cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    """log sum_i exp(x[i] + y[i])."""
    cdef Py_ssize_t i
    cdef double total = -INFINITY
    for i in range(n):
        total = log_add(total, x[i] + y[i])
    return total
