"""Cells of documents in lanes, see `lanes`.

A cell of up to D tokens is added to the score of its segment. A longer one makes all
segments from its start explicit up to its own length, and others enter the running sum
behind that: each is added to the rows of its lane, in the order in which it would be
added alone.

    alpha[j, q] += long A[u, q]                  R[j, q] += late A[u, q]
    B[u, q]     += long beta[j, q] + late T[j, q]
"""

from libc.math cimport INFINITY

from ..simd cimport lanes as kernels
from ..simd cimport simd
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from .lane_tables cimport LaneTables


cdef void read(
    LaneTables tables, CellLists cells, Py_ssize_t j, double* score
) noexcept nogil:
    """Add short cells to the scores of their lane; what enters later does not do so
    here."""
    cdef Py_ssize_t g, i, u = j - tables.n_lengths - 1
    for i in range(cells.first_short[j], cells.first_short[j + 1]):
        score[cells.short_slot[i] * tables.n_lanes] += cells.short_score[i]
    if u >= 0 and cells.late_horizon.shape[0]:
        for g in range(tables.n_groups):
            if cells.late_horizon[u, g]:
                score[(tables.at_enter + g) * tables.n_lanes] = -INFINITY


cdef void add_keys(LaneTables tables, Py_ssize_t j, double* best) noexcept nogil:
    """Exponents of what is added at j; best[a] becomes a bound on these, too."""
    cdef Py_ssize_t a
    for a in range(tables.n_lanes):
        if j <= tables.n_tokens[a]:
            _keys_of(tables, (<Chart>tables.chart[a]).cells, j, a, best)


cdef void _keys_of(
    LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a, double* best
) noexcept nogil:
    cdef Py_ssize_t g, t, u
    cdef double key, at_end
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        u, g = cells.long_start[t], cells.long_group[t]
        key = cells.long_score[t] + tables.opened_scale[u + 1, a]
        tables.long_weight[a][t] = key
        if tables.in_logs:
            continue
        key += tables.top[u + 1, g, a]
        tables.group_top[g, a] = max(tables.group_top[g, a], key)
        best[a] = max(best[a], key)
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        u, g = cells.late_start[t], cells.late_group[t]
        key = cells.late_score[t] + tables.opened_scale[u + 1, a]
        tables.late_weight[a][t] = key
        if tables.in_logs:
            continue
        key += tables.top[u + 1, g, a]
        tables.running_top[g, a] = max(tables.running_top[g, a], key)
        at_end = tables.weight[j - tables.base, tables.at_end + g, a]
        best[a] = max(best[a], tables.running_top[g, a] + max(at_end, 0.0))


cdef bint settle(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """From exponents to weights without negligible ones. Returns if all are in
    range."""
    cdef Py_ssize_t a
    cdef bint settled = True
    for a in range(tables.n_lanes):
        if j <= tables.n_tokens[a]:
            settled &= _settle_lane(tables, (<Chart>tables.chart[a]).cells, j, a)
    return settled


cdef bint _settle_lane(
    LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    cdef Py_ssize_t g, t, first = cells.first_long[j]
    cdef double scale = tables.scale[j + 1, a], cut
    cdef double* weight = tables.long_weight[a]
    cdef bint settled = True
    for t in range(first, cells.first_long[j + 1]):
        g = cells.long_group[t]
        cut = tables.group_top[g, a] - 70.0 - tables.weights.gap
        if weight[t] + tables.top[cells.long_start[t] + 1, g, a] > cut:
            settled &= _settle_one(&weight[t], scale)
        else:
            weight[t] = -INFINITY
    simd.exp_all(&weight[first], cells.first_long[j + 1] - first)
    first, weight = cells.first_late[j], tables.late_weight[a]
    for t in range(first, cells.first_late[j + 1]):
        settled &= _settle_one(&weight[t], scale)
    simd.exp_all(&weight[first], cells.first_late[j + 1] - first)
    return settled


cdef inline bint _settle_one(double* x, double scale) noexcept nogil:
    x[0] -= scale
    return x[0] == -INFINITY or simd.HOSEMI_LOWEST <= x[0] <= simd.HOSEMI_HIGHEST


cdef void arrive(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """Add what cells of all lanes bring to alpha[j] and R[j]."""
    cdef Py_ssize_t a
    for a in range(tables.n_lanes):
        if j <= tables.n_tokens[a]:
            _arrive(tables, (<Chart>tables.chart[a]).cells, j, a)


cdef void _arrive(
    LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    """R[j], and alpha[j] made anew in the groups that have cells: explicit segments are
    added first."""
    cdef Py_ssize_t g, t, u
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        _add_late(tables, cells, j, a, t)
        _begin_alpha(tables, j, a, cells.late_group[t])
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        _begin_alpha(tables, j, a, cells.long_group[t])
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        u, g = cells.long_start[t], cells.long_group[t]
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
    LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a, Py_ssize_t t
) noexcept nogil:
    """R[j], as `lane_bound` leaves it."""
    cdef Py_ssize_t q, g = cells.late_group[t], u = cells.late_start[t]
    cdef double largest = 0.0, least
    _add(
        tables,
        g,
        tables.late_weight[a][t],
        &tables.opened[u + 1, 0, a],
        &tables.running[0, a],
    )
    if tables.in_logs:
        return
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        largest = max(largest, tables.running[q, a])
    least = largest * tables.share
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        if tables.running[q, a] < least:
            tables.running[q, a] = 0.0
    tables.running_top[g, a] = simd.top_of(largest)


cdef void _begin_alpha(
    LaneTables tables, Py_ssize_t j, Py_ssize_t a, Py_ssize_t g
) noexcept nogil:
    """alpha[j] of a group from segments of up to D tokens, once."""
    cdef Py_ssize_t q, i, n_lengths = tables.n_lengths
    if tables.is_begun[g]:
        return
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        tables.node[q, a] = -INFINITY if tables.in_logs else 0.0
    for i in range(max(n_lengths - j, 0), n_lengths):
        _add(
            tables,
            g,
            tables.weight[j - tables.base, g * n_lengths + i, a],
            &tables.opened[j + 1 - n_lengths + i, 0, a],
            &tables.node[0, a],
        )
    tables.is_begun[g] = True


cdef void _end_alpha(
    LaneTables tables, Py_ssize_t j, Py_ssize_t a, Py_ssize_t g
) noexcept nogil:
    """Add to alpha[j] of a group what R[j] brings, once."""
    cdef double at_end = tables.weight[j - tables.base, tables.at_end + g, a]
    if tables.is_begun[g]:
        _add(tables, g, at_end, &tables.running[0, a], &tables.node[0, a])
    tables.is_begun[g] = False


cdef void leave(LaneTables tables, Py_ssize_t j) noexcept nogil:
    """Complete B[j - 1], which stands in the first nodes, by what ends behind j, and
    keep what enters at j for B of other starts."""
    cdef Py_ssize_t a
    for a in range(tables.n_lanes):
        if j <= tables.n_tokens[a]:
            _keep_late(tables, (<Chart>tables.chart[a]).cells, j, a)
            _pull(tables, (<Chart>tables.chart[a]).cells, j - 1, a)


cdef void _keep_late(
    LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    """late T[j, q], of segments that enter at j."""
    cdef Py_ssize_t g, t, q, first, n, row = j % tables.n_lengths
    cdef double* closing
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        g = cells.late_group[t]
        first = tables.layout.first_state[g]
        n = tables.layout.first_state[g + 1] - first
        closing = tables.late_closing[a] + t * tables.n_most
        for q in range(n):
            closing[q] = -INFINITY if tables.in_logs else 0.0
        kernels.lane_add(
            tables.in_logs,
            n,
            tables.late_weight[a][t],
            &tables.rest[row, first, a],
            tables.n_lanes,
            closing,
            1,
        )


cdef void _pull(
    LaneTables tables, CellLists cells, Py_ssize_t u, Py_ssize_t a
) noexcept nogil:
    """Add to B[u] what long cells from u bring, from the longest segment on."""
    cdef Py_ssize_t i, k, p, q, g, j, t, n, first
    cdef double* more
    for i in range(tables.first_place[a][u], tables.first_place[a][u + 1]):
        p = tables.placed[a][i]
        g, t = cells.place_group[p], cells.place_late[p]
        first = tables.layout.first_state[g]
        n = tables.layout.first_state[g + 1] - first
        if t < 0:  # it ends with the document
            t = cells.late_start.shape[0]
            more = tables.late_closing[a] + t * tables.n_most
            for q in range(n):
                more[q] = -INFINITY if tables.in_logs else 0.0
        more = tables.late_closing[a] + t * tables.n_most
        for k in range(cells.place_first[p + 1] - 1, cells.place_first[p] - 1, -1):
            j = u + cells.n_lengths + 1 + k - cells.place_first[p]
            kernels.lane_add(
                tables.in_logs,
                n,
                tables.long_weight[a][cells.place_long[k]],
                &tables.beta[j, first, a],
                tables.n_lanes,
                more,
                1,
            )
        kernels.lane_add(
            tables.in_logs,
            n,
            0.0 if tables.in_logs else 1.0,
            more,
            1,
            &tables.back_node[first, a],
            tables.n_lanes,
        )


cdef void _add(
    LaneTables tables, Py_ssize_t g, double weight, const double* x, double* y
) noexcept nogil:
    """y += weight * x, for the states of a group in one lane."""
    cdef Py_ssize_t first = tables.layout.first_state[g], step = tables.n_lanes
    kernels.lane_add(
        tables.in_logs,
        tables.layout.first_state[g + 1] - first,
        weight,
        x + first * step,
        step,
        y + first * step,
        step,
    )
