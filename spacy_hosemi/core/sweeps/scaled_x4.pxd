from .lane_tables cimport LaneTables


cdef class ScaledX4(LaneTables):
    cdef bint run(self) noexcept nogil
    cdef bint _finish_loading(self) noexcept nogil
    cdef bint _sums_are_exact(self) noexcept nogil
    cdef bint _forward(self) noexcept nogil
    cdef void _read(self, Py_ssize_t j, Py_ssize_t a, double* score) noexcept nogil
    cdef void _finish(self, Py_ssize_t a) noexcept nogil
    cdef void _open(self, Py_ssize_t j) noexcept nogil
    cdef bint _backward(self) noexcept nogil
    cdef double log_z(self, Py_ssize_t a) noexcept nogil
    cdef double start_probability(
        self, Py_ssize_t a, Py_ssize_t u, Py_ssize_t g
    ) noexcept nogil
    cdef double probability(
        self, Py_ssize_t a, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g, double score
    ) noexcept nogil
