from libc.stdint cimport int32_t

from .chart cimport Chart
from .layout cimport EdgeWeights, Sums


cdef class ArcWeights:
    cdef EdgeWeights edge_weights   # those for which the others were made
    cdef double[::1] arc            # [A + 2]
    cdef double[::1] circuit        # the same as the schedules read them
    cdef double[::1] arcs_in
    cdef double[::1] arcs_out
    cdef double scale, gap
    cdef bint representable


cdef class Tables(Chart):
    cdef readonly bint in_logs
    cdef object _lease
    cdef double[:, ::1] _table      # all rows of it
    cdef double[:, ::1] _rows       # what is left of them
    cdef double[::1] _vectors
    # Row j of a table in linear domain stands for exp(scale[j]) * row.
    cdef double[:, ::1] opened      # [n + 1, P] A: a segment begins at boundary j
    cdef double[:, ::1] closing     # [n + 1, P] B: what follows if one begins there
    cdef double[::1] alpha_scale    # [n + 1] of alpha and running
    cdef double[::1] opened_scale   # [n + 1]
    # Forward rows of one block of boundaries, base .. base + n_rows
    cdef Py_ssize_t base, n_rows
    cdef double[:, ::1] alpha       # [n_rows + 1, P] segmentations of j tokens
    cdef double[:, ::1] running     # [n_rows + 1, P] R: beyond the horizon, not ended
    cdef double[:, ::1] weight      # [n_rows + 1, W] exp of what ends or runs on at j
    cdef double[:, ::1] saved       # [blocks, P] running at the base of each block
    # One row
    cdef double[::1] beta           # [P] what follows boundary j
    cdef double[:, ::1] rest        # [2, P] T: what follows inside a running segment
    cdef double[::1] keep           # [G] weight with which running goes on to j + 1
    cdef double[::1] node           # [N + P + 2] circuit and A, from the left
    cdef double[::1] back_node      # [N + P + 2] B, beta and circuit, from the right
    # linear domain: bounds on the log of the largest entry of each group
    cdef Py_ssize_t ring            # boundaries for which it is kept, each twice
    cdef double[:, ::1] opened_top  # [G, 2 ring] so that a window is in one piece
    cdef double[::1] running_top    # [G]
    cdef double[::1] group_top      # [G]
    cdef double[::1] late_weight    # [number of late segments]
    cdef double[::1] long_weight    # [number of long segments]
    cdef double[::1] arc_weight     # [A + 2] in the domain of the tables
    cdef double[::1] circuit_weight  # the same as the schedules read them
    cdef double[::1] in_weight
    cdef double[::1] out_weight
    cdef Sums arcs_out              # of the layout, or fewer terms, see `nonnegative`
    # the same for one boundary, where entries at starts change some
    cdef Py_ssize_t varied_in       # the boundary from the left; -1: none yet
    cdef Py_ssize_t varied_out      # from the right
    cdef double[::1] start_weight   # [F] by what, in the domain of the tables
    cdef double[::1] in_here
    cdef double[::1] out_here
    cdef double arc_scale
    cdef double gap                 # see `_future_gap`
    cdef double share               # of the largest of a group is negligible
    cdef bint representable         # no arc weight underflows
    # log_z = z_scale + z_rest; linear domain: all scales are whole numbers
    cdef readonly double log_z
    cdef double z_scale, z_rest

    cdef _release(self)
    cdef Py_ssize_t _n_weights(self) noexcept nogil
    cdef _set_block(self, bint backward)
    cdef double[:, ::1] take_rows(self, Py_ssize_t n)
    cdef double[::1] _take(self, Py_ssize_t n)
    cdef Py_ssize_t _size_of_vectors(self) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void _fill(self, double[:, ::1] table, double value) noexcept nogil
    cdef _take_vectors(self)
    cdef _set_arc_weights(self)
    cdef ArcWeights _make_arc_weights(self)
    cdef void _spread(self, const Sums* sums, double[::1] weight) noexcept nogil
    cdef void _fill_arc_weights(self) noexcept nogil
    cdef _make_room_for_starts(self)
    cdef bint varies(self, Py_ssize_t j, bint forward) noexcept nogil
    cdef void vary(
        self,
        Py_ssize_t j,
        double* weight,
        const int32_t[::1] place,
        Py_ssize_t step,
    ) noexcept nogil
    cdef void _restore(
        self, Py_ssize_t j, double[::1] weight, const int32_t[::1] place
    ) noexcept nogil
    cdef double _future_gap(self) noexcept nogil
    cdef void begin_block(self, Py_ssize_t base) noexcept nogil
    cdef double* row_weight(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t at_keep(self) noexcept nogil
    cdef Py_ssize_t at_enter(self) noexcept nogil
    cdef Py_ssize_t at_end(self) noexcept nogil
