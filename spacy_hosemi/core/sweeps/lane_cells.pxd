from .lane_tables cimport LaneTables


cdef void read(
    LaneTables tables, Py_ssize_t j, Py_ssize_t a, double* score
) noexcept nogil
cdef void add_keys(LaneTables tables, Py_ssize_t j, double* best) noexcept nogil
cdef bint settle(LaneTables tables, Py_ssize_t j) noexcept nogil
cdef void arrive(LaneTables tables, Py_ssize_t j) noexcept nogil
cdef void leave(LaneTables tables, Py_ssize_t j) noexcept nogil
