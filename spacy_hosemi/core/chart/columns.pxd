from libc.stdint cimport int32_t, uint8_t


cdef struct Entry:
    # a record of ENTRIES
    int32_t position
    uint8_t role
    int32_t column
    double score


cdef entries_of(potentials, Py_ssize_t n_tokens, Py_ssize_t n_columns)
cdef double[:, ::1] scores_of_groups(
    automaton, const double[:, ::1] dense, const Entry[::1] entries, Py_ssize_t role
)
cdef bint are_entries(
    const Entry[::1] entries, Py_ssize_t n_tokens, Py_ssize_t n_columns
) noexcept nogil
