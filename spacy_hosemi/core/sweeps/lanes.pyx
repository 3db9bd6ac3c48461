"""The sweep that sums: both ways over one document, or over four at once.

    R[j, q]     = keep[j] R[j-1, q] + enter[j] A[j-D-1, q]
    alpha[j, q] = sum_d here[j, d] A[j-d, q] + at_end[j] R[j, q]
    B[j, q]     = sum_d here[j+d, d] beta[j+d, q] + enter[j+D+1] T[j+D+1, q]
    T[j, q]     = at_end[j] beta[j, q] + keep[j+1] T[j+1, q]

(Nguyen et al. 2011, section 2.1.1; R after Sarawagi 2006) with exponentials of scores
by group; A comes from alpha, and beta from B, through the arcs. What long cells add is
in `lane_cells`, expected counts are in `lane_counts`. The documents have the same
automaton and weights of patterns: what a sum over arcs reads of them is read once for
all, and a number of all four is one operand of an instruction. A *lane* is one of the
documents; those of shorter documents end earlier.

The scale of row j is about the largest log term that goes into alpha[j] or R[j], so
that the largest entry is near 1. The exponentials of all terms are taken once, relative
to the scales of both rows that they connect. The backward rows have scales that
complete those of the forward rows to log Z: so the backward sweep reads the same
weights, and a product of both sides is a probability.

Nothing is tested inside the loops. Instead the floating-point status flags tell
afterwards whether any operation underflowed or overflowed; if so the result is not
trusted, and the caller repeats the document in logs, where no score is too large or too
small: the same sweep with log-add for + and + for *, and scales that are 0. A term that
is forbidden is an exact zero and raises no flag.

A lane goes through the operations that it would go through alone, so that nothing
depends on what stands beside it.
"""

from libc.math cimport INFINITY, exp, fabs, log, rint
from libc.string cimport memcpy, memmove

from ..simd cimport lanes as kernels
from ..simd cimport simd
from . cimport lane_cells
from ..chart.chart cimport Chart
from ..simd.lanes cimport N_LANES

cdef extern from "<fenv.h>" nogil:
    int FE_UNDERFLOW
    int FE_OVERFLOW
    int FE_INVALID
    int feclearexcept(int)
    int fetestexcept(int)

# A sum of products in this range has lost nothing that counts, and times the
# exponential of a score that is no larger it is still a number.
cdef double SMALL = 1e-280, LARGE = 1e280, HIGHEST = 600.0


cdef bint run(LaneTables tables, LaneCounts counts) noexcept nogil:
    """The forward sweep, and the backward sweep if it is asked for; with `counts`, if
    they are not None, in its memory. Returns whether they can be trusted; if not,
    counts of tokens may have been written, and those of arcs must be cleared."""
    if not _forward(tables) or tables.goes_back and not _backward(tables, counts):
        return False
    return _is_in_range(tables)


cdef bint _is_in_range(LaneTables tables) noexcept nogil:
    """Whether no operation since `_forward` began left the range of float64, and no
    scale is so large that small scores are lost beside it."""
    cdef Py_ssize_t a, j
    if tables.in_logs:
        return True
    if fetestexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID):
        return False
    for a in range(tables.n_lanes):
        for j in range(1, tables.n_tokens[a] + 1):
            if fabs(tables.scale[j + 1, a]) > simd.LARGEST_SUM:
                return False
    return True


cdef bint _forward(LaneTables tables) noexcept nogil:
    """Returns whether all exponents are in range."""
    cdef Py_ssize_t a, j
    cdef double nothing = -INFINITY if tables.in_logs else 0.0
    feclearexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)
    tables.share = exp(-70.0 - tables.weights.gap)
    tables.base = 0
    cdef Py_ssize_t n_groups = tables.n_groups * tables.n_lanes
    cdef Py_ssize_t n_states = tables.n_states * tables.n_lanes
    fill(&tables.node[0, 0], tables.node.shape[0] * tables.n_lanes, nothing)
    fill(&tables.running[0, 0], n_states, nothing)
    fill(&tables.running_top[0, 0], n_groups, -INFINITY)
    fill(&tables.opened[0, 0, 0], n_states, nothing)  # nothing begins before
    fill(&tables.top[0, 0, 0], n_groups, -INFINITY)
    for a in range(tables.n_lanes):
        if tables.n_tokens[a]:
            tables.node[0, a] = 0.0 if tables.in_logs else 1.0
        tables.z_rest[a] = -INFINITY
        tables.scale[1, a] = tables.opened_scale[0, a] = 0.0
    if tables.saved.shape[0]:
        tables.saved[0, :, :] = tables.running
    if tables.keeps_counts:
        _keep(tables, 0)
    _open(tables, 0)
    tables.node[0, :] = nothing  # ^, which no group has, is never entered again
    for j in range(1, tables.longest + 1):
        if j > tables.base + tables.n_block:
            tables.base = j - 1
            if tables.saved.shape[0]:
                tables.saved[tables.base // tables.n_block, :, :] = tables.running
        if not _arrive(tables, j):
            return False
        for a in range(tables.n_lanes):
            if j == tables.n_tokens[a]:
                _finish(tables, a)
        if j < tables.longest:
            _open(tables, j)
    return True


cdef void fill(double* x, Py_ssize_t n, double value) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        x[i] = value


cdef bint _arrive(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it. Returns
    whether all exponents are in range."""
    cdef Py_ssize_t a, n_lengths = tables.n_lengths, low = max(n_lengths - j, 0)
    cdef Py_ssize_t start = j + 1 - n_lengths + low  # row of the first explicit start
    cdef Py_ssize_t before = max(j - n_lengths, 0)   # and of those that enter
    cdef double best[N_LANES]
    cdef double* weight = &tables.weight[j - tables.base, 0, 0]
    for a in range(tables.n_lanes):
        _read(tables, j, a, weight + a)
    kernels.lane_keys(
        tables.kind,
        tables.n_groups,
        n_lengths,
        low,
        &tables.opened_scale[start, 0],
        &tables.scale[j, 0],
        &tables.opened_scale[before, 0],
        &tables.top[start, 0, 0],
        &tables.top[before, 0, 0],
        &tables.running_top[0, 0],
        weight,
        &tables.group_top[0, 0],
        best,
    )
    if tables.has_cells:
        lane_cells.add_keys(tables, j, best)
    for a in range(tables.n_lanes):
        tables.scale[j + 1, a] = tables.scale[j, a]
        if not tables.in_logs and best[a] > -INFINITY:
            tables.scale[j + 1, a] = rint(best[a])
    if not tables.in_logs:
        if not kernels.lane_settle(
            tables.kind,
            tables.n_groups,
            n_lengths,
            low,
            tables.weights.gap,
            &tables.scale[j + 1, 0],
            &tables.top[start, 0, 0],
            &tables.group_top[0, 0],
            weight,
        ):
            return False
        if tables.has_cells and not lane_cells.settle(tables, j):
            return False
        simd.exp_all(weight, tables.weight.shape[1] * tables.n_lanes)
    kernels.lane_arrive(
        tables.kind,
        &tables.layout.first_state[0],
        tables.n_groups,
        n_lengths,
        low,
        tables.share,
        weight,
        &tables.opened[start, 0, 0],
        tables.n_states * tables.n_lanes,
        &tables.opened[before, 0, 0],
        &tables.running[0, 0],
        &tables.running_top[0, 0],
        &tables.node[0, 0],
    )
    if tables.has_cells:
        lane_cells.arrive(tables, j)
    if tables.keeps_counts:
        _keep(tables, j)
    return True


cdef void _read(
    LaneTables tables, Py_ssize_t j, Py_ssize_t a, double* score
) noexcept nogil:
    """Scores of the segments of a lane that end at j, or run on over it."""
    cdef Py_ssize_t at = (j - 1) * tables.n_groups, n_lengths = tables.n_lengths
    cdef bint goes_on = j <= tables.n_tokens[a]
    cdef const double* never = &tables.never[0, 0]
    kernels.lane_scores(
        tables.kind,
        tables.n_groups,
        n_lengths,
        min(n_lengths, j) if goes_on else 1,
        goes_on and j > n_lengths,
        tables.first[a] + at if goes_on else never,
        tables.more[a] + at if goes_on else never,
        tables.end[a] + at if goes_on else never,
        &tables.length[0, a],
        &tables.tail[0, a],
        score,
    )
    if tables.has_cells and goes_on:
        lane_cells.read(tables, (<Chart>tables.chart[a]).cells, j, score)


cdef void _keep(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """Keep alpha[j] and R[j]."""
    cdef size_t size = tables.n_states * tables.n_lanes * sizeof(double)
    memcpy(&tables.nodes[j - tables.base, 0, 0], &tables.node[0, 0], size)
    memcpy(&tables.runs[j - tables.base, 0, 0], &tables.running[0, 0], size)


cdef void _finish(LaneTables tables, Py_ssize_t a) noexcept nogil:
    """Z of a lane, whose alpha is complete."""
    cdef Py_ssize_t p
    tables.z_rest[a] = _log_final(tables, <Chart>tables.chart[a], a)
    for p in range(tables.n_states):
        tables.node[p, a] = -INFINITY if tables.in_logs else 0.0


cdef double _log_final(LaneTables tables, Chart chart, Py_ssize_t a) noexcept nogil:
    """log sum_p alpha[n, p] exp(weight of the patterns that end in $ after p)."""
    cdef Py_ssize_t p
    cdef double top = -INFINITY, total = 0.0, last = INFINITY, weight = 0.0
    if tables.in_logs:
        for p in range(tables.n_states):
            top = kernels.log_add(top, tables.node[p, a] + chart.final_weight(p))
        return top
    for p in range(tables.n_states):
        if tables.node[p, a] > 0.0:
            top = max(top, chart.final_weight(p))
    if top == -INFINITY:
        return top
    for p in range(tables.n_states):
        if tables.node[p, a] > 0.0:
            if chart.final_weight(p) != last:  # as in many states
                last = chart.final_weight(p)
                weight = exp(last - top)
            total += tables.node[p, a] * weight
    return top + log(total)


cdef void _open(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j], which stands in the first nodes."""
    cdef Py_ssize_t a
    cdef size_t size = tables.n_states * tables.n_lanes * sizeof(double)
    cdef double* opened = &tables.opened[j + 1, 0, 0]
    _sum_suffixes(tables, j)
    if tables.varying is not None and tables.varying.vary_in(j):
        _sum(tables, &tables.layout.arcs_in, tables.varying.arcs_in, tables.node)
    else:
        _sum(tables, &tables.layout.arcs_in, tables.weights.arcs_in, tables.node)
    for a in range(tables.n_lanes):
        tables.opened_scale[j + 1, a] = tables.scale[j + 1, a] + tables.weights.scale
    if tables.in_logs:
        memcpy(opened, &tables.node[tables.layout.n_nodes, 0], size)
        return
    kernels.lane_bound(
        tables.kind,
        &tables.layout.first_state[0],
        tables.n_groups,
        tables.share,
        &tables.node[tables.layout.n_nodes, 0],
        opened,
        &tables.top[j + 1, 0, 0],
    )


cdef void _sum_suffixes(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """Suffix sums of alpha[j], and keep them."""
    cdef Py_ssize_t n_states = tables.n_states, n_nodes = tables.layout.n_nodes
    _sum(tables, &tables.layout.suffix_sums, tables.weights.suffix_sums, tables.node)
    if tables.keeps_counts and n_nodes > n_states:
        memcpy(
            &tables.nodes[j - tables.base, n_states, 0],
            &tables.node[n_states, 0],
            (n_nodes - n_states) * tables.n_lanes * sizeof(double),
        )


cdef void _sum(
    LaneTables tables,
    const Sums* sums,
    const double[::1] weight,
    double[:, ::1] slot,
) noexcept nogil:
    if sums.n_quads:
        kernels.lane_sum(
            tables.kind,
            sums.fan,
            sums.output,
            sums.input,
            &weight[0],
            sums.n_quads,
            &slot[0, 0],
        )


cdef bint _refill(LaneTables tables) noexcept nogil:
    """Make the rows of the block before again. Of the present one, whose rows come
    behind it, those are kept that its segments reach."""
    cdef Py_ssize_t k, end = tables.base, n_lengths = tables.n_lengths
    cdef size_t size = tables.weight.shape[1] * tables.n_lanes * sizeof(double)
    tables.base -= tables.n_block
    memmove(
        &tables.weight[tables.n_block + 1, 0, 0],
        &tables.weight[1, 0, 0],
        n_lengths * size,
    )
    k = tables.base // tables.n_block
    if tables.in_logs:
        tables.running[:, :] = tables.saved[k]
    kernels.lane_bound(
        tables.kind,
        &tables.layout.first_state[0],
        tables.n_groups,
        tables.share,
        &tables.saved[k, 0, 0],
        &tables.running[0, 0],
        &tables.running_top[0, 0],
    )
    for k in range(tables.base + 1, end + 1):
        if not _arrive(tables, k):
            return False
        if tables.keeps_counts:
            _sum_suffixes(tables, k)
    return True


cdef bint _backward(LaneTables tables, LaneCounts counts) noexcept nogil:
    """beta of all boundaries from `lowest` on, and starts if they are asked for; with
    `counts` of all boundaries. Returns whether it can be trusted."""
    cdef Py_ssize_t j, k, a, row, n = tables.longest
    cdef size_t size = tables.n_states * tables.n_lanes * sizeof(double)
    cdef double* beta = &tables.back_node[tables.n_states, 0]
    cdef double* start
    cdef double nothing = -INFINITY if tables.in_logs else 0.0
    k = tables.n_lengths * tables.n_states * tables.n_lanes
    fill(&tables.back_node[0, 0], tables.back_node.shape[0] * tables.n_lanes, nothing)
    fill(&tables.rest[0, 0, 0], k, nothing)
    k = tables.n_lengths * tables.weight.shape[1] * tables.n_lanes
    fill(&tables.weight[n - tables.base + 1, 0, 0], k, nothing)  # nothing goes on
    if counts is not None:
        counts.begin(tables)
    for j in range(n, tables.lowest - 1, -1):
        if j <= tables.base and not _refill(tables):
            return False
        if j < n:
            if counts is not None:
                counts.add_arcs(tables, j)
            _close(tables, j)
        for a in range(tables.n_lanes):
            if j == tables.n_tokens[a] and tables.z_rest[a] > -INFINITY:
                if not _fill_end(tables, <Chart>tables.chart[a], a):
                    return False
                if counts is not None:
                    counts.add_final(tables, j, a)
        memcpy(&tables.beta[j, 0, 0], beta, size)
        if counts is None and tables.finds_starts and not tables.has_cells:
            start = &tables.starts[j - 1, 0, 0]
            _leave(tables, j, &tables.opened[j, 0, 0], NULL, NULL, start)
        elif counts is None:
            _leave(tables, j, NULL, NULL, NULL, NULL)
        else:
            row = j - tables.base
            _leave(
                tables,
                j,
                &tables.opened[j, 0, 0],
                &tables.nodes[row, 0, 0],
                &tables.runs[row, 0, 0],
                &counts.group[0, 0, 0],
            )
            counts.add_row(tables, j)
        if tables.has_cells:
            lane_cells.leave(tables, j)
        if tables.finds_starts and (tables.has_cells or counts is not None):
            kernels.lane_pair(
                tables.kind,
                &tables.layout.first_state[0],
                tables.n_groups,
                NULL,
                1,
                &tables.back_node[0, 0],
                1,
                &tables.opened[j, 0, 0],
                0,
                &tables.starts[j - 1, 0, 0],
            )
    if counts is not None:
        counts.add_arcs(tables, 0)
    return True


cdef void _close(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """beta[j] from B[j], which stands in the first nodes: the arcs and the suffix sums,
    transposed."""
    if tables.varying is not None and tables.varying.vary_out(j):
        _sum(tables, &tables.layout.arcs_out, tables.varying.arcs_out, tables.back_node)
    else:
        _sum(tables, &tables.layout.arcs_out, tables.weights.arcs_out, tables.back_node)


cdef bint _fill_end(LaneTables tables, Chart chart, Py_ssize_t a) noexcept nogil:
    """beta[n, p] = exp(weight of the patterns that end in $ after p) / Z. Returns
    whether it can be trusted."""
    cdef Py_ssize_t p
    cdef double x, last = INFINITY, weight = 0.0
    for p in range(tables.n_states):
        x = chart.final_weight(p) - tables.z_rest[a]
        if tables.in_logs:
            weight = x
        elif x > simd.HOSEMI_HIGHEST:
            return False
        elif x != last:  # many states have the weight of the one before
            weight, last = exp(x), x
        tables.back_node[tables.n_states + p, a] = weight
    return True


cdef void _leave(
    LaneTables tables,
    Py_ssize_t j,
    const double* opened,
    const double* alpha,
    const double* running,
    double* counts,                     # see lanes.h; NULL: nothing is asked for
) noexcept nogil:
    """B[j - 1] but for long cells, and T[j]."""
    cdef Py_ssize_t n_lengths = tables.n_lengths
    kernels.lane_leave(
        tables.kind,
        &tables.layout.first_state[0],
        tables.n_groups,
        n_lengths,
        min(n_lengths, tables.longest - j + 1),
        &tables.weight[j - tables.base, 0, 0],
        tables.weight.shape[1] * tables.n_lanes,
        &tables.beta[j, 0, 0],
        tables.n_states * tables.n_lanes,
        &tables.rest[(j + 1) % n_lengths, 0, 0],
        &tables.rest[j % n_lengths, 0, 0],
        &tables.back_node[0, 0],
        opened,
        alpha,
        running,
        counts,
    )


cdef double log_z(LaneTables tables, Py_ssize_t a) noexcept nogil:
    """Log Z of a lane; -inf if no segmentation is possible."""
    return tables.scale[tables.n_tokens[a] + 1, a] + tables.z_rest[a]


cdef double probability(
    LaneTables tables,
    Py_ssize_t a,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t g,
    double score,
) noexcept nogil:
    """P(segment u, j, g) = exp(segment) sum_q A[u, q] beta[j, q] / Z"""
    cdef const int32_t* state = &tables.layout.first_state[g]
    cdef Py_ssize_t q, n = state[1] - state[0], step = tables.n_lanes
    cdef const double* opened = &tables.opened[u + 1, 0, a] + state[0] * step
    cdef const double* beta = &tables.beta[j, 0, a] + state[0] * step
    cdef double total = 0.0, top = 0.0, beta_top = 0.0
    if score == -INFINITY or tables.z_rest[a] == -INFINITY:
        return 0.0
    score += tables.opened_scale[u + 1, a] - tables.scale[j + 1, a]
    if tables.in_logs:
        total = kernels.lane_product(True, n, score, opened, beta, step)
        return min(total, 1.0)
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
