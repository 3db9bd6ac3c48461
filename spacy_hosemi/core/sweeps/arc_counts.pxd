from libc.stdint cimport int32_t

from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables


cdef class ArcCounts:
    cdef object patterns                # [M] as an array ..
    cdef double[::1] pattern            # .. and its view
    cdef double[::1] entry              # [F] of ObservedArcs; None without them
    cdef double[::1] edge               # [E]
    # Arcs at N_LANES boundaries side by side; in log domain at one
    cdef Py_ssize_t n_lanes
    cdef double[::1] arc                # [A] linear domain: but for the arc's weight
    cdef double[::1] prob               # [A] log domain: what was added to it last
    cdef double[::1] more               # [A lanes] what entries make of the weights
    cdef double[:, ::1] node            # [N + P + 2, lanes] linear domain
    cdef object _lease

    cdef void add(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
    cdef void add_end(
        self, Chart chart, DPTables tables, const double* alpha
    ) noexcept nogil
    cdef void _add_rows(
        self, Chart chart, DPTables tables, Py_ssize_t j, Py_ssize_t end
    ) noexcept nogil
    cdef void _add_entries(
        self, Chart chart, DPTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef double _sum(
        self,
        Chart chart,
        DPTables tables,
        const int32_t* arc,
        Py_ssize_t n,
        Py_ssize_t a,
    ) noexcept nogil
    cdef void finish(self, Chart chart, DPTables tables) noexcept nogil


cdef ArcCounts arc_counts(Chart chart, DPTables tables)
