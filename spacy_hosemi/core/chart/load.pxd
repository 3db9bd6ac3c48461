from .chart cimport Chart


cdef Chart make_chart(automaton, potentials, constraints)
cdef load(Chart chart, automaton, potentials, constraints, bint later=*)
cdef bint arrive(Chart chart) noexcept nogil
