from .tables cimport Tables

cdef void forward(Tables tables) noexcept nogil
cdef void backward_row(Tables tables, Py_ssize_t u, bint maximum) noexcept nogil
cdef void circuit(Tables tables, Py_ssize_t j) noexcept nogil
cdef double log_dot(const double* x, const double* y, Py_ssize_t n) noexcept nogil
cdef double final_weight(Tables tables, Py_ssize_t p) noexcept nogil
