from .chart cimport Chart


cdef class Tables(Chart):
    cdef readonly bint in_logs
    # Row j of a table in linear domain stands for exp(scale[j]) * row.
    cdef double[:, ::1] alpha       # [n + 1, P] segmentations of the first j tokens
    cdef double[:, ::1] opened      # [n + 1, P] A: of those, a segment begins at j
    cdef double[:, ::1] running     # [n + 1, P] R: beyond the horizon, not ended
    cdef double[:, ::1] beta        # [n + 1, P] what follows boundary j
    cdef double[:, ::1] closing     # [n + 1, P] B: what follows if a segment begins
    cdef double[:, ::1] rest        # [n + 1, P] T: what follows inside a running one
    cdef double[::1] alpha_scale    # [n + 1] of alpha and running
    cdef double[::1] opened_scale   # [n + 1]
    cdef double[::1] beta_scale     # [n + 1]
    cdef double[::1] closing_scale  # [n + 1]
    cdef double[::1] rest_scale     # [n + 1]
    # linear domain only: log of the largest entry of each label's block
    cdef double[:, ::1] opened_top  # [n + 1, L]
    cdef double[:, ::1] beta_top    # [n + 1, L]
    cdef double[:, ::1] rest_top    # [n + 1, L]
    cdef double[::1] running_top    # [L] of the row in work
    cdef double[::1] node           # [N] circuit values of the row in work
    cdef double[::1] arc_weight     # [A] in the domain of the tables
    cdef double arc_scale
    cdef double flush               # see _flush_threshold
    cdef bint representable         # no arc weight underflows
    cdef readonly double log_z
    # log_z = z_scale + z_rest; linear domain: all scales are whole numbers
    cdef double z_scale
    cdef double z_rest
