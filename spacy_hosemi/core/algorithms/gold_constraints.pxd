from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from ..chart.cells cimport Cell


cdef class GoldConstraints:
    cdef readonly Py_ssize_t n_labels
    cdef int64_t[::1] first             # [D + 1] tokens of documents that have some
    cdef int64_t[::1] number            # [D] of a document among these
    cdef const uint8_t[:, ::1] allowed  # [tokens, L]
    cdef const int8_t[::1] boundary     # [tokens + documents]
    cdef int64_t[::1] first_forbidden   # [D + 1]
    cdef Cell[::1] forbidden

    cdef bint is_given(self, Py_ssize_t d) noexcept nogil
    cdef Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil
    cdef void write(
        self,
        Py_ssize_t d,
        const int32_t[::1] label,
        double* first,
        double* more,
        double* end,
    ) noexcept nogil
