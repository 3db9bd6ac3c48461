"""The backward sweep in scaled arithmetic, and products of both sides.

    B[u, q]    = sum_j exp(segment(u, j)) beta[j, q] + exp(enter) T[j, q]
    T[j, q]    = exp(end[j-1]) beta[j, q] + exp(more[j] + tail) T[j + 1, q]
    beta[j, p] = sum over the arcs from p of exp(weight) * B[j, q]

The weights are those that `scaled` has computed.
"""

from libc.math cimport INFINITY, exp, log
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from .scaled cimport sum_quads

# A sum of products in this range has lost nothing that counts, and times the
# exponential of a score that is no larger it is still a number.
cdef double SMALL = 1e-280, LARGE = 1e280, HIGHEST = 600.0


cdef bint end_row(Chart chart, DPTables tables) noexcept nogil:
    return fill_end(chart, tables.z_rest, &tables.beta[0], 1)


cdef bint fill_end(
    Chart chart, double z_rest, double* beta, Py_ssize_t step
) noexcept nogil:
    """beta[n, p] = exp(weight of the patterns that end in $ after p) / Z; returns
    whether it can be trusted."""
    cdef Py_ssize_t p
    cdef double x, last = INFINITY, weight = 0.0
    for p in range(chart.n_states):
        x = chart.final_weight(p) - z_rest
        if x > kernels.HOSEMI_HIGHEST:
            return False
        if x != last:  # many states have the weight of the one before
            weight, last = exp(x), x
        beta[p * step] = weight
    return True


cdef double probability(
    const double* opened,
    const double* beta,
    Py_ssize_t n,
    Py_ssize_t step,
    double score,
) noexcept nogil:
    """exp(score) sum_q opened[q] beta[q] for n states that lie `step` apart."""
    cdef Py_ssize_t q
    cdef double top = 0.0, beta_top = 0.0, total = 0.0
    for q in range(n):
        total += opened[q * step] * beta[q * step]
    if SMALL < total < LARGE and -HIGHEST < score < HIGHEST:
        return min(exp(score) * total, 1.0)
    total = 0.0
    for q in range(n):
        top, beta_top = max(top, opened[q * step]), max(beta_top, beta[q * step])
    if top == 0.0 or beta_top == 0.0:
        return 0.0
    for q in range(n):  # two factors that neither overflow nor vanish
        total += (opened[q * step] / top) * (beta[q * step] / beta_top)
    return min(exp(score + log(top) + log(beta_top)) * total, 1.0)


cdef void count_arcs(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    Py_ssize_t end,             # at boundaries j .. end - 1, at most four, of one block
    double[:, ::1] node,        # work [N + P + 2, lanes]
    const double* more,         # IN  [A, lanes] factors of their weights; NULL: all 1
    double* count,              # OUT [A] added to
) noexcept nogil:
    """P(arc at a boundary), but for the weight of the arc: boundaries side by side,
    like documents in `BatchOfFour`."""
    cdef Py_ssize_t n_states = chart.n_states
    cdef double* closing = &node[chart.n_nodes, 0]
    kernels.interleave(
        &tables.alpha[j - tables.base, 0], n_states, end - j, n_states, &node[0, 0]
    )
    kernels.interleave(&tables.closing[j, 0], n_states, end - j, n_states, closing)
    if chart.layout.suffix_sums.n_quads:
        kernels.lane_sum(
            chart.layout.suffix_sums.fan,
            chart.layout.suffix_sums.output,
            chart.layout.suffix_sums.input,
            &tables.weights.suffix_sums[0],
            chart.layout.suffix_sums.n_quads,
            &node[0, 0],
        )
    kernels.lane_count(
        &chart.layout.arc_node[0],
        &chart.layout.arc_target[0],
        chart.layout.arc_node.shape[0],
        &node[0, 0],
        closing,
        more,
        count,
    )


cdef void close_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """beta[j] from B[j]: the arcs and the suffix sums, transposed."""
    memcpy(
        &tables.back_node[0],
        &tables.closing[j, 0],
        chart.n_states * sizeof(double),
    )
    if tables.varies_out(j):
        sum_quads(&tables.arcs_out, tables.varying.arcs_out, tables.back_node)
    else:
        sum_quads(&tables.arcs_out, tables.out_weight, tables.back_node)


cdef void rest_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """T[j, q] = exp(end[j-1]) beta[j, q] + exp(more[j] + tail) T[j + 1, q]."""
    kernels.rest(
        &chart.layout.first_state[0],
        chart.n_groups,
        tables.row_weight(j) + tables.at_end,
        &tables.keep[0],
        &tables.beta[0],
        &tables.rest[1 - j % 2, 0],
        &tables.rest[j % 2, 0],
    )


cdef void push_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, u, t, n_lengths = chart.n_lengths, n_groups = chart.n_groups
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef Py_ssize_t n = n_lengths - low
    cdef double* weight = tables.row_weight(j)
    cdef const double* beta = &tables.beta[0]
    cdef const double* rest = &tables.rest[j % 2, 0]
    _push(chart, tables, 0, n_groups, weight + low, n_lengths, beta, n, first)
    if chart.has_tail and j > n_lengths:
        weight += tables.at_enter
        _push(chart, tables, 0, n_groups, weight, 1, rest, 1, first - 1)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        _push(chart, tables, g, 1, &tables.long_weight[t], 1, beta, 1, u)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        _push(chart, tables, g, 1, &tables.late_weight[t], 1, rest, 1, u)


cdef void _push(
    Chart chart,
    DPTables tables,
    Py_ssize_t g,               # the first of n_groups
    Py_ssize_t n_groups,
    const double* weight,       # of n segments of each of them ..
    Py_ssize_t step,            # .. so far behind those of the group before
    const double* x,
    Py_ssize_t n,
    Py_ssize_t first,           # the start of the first segment
) noexcept nogil:
    """B[first + i] += weight[i] * x, for the states of some groups."""
    kernels.push(
        &chart.layout.first_state[g],
        n_groups,
        weight,
        step,
        x,
        n,
        &tables.closing[first, 0],
        chart.n_states,
    )
