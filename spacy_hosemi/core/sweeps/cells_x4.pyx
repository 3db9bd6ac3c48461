"""Cells of documents that stand side by side, see `scaled_x4`.

A cell of one token is added to the score of its segment. A longer one makes all
segments from its start explicit up to its own length, and others enter the running sum
behind that, as in `scaled`: each is added to the rows of its lane, in the order in
which it would be added alone.

    alpha[j, q] += long A[u, q]                  R[j, q] += late A[u, q]
    B[u, q]     += long beta[j, q] + late T[j, q]
"""

from libc.math cimport INFINITY

from ..simd cimport simd as kernels
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..simd.simd cimport N_LANES
from .tables_x4 cimport TablesX4


cdef void read(
    TablesX4 tables, Py_ssize_t j, Py_ssize_t a, double* score
) noexcept nogil:
    """Add short cells to the scores of a lane; what enters later does not do so
    here."""
    _read(tables.n_groups, (<Chart>tables.chart[a]).cells, j, score)


cdef void _read(
    Py_ssize_t n_groups, CellLists cells, Py_ssize_t j, double* score
) noexcept nogil:
    cdef Py_ssize_t g, i
    for i in range(cells.first_short[j], cells.first_short[j + 1]):
        score[cells.short_slot[i] * N_LANES] += cells.short_score[i]
    if j > 1 and cells.late_horizon.shape[0]:
        for g in range(n_groups):
            if cells.late_horizon[j - 2, g]:
                score[(2 * n_groups + g) * N_LANES] = -INFINITY


cdef void add_keys(TablesX4 tables, Py_ssize_t j, double* best) noexcept nogil:
    """Exponents of what is added at j; best[a] becomes a bound on these, too, and
    cell_top one on all segments of a group that end here."""
    cdef Py_ssize_t a
    for a in range(N_LANES):
        if j <= tables.n_tokens[a]:
            _keys_of(tables, (<Chart>tables.chart[a]).cells, j, a, best)


cdef void _keys_of(
    TablesX4 tables, CellLists cells, Py_ssize_t j, Py_ssize_t a, double* best
) noexcept nogil:
    cdef Py_ssize_t g, t, u
    cdef double key, at_end
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        g = cells.long_group[t]
        tables.cell_top[g, a] = tables.weight[j, g, a] + tables.top[j, g, a]
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        u, g = cells.long_start[t], cells.long_group[t]
        key = cells.long_score[t] + tables.opened_scale[u + 1, a]
        tables.long_weight[a][t] = key
        key += tables.top[u + 1, g, a]
        tables.cell_top[g, a] = max(tables.cell_top[g, a], key)
        best[a] = max(best[a], key)
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        u, g = cells.late_start[t], cells.late_group[t]
        key = cells.late_score[t] + tables.opened_scale[u + 1, a]
        tables.late_weight[a][t] = key
        key += tables.top[u + 1, g, a]
        tables.running_top[g, a] = max(tables.running_top[g, a], key)
        at_end = tables.weight[j, 3 * tables.n_groups + g, a]
        best[a] = max(best[a], tables.running_top[g, a] + max(at_end, 0.0))


cdef bint settle(TablesX4 tables, Py_ssize_t j) noexcept nogil:
    """From exponents to weights without negligible ones. Returns if all are in
    range."""
    cdef Py_ssize_t a
    cdef bint settled = True
    for a in range(N_LANES):
        if j <= tables.n_tokens[a]:
            settled &= _settle_one(tables, (<Chart>tables.chart[a]).cells, j, a)
    return settled


cdef bint _settle_one(
    TablesX4 tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    cdef Py_ssize_t g, t, first = cells.first_long[j]
    cdef double scale = tables.scale[j + 1, a], cut
    cdef bint settled = True
    for t in range(first, cells.first_long[j + 1]):
        g = cells.long_group[t]
        cut = tables.cell_top[g, a] - 70.0 - tables.weights.gap
        settled &= kernels.settle(
            &tables.long_weight[a][t],
            &tables.top[cells.long_start[t] + 1, g, a],
            1,
            cut,
            scale,
        )
    kernels.exp_all(&tables.long_weight[a][first], cells.first_long[j + 1] - first)
    first = cells.first_late[j]
    for t in range(first, cells.first_late[j + 1]):
        tables.late_weight[a][t] -= scale
        settled &= tables.late_weight[a][t] == -INFINITY or (
            tables.late_weight[a][t] >= kernels.HOSEMI_LOWEST
            and tables.late_weight[a][t] <= kernels.HOSEMI_HIGHEST
        )
    kernels.exp_all(&tables.late_weight[a][first], cells.first_late[j + 1] - first)
    return settled


cdef void arrive(TablesX4 tables, Py_ssize_t j) noexcept nogil:
    """Add what cells of all lanes bring to alpha[j] and R[j]."""
    cdef Py_ssize_t a
    for a in range(N_LANES):
        if j <= tables.n_tokens[a]:
            _arrive(tables, (<Chart>tables.chart[a]).cells, j, a)


cdef void _arrive(
    TablesX4 tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    """R[j], and alpha[j] made anew in the groups that have cells: terms are added in
    the order of `scaled`, explicit segments first."""
    cdef Py_ssize_t g, t, u
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        _add_late(tables, cells, j, a, t)
        _begin_alpha(tables, j, a, cells.late_group[t])
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        _begin_alpha(tables, j, a, cells.long_group[t])
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        u, g = cells.long_start[t], cells.long_group[t]
        if tables.long_weight[a][t] == 0.0:
            continue
        _add(
            tables,
            g,
            tables.long_weight[a][t],
            &tables.opened[u + 1, 0, a],
            &tables.node[0, a],
        )
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        _end_alpha(tables, j, a, cells.late_group[t])
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        _end_alpha(tables, j, a, cells.long_group[t])


cdef void _add_late(
    TablesX4 tables, CellLists cells, Py_ssize_t j, Py_ssize_t a, Py_ssize_t t
) noexcept nogil:
    """R[j], as `hosemi_bound` leaves it."""
    cdef Py_ssize_t q, g = cells.late_group[t], u = cells.late_start[t]
    cdef double largest = 0.0, least
    _add(
        tables,
        g,
        tables.late_weight[a][t],
        &tables.opened[u + 1, 0, a],
        &tables.running[0, a],
    )
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        largest = max(largest, tables.running[q, a])
    least = largest * tables.share
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        if tables.running[q, a] < least:
            tables.running[q, a] = 0.0
    tables.running_top[g, a] = kernels.top_of(largest)


cdef void _begin_alpha(
    TablesX4 tables, Py_ssize_t j, Py_ssize_t a, Py_ssize_t g
) noexcept nogil:
    """alpha[j] of a group from segments of one token, once."""
    cdef Py_ssize_t q
    if tables.is_begun[g]:
        return
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        tables.node[q, a] = tables.weight[j, g, a] * tables.opened[j, q, a]
    tables.is_begun[g] = True


cdef void _end_alpha(
    TablesX4 tables, Py_ssize_t j, Py_ssize_t a, Py_ssize_t g
) noexcept nogil:
    """Add to alpha[j] of a group what R[j] brings, once."""
    cdef double at_end = tables.weight[j, 3 * tables.n_groups + g, a]
    if tables.is_begun[g]:
        _add(tables, g, at_end, &tables.running[0, a], &tables.node[0, a])
    tables.is_begun[g] = False


cdef void leave(TablesX4 tables, Py_ssize_t j) noexcept nogil:
    """Complete B[j - 1], which stands in the first nodes, by what ends behind j, and
    keep what enters at j for B of other starts."""
    cdef Py_ssize_t a
    for a in range(N_LANES):
        if j <= tables.n_tokens[a]:
            _keep_late(tables, (<Chart>tables.chart[a]).cells, j, a)
            _pull(tables, (<Chart>tables.chart[a]).cells, j - 1, a)


cdef void _keep_late(
    TablesX4 tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    """late T[j, q], of segments that enter at j."""
    cdef Py_ssize_t g, t, q, first
    cdef double* closing
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        g = cells.late_group[t]
        first = tables.layout.first_state[g]
        closing = tables.late_closing[a] + t * tables.n_most
        for q in range(first, tables.layout.first_state[g + 1]):
            closing[q - first] = tables.late_weight[a][t] * tables.rest[q, a]


cdef void _pull(
    TablesX4 tables, CellLists cells, Py_ssize_t u, Py_ssize_t a
) noexcept nogil:
    """Add to B[u] what long cells from u bring, from the longest segment on."""
    cdef Py_ssize_t i, k, p, q, g, j, t, n, first
    cdef const double* beta
    cdef double* closing
    cdef double* more
    cdef double weight
    for i in range(tables.first_place[a][u], tables.first_place[a][u + 1]):
        p = tables.placed[a][i]
        g, t = cells.place_group[p], cells.place_late[p]
        first = tables.layout.first_state[g]
        n = tables.layout.first_state[g + 1] - first
        if t < 0:  # it ends with the document
            t = cells.late_start.shape[0]
            more = tables.late_closing[a] + t * tables.n_most
            for q in range(n):
                more[q] = 0.0
        more = tables.late_closing[a] + t * tables.n_most
        for k in range(cells.place_first[p + 1] - 1, cells.place_first[p] - 1, -1):
            weight = tables.long_weight[a][cells.place_long[k]]
            if weight == 0.0:
                continue
            j = u + cells.n_lengths + 1 + k - cells.place_first[p]
            beta = &tables.beta[j, first, a]
            for q in range(n):
                more[q] += weight * beta[q * N_LANES]
        closing = &tables.back_node[first, a]
        for q in range(n):
            closing[q * N_LANES] += more[q]


cdef void _add(
    TablesX4 tables, Py_ssize_t g, double weight, const double* x, double* y
) noexcept nogil:
    """y += weight * x, for the states of a group in one lane."""
    cdef Py_ssize_t q
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        y[q * N_LANES] += weight * x[q * N_LANES]
