from .tables cimport Tables

cdef bint forward(Tables tables) noexcept nogil
cdef bint backward_row(Tables tables, Py_ssize_t u) noexcept nogil
cdef void circuit(Tables tables, Py_ssize_t j) noexcept nogil
cdef double dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil
