"""The forward sweep in scaled arithmetic.

    alpha[j, q] = sum_u exp(segment(u, j)) A[u, q] + exp(end[j-1]) R[j, q]
    R[j, q]     = exp(more[j-1] + tail) R[j-1, q] + sum of what enters at j
    A[j, q]     = sum over the arcs into q of mass * exp(weight)

(Nguyen et al. 2011, section 2.1.1; R after Sarawagi 2006.) The scale of row j is about
the largest log term that goes into alpha[j] or R[j], so the largest entry is near 1.
The exponentials of all terms are taken once, here, relative to the scales of both rows
that they connect. The backward rows have scales that complete those of the forward rows
to log Z: so the backward sweep reads the same weights, and a product of both sides is a
probability.

Nothing is tested inside the loops. Instead the floating-point status flags tell
afterwards whether any operation underflowed or overflowed; if so the result is not
trusted, and the caller repeats the document in log domain. A term that is forbidden is
an exact zero and raises no flag.
"""

from libc.math cimport INFINITY, exp, fabs, log, rint
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.layout cimport Sums
from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables


cdef extern from "<fenv.h>" nogil:
    int FE_UNDERFLOW
    int FE_OVERFLOW
    int FE_INVALID
    int feclearexcept(int)
    int fetestexcept(int)


cdef void clear_flags() noexcept nogil:
    feclearexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)


cdef bint in_range() noexcept nogil:
    """Whether no operation since `clear_flags` left the range of float64."""
    return not fetestexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)


cdef bint begin(DPTables tables) noexcept nogil:
    """Begin a forward sweep. RETURNS: whether this arithmetic can do it."""
    clear_flags()
    tables.share = exp(-70.0 - tables.weights.gap)
    return tables.are_representable()


cdef void begin_again(Chart chart, DPTables tables) noexcept nogil:
    """Bounds on the rows that the rows of a block are made from."""
    cdef Py_ssize_t j
    if chart.has_tail:
        _bound(chart, tables, &tables.running[0, 0], &tables.running_top[0])
    for j in range(max(tables.base - tables.ring, 0), tables.base + 1):
        bound_opened(chart, tables, j)


cdef bint end_segments(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t g, t
    cdef double top = -INFINITY
    _explicit_keys(chart, tables, j)
    for g in range(chart.n_groups):
        top = max(top, tables.group_top[g])
    if chart.has_tail:
        top = max(top, _running_keys(chart, tables, j))
    if top == -INFINITY:  # nothing arrives here; longer segments may pass over it
        tables.alpha_scale[j] = tables.alpha_scale[j - 1]
        for g in range(chart.n_groups):
            tables.running_top[g] = -INFINITY
        tables.weight[j - tables.base, :] = 0.0
        for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
            tables.long_weight[t] = 0.0
        for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
            tables.late_weight[t] = 0.0
        return True
    if fabs(top) > kernels.LARGEST_SUM:  # nothing would be within e^-70 of it
        return False
    tables.alpha_scale[j] = rint(top)  # whole: sums of scales are exact
    if not _settle_explicit(chart, tables, j):
        return False
    if chart.has_tail and not _settle_running(chart, tables, j):
        return False
    kernels.exp_all(tables.row_weight(j), tables.weight.shape[1])
    _add_explicit(chart, tables, j)
    if chart.has_tail:
        _add_running(chart, tables, j)
    return True


cdef void _explicit_keys(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Exponents of the explicit terms; group_top bounds what they bring to a state."""
    cdef Py_ssize_t g, i, t, u, n_lengths = chart.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* x = tables.row_weight(j)
    cdef double key
    for g in range(chart.n_groups):
        for i in range(low):
            x[i] = -INFINITY
        tables.group_top[g] = kernels.shift(
            &chart.score[g * n_lengths + low],
            &tables.opened_scale[first],
            &tables.opened_top[g, first % tables.ring],
            n_lengths - low,
            x + low,
        )
        x += n_lengths
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        u, g = chart.cells.long_start[t], chart.cells.long_group[t]
        tables.long_weight[t] = chart.cells.long_score[t] + tables.opened_scale[u]
        key = tables.long_weight[t] + tables.opened_top[g, u % tables.ring]
        tables.group_top[g] = max(tables.group_top[g], key)


cdef double _running_keys(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Exponents of what enters R[j] or stays in it. RETURNS: the largest bound.

    running_top becomes a bound on R[j] by group: its states share a future, those that
    end here have another one.
    """
    cdef Py_ssize_t g, t, u = j - chart.n_lengths - 1
    cdef double* keep = tables.row_weight(j) + tables.at_keep
    cdef double* enter = tables.row_weight(j) + tables.at_enter
    cdef double* at_end = tables.row_weight(j) + tables.at_end
    cdef double top = -INFINITY, bound
    for g in range(chart.n_groups):
        at_end[g] = chart.end[j - 1, g]
        keep[g] = enter[g] = bound = -INFINITY
        if tables.running_top[g] > -INFINITY:
            keep[g] = chart.more[j - 1, g] + chart.tail[g] + tables.alpha_scale[j - 1]
            bound = keep[g] + tables.running_top[g]
        if u >= 0 and tables.opened_top[g, u % tables.ring] > -INFINITY:
            enter[g] = chart.enter_score[g] + tables.opened_scale[u]
            bound = max(bound, enter[g] + tables.opened_top[g, u % tables.ring])
        tables.running_top[g] = bound
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        u, g = chart.cells.late_start[t], chart.cells.late_group[t]
        tables.late_weight[t] = chart.cells.late_score[t] + tables.opened_scale[u]
        bound = tables.late_weight[t] + tables.opened_top[g, u % tables.ring]
        tables.running_top[g] = max(tables.running_top[g], bound)
    for g in range(chart.n_groups):
        top = max(top, tables.running_top[g] + max(at_end[g], 0.0))
    return top


cdef bint _settle_explicit(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Relative to the scale of row j; what is negligible in its group is dropped."""
    cdef Py_ssize_t g, t, n_lengths = chart.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* x = tables.row_weight(j) + low
    cdef double top = tables.alpha_scale[j]
    cdef bint settled = True
    for g in range(chart.n_groups):
        settled &= kernels.settle(
            x,
            &tables.opened_top[g, first % tables.ring],
            n_lengths - low,
            tables.group_top[g] - 70.0 - tables.weights.gap,
            top,
        )
        x += n_lengths
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g = chart.cells.long_group[t]
        settled &= kernels.settle(
            &tables.long_weight[t],
            &tables.opened_top[g, chart.cells.long_start[t] % tables.ring],
            1,
            tables.group_top[g] - 70.0 - tables.weights.gap,
            top,
        )
    return settled


cdef bint _settle_running(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t
    cdef double* keep = tables.row_weight(j) + tables.at_keep
    cdef double* enter = tables.row_weight(j) + tables.at_enter
    cdef double* at_end = tables.row_weight(j) + tables.at_end
    cdef double top = tables.alpha_scale[j]
    cdef bint settled = True
    for g in range(chart.n_groups):
        settled &= _settle_one(&keep[g], top) and _settle_one(&enter[g], top)
        settled &= _settle_one(&at_end[g], 0.0)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        settled &= _settle_one(&tables.late_weight[t], top)
    return settled


cdef inline bint _settle_one(double* x, double top) noexcept nogil:
    x[0] -= top
    return x[0] == -INFINITY or (
        x[0] >= kernels.HOSEMI_LOWEST and x[0] <= kernels.HOSEMI_HIGHEST
    )


cdef void _add_explicit(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t, u, n_lengths = chart.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* alpha = &tables.alpha[j - tables.base, 0]
    kernels.pull(
        &chart.layout.first_state[0],
        chart.n_groups,
        tables.row_weight(j) + low,
        n_lengths,
        &tables.opened[first, 0],
        chart.n_states,
        n_lengths - low,
        alpha,
    )
    t = chart.cells.first_long[j]
    if t < chart.cells.first_long[j + 1]:
        kernels.exp_all(&tables.long_weight[t], chart.cells.first_long[j + 1] - t)
    for t in range(chart.cells.first_long[j], chart.cells.first_long[j + 1]):
        g, u = chart.cells.long_group[t], chart.cells.long_start[t]
        _add(chart, g, 1, &tables.long_weight[t], &tables.opened[u, 0], alpha)


cdef void _add_running(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t, u = j - chart.n_lengths - 1, row = j - tables.base
    cdef Py_ssize_t n_groups = chart.n_groups
    cdef double* weight = tables.row_weight(j)
    cdef double* running = &tables.running[row, 0]
    cdef const double* before = &tables.running[row - 1, 0]
    _add(chart, 0, n_groups, weight + tables.at_keep, before, running)
    if u >= 0:
        before = &tables.opened[u, 0]
        _add(chart, 0, n_groups, weight + tables.at_enter, before, running)
    t = chart.cells.first_late[j]
    if t < chart.cells.first_late[j + 1]:
        kernels.exp_all(&tables.late_weight[t], chart.cells.first_late[j + 1] - t)
    for t in range(chart.cells.first_late[j], chart.cells.first_late[j + 1]):
        g, u = chart.cells.late_group[t], chart.cells.late_start[t]
        _add(chart, g, 1, &tables.late_weight[t], &tables.opened[u, 0], running)
    _bound(chart, tables, running, &tables.running_top[0])
    before = running
    _add(
        chart, 0, n_groups, weight + tables.at_end, before, &tables.alpha[row, 0]
    )


cdef void _add(
    Chart chart,
    Py_ssize_t g,               # the first of n groups
    Py_ssize_t n,
    const double* weight,       # of each of them
    const double* x,
    double* y,
) noexcept nogil:
    """y += weight * x, for the states of some groups."""
    kernels.pull(&chart.layout.first_state[g], n, weight, 1, x, 0, 1, y)


cdef void open_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j] through the suffix sums and the arcs."""
    memcpy(
        &tables.node[0],
        &tables.alpha[j - tables.base, 0],
        chart.n_states * sizeof(double),
    )
    sum_quads(&chart.layout.suffix_sums, tables.weights.suffix_sums, tables.node)
    if tables.varies_in(j):
        sum_quads(&chart.layout.arcs_in, tables.varying.arcs_in, tables.node)
    else:
        sum_quads(&chart.layout.arcs_in, tables.weights.arcs_in, tables.node)
    memcpy(
        &tables.opened[j, 0],
        &tables.node[chart.n_nodes],
        chart.n_states * sizeof(double),
    )
    tables.opened_scale[j] = tables.alpha_scale[j] + tables.weights.scale
    bound_opened(chart, tables, j)


cdef void sum_quads(
    const Sums* sums, const double[::1] weight, double[::1] slot
) noexcept nogil:
    if sums.n_quads:
        kernels.sum_quads(
            sums.fan, sums.output, sums.input, &weight[0], sums.n_quads, &slot[0]
        )


cdef void bound_opened(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil:
    """Bounds on A[j], twice: a window of the ring is in one piece."""
    cdef Py_ssize_t g, at = j % tables.ring
    _bound(chart, tables, &tables.opened[j, 0], &tables.group_top[0])
    for g in range(chart.n_groups):
        tables.opened_top[g, at] = tables.group_top[g]
        tables.opened_top[g, at + tables.ring] = tables.group_top[g]


cdef void _bound(
    Chart chart, DPTables tables, double* row, double* tops
) noexcept nogil:
    """Bound the log of the largest entry of each group; drop what is negligible."""
    kernels.bound(
        &chart.layout.first_state[0], chart.n_groups, tables.share, row, tops
    )


cdef bint set_log_z(Chart chart, DPTables tables) noexcept nogil:
    """RETURNS: whether the forward sweep can be trusted."""
    cdef Py_ssize_t n = chart.n_tokens
    tables.z_rest = log_final(chart, &tables.alpha[n - tables.base, 0], 1)
    if tables.z_rest > -INFINITY:
        tables.z_scale = tables.alpha_scale[n]
        tables.log_z = tables.z_scale + tables.z_rest
    return in_range()


cdef double log_final(
    Chart chart, const double* alpha, Py_ssize_t step
) noexcept nogil:
    """log sum_p alpha[n, p] exp(weight of the patterns that end in $ after p), for
    entries of alpha that lie `step` apart."""
    cdef Py_ssize_t p
    cdef double top = -INFINITY, total = 0.0, last = INFINITY, weight = 0.0
    for p in range(chart.n_states):
        if alpha[p * step] > 0.0:
            top = max(top, chart.final_weight(p))
    if top == -INFINITY:
        return top
    for p in range(chart.n_states):
        if alpha[p * step] > 0.0:
            if chart.final_weight(p) != last:  # as in many states
                last = chart.final_weight(p)
                weight = exp(last - top)
            total += alpha[p * step] * weight
    return top + log(total)
