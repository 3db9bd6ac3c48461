from .chart cimport Chart


cdef Chart make_chart(automaton, potentials, constraints)
cdef Chart read_together(automaton, potentials)
cdef load_part(Chart chart, Chart shared, potentials, Py_ssize_t k)
cdef bint finish_together(Chart shared)
cdef void move_to(
    Chart chart, Chart shared, Py_ssize_t start, Py_ssize_t end
) noexcept nogil
cdef load_document(Chart chart, automaton, potentials, constraints, bint defer=*)
cdef bint finish_loading(Chart chart) noexcept nogil
