from ..chart.dp_tables cimport Tables

cdef void forward(Tables tables) noexcept nogil
cdef void refill(Tables tables, Py_ssize_t j) noexcept nogil
cdef void end_row(Tables tables) noexcept nogil
cdef void close_row(Tables tables, Py_ssize_t j, bint maximum) noexcept nogil
cdef void count_arcs(
    Tables tables,
    Py_ssize_t j,
    const double* more,
    double* prob,
    double* count,
) noexcept nogil
cdef void rest_row(
    Tables tables, Py_ssize_t j, double* rest, const double* after, bint maximum
) noexcept nogil
cdef void push_row(
    Tables tables, Py_ssize_t j, const double* rest, bint maximum
) noexcept nogil
cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil
