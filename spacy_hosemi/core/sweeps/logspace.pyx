"""The sweeps in log domain: slower, but no score is too large or too small.

The same recursions as in the linear module, with log-add for + and + for *. With
`maximum`, + becomes max instead, and the backward sweep is that of Viterbi decoding.
"""

from libc.math cimport INFINITY, exp, log1p
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from ..chart.layout cimport Sums
from ..chart.dp_tables cimport Tables


cdef inline double _log_add(double x, double y) noexcept nogil:
    """log(exp(x) + exp(y)) without overflow; -inf is the neutral element."""
    if x < y:
        x, y = y, x
    if y == -INFINITY:
        return x
    return x + log1p(exp(y - x))


cdef void forward(Tables tables) noexcept nogil:
    """Fill the forward tables, set log_z."""
    cdef Py_ssize_t j, p, n = tables.n_tokens
    cdef double total = -INFINITY
    tables.base = 0
    tables.alpha[0, 0] = 0.0
    _open(tables, 0)
    for j in range(1, n + 1):
        if j - tables.base > tables.n_rows:
            tables.begin_block(j - 1)
            if tables.saved.shape[0]:
                tables.saved[(j - 1) // tables.n_rows, :] = tables.running[0]
        tables.segments_ending_at(j)
        _ends(tables, j)
        if j < n:
            _open(tables, j)
    for p in range(tables.n_states):
        total = _log_add(
            total, tables.alpha[n - tables.base, p] + tables.final_weight(p)
        )
    tables.log_z = tables.z_rest = total


cdef void refill(Tables tables, Py_ssize_t j) noexcept nogil:
    """Make the forward rows of the block of boundary j > 0 again."""
    cdef Py_ssize_t block = (j - 1) // tables.n_rows, k
    cdef Py_ssize_t last = min((block + 1) * tables.n_rows, tables.n_tokens)
    tables.begin_block(block * tables.n_rows)
    tables.alpha[0, :] = -INFINITY
    if tables.base == 0:
        tables.alpha[0, 0] = 0.0
    if tables.has_tail:
        tables.running[0, :] = tables.saved[block]
    for k in range(tables.base + 1, last + 1):
        tables.segments_ending_at(k)
        _ends(tables, k)


cdef void _ends(Tables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t g, i, t, u, n_lengths = tables.n_lengths, row = j - tables.base
    cdef double* alpha = &tables.alpha[row, 0]
    cdef double* running
    for g in range(tables.n_groups):
        for i in range(max(n_lengths - j, 0), n_lengths):
            u = j - n_lengths + i
            _add(
                tables, g, tables.score[g * n_lengths + i], &tables.opened[u, 0], alpha
            )
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        g, u = tables.cells.long_group[t], tables.cells.long_start[t]
        _add(tables, g, tables.cells.long_score[t], &tables.opened[u, 0], alpha)
    if not tables.has_tail:
        return
    running = &tables.running[row, 0]
    u = j - n_lengths - 1
    for g in range(tables.n_groups):
        _add(
            tables,
            g,
            tables.more[j - 1, g] + tables.tail[g],
            &tables.running[row - 1, 0],
            running,
        )
        if u >= 0:
            _add(tables, g, tables.enter_score[g], &tables.opened[u, 0], running)
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        g, u = tables.cells.late_group[t], tables.cells.late_start[t]
        _add(tables, g, tables.cells.late_score[t], &tables.opened[u, 0], running)
    for g in range(tables.n_groups):
        _add(tables, g, tables.end[j - 1, g], running, alpha)


cdef void _add(
    Tables tables, Py_ssize_t g, double weight, const double* x, double* y
) noexcept nogil:
    """y = log(exp(y) + exp(weight + x)), for the states of one group."""
    cdef Py_ssize_t q
    if weight == -INFINITY:
        return
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        y[q] = _log_add(y[q], weight + x[q])


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
    """As the kernel of that name, with log-add for +."""
    cdef Py_ssize_t i, a, k, at = 0
    cdef double total
    for i in range(sums.n_quads):
        for a in range(4):
            total = -INFINITY
            for k in range(at + a, at + 4 * sums.fan[i], 4):
                total = _log_add(total, slot[sums.input[k]] + weight[k])
            slot[sums.output[4 * i + a]] = total
        at += 4 * sums.fan[i]


cdef void end_row(Tables tables) noexcept nogil:
    """beta[n, p] = weight of the patterns that end in $ after p."""
    cdef const double* final = &tables.edge_weights.final[0]
    memcpy(&tables.beta[0], final, tables.n_states * sizeof(double))


cdef void close_row(Tables tables, Py_ssize_t j, bint maximum) noexcept nogil:
    """beta[j] from B[j]: the arcs and the circuit, transposed."""
    memcpy(
        &tables.back_node[0],
        &tables.closing[j, 0],
        tables.n_states * sizeof(double),
    )
    if tables.varies(j, forward=False):  # in sums alone, see `inference.load_sums`
        _sum_quads(&tables.arcs_out, tables.out_here, tables.back_node)
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
    Tables tables,
    Py_ssize_t j,
    const double* more,         # IN  [A] what is added to their weights; NULL: 0
    double* prob,               # OUT [A]
    double* count,              # OUT [A] added to
) noexcept nogil:
    """P(arc k at j) = mass exp(weight) B[j, q] / Z"""
    cdef Py_ssize_t k
    cdef double closing
    _circuit(tables, j)
    for k in range(tables.layout.arc_edge.shape[0]):
        closing = tables.closing[j, tables.layout.arc_target[k]]
        if more != NULL:
            closing += more[k]
        prob[k] = 0.0
        if closing > -INFINITY:
            prob[k] = exp(
                tables.node[tables.layout.arc_node[k]]
                + tables.arc_weight[k]
                + (closing - tables.log_z)
            )
        count[k] += prob[k]


cdef void rest_row(
    Tables tables, Py_ssize_t j, double* rest, const double* after, bint maximum
) noexcept nogil:
    """T[j, q]: a running segment ends at j, or goes on with token j.

    `rest` and `after` are T[j] and T[j + 1].
    """
    cdef Py_ssize_t g, q
    cdef double weight, value
    if maximum:
        kernels.rest_max(
            &tables.layout.first_state[0],
            tables.n_groups,
            &tables.end[j - 1, 0],
            &tables.more[j, 0] if j < tables.n_tokens else NULL,
            &tables.tail[0],
            &tables.beta[0],
            after,
            rest,
        )
        return
    for g in range(tables.n_groups):
        weight = -INFINITY
        if j < tables.n_tokens:
            weight = tables.more[j, g] + tables.tail[g]
        for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
            rest[q] = -INFINITY
            if tables.tail[g] > -INFINITY:
                rest[q] = tables.end[j - 1, g] + tables.beta[q]
                if weight > -INFINITY:
                    value = weight + after[q]
                    rest[q] = _log_add(rest[q], value)


cdef void push_row(
    Tables tables, Py_ssize_t j, const double* rest, bint maximum
) noexcept nogil:
    """Add to B[u] what the segments from u that end, or enter, at j give."""
    cdef Py_ssize_t g, t, u, n_lengths = tables.n_lengths
    cdef Py_ssize_t low = max(n_lengths - j, 0), first = max(j - n_lengths, 0)
    cdef const double* beta = &tables.beta[0]
    if maximum and tables.are_tokens:  # no other segment is pushed to that row
        kernels.put(
            &tables.layout.first_state[0],
            tables.n_groups,
            &tables.score[0],
            beta,
            &tables.closing[j - 1, 0],
        )
        return
    _push_groups(
        tables, &tables.score[low], n_lengths, beta, first, n_lengths - low, maximum
    )
    for t in range(tables.cells.first_long[j], tables.cells.first_long[j + 1]):
        g, u = tables.cells.long_group[t], tables.cells.long_start[t]
        _push(tables, g, &tables.cells.long_score[t], beta, u, 1, maximum)
    if not tables.has_tail:
        return
    if j > n_lengths:
        _push_groups(tables, &tables.enter_score[0], 1, rest, first - 1, 1, maximum)
    for t in range(tables.cells.first_late[j], tables.cells.first_late[j + 1]):
        g, u = tables.cells.late_group[t], tables.cells.late_start[t]
        _push(tables, g, &tables.cells.late_score[t], rest, u, 1, maximum)


cdef void _push_groups(
    Tables tables,
    const double* score,        # IN  of n segments of each group ..
    Py_ssize_t step,            # .. one so far behind the other
    const double* x,            # IN  [P]
    Py_ssize_t first,           # the start of the first segment
    Py_ssize_t n,
    bint maximum,
) noexcept nogil:
    """`_push` of all groups."""
    cdef Py_ssize_t g
    if not maximum:
        for g in range(tables.n_groups):
            _push(tables, g, score + g * step, x, first, n, False)
    elif n > 0:
        kernels.push_max(
            &tables.layout.first_state[0],
            tables.n_groups,
            score,
            step,
            x,
            n,
            &tables.closing[first, 0],
            tables.n_states,
        )


cdef void _push(
    Tables tables,
    Py_ssize_t g,
    const double* score,        # IN  [n]
    const double* x,            # IN  [P]
    Py_ssize_t first,           # the start of the first segment
    Py_ssize_t n,
    bint maximum,
) noexcept nogil:
    """B[first + i] = log(exp(B[first + i]) + exp(score[i] + x)), or the larger."""
    cdef Py_ssize_t a = tables.layout.first_state[g], i, q
    cdef Py_ssize_t b = tables.layout.first_state[g + 1]
    cdef double* row
    if maximum:
        kernels.push_max(
            &tables.layout.first_state[g],
            1,
            score,
            n,
            x,
            n,
            &tables.closing[first, 0],
            tables.n_states,
        )
        return
    for i in range(n):
        if score[i] > -INFINITY:
            row = &tables.closing[first + i, 0]
            for q in range(a, b):
                row[q] = _log_add(row[q], score[i] + x[q])


cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    """log sum_i exp(x[i] + y[i])."""
    cdef Py_ssize_t i
    cdef double total = -INFINITY
    for i in range(n):
        total = _log_add(total, x[i] + y[i])
    return total
