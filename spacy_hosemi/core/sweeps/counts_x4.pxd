from ..simd.simd cimport N_LANES
from .cell_counts_x4 cimport LaneCounts
from .tables_x4 cimport TablesX4


cdef class CountsX4:
    cdef double[::1] arc                # [A lanes] but for the arcs' weights
    cdef double[::1] final              # [P] states at the end
    cdef double[:, :, ::1] group        # [3, G, lanes] of one row, see counts.h
    cdef double[::1] edge               # [E] work
    cdef LaneCounts lane[N_LANES]
    cdef double[:, ::1] cell            # [lanes, K] of merged cells, or more

    cdef reserve_cells(self, Py_ssize_t n)
    cdef void clear(self) noexcept nogil
    cdef bint run(self, TablesX4 tables) noexcept nogil
    cdef void _clear_tokens(self, TablesX4 tables) noexcept nogil
    cdef bint _backward(self, TablesX4 tables) noexcept nogil
    cdef void _add_arcs(self, TablesX4 tables, Py_ssize_t j) noexcept nogil
    cdef void _add_row(self, TablesX4 tables, Py_ssize_t j) noexcept nogil
    cdef void _write_row(
        self, Py_ssize_t n_groups, Py_ssize_t at, Py_ssize_t a, bint adds
    ) noexcept nogil
    cdef void _add_final(
        self, TablesX4 tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void add_patterns(
        self, TablesX4 tables, double[::1] pattern
    ) noexcept nogil


cdef CountsX4 counts_x4(TablesX4 tables)
