"""Forward and backward sweeps in scaled linear arithmetic.

    alpha[j, q] = sum_u exp(segment(u, j)) A[u, q] + exp(end[j-1]) R[j, q]
    R[j, q]     = exp(more[j-1] + tail) R[j-1, q] + sum of what enters at j
    A[j, q]     = sum over the arcs into q of mass * exp(weight)

(Nguyen et al. 2011, section 2.1.1; R after Sarawagi 2006.) The scale of row j is the
largest log term that goes into alpha[j] or R[j], so the largest entry is near 1.

Nothing is tested inside the loops. Instead the floating-point status flags tell
afterwards whether any operation underflowed or overflowed; if so the result is not
trusted, and the caller repeats the document in log domain. A term that is forbidden is
an exact zero and raises no flag.
"""

from libc.math cimport INFINITY, exp, log, rint

from .tables cimport Tables


cdef extern from "<fenv.h>" nogil:
    int FE_UNDERFLOW
    int FE_OVERFLOW
    int FE_INVALID
    int feclearexcept(int)
    int fetestexcept(int)


cdef bint forward(Tables tables) noexcept nogil:
    """Fill alpha, opened and running, set log_z. RETURNS: whether it can be trusted."""
    cdef Py_ssize_t j, n = tables.n_tokens
    if not tables.representable:
        return False
    feclearexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)
    tables.begin_sweep()
    tables.alpha[0, 0] = 1.0
    _open(tables, 0)
    for j in range(1, n + 1):
        tables.segments_ending_at(j)
        if not _ends(tables, j):
            return False
        if j < n:
            _open(tables, j)
    tables.log_z = _log_total(tables)
    return not fetestexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)


cdef bint backward_row(Tables tables, Py_ssize_t u) noexcept nogil:
    """Fill closing, beta and rest at u; to be called for u = n, .., 0."""
    feclearexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)
    if u == tables.n_tokens:
        _end_row(tables)
    else:
        tables.segments_starting_at(u)
        _starts(tables, u)
        _close(tables, u)
    _tops(tables, &tables.beta[u, 0], &tables.beta_top[u, 0], 0.0)
    if tables.has_tail and u > 0:
        _rest(tables, u)
    return not fetestexcept(FE_UNDERFLOW | FE_OVERFLOW | FE_INVALID)


cdef bint _ends(Tables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t t, u, y, a, b
    cdef double top = -INFINITY, keep, shift, weight
    for t in range(tables.n_terms):
        u, y = tables.term_position[t], tables.term_label[t]
        top = max(
            top, tables.term_score[t] + tables.opened_scale[u] + tables.opened_top[u, y]
        )
    if tables.has_tail:
        for t in range(tables.n_enters):
            u, y = tables.enter_position[t], tables.enter_label[t]
            top = max(
                top,
                tables.enter_score[t]
                + tables.opened_scale[u]
                + tables.opened_top[u, y]
                + max(tables.end[j - 1, y], 0.0),
            )
        for y in range(tables.n_labels):
            if tables.running_top[y] > -INFINITY:
                keep = tables.more[j - 1, y] + tables.tail[y]
                keep += max(tables.end[j - 1, y], 0.0)
                top = max(top, keep + tables.alpha_scale[j - 1] + tables.running_top[y])
    if top == -INFINITY:  # nothing arrives here; longer segments may pass over it
        tables.alpha_scale[j] = tables.alpha_scale[j - 1]
        for y in range(tables.n_labels):
            tables.running_top[y] = -INFINITY
        return True
    tables.alpha_scale[j] = top = rint(top)  # whole: sums of scales are exact
    for t in range(tables.n_terms):
        u, y = tables.term_position[t], tables.term_label[t]
        if tables.opened_top[u, y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        weight = exp(tables.term_score[t] + (tables.opened_scale[u] - top))
        _add(weight, &tables.opened[u, 0] + a, &tables.alpha[j, 0] + a, b - a)
    if not tables.has_tail:
        return True
    for y in range(tables.n_labels):
        if tables.running_top[y] == -INFINITY:
            continue
        shift = tables.alpha_scale[j - 1] - top
        weight = exp(tables.more[j - 1, y] + tables.tail[y] + shift)
        a, b = tables.first_state[y], tables.first_state[y + 1]
        _add(weight, &tables.running[j - 1, 0] + a, &tables.running[j, 0] + a, b - a)
    for t in range(tables.n_enters):
        u, y = tables.enter_position[t], tables.enter_label[t]
        if tables.opened_top[u, y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        weight = exp(tables.enter_score[t] + (tables.opened_scale[u] - top))
        _add(weight, &tables.opened[u, 0] + a, &tables.running[j, 0] + a, b - a)
    _tops(tables, &tables.running[j, 0], &tables.running_top[0], tables.flush)
    for y in range(tables.n_labels):
        if tables.running_top[y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        weight = exp(tables.end[j - 1, y])
        _add(weight, &tables.running[j, 0] + a, &tables.alpha[j, 0] + a, b - a)
    return True


cdef void _open(Tables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j] through the arcs."""
    cdef Py_ssize_t q, k
    cdef double total
    circuit(tables, j)
    for q in range(1, tables.n_states):
        total = 0.0
        for k in range(tables.first_arc[q], tables.first_arc[q + 1]):
            total += tables.node[tables.arc_node[k]] * tables.arc_weight[k]
        tables.opened[j, q] = total
    tables.opened_scale[j] = tables.alpha_scale[j] + tables.arc_scale
    _tops(tables, &tables.opened[j, 0], &tables.opened_top[j, 0], tables.flush)


cdef void circuit(Tables tables, Py_ssize_t j) noexcept nogil:
    """node[v] = sum of its inputs; the first P nodes are alpha[j]."""
    cdef Py_ssize_t v, k, n_states = tables.n_states
    cdef double total
    for v in range(n_states):
        tables.node[v] = tables.alpha[j, v]
    for v in range(tables.n_nodes - n_states):
        total = 0.0
        for k in range(tables.first_input[v], tables.first_input[v + 1]):
            total += tables.node[tables.node_input[k]]
        tables.node[n_states + v] = total


cdef void _tops(Tables tables, double* row, double* tops, double share) noexcept nogil:
    """Log of the largest entry of each label; drop what is below a share of it."""
    cdef Py_ssize_t y, q
    cdef double top, least
    for y in range(tables.n_labels):
        top = 0.0
        for q in range(tables.first_state[y], tables.first_state[y + 1]):
            top = max(top, row[q])
        tops[y] = log(top) if top > 0.0 else -INFINITY
        least = top * share
        if least > 0.0:
            for q in range(tables.first_state[y], tables.first_state[y + 1]):
                row[q] = row[q] if row[q] >= least else 0.0


cdef double _log_total(Tables tables) noexcept nogil:
    """log sum_p alpha[n, p] exp(weight of the patterns that end in $ after p)."""
    cdef Py_ssize_t p, n = tables.n_tokens
    cdef double top = -INFINITY, total = 0.0
    for p in range(tables.n_states):
        if tables.alpha[n, p] > 0.0:
            top = max(top, _final(tables, p))
    if top == -INFINITY:
        return -INFINITY
    for p in range(tables.n_states):
        if tables.alpha[n, p] > 0.0:
            total += tables.alpha[n, p] * exp(_final(tables, p) - top)
    tables.z_rest = top + log(total)
    tables.z_scale = tables.alpha_scale[n]
    return tables.z_scale + tables.z_rest


cdef double _final(Tables tables, Py_ssize_t p) noexcept nogil:
    cdef Py_ssize_t edge = tables.final_edge[p]
    return tables.edge_weight[edge] if edge >= 0 else 0.0


cdef void _end_row(Tables tables) noexcept nogil:
    """beta[n, p] = exp(weight of the patterns that end in $ after p)."""
    cdef Py_ssize_t p, n = tables.n_tokens
    cdef double top = -INFINITY
    for p in range(tables.n_states):
        top = max(top, _final(tables, p))
    tables.beta_scale[n] = rint(top) if top > -INFINITY else 0.0
    for p in range(tables.n_states):
        tables.beta[n, p] = exp(_final(tables, p) - tables.beta_scale[n])


cdef void _starts(Tables tables, Py_ssize_t u) noexcept nogil:
    """B[u, q] = sum_j exp(segment(u, j)) beta[j, q] + exp(enter) T[u + H + 1, q]."""
    cdef Py_ssize_t t, j, y, a, b
    cdef double top = -INFINITY, weight
    for t in range(tables.n_terms):
        j, y = tables.term_position[t], tables.term_label[t]
        top = max(
            top, tables.term_score[t] + tables.beta_scale[j] + tables.beta_top[j, y]
        )
    for t in range(tables.n_enters):
        j, y = tables.enter_position[t], tables.enter_label[t]
        top = max(
            top, tables.enter_score[t] + tables.rest_scale[j] + tables.rest_top[j, y]
        )
    if top == -INFINITY:
        tables.closing_scale[u] = tables.closing_scale[u + 1]
        return
    tables.closing_scale[u] = top = rint(top)
    for t in range(tables.n_terms):
        j, y = tables.term_position[t], tables.term_label[t]
        if tables.beta_top[j, y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        weight = exp(tables.term_score[t] + (tables.beta_scale[j] - top))
        _add(weight, &tables.beta[j, 0] + a, &tables.closing[u, 0] + a, b - a)
    for t in range(tables.n_enters):
        j, y = tables.enter_position[t], tables.enter_label[t]
        if tables.rest_top[j, y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        weight = exp(tables.enter_score[t] + (tables.rest_scale[j] - top))
        _add(weight, &tables.rest[j, 0] + a, &tables.closing[u, 0] + a, b - a)


cdef void _close(Tables tables, Py_ssize_t u) noexcept nogil:
    """beta[u] from B[u]: the arcs and the circuit, transposed."""
    cdef Py_ssize_t v, k, q, n_states = tables.n_states
    cdef double value
    for v in range(tables.n_nodes):
        tables.node[v] = 0.0
    for q in range(1, n_states):
        value = tables.closing[u, q]
        for k in range(tables.first_arc[q], tables.first_arc[q + 1]):
            tables.node[tables.arc_node[k]] += tables.arc_weight[k] * value
    for v in range(tables.n_nodes - n_states - 1, -1, -1):
        value = tables.node[n_states + v]
        for k in range(tables.first_input[v], tables.first_input[v + 1]):
            tables.node[tables.node_input[k]] += value
    for v in range(n_states):
        tables.beta[u, v] = tables.node[v]
    tables.beta_scale[u] = tables.closing_scale[u] + tables.arc_scale


cdef void _rest(Tables tables, Py_ssize_t u) noexcept nogil:
    """T[u, q] = exp(end[u-1]) beta[u, q] + exp(more[u] + tail) T[u + 1, q]."""
    cdef Py_ssize_t y, a, b, n = tables.n_tokens
    cdef double top = -INFINITY, weight
    for y in range(tables.n_labels):
        if tables.tail[y] == -INFINITY:
            continue
        top = max(
            top, tables.end[u - 1, y] + tables.beta_scale[u] + tables.beta_top[u, y]
        )
        if u < n:
            top = max(
                top,
                tables.more[u, y]
                + tables.tail[y]
                + tables.rest_scale[u + 1]
                + tables.rest_top[u + 1, y],
            )
    if top == -INFINITY:
        return
    tables.rest_scale[u] = top = rint(top)
    for y in range(tables.n_labels):
        if tables.tail[y] == -INFINITY:
            continue
        a, b = tables.first_state[y], tables.first_state[y + 1]
        if tables.beta_top[u, y] > -INFINITY:
            weight = exp(tables.end[u - 1, y] + (tables.beta_scale[u] - top))
            _add(weight, &tables.beta[u, 0] + a, &tables.rest[u, 0] + a, b - a)
        if u < n and tables.rest_top[u + 1, y] > -INFINITY:
            weight = exp(
                tables.more[u, y] + tables.tail[y] + (tables.rest_scale[u + 1] - top)
            )
            _add(weight, &tables.rest[u + 1, 0] + a, &tables.rest[u, 0] + a, b - a)
    _tops(tables, &tables.rest[u, 0], &tables.rest_top[u, 0], 0.0)


cdef void _add(double weight, const double* x, double* y, Py_ssize_t n) noexcept nogil:
    """y += weight * x."""
    cdef Py_ssize_t i
    if weight == 0.0:
        return
    for i in range(n):
        y[i] += weight * x[i]


cdef double dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    """sum_i x[i] y[i]."""
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total
