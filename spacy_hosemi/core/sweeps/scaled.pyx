"""Forward and backward sweeps in scaled linear arithmetic.

    alpha[j, q] = sum_u exp(segment(u, j)) A[u, q] + exp(end[j-1]) R[j, q]
    R[j, q]     = exp(more[j-1] + tail) R[j-1, q] + sum of what enters at j
    A[j, q]     = sum over the arcs into q of mass * exp(weight)

(Nguyen et al. 2011, section 2.1.1; R after Sarawagi 2006.) The scale of row j is about
the largest log term that goes into alpha[j] or R[j], so the largest entry is near 1.
The exponentials of all terms are taken once, in the forward sweep, relative to the
scales of both rows that they connect. Where the backward rows have scales that complete
those of the forward rows to log Z, the same weights serve it as they are, and a product
of both sides is a probability.

Nothing is tested inside the loops. Instead the floating-point status flags tell
afterwards whether any operation underflowed or overflowed; if so the result is not
trusted, and the caller repeats the document in log domain. A term that is forbidden is
an exact zero and raises no flag.
"""

from libc.math cimport INFINITY, exp, fabs, log, rint
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.layout cimport Sums
from ..chart.dp_tables cimport Tables


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


cdef bint forward(Tables tables) noexcept nogil:
    """Fill the forward tables, set log_z. RETURNS: whether it can be trusted."""
    cdef Py_ssize_t j, n = tables.n_tokens
    if not tables.representable:
        return False
    clear_flags()
    tables.share = exp(-70.0 - tables.gap)
    tables.base = 0
    tables.alpha[0, 0] = 1.0
    _open(tables, 0)
    for j in range(1, n + 1):
        if j - tables.base > tables.n_rows:
            tables.begin_block(j - 1)
            if tables.saved.shape[0]:
                tables.saved[(j - 1) // tables.n_rows, :] = tables.running[0]
        tables.segments_ending_at(j)
        if not _ends(tables, j):
            return False
        if j < n:
            _open(tables, j)
    return _set_log_z(tables) and tables.representable and in_range()


cdef bint refill(Tables tables, Py_ssize_t j) noexcept nogil:
    """Make the forward rows of the block of boundary j > 0 again."""
    cdef Py_ssize_t block = (j - 1) // tables.n_rows, k
    cdef Py_ssize_t last = min((block + 1) * tables.n_rows, tables.n_tokens)
    tables.begin_block(block * tables.n_rows)
    tables.alpha[0, :] = 0.0
    if tables.base == 0:
        tables.alpha[0, 0] = 1.0
    if tables.has_tail:
        tables.running[0, :] = tables.saved[block]
        _tops(tables, &tables.running[0, 0], &tables.running_top[0])
    for k in range(max(tables.base - tables.ring, 0), tables.base + 1):
        _opened_tops(tables, k)
    for k in range(tables.base + 1, last + 1):
        tables.segments_ending_at(k)
        if not _ends(tables, k):
            return False
        if k < tables.n_tokens:
            _opened_tops(tables, k)
    return True


cdef bint _ends(Tables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t g, t
    cdef double top = -INFINITY
    _explicit_keys(tables, j)
    for g in range(tables.n_groups):
        top = max(top, tables.group_top[g])
    if tables.has_tail:
        top = max(top, _running_keys(tables, j))
    if top == -INFINITY:  # nothing arrives here; longer segments may pass over it
        tables.alpha_scale[j] = tables.alpha_scale[j - 1]
        for g in range(tables.n_groups):
            tables.running_top[g] = -INFINITY
        tables.weight[j - tables.base, :] = 0.0
        for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
            tables.long_weight[t] = 0.0
        for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
            tables.late_weight[t] = 0.0
        return True
    if fabs(top) > kernels.LARGEST_SUM:  # nothing would be within e^-70 of it
        return False
    tables.alpha_scale[j] = rint(top)  # whole: sums of scales are exact
    if not _settle_explicit(tables, j):
        return False
    if tables.has_tail and not _settle_running(tables, j):
        return False
    kernels.exp_all(tables.row_weight(j), tables.weight.shape[1])
    _add_explicit(tables, j)
    if tables.has_tail:
        _add_running(tables, j)
    return True


cdef void _explicit_keys(Tables tables, Py_ssize_t j) noexcept nogil:
    """Exponents of the explicit terms; group_top bounds what they bring to a state."""
    cdef Py_ssize_t g, i, t, u, n_lengths = tables.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* x = tables.row_weight(j)
    cdef double key
    for g in range(tables.n_groups):
        for i in range(low):
            x[i] = -INFINITY
        tables.group_top[g] = kernels.shift(
            &tables.score[g * n_lengths + low],
            &tables.opened_scale[first],
            &tables.opened_top[g, first % tables.ring],
            n_lengths - low,
            x + low,
        )
        x += n_lengths
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        u, g = tables.cells.long_start[t], tables.cells.long_group[t]
        tables.long_weight[t] = tables.cells.long_score[t] + tables.opened_scale[u]
        key = tables.long_weight[t] + tables.opened_top[g, u % tables.ring]
        tables.group_top[g] = max(tables.group_top[g], key)


cdef double _running_keys(Tables tables, Py_ssize_t j) noexcept nogil:
    """Exponents of what enters R[j] or stays in it. RETURNS: the largest bound.

    running_top becomes a bound on R[j] by group: its states share a future, those that
    end here have another one.
    """
    cdef Py_ssize_t g, t, u = j - tables.n_lengths - 1
    cdef double* keep = tables.row_weight(j) + tables.at_keep()
    cdef double* enter = tables.row_weight(j) + tables.at_enter()
    cdef double* at_end = tables.row_weight(j) + tables.at_end()
    cdef double top = -INFINITY, bound
    for g in range(tables.n_groups):
        at_end[g] = tables.end[j - 1, g]
        keep[g] = enter[g] = bound = -INFINITY
        if tables.running_top[g] > -INFINITY:
            keep[g] = tables.more[j - 1, g] + tables.tail[g] + tables.alpha_scale[j - 1]
            bound = keep[g] + tables.running_top[g]
        if u >= 0 and tables.opened_top[g, u % tables.ring] > -INFINITY:
            enter[g] = tables.enter_score[g] + tables.opened_scale[u]
            bound = max(bound, enter[g] + tables.opened_top[g, u % tables.ring])
        tables.running_top[g] = bound
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        u, g = tables.cells.late_start[t], tables.cells.late_group[t]
        tables.late_weight[t] = tables.cells.late_score[t] + tables.opened_scale[u]
        bound = tables.late_weight[t] + tables.opened_top[g, u % tables.ring]
        tables.running_top[g] = max(tables.running_top[g], bound)
    for g in range(tables.n_groups):
        top = max(top, tables.running_top[g] + max(at_end[g], 0.0))
    return top


cdef bint _settle_explicit(Tables tables, Py_ssize_t j) noexcept nogil:
    """Relative to the scale of row j; what is negligible in its group is dropped."""
    cdef Py_ssize_t g, t, n_lengths = tables.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* x = tables.row_weight(j) + low
    cdef double top = tables.alpha_scale[j]
    cdef bint settled = True
    for g in range(tables.n_groups):
        settled &= kernels.settle(
            x,
            &tables.opened_top[g, first % tables.ring],
            n_lengths - low,
            tables.group_top[g] - 70.0 - tables.gap,
            top,
        )
        x += n_lengths
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        g = tables.cells.long_group[t]
        settled &= kernels.settle(
            &tables.long_weight[t],
            &tables.opened_top[g, tables.cells.long_start[t] % tables.ring],
            1,
            tables.group_top[g] - 70.0 - tables.gap,
            top,
        )
    return settled


cdef bint _settle_running(Tables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t
    cdef double* keep = tables.row_weight(j) + tables.at_keep()
    cdef double* enter = tables.row_weight(j) + tables.at_enter()
    cdef double* at_end = tables.row_weight(j) + tables.at_end()
    cdef double top = tables.alpha_scale[j]
    cdef bint settled = True
    for g in range(tables.n_groups):
        settled &= _settle_one(&keep[g], top) and _settle_one(&enter[g], top)
        settled &= _settle_one(&at_end[g], 0.0)
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        settled &= _settle_one(&tables.late_weight[t], top)
    return settled


cdef inline bint _settle_one(double* x, double top) noexcept nogil:
    x[0] -= top
    return x[0] == -INFINITY or (
        x[0] >= kernels.HOSEMI_LOWEST and x[0] <= kernels.HOSEMI_HIGHEST
    )


cdef void _add_explicit(Tables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t, u, n_lengths = tables.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* alpha = &tables.alpha[j - tables.base, 0]
    kernels.pull(
        &tables.layout.first_state[0],
        tables.n_groups,
        tables.row_weight(j) + low,
        n_lengths,
        &tables.opened[first, 0],
        tables.n_states,
        n_lengths - low,
        alpha,
    )
    t = tables.cells.first_long[j]
    if t < tables.cells.first_long[j + 1]:
        kernels.exp_all(&tables.long_weight[t], tables.cells.first_long[j + 1] - t)
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        g, u = tables.cells.long_group[t], tables.cells.long_start[t]
        _add(tables, g, 1, &tables.long_weight[t], &tables.opened[u, 0], alpha)


cdef void _add_running(Tables tables, Py_ssize_t j) noexcept nogil:
    cdef Py_ssize_t g, t, u = j - tables.n_lengths - 1, row = j - tables.base
    cdef Py_ssize_t n_groups = tables.n_groups
    cdef double* weight = tables.row_weight(j)
    cdef double* running = &tables.running[row, 0]
    cdef const double* before = &tables.running[row - 1, 0]
    _add(tables, 0, n_groups, weight + tables.at_keep(), before, running)
    if u >= 0:
        before = &tables.opened[u, 0]
        _add(tables, 0, n_groups, weight + tables.at_enter(), before, running)
    t = tables.cells.first_late[j]
    if t < tables.cells.first_late[j + 1]:
        kernels.exp_all(&tables.late_weight[t], tables.cells.first_late[j + 1] - t)
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        g, u = tables.cells.late_group[t], tables.cells.late_start[t]
        _add(tables, g, 1, &tables.late_weight[t], &tables.opened[u, 0], running)
    _tops(tables, running, &tables.running_top[0])
    before = running
    _add(
        tables, 0, n_groups, weight + tables.at_end(), before, &tables.alpha[row, 0]
    )


cdef void _add(
    Tables tables,
    Py_ssize_t g,               # the first of n groups
    Py_ssize_t n,
    const double* weight,       # of each of them
    const double* x,
    double* y,
) noexcept nogil:
    """y += weight * x, for the states of some groups."""
    kernels.pull(&tables.layout.first_state[g], n, weight, 1, x, 0, 1, y)


cdef void _open(Tables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j] through the circuit and the arcs."""
    _circuit(tables, j)
    if tables.varies(j, forward=True):
        _sum_quads(&tables.layout.arcs_in, tables.in_here, tables.node)
    else:
        _sum_quads(&tables.layout.arcs_in, tables.in_weight, tables.node)
    memcpy(
        &tables.opened[j, 0],
        &tables.node[tables.n_nodes],
        tables.n_states * sizeof(double),
    )
    tables.opened_scale[j] = tables.alpha_scale[j] + tables.arc_scale
    _opened_tops(tables, j)


cdef void _circuit(Tables tables, Py_ssize_t j) noexcept nogil:
    """Sums over the subtrees of the suffix tree; the first P nodes are alpha[j]."""
    memcpy(
        &tables.node[0],
        &tables.alpha[j - tables.base, 0],
        tables.n_states * sizeof(double),
    )
    _sum_quads(&tables.layout.circuit, tables.circuit_weight, tables.node)


cdef void _sum_quads(
    const Sums* sums, const double[::1] weight, double[::1] slot
) noexcept nogil:
    if sums.n_quads:
        kernels.sum_quads(
            sums.fan, sums.output, sums.input, &weight[0], sums.n_quads, &slot[0]
        )


cdef void _opened_tops(Tables tables, Py_ssize_t j) noexcept nogil:
    """Bounds on A[j], twice: a window of the ring is in one piece."""
    cdef Py_ssize_t g, at = j % tables.ring
    _tops(tables, &tables.opened[j, 0], &tables.group_top[0])
    for g in range(tables.n_groups):
        tables.opened_top[g, at] = tables.group_top[g]
        tables.opened_top[g, at + tables.ring] = tables.group_top[g]


cdef void _tops(Tables tables, double* row, double* tops) noexcept nogil:
    """Bound the log of the largest entry of each group; drop what is negligible."""
    kernels.bound(
        &tables.layout.first_state[0], tables.n_groups, tables.share, row, tops
    )


cdef bint _set_log_z(Tables tables) noexcept nogil:
    cdef Py_ssize_t n = tables.n_tokens
    tables.z_rest = log_final(tables, &tables.alpha[n - tables.base, 0], 1)
    if tables.z_rest > -INFINITY:
        tables.z_scale = tables.alpha_scale[n]
        tables.log_z = tables.z_scale + tables.z_rest
    return True


cdef double log_final(
    Tables tables, const double* alpha, Py_ssize_t step
) noexcept nogil:
    """log sum_p alpha[n, p] exp(weight of the patterns that end in $ after p), for
    entries of alpha that lie `step` apart."""
    cdef Py_ssize_t p
    cdef double top = -INFINITY, total = 0.0
    for p in range(tables.n_states):
        if alpha[p * step] > 0.0:
            top = max(top, tables.final_weight(p))
    if top == -INFINITY:
        return top
    for p in range(tables.n_states):
        if alpha[p * step] > 0.0:
            total += alpha[p * step] * exp(tables.final_weight(p) - top)
    return top + log(total)


cdef bint end_row(Tables tables) noexcept nogil:
    return fill_end(tables, tables.z_rest, &tables.beta[0], 1)


cdef bint fill_end(
    Tables tables, double z_rest, double* beta, Py_ssize_t step
) noexcept nogil:
    """beta[n, p] = exp(weight of the patterns that end in $ after p) / Z.

    RETURNS: whether it can be trusted.
    """
    cdef Py_ssize_t p
    cdef double x
    for p in range(tables.n_states):
        x = tables.final_weight(p) - z_rest
        if x > kernels.HOSEMI_HIGHEST:
            return False
        beta[p * step] = exp(x)
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
        top, beta_top = max(top, opened[q * step]), max(beta_top, beta[q * step])
    if top == 0.0 or beta_top == 0.0:
        return 0.0
    for q in range(n):  # two factors that neither overflow nor vanish
        total += (opened[q * step] / top) * (beta[q * step] / beta_top)
    return min(exp(score + log(top) + log(beta_top)) * total, 1.0)


cdef void count_arcs(
    Tables tables,
    Py_ssize_t j,
    Py_ssize_t end,             # at boundaries j .. end - 1, at most four, of one block
    double[:, ::1] node,        # work [N + P + 2, lanes]
    const double* more,         # IN  [A, lanes] factors of their weights; NULL: all 1
    double* count,              # OUT [A] added to
) noexcept nogil:
    """P(arc at a boundary), but for the weight of the arc: boundaries side by side,
    like documents in `Lanes`."""
    cdef Py_ssize_t n_states = tables.n_states
    cdef double* closing = &node[tables.n_nodes, 0]
    kernels.interleave(
        &tables.alpha[j - tables.base, 0], n_states, end - j, n_states, &node[0, 0]
    )
    kernels.interleave(&tables.closing[j, 0], n_states, end - j, n_states, closing)
    if tables.layout.circuit.n_quads:
        kernels.lane_sum(
            tables.layout.circuit.fan,
            tables.layout.circuit.output,
            tables.layout.circuit.input,
            &tables.circuit_weight[0],
            tables.layout.circuit.n_quads,
            &node[0, 0],
        )
    kernels.lane_count(
        &tables.layout.arc_node[0],
        &tables.layout.arc_target[0],
        tables.layout.arc_node.shape[0],
        &node[0, 0],
        closing,
        more,
        count,
    )


cdef void close_row(Tables tables, Py_ssize_t j) noexcept nogil:
    """beta[j] from B[j]: the arcs and the circuit, transposed."""
    memcpy(
        &tables.back_node[0],
        &tables.closing[j, 0],
        tables.n_states * sizeof(double),
    )
    if tables.varies(j, forward=False):
        _sum_quads(&tables.arcs_out, tables.out_here, tables.back_node)
    else:
        _sum_quads(&tables.arcs_out, tables.out_weight, tables.back_node)


cdef void rest_row(Tables tables, Py_ssize_t j) noexcept nogil:
    """T[j, q] = exp(end[j-1]) beta[j, q] + exp(more[j] + tail) T[j + 1, q]."""
    kernels.rest(
        &tables.layout.first_state[0],
        tables.n_groups,
        tables.row_weight(j) + tables.at_end(),
        &tables.keep[0],
        &tables.beta[0],
        &tables.rest[1 - j % 2, 0],
        &tables.rest[j % 2, 0],
    )


cdef void push_row(Tables tables, Py_ssize_t j) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, u, t, n_lengths = tables.n_lengths, n_groups = tables.n_groups
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef double* weight = tables.row_weight(j)
    cdef const double* beta = &tables.beta[0]
    cdef const double* rest = &tables.rest[j % 2, 0]
    _push(tables, 0, n_groups, weight + low, n_lengths, beta, n_lengths - low, first)
    if tables.has_tail and j > n_lengths:
        weight += tables.at_enter()
        _push(tables, 0, n_groups, weight, 1, rest, 1, first - 1)
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        g, u = tables.cells.long_group[t], tables.cells.long_start[t]
        _push(tables, g, 1, &tables.long_weight[t], 1, beta, 1, u)
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        g, u = tables.cells.late_group[t], tables.cells.late_start[t]
        _push(tables, g, 1, &tables.late_weight[t], 1, rest, 1, u)


cdef void _push(
    Tables tables,
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
        &tables.layout.first_state[g],
        n_groups,
        weight,
        step,
        x,
        n,
        &tables.closing[first, 0],
        tables.n_states,
    )
