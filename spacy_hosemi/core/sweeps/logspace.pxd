from libc.math cimport INFINITY, exp, log1p

from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables


cdef inline double log_add(double x, double y) noexcept nogil:
    """log(exp(x) + exp(y)) without overflow; -inf is the neutral element."""
    if x < y:
        x, y = y, x
    if y == -INFINITY:
        return x
    return x + log1p(exp(y - x))


cdef void open_row(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef void end_segments(Chart chart, DPTables tables, Py_ssize_t j) noexcept nogil
cdef void set_log_z(Chart chart, DPTables tables) noexcept nogil
cdef void end_row(Chart chart, DPTables tables) noexcept nogil
cdef void close_row(
    Chart chart, DPTables tables, Py_ssize_t j, bint maximum
) noexcept nogil
cdef void count_arcs(
    Chart chart,
    DPTables tables,
    Py_ssize_t j,
    const double* more,
    double* prob,
    double* count,
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
cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil
