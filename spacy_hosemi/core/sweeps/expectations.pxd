from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from .arc_counts cimport ArcCounts


cdef class Expectations:
    cdef ArcCounts arcs
    cdef dict arrays                    # those of the next four, for the gradient
    cdef double[:, ::1] inside          # [G, n]
    cdef double[:, ::1] end             # [n, G]
    cdef double[::1] slot               # [G D] by group and length, as scores
    cdef double[::1] tail               # [G]
    cdef double[::1] cell               # [K] merged cells
    # of one row
    cdef double[::1] prob               # [G D] of the explicit segments
    cdef double[::1] long_prob          # [G] of those that run on
    cdef double[::1] one                # [G] the weight 1

    cdef void add_running(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void add_entering(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void add_explicit(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void _add_ends(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
    cdef void _add_long(
        self, Chart chart, Py_ssize_t g, Py_ssize_t u, Py_ssize_t j, double prob
    ) noexcept nogil
    cdef void _set_probs(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef gradient(self, Chart chart, DPTables tables, potentials)
    cdef _entries(self, Chart chart, potentials)
    cdef _take(self, Chart chart, DPTables tables, role)


cdef Expectations expectations(Chart chart, DPTables tables)
cdef void start_probabilities(
    Chart chart, DPTables tables, double[:, ::1] found
) noexcept nogil
