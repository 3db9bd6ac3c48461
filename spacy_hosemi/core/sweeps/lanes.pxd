from libc.stdint cimport int32_t

from ..chart.layout cimport Sums
from .lane_counts cimport LaneCounts
from .lane_tables cimport LaneTables


cdef bint run(LaneTables tables, LaneCounts counts) noexcept nogil
cdef double log_z(LaneTables tables, Py_ssize_t a) noexcept nogil
cdef double probability(
    LaneTables tables,
    Py_ssize_t a,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t g,
    double score,
) noexcept nogil
cdef void fill(double* x, Py_ssize_t n, double value) noexcept nogil
