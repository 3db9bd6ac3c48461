from ..chart.dp_tables cimport Tables

cdef bint forward(Tables tables) noexcept nogil
cdef bint refill(Tables tables, Py_ssize_t j) noexcept nogil
cdef double log_final(
    Tables tables, const double* alpha, Py_ssize_t step
) noexcept nogil
cdef bint end_row(Tables tables) noexcept nogil
cdef bint fill_end(
    Tables tables, double z_rest, double* beta, Py_ssize_t step
) noexcept nogil
cdef double probability(
    const double* opened,
    const double* beta,
    Py_ssize_t n,
    Py_ssize_t step,
    double score,
) noexcept nogil
cdef void count_arcs(
    Tables tables,
    Py_ssize_t j,
    Py_ssize_t end,
    double[:, ::1] node,
    const double* more,
    double* count,
) noexcept nogil
cdef void close_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void rest_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void push_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void clear_flags() noexcept nogil
cdef bint in_range() noexcept nogil
