from ..chart.layout cimport Sums
from .tables_x4 cimport TablesX4


cdef bint run(TablesX4 tables) noexcept nogil
cdef double log_z(TablesX4 tables, Py_ssize_t a) noexcept nogil
cdef double probability(
    TablesX4 tables,
    Py_ssize_t a,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t g,
    double score,
) noexcept nogil
cdef bint forward(TablesX4 tables) noexcept nogil
cdef bint sums_are_exact(TablesX4 tables) noexcept nogil
cdef void sum_lanes(
    const Sums* sums, const double[::1] weight, double[:, ::1] slot
) noexcept nogil
