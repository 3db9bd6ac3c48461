from ..chart.chart cimport Chart


cdef double add_path(Chart chart, segments, gradient, double times)
cdef void add_suffixes(
    Chart chart, Py_ssize_t edge, double[::1] pattern, double times
) noexcept nogil
