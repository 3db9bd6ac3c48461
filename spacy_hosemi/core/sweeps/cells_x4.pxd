from .tables_x4 cimport TablesX4


cdef void read(
    TablesX4 tables, Py_ssize_t j, Py_ssize_t a, double* score
) noexcept nogil
cdef void add_keys(TablesX4 tables, Py_ssize_t j, double* best) noexcept nogil
cdef bint settle(TablesX4 tables, Py_ssize_t j) noexcept nogil
cdef void arrive(TablesX4 tables, Py_ssize_t j) noexcept nogil
cdef void leave(TablesX4 tables, Py_ssize_t j) noexcept nogil
