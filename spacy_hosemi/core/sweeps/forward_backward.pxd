from libc.stdint cimport uint8_t

from ..chart.chart cimport Chart
from ..chart.span_lists cimport SpanLists
from ..parallel.tasks cimport Task
from .lane_counts cimport LaneCounts
from .lane_tables cimport LaneTables


cdef class ForwardBackward(Task):
    cdef Chart chart
    cdef LaneTables tables
    cdef LaneCounts expected            # None: only probabilities of segments
    cdef Py_ssize_t first               # boundary at which the backward sweep ends
    cdef bint goes_back                 # whether there is one
    cdef bint is_fit                    # whether the weights permit scaled arithmetic
    cdef bint is_in_range               # and whether the sweeps did
    cdef double log_z

    cdef _allocate(self, int kind, bint counts)
    cdef finish(self)
    cdef starts(self)
    cdef double probability_of_labels(
        self, Py_ssize_t u, const uint8_t[:, ::1] allowed
    )


cdef double segment_probability(
    LaneTables tables,
    Py_ssize_t a,
    Chart chart,
    Py_ssize_t u,
    Py_ssize_t j,
    Py_ssize_t y,
) noexcept nogil
cdef double list_segments(
    LaneTables tables,
    Py_ssize_t a,
    Chart chart,
    const double[:, :] starts,
    double p,
    bint outside,
    Py_ssize_t d,
    SpanLists spans,
) noexcept nogil
