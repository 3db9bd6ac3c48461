from .cells cimport Cell
from .chart cimport Chart


cdef struct Room:
    # the largest of several documents
    Py_ssize_t n_tokens
    Py_ssize_t n_cells
    Py_ssize_t longest              # tokens of the longest cell
    Py_ssize_t n_long_cells         # of more tokens than D
    Py_ssize_t n_long               # segments that these make explicit


cdef Chart make_chart(automaton, potentials, constraints)
cdef bint read_together(Chart shared, automaton, potentials)
cdef share(Chart chart, Chart shared, Room room)
cdef bint add_room(
    Chart shared, const Cell[::1] cells, Py_ssize_t n_tokens, Room* room
) noexcept nogil
cdef void add_chart(Chart chart, Room* room) noexcept nogil
cdef void move_to(
    Chart chart,
    Chart shared,
    Py_ssize_t start,
    Py_ssize_t end,
    const Cell[::1] cells,
) noexcept nogil
cdef load_document(Chart chart, automaton, potentials, constraints, bint defer=*)
cdef bint finish_loading(Chart chart) noexcept nogil
