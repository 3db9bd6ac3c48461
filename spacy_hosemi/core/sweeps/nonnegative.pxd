from ..chart.layout cimport EdgeWeights, Sums
from ..chart.chart cimport Chart


cdef class SuffixChain:
    cdef EdgeWeights edge_weights       # those for which the others were made
    cdef double[::1] weight             # of the terms of `sums`
    cdef Sums sums                      # like `arcs_out`, with fewer terms
    cdef object schedule                # owns what `sums` points to; None: not made yet
    cdef object negative                # index of the first negative pattern, or None
    cdef object columns                 # of observed patterns of three or more names
    cdef bint pays                      # whether it has fewer terms


cdef SuffixChain chain_of(Chart chart, potentials, method)
