from libc.stdint cimport int32_t


cdef class ArcsOf:
    cdef const int32_t[::1] first       # [E + 1]
    cdef const int32_t[::1] arc
    cdef const int32_t[::1] in_place
    cdef const int32_t[::1] out_place


cdef class ObservedArcs:
    cdef ArcsOf arcs
    cdef readonly object automaton      # whose patterns the observed ones are, too
    cdef readonly object potentials     # for it, without entries
    cdef int32_t[::1] first             # [n + 1]
    cdef int32_t[::1] edge              # [F]
    cdef double[::1] score              # [F]
    cdef int32_t[::1] place             # [K]


cdef ObservedArcs observed_arcs_of(automaton, potentials)
