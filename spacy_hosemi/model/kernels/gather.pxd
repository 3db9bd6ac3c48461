cdef bint is_zero(const double* x, Py_ssize_t n) noexcept nogil
