"""The sweeps in log domain: slower, but no score is too large or too small.

The same recursions as in the linear module, with log-add for + and + for *. With
`maximum`, + becomes max instead, and the backward sweep is that of Viterbi decoding.
"""

from libc.math cimport INFINITY, exp, log1p

from .tables cimport Tables


cdef inline double _log_add(double x, double y) noexcept nogil:
    """log(exp(x) + exp(y)) without overflow; -inf is the neutral element."""
    if x < y:
        x, y = y, x
    if y == -INFINITY:
        return x
    return x + log1p(exp(y - x))


cdef inline double _plus(double x, double y, bint maximum) noexcept nogil:
    if maximum:
        return max(x, y)
    return _log_add(x, y)


cdef void forward(Tables tables) noexcept nogil:
    """Fill alpha, opened and running, set log_z."""
    cdef Py_ssize_t j, p, n = tables.n_tokens
    cdef double total = -INFINITY
    tables.begin_sweep()
    tables.alpha[0, 0] = 0.0
    _open(tables, 0)
    for j in range(1, n + 1):
        tables.segments_ending_at(j)
        _ends(tables, j)
        if j < n:
            _open(tables, j)
    for p in range(tables.n_states):
        total = _log_add(total, tables.alpha[n, p] + final_weight(tables, p))
    tables.log_z = tables.z_rest = total


cdef void backward_row(Tables tables, Py_ssize_t u, bint maximum) noexcept nogil:
    """Fill closing, beta and rest at u; to be called for u = n, .., 0."""
    cdef Py_ssize_t p
    if u == tables.n_tokens:
        for p in range(tables.n_states):
            tables.beta[u, p] = final_weight(tables, p)
    else:
        tables.segments_starting_at(u)
        _starts(tables, u, maximum)
        _close(tables, u, maximum)
    if tables.has_tail and u > 0:
        _rest(tables, u, maximum)


cdef void _ends(Tables tables, Py_ssize_t j) noexcept nogil:
    """alpha[j] and R[j] from the segments that end at j, or run on over it."""
    cdef Py_ssize_t t, u, y, a, n
    for t in range(tables.n_terms):
        u, y = tables.term_position[t], tables.term_label[t]
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.term_score[t],
            &tables.opened[u, 0] + a,
            &tables.alpha[j, 0] + a,
            n,
            False,
        )
    if not tables.has_tail:
        return
    for y in range(tables.n_labels):
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.more[j - 1, y] + tables.tail[y],
            &tables.running[j - 1, 0] + a,
            &tables.running[j, 0] + a,
            n,
            False,
        )
    for t in range(tables.n_enters):
        u, y = tables.enter_position[t], tables.enter_label[t]
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.enter_score[t],
            &tables.opened[u, 0] + a,
            &tables.running[j, 0] + a,
            n,
            False,
        )
    for y in range(tables.n_labels):
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.end[j - 1, y],
            &tables.running[j, 0] + a,
            &tables.alpha[j, 0] + a,
            n,
            False,
        )


cdef void _open(Tables tables, Py_ssize_t j) noexcept nogil:
    """A[j] from alpha[j] through the arcs."""
    cdef Py_ssize_t q, k
    cdef double total, value
    circuit(tables, j)
    for q in range(1, tables.n_states):
        total = -INFINITY
        for k in range(tables.first_arc[q], tables.first_arc[q + 1]):
            value = tables.node[tables.arc_node[k]] + tables.arc_weight[k]
            total = _log_add(total, value)
        tables.opened[j, q] = total


cdef void circuit(Tables tables, Py_ssize_t j) noexcept nogil:
    """node[v] = log-sum of its inputs; the first P nodes are alpha[j]."""
    cdef Py_ssize_t v, k, n_states = tables.n_states
    cdef double total
    for v in range(n_states):
        tables.node[v] = tables.alpha[j, v]
    for v in range(tables.n_nodes - n_states):
        total = -INFINITY
        for k in range(tables.first_input[v], tables.first_input[v + 1]):
            total = _log_add(total, tables.node[tables.node_input[k]])
        tables.node[n_states + v] = total


cdef double final_weight(Tables tables, Py_ssize_t p) noexcept nogil:
    """Weight of the patterns that end in $ after state p."""
    cdef Py_ssize_t edge = tables.final_edge[p]
    return tables.edge_weight[edge] if edge >= 0 else 0.0


cdef void _starts(Tables tables, Py_ssize_t u, bint maximum) noexcept nogil:
    """B[u, q] from the segments that start at u."""
    cdef Py_ssize_t t, j, y, a, n
    for t in range(tables.n_terms):
        j, y = tables.term_position[t], tables.term_label[t]
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.term_score[t],
            &tables.beta[j, 0] + a,
            &tables.closing[u, 0] + a,
            n,
            maximum,
        )
    for t in range(tables.n_enters):
        j, y = tables.enter_position[t], tables.enter_label[t]
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.enter_score[t],
            &tables.rest[j, 0] + a,
            &tables.closing[u, 0] + a,
            n,
            maximum,
        )


cdef void _close(Tables tables, Py_ssize_t u, bint maximum) noexcept nogil:
    """beta[u] from B[u]: the arcs and the circuit, transposed."""
    cdef Py_ssize_t v, k, q, i, n_states = tables.n_states
    cdef double value, passed
    for v in range(tables.n_nodes):
        tables.node[v] = -INFINITY
    for q in range(1, n_states):
        value = tables.closing[u, q]
        if value == -INFINITY:
            continue
        for k in range(tables.first_arc[q], tables.first_arc[q + 1]):
            i = tables.arc_node[k]
            passed = tables.arc_weight[k] + value
            tables.node[i] = _plus(tables.node[i], passed, maximum)
    for v in range(tables.n_nodes - n_states - 1, -1, -1):
        value = tables.node[n_states + v]
        for k in range(tables.first_input[v], tables.first_input[v + 1]):
            i = tables.node_input[k]
            tables.node[i] = _plus(tables.node[i], value, maximum)
    for v in range(n_states):
        tables.beta[u, v] = tables.node[v]


cdef void _rest(Tables tables, Py_ssize_t u, bint maximum) noexcept nogil:
    """T[u, q]: a running segment ends at u, or goes on with token u."""
    cdef Py_ssize_t y, a, n
    for y in range(tables.n_labels):
        if tables.tail[y] == -INFINITY:
            continue
        a, n = tables.first_state[y], tables.first_state[y + 1] - tables.first_state[y]
        _add(
            tables.end[u - 1, y],
            &tables.beta[u, 0] + a,
            &tables.rest[u, 0] + a,
            n,
            maximum,
        )
        if u < tables.n_tokens:
            _add(
                tables.more[u, y] + tables.tail[y],
                &tables.rest[u + 1, 0] + a,
                &tables.rest[u, 0] + a,
                n,
                maximum,
            )


cdef void _add(
    double weight, const double* x, double* y, Py_ssize_t n, bint maximum
) noexcept nogil:
    """y = log(exp(y) + exp(weight + x)), or the larger of the two."""
    cdef Py_ssize_t i
    if weight == -INFINITY:
        return
    if maximum:
        for i in range(n):
            y[i] = weight + x[i] if weight + x[i] > y[i] else y[i]
    else:
        for i in range(n):
            y[i] = _log_add(y[i], weight + x[i])


cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil:
    """log sum_i exp(x[i] + y[i])."""
    cdef Py_ssize_t i
    cdef double total = -INFINITY
    for i in range(n):
        total = _log_add(total, x[i] + y[i])
    return total
