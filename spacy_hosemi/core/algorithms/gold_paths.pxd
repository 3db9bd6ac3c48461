from libc.stdint cimport int32_t, int64_t

from ..chart.chart cimport Chart
from ..chart.load cimport Room
from .gold_constraints cimport GoldConstraints


cdef class GoldPaths:
    cdef readonly object automaton
    cdef int64_t[::1] first             # [D + 1] tokens
    cdef int32_t[::1] label             # [n]
    cdef int32_t[::1] edge              # [n] of the segment that starts there, or -1
    cdef int32_t[::1] last_state        # [D] -1: no whole path is known
    cdef int32_t[::1] order             # documents of each block, see there
    cdef int64_t[::1] first_in_order    # [B + 1]
    cdef GoldConstraints constraints    # of the others
    cdef Chart chart                    # of the present weights
    cdef object potentials              # the same weights, of no token
    cdef readonly object is_chosen      # bool [D] which documents are not left out
    cdef readonly Py_ssize_t longest, longest_partial
    cdef Room room                      # for cells of the largest ones

    cdef Chart rows(
        self, double[:, ::1] first, double[:, ::1] more, double[:, ::1] end
    )
