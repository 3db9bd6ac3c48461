from libc.stdint cimport int8_t, int32_t, uint8_t


cdef void prohibit(
    const uint8_t* allowed,
    const int8_t* boundary,
    Py_ssize_t n_tokens,
    Py_ssize_t n_labels,
    const int32_t[::1] label,
    double* first,
    double* more,
    double* end,
) noexcept nogil
