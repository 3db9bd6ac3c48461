from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport Room


cdef class GoldPaths:
    cdef readonly object automaton
    cdef int64_t[::1] borders           # [B + 1] documents of blocks
    cdef int64_t[::1] first             # [D + 1] tokens
    cdef int64_t[::1] first_cell        # [D + 1]
    cdef int32_t[::1] label             # [n]
    cdef int32_t[::1] edge              # [n] of the segment that starts there, or -1
    cdef int32_t[::1] last_state        # [D] -1: no whole path is known
    cdef int32_t[::1] order             # documents of each block, see there
    cdef int64_t[::1] first_in_order    # [B + 1]
    # Of documents with constraints
    cdef int64_t[::1] first_limit       # [D] their rows of what follows, or -1
    cdef const uint8_t[:, ::1] allowed  # [rows, L] labels of the token behind, if any
    cdef const int8_t[::1] boundary     # [rows] see `Constraints`
    cdef int64_t[::1] first_forbidden   # [D + 1]
    cdef Cell[::1] forbidden
    # The present weights
    cdef Chart chart                    # of no token
    cdef object potentials              # the same
    # Documents that are not left out
    cdef readonly Py_ssize_t longest, longest_partial
    cdef Room room                      # for cells of the largest ones

    cdef Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil
    cdef void limit(
        self, Py_ssize_t d, double* first, double* more, double* end
    ) noexcept nogil
    cdef Chart rows(
        self, double[:, ::1] first, double[:, ::1] more, double[:, ::1] end
    )
