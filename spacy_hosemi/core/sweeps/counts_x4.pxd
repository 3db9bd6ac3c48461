from .tables_x4 cimport TablesX4


cdef class CountsX4:
    cdef double[::1] arc                # [A lanes] but for the arcs' weights
    cdef double[::1] final              # [P] states at the end
    cdef double[:, :, ::1] group        # [3, G, lanes] of one row, see counts.h
    cdef double[::1] edge               # [E] work
    # By lane: where counts of tokens are written, [n, G] each
    cdef double* start[4]
    cdef double* end[4]
    cdef double* inside[4]
    cdef double* within[4]              # NULL: nowhere

    cdef void clear(self) noexcept nogil
    cdef bint run(self, TablesX4 tables) noexcept nogil
    cdef bint _backward(self, TablesX4 tables) noexcept nogil
    cdef void _add_arcs(self, TablesX4 tables, Py_ssize_t j) noexcept nogil
    cdef void _add_row(self, TablesX4 tables, Py_ssize_t j) noexcept nogil
    cdef void _add_final(
        self, TablesX4 tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void add_patterns(
        self, TablesX4 tables, double[::1] pattern
    ) noexcept nogil


cdef CountsX4 counts_x4(TablesX4 tables)
