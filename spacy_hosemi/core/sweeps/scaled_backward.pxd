from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables

cdef bint end_row(Chart chart, DPTables tables) noexcept nogil
cdef bint fill_end(
    Chart chart, double z_rest, double* beta, Py_ssize_t step
) noexcept nogil
cdef double probability(
    const double* opened,
    const double* beta,
    Py_ssize_t n,
    Py_ssize_t step,
    double score,
) noexcept nogil
cdef void count_arcs(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    Py_ssize_t end,
    double[:, ::1] node,
    const double* more,
    double* count,
) noexcept nogil
cdef void close_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef void rest_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef void push_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
