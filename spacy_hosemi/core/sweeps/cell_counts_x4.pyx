"""Expected counts of the segments that cells make explicit, see `counts_x4`.

With each row of the backward sweep, while it is at hand:

    P(a segment of one token, q)          = here[j] A[j-1, q] beta[j, q]
    P(a long segment from u ends at j, q) = long A[u, q] beta[j, q]
    P(a late segment from u enters, q)    = late A[u, q] T[j, q]

A late segment has the tokens before j - 1 beside those that `counts_x4` counts.
"""

from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..simd.simd cimport N_LANES
from .tables_x4 cimport TablesX4


cdef void add_cells(
    TablesX4 tables,
    LaneCounts* counts,                 # [4] of each document; added to
    double* final,                      # [P] of states at the end; added to
    Py_ssize_t j,
) noexcept nogil:
    """Segments that end or enter at j; T[j] is complete."""
    cdef Py_ssize_t a
    for a in range(N_LANES):
        if j <= tables.n_tokens[a] and (<Chart>tables.chart[a]).cells.n_cells:
            _add_short(tables, (<Chart>tables.chart[a]).cells, counts[a], j, a)
            _add_long(tables, (<Chart>tables.chart[a]).cells, counts[a], final, j, a)
            _add_late(tables, (<Chart>tables.chart[a]).cells, counts[a], j, a)


cdef void _add_short(
    TablesX4 tables, CellLists cells, LaneCounts counts, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    cdef Py_ssize_t i, g
    cdef const double* beta = &tables.back_node[tables.n_states, 0]
    for i in range(cells.first_short[j], cells.first_short[j + 1]):
        g = cells.short_slot[i]
        counts.cell[cells.short_cell[i]] += _product(
            tables, g, tables.weight[j, g, a], &tables.opened[j, 0, a], beta + a
        )


cdef void _add_long(
    TablesX4 tables,
    CellLists cells,
    LaneCounts counts,
    double* final,
    Py_ssize_t j,
    Py_ssize_t a,
) noexcept nogil:
    cdef Py_ssize_t t, g, u, q, n_groups = tables.n_groups
    cdef const double* beta = &tables.back_node[tables.n_states, 0] + a
    cdef const double* opened
    cdef double prob, weight
    for t in range(cells.first_long[j], cells.first_long[j + 1]):
        g, u = cells.long_group[t], cells.long_start[t]
        weight = tables.long_weight[a][t]
        if weight == 0.0:
            continue
        opened = &tables.opened[u + 1, 0, a]
        prob = _product(tables, g, weight, opened, beta)
        _cover(tables, counts, g, u, j, prob)
        counts.end[(j - 1) * n_groups + g] += prob
        if cells.long_cell[t] >= 0:
            counts.cell[cells.long_cell[t]] += prob
        if j < tables.n_tokens[a]:
            continue
        for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
            if tables.layout.final_edge[q] >= 0:
                final[q] += weight * opened[q * N_LANES] * beta[q * N_LANES]


cdef void _add_late(
    TablesX4 tables, CellLists cells, LaneCounts counts, Py_ssize_t j, Py_ssize_t a
) noexcept nogil:
    cdef Py_ssize_t t, g, u
    cdef const double* rest = &tables.rest[0, a]
    cdef double prob
    for t in range(cells.first_late[j], cells.first_late[j + 1]):
        g, u = cells.late_group[t], cells.late_start[t]
        prob = _product(
            tables, g, tables.late_weight[a][t], &tables.opened[u + 1, 0, a], rest
        )
        _cover(tables, counts, g, u, j - 1, prob)


cdef void _cover(
    TablesX4 tables,
    LaneCounts counts,
    Py_ssize_t g,
    Py_ssize_t u,
    Py_ssize_t end,
    double prob,
) noexcept nogil:
    """A segment from u has the tokens before `end`."""
    cdef Py_ssize_t k, n_groups = tables.n_groups
    counts.start[u * n_groups + g] += prob
    for k in range(u, end):
        counts.inside[k * n_groups + g] += prob
    if counts.within != NULL:
        for k in range(u + 1, end):
            counts.within[k * n_groups + g] += prob


cdef double _product(
    TablesX4 tables, Py_ssize_t g, double weight, const double* x, const double* y
) noexcept nogil:
    """weight sum_q x[q] y[q] over the states of a group, of one lane."""
    cdef Py_ssize_t q
    cdef double total = 0.0
    for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
        total += x[q * N_LANES] * y[q * N_LANES]
    return weight * total
