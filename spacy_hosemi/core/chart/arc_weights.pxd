from libc.stdint cimport int32_t

from .observed_arcs cimport ObservedArcs
from .chart cimport Chart
from .layout cimport EdgeWeights


cdef class ArcWeights:
    cdef EdgeWeights edge_weights   # those for which the others were made
    cdef bint in_logs
    cdef double[::1] arc            # [A + 2]
    # the same in the order in which the schedules read them
    cdef double[::1] suffix_sums
    cdef double[::1] arcs_in
    cdef double[::1] arcs_out
    cdef double scale, gap
    cdef bint representable         # none of them underflows


cdef class VaryingArcs:
    cdef ArcWeights weights
    cdef ObservedArcs entries
    cdef double[::1] score          # [F] of the entries, in the domain of the weights
    cdef bint representable
    # as of ArcWeights, and the boundary at which they hold; -1: they are those
    cdef double[::1] arc, arcs_in, arcs_out
    cdef Py_ssize_t at_arc, at_in, at_out

    cdef bint vary_arcs(self, Py_ssize_t j) noexcept nogil
    cdef bint vary_in(self, Py_ssize_t j) noexcept nogil
    cdef bint vary_out(self, Py_ssize_t j) noexcept nogil
    cdef bint _vary(
        self,
        Py_ssize_t j,
        Py_ssize_t* at,
        double[::1] weight,
        const int32_t[::1] place,
    ) noexcept nogil


cdef ArcWeights arc_weights_of(Chart chart, bint in_logs)
cdef VaryingArcs varying_arcs(Chart chart, ArcWeights weights)
