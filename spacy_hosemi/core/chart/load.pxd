from .chart cimport Chart


cdef Chart make_chart(automaton, potentials, constraints)
cdef load_document(Chart chart, automaton, potentials, constraints, bint defer=*)
cdef bint finish_loading(Chart chart) noexcept nogil
