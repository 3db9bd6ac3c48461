from .arc_weights cimport ArcWeights, VaryingArcs
from .chart cimport Chart
from .layout cimport Sums


cdef class DPTables:
    cdef bint in_logs
    cdef ArcWeights weights         # in the domain of the tables
    cdef VaryingArcs varying        # None: they are the same at all boundaries
    cdef Sums arcs_out              # of the layout, or fewer terms, see `nonnegative`
    cdef double[::1] out_weight     # of its terms
    cdef object _lease
    cdef double[:, ::1] _table      # all rows of it
    cdef double[:, ::1] _rows       # those that are not taken yet
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
    cdef double[::1] node           # [N + P + 2] suffix sums and A, from the left
    cdef double[::1] back_node      # [N + P + 2] B, beta, suffix sums, from the right
    # linear domain: bounds on the log of the largest entry of each group
    cdef Py_ssize_t ring            # boundaries for which it is kept, each twice
    cdef double[:, ::1] opened_top  # [G, 2 ring] so that a window is in one piece
    cdef double[::1] running_top    # [G]
    cdef double[::1] group_top      # [G]
    cdef double[::1] late_weight    # [number of late segments]
    cdef double[::1] long_weight    # [number of long segments]
    cdef double share               # of the largest of a group is negligible
    # where in a row of `weight` those are with which segments run on, enter and end
    cdef Py_ssize_t at_keep, at_enter, at_end
    # log_z = z_scale + z_rest; linear domain: all scales are whole numbers
    cdef double log_z, z_scale, z_rest

    cdef allocate(
        self,
        Chart chart,
        bint in_logs,
        bint forward=*,
        bint backward=*,
        Py_ssize_t n_more=*,
    )
    cdef _release(self)
    cdef set_weights(self, Chart chart)
    cdef bint are_representable(self) noexcept nogil
    cdef bint varies_in(self, Py_ssize_t j) noexcept nogil
    cdef bint varies_out(self, Py_ssize_t j) noexcept nogil
    cdef double[:, ::1] take_rows(self, Py_ssize_t n)
    cdef double[::1] _take(self, Py_ssize_t n)
    cdef void clear(self) noexcept nogil
    cdef void begin_block(self, Py_ssize_t base) noexcept nogil
    cdef void begin_again(self, Py_ssize_t block) noexcept nogil
    cdef void _clear_block(self, Py_ssize_t first) noexcept nogil
    cdef double* row_weight(self, Py_ssize_t j) noexcept nogil


cdef void fill(double[:, ::1] table, double value) noexcept nogil
