from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..chart.layout cimport Sums


cdef class LogMoments:
    cdef Py_ssize_t ring                # boundaries for which `opened` is kept
    cdef double[:, ::1] opened          # [2 ring, P] beside A, each row twice
    cdef double[:, ::1] running         # [2, P] beside R
    cdef double[::1] alpha              # [P] beside alpha
    cdef double[:, ::1] node            # [N + P + 2, 2] suffix sums and A; beside them
    # weight times log weight
    cdef double[::1] explicit           # [G D] of what ends at a boundary
    cdef double[::1] keep, enter, at_end    # [G]
    cdef double[::1] suffixes           # zeros for the terms of suffix_sums
    cdef double[::1] arcs               # of the terms of arcs_in; where entries ..
    cdef double[::1] arcs_varied        # .. change them; None: nowhere

    cdef void end_segments(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void _set_weights(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void _add_long(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
    cdef void _add_running(
        self, Chart chart, DPTables tables, Py_ssize_t j
    ) noexcept nogil
    cdef void open_row(self, Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
    cdef void _sum(
        self, const Sums* sums, const double* weight, const double* moment
    ) noexcept nogil
    cdef void _vary(self, DPTables tables, Py_ssize_t j, bint undo) noexcept nogil
    cdef double mean(self, Chart chart, DPTables tables)


cdef LogMoments log_moments(Chart chart, DPTables tables)
