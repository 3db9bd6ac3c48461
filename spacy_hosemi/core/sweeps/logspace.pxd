from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables


cdef void end_row(Chart chart, DPTables tables) noexcept nogil
cdef void close_row(
    Chart chart, DPTables tables, Py_ssize_t j, bint maximum
) noexcept nogil
cdef void rest_row(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    double* rest,
    const double* after,
    bint maximum,
) noexcept nogil
cdef void push_row(
    Chart chart, DPTables tables, Py_ssize_t j, const double* rest, bint maximum
) noexcept nogil
