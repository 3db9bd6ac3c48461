from .cells cimport Cell


cdef bint is_fit(
    const double[:, ::1] x,
    Py_ssize_t n_rows,
    Py_ssize_t n_columns,
    Py_ssize_t or_columns,
) noexcept nogil
cdef checked_cells(cells, Py_ssize_t n_tokens, Py_ssize_t n_columns)
cdef bint are_sound(
    const Cell[::1] cells, Py_ssize_t n_tokens, Py_ssize_t n_columns
) noexcept nogil
cdef bint are_numbers(const double[::1] x) noexcept nogil
cdef bint are_all_numbers(const double[:, ::1] x) noexcept nogil
cdef check_sum(double total)
