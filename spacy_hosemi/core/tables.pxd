from libc.stdint cimport int32_t

from .chart cimport Chart


cdef class Tables(Chart):
    cdef readonly bint in_logs
    cdef object _lease
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
    cdef double[::1] node           # [N] circuit values, from the left
    cdef double[::1] back_node      # [N] and from the right
    # linear domain: bounds on the log of the largest entry of each group
    cdef double[:, ::1] opened_top  # [G, n + 1]
    cdef double[::1] running_top    # [G]
    cdef double[::1] group_top      # [G]
    cdef double[::1] late_weight    # [number of late segments]
    cdef double[::1] long_weight    # [number of long segments]
    cdef double[::1] arc_weight     # [A] in the domain of the tables
    cdef double[::1] out_weight     # [A] the same, by node
    cdef double arc_scale
    cdef double gap                 # see `_future_gap`
    cdef bint representable         # no arc weight underflows
    # log_z = z_scale + z_rest; linear domain: all scales are whole numbers
    cdef readonly double log_z
    cdef double z_scale, z_rest

    cdef void _fill_arc_weights(self) noexcept nogil
    cdef double _future_gap(self) noexcept nogil
    cdef void begin_block(self, Py_ssize_t base) noexcept nogil
    cdef const int32_t* node_inputs(self) noexcept nogil
    cdef const int32_t* parents(self) noexcept nogil
    cdef double* row_weight(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t at_keep(self) noexcept nogil
    cdef Py_ssize_t at_enter(self) noexcept nogil
    cdef Py_ssize_t at_end(self) noexcept nogil
