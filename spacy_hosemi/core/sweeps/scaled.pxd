from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..chart.layout cimport Sums

cdef void clear_flags() noexcept nogil
cdef bint in_range() noexcept nogil
cdef bint begin(DPTables tables) noexcept nogil
cdef void begin_again(Chart chart, DPTables tables) noexcept nogil
cdef void open_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef void bound_opened(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef bint end_segments(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef bint set_log_z(Chart chart, DPTables tables) noexcept nogil
cdef double log_final(
    Chart chart, const double* alpha, Py_ssize_t step
) noexcept nogil
cdef void sum_quads(
    const Sums* sums, const double[::1] weight, double[::1] slot
) noexcept nogil
