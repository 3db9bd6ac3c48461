"""Both sweeps over up to four documents side by side, in scaled arithmetic.

The recursions of `scaled` for segments of one explicit token (D = 1), which is what
most models have:

    R[j, q]     = keep[j] R[j-1, q] + enter[j] A[j-2, q]
    alpha[j, q] = here[j] A[j-1, q] + at_end[j] R[j, q]
    B[j-1, q]   = here[j] beta[j, q] + enter[j+1] T[j+1, q]
    T[j, q]     = at_end[j] beta[j, q] + keep[j+1] T[j+1, q]

with exponentials of scores by group; A comes from alpha, and beta from B, through the
arcs. What cells of longer segments add, which few documents have, is in `cells_x4`.
The documents have the same automaton and weights of patterns: what a sum over arcs
reads of them is read once for all four, and a number of all four is one operand of an
instruction. A *lane* is one of the four; those of shorter documents end earlier.

A lane goes through the operations that it would go through alone, so that nothing
depends on what stands beside it.
"""

from libc.math cimport INFINITY, exp, fabs, rint
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from . cimport cells_x4, scaled, scaled_backward
from ..chart.chart cimport Chart
from ..chart.layout cimport Sums
from ..chart.load cimport finish_loading
from ..simd.simd cimport N_LANES
from .tables_x4 cimport TablesX4


cdef bint run(TablesX4 tables) noexcept nogil:
    """Both sweeps. RETURNS: whether they can be trusted."""
    scaled.clear_flags()
    return (
        _finish_loading(tables)
        and forward(tables)
        and _backward(tables)
        and scaled.in_range()
        and sums_are_exact(tables)
    )


cdef bint sums_are_exact(TablesX4 tables) noexcept nogil:
    """Whether no scale is so large that small scores are lost beside it."""
    cdef Py_ssize_t a, j
    for a in range(N_LANES):
        for j in range(1, tables.n_tokens[a] + 1):
            if fabs(tables.scale[j + 1, a]) > kernels.LARGEST_SUM:
                return False
    return True


cdef bint _finish_loading(TablesX4 tables) noexcept nogil:
    """RETURNS: whether all scores are numbers; if not, `marginals` will say so."""
    cdef Py_ssize_t a
    for a in range(N_LANES):
        if tables.n_tokens[a] and (<Chart>tables.chart[a]).is_deferred:
            if not finish_loading(<Chart>tables.chart[a]):
                return False
    return True


cdef bint forward(TablesX4 tables) noexcept nogil:
    cdef Py_ssize_t j, a, n_groups = tables.n_groups
    cdef double best[N_LANES]
    cdef double* weight
    tables.share = exp(-70.0 - tables.weights.gap)
    tables.node[:, :] = 0.0
    tables.running[:, :] = 0.0
    tables.running_top[:, :] = -INFINITY
    tables.opened[0, :, :] = 0.0  # nothing begins before the first token
    tables.top[0, :, :] = -INFINITY
    for a in range(N_LANES):
        tables.node[0, a] = 1.0 if tables.n_tokens[a] else 0.0
        tables.z_rest[a] = -INFINITY
        tables.scale[1, a] = tables.opened_scale[0, a] = 0.0
    _open(tables, 0)
    if tables.keeps_counts:
        _keep(tables, 0)
    tables.node[0, :] = 0.0  # ^, which no group has, is never entered again
    for j in range(1, tables.longest + 1):
        weight = &tables.weight[j, 0, 0]
        for a in range(N_LANES):
            _read(tables, j, a, weight + a)
        kernels.lane_keys(
            n_groups,
            &tables.opened_scale[j, 0],
            &tables.scale[j, 0],
            &tables.opened_scale[j - 1, 0],
            &tables.top[j, 0, 0],
            &tables.top[j - 1, 0, 0],
            &tables.running_top[0, 0],
            weight,
            best,
        )
        if tables.has_cells:
            cells_x4.add_keys(tables, j, best)
        for a in range(N_LANES):
            tables.scale[j + 1, a] = tables.scale[j, a]
            if best[a] > -INFINITY:
                tables.scale[j + 1, a] = rint(best[a])
        if not kernels.lane_settle(
            n_groups,
            tables.weights.gap,
            &tables.scale[j + 1, 0],
            &tables.top[j, 0, 0],
            weight,
        ):
            return False
        if tables.has_cells and not cells_x4.settle(tables, j):
            return False
        kernels.exp_all(weight, 4 * n_groups * N_LANES)
        kernels.lane_arrive(
            &tables.layout.first_state[0],
            n_groups,
            tables.share,
            weight,
            &tables.opened[j, 0, 0],
            &tables.opened[j - 1, 0, 0],
            &tables.running[0, 0],
            &tables.running_top[0, 0],
            &tables.node[0, 0],
        )
        if tables.has_cells:
            cells_x4.arrive(tables, j)
        for a in range(N_LANES):
            if j == tables.n_tokens[a]:
                _finish(tables, a)
        if j < tables.longest:
            _open(tables, j)
        if tables.keeps_counts:
            _keep(tables, j)
    return True


cdef void _keep(TablesX4 tables, Py_ssize_t j) noexcept nogil:
    """Keep R[j], alpha[j] and its suffix sums; those of lanes that have ended are 0."""
    cdef size_t row = N_LANES * sizeof(double)
    memcpy(&tables.nodes[j, 0, 0], &tables.node[0, 0], tables.layout.n_nodes * row)
    memcpy(&tables.runs[j, 0, 0], &tables.running[0, 0], tables.n_states * row)


cdef void _read(
    TablesX4 tables, Py_ssize_t j, Py_ssize_t a, double* score
) noexcept nogil:
    """Scores of the segments of a lane that end at j, or run on over it."""
    cdef Py_ssize_t n_groups = tables.n_groups, at = (j - 1) * n_groups
    cdef const double* never = &tables.never[0, 0]
    cdef bint goes_on = j <= tables.n_tokens[a]
    kernels.lane_scores(
        n_groups,
        tables.first[a] + at - n_groups if goes_on and j > 1 else NULL,
        tables.first[a] + at if goes_on else never,
        tables.more[a] + at if goes_on else never,
        tables.end[a] + at if goes_on else never,
        &tables.length[0, a],
        &tables.tail[0, a],
        score,
    )
    if tables.has_cells and goes_on:
        cells_x4.read(tables, j, a, score)


cdef void _finish(TablesX4 tables, Py_ssize_t a) noexcept nogil:
    """Z of a lane, whose alpha is complete."""
    cdef Py_ssize_t p
    tables.z_rest[a] = scaled.log_final(
        <Chart>tables.chart[a], &tables.node[0, a], N_LANES
    )
    for p in range(tables.n_states):
        tables.node[p, a] = 0.0


cdef void _open(TablesX4 tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j], which stands in the first nodes."""
    cdef Py_ssize_t a
    sum_lanes(&tables.layout.suffix_sums, tables.weights.suffix_sums, tables.node)
    sum_lanes(&tables.layout.arcs_in, tables.weights.arcs_in, tables.node)
    kernels.lane_bound(
        &tables.layout.first_state[0],
        tables.n_groups,
        tables.share,
        &tables.node[tables.layout.n_nodes, 0],
        &tables.opened[j + 1, 0, 0],
        &tables.top[j + 1, 0, 0],
    )
    for a in range(N_LANES):
        tables.opened_scale[j + 1, a] = tables.scale[j + 1, a] + tables.weights.scale


cdef bint _backward(TablesX4 tables) noexcept nogil:
    """beta of all boundaries from `lowest` on, and starts if they are asked for."""
    cdef Py_ssize_t j, a, n = tables.longest, n_states = tables.n_states
    cdef size_t size = n_states * N_LANES * sizeof(double)
    cdef double* beta = &tables.back_node[n_states, 0]
    tables.back_node[:, :] = 0.0
    tables.rest[:, :] = 0.0
    tables.weight[n + 1, :, :] = 0.0  # nothing goes on
    for j in range(n, tables.lowest - 1, -1):
        if j < n:
            sum_lanes(
                &tables.layout.arcs_out, tables.weights.arcs_out, tables.back_node
            )
        for a in range(N_LANES):
            if j == tables.n_tokens[a] and tables.z_rest[a] > -INFINITY:
                if not scaled_backward.fill_end(
                    <Chart>tables.chart[a], tables.z_rest[a], beta + a, N_LANES
                ):
                    return False
        memcpy(&tables.beta[j, 0, 0], beta, size)
        kernels.lane_leave(
            &tables.layout.first_state[0],
            tables.n_groups,
            &tables.weight[j, 0, 0],
            &tables.weight[j + 1, 0, 0],
            beta,
            &tables.rest[0, 0],
            &tables.back_node[0, 0],
        )
        if tables.has_cells:
            cells_x4.leave(tables, j)
        if tables.finds_starts:
            _find_starts(tables, j - 1)
    return True


cdef void _find_starts(TablesX4 tables, Py_ssize_t u) noexcept nogil:
    """P(a segment of the group starts at u) = sum_q A[u, q] B[u, q]; B[u] stands in the
    first nodes."""
    cdef Py_ssize_t g, q, a, n = N_LANES
    cdef const int32_t* first = &tables.layout.first_state[0]
    cdef const double* opened = &tables.opened[u + 1, 0, 0]
    cdef const double* closing = &tables.back_node[0, 0]
    cdef double total[N_LANES]
    for g in range(tables.n_groups):
        for a in range(n):
            total[a] = 0.0
        for q in range(first[g], first[g + 1]):
            for a in range(n):
                total[a] += opened[q * n + a] * closing[q * n + a]
        for a in range(n):
            tables.starts[u, g, a] = total[a]


cdef double log_z(TablesX4 tables, Py_ssize_t a) noexcept nogil:
    """Log Z of a lane; -inf if no segmentation is possible."""
    return tables.scale[tables.n_tokens[a] + 1, a] + tables.z_rest[a]


cdef double probability(
    TablesX4 tables,
    Py_ssize_t a,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t g,
    double score,
) noexcept nogil:
    """P(segment u, j, g) = exp(segment) sum_q A[u, q] beta[j, q] / Z"""
    cdef const int32_t* state = &tables.layout.first_state[g]
    if score == -INFINITY or tables.z_rest[a] == -INFINITY:
        return 0.0
    score += tables.opened_scale[u + 1, a] - tables.scale[j + 1, a]
    return scaled_backward.probability(
        &tables.opened[u + 1, 0, a] + state[0] * N_LANES,
        &tables.beta[j, 0, a] + state[0] * N_LANES,
        state[1] - state[0],
        N_LANES,
        score,
    )


cdef void sum_lanes(
    const Sums* sums, const double[::1] weight, double[:, ::1] slot
) noexcept nogil:
    if sums.n_quads:
        kernels.lane_sum(
            sums.fan, sums.output, sums.input, &weight[0], sums.n_quads, &slot[0, 0]
        )
