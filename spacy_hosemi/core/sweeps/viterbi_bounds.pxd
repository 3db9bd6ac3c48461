from libc.stdint cimport int32_t, uint8_t

from ..chart.chart cimport Chart
from ..chart.layout cimport EdgeWeights


cdef class ArcTable:
    cdef EdgeWeights edge_weights       # those for which the others were made
    cdef double[:, ::1] weight          # [L, P]
    cdef int32_t[:, ::1] target         # [L, P]
    # the most that it is between states of two groups, or at an end of the document
    cdef double[::1] begin              # [G]
    cdef double[:, ::1] pair            # [G, G] from the first to the second
    cdef double[:, ::1] pair_back       # [G, G] from the second to the first
    cdef double[::1] finish             # [G]
    # documents in which bounds were looked for, and those with few groups left
    cdef Py_ssize_t n_tried, n_pruned


cdef class Bounds:
    cdef double[:, ::1] forward         # [n or more, G] F
    cdef double[:, ::1] backward        # [2, G] H of this token and the next
    cdef double[:, ::1] gain            # [n or more, G] best cell from here, if above 0
    cdef double[::1] length             # [G] the best length
    cdef double[::1] on                 # [G] the most that one more token gives
    cdef double[::1] vector             # [G] work space
    cdef bint has_gain
    cdef double scale                   # of the numbers in F
    cdef double least                   # a bound on the best score, from below
    cdef uint8_t[:, ::1] is_active      # [n or more, G] what is left
    cdef int32_t[::1] group             # the same as lists, token by token ..
    cdef int32_t[::1] first             # [n + 1 or more] .. from here on

    cdef bint find(
        self, Chart chart, ArcTable arcs, int32_t[:, ::1] path
    ) noexcept nogil
    cdef void _set_lengths(self, Chart chart) noexcept nogil
    cdef void _set_gain(self, Chart chart) noexcept nogil
    cdef bint _go_forward(self, Chart chart, ArcTable arcs) noexcept nogil
    cdef void _add_start(self, Chart chart, Py_ssize_t i, double* row) noexcept nogil
    cdef double _score_of_best(
        self, Chart chart, ArcTable arcs, int32_t[:, ::1] path
    ) noexcept nogil
    cdef Py_ssize_t _best_before(
        self, Chart chart, ArcTable arcs, Py_ssize_t i, Py_ssize_t g
    ) noexcept nogil
    cdef bint _go_backward(
        self, Chart chart, ArcTable arcs, double least
    ) noexcept nogil
    cdef void _set_begun(
        self, Chart chart, ArcTable arcs, Py_ssize_t i, double* row
    ) noexcept nogil
    cdef void _set_goes_on(self, Chart chart, Py_ssize_t i, double* row) noexcept nogil
    cdef void _join_labels(self, Chart chart, Py_ssize_t i) noexcept nogil


cdef ArcTable arc_table_of(Chart chart)
