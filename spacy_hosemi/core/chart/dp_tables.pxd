from .arc_weights cimport ArcWeights
from .chart cimport Chart
from .layout cimport Sums


cdef class DPTables:
    cdef ArcWeights weights         # in logs
    cdef Sums arcs_out              # of the layout, or fewer terms, see `nonnegative`
    cdef double[::1] out_weight     # of its terms
    cdef object _pool               # owns all that follow
    cdef double[:, ::1] _rows       # those that are not taken yet
    cdef double[:, ::1] closing     # [n + 1, P] B: what follows if one begins there
    cdef double[::1] beta           # [P] what follows a boundary
    cdef double[::1] back_node      # [N + P + 2] B, beta, suffix sums, from the right

    cdef allocate(self, Chart chart, Py_ssize_t n_more)
    cdef set_weights(self, Chart chart)
    cdef double[:, ::1] take_rows(self, Py_ssize_t n)


cdef void fill(double[:, ::1] table, double value) noexcept nogil
