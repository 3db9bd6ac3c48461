from libc.stdint cimport int32_t

cdef struct Arc:
    int32_t source
    int32_t target
    int32_t group
    double score
    double share                # of the total of its target


cdef class LatticeGraph:
    cdef const int32_t[:, ::1] next
    cdef readonly double[:, ::1] weight
    cdef readonly double[::1] final
    cdef Py_ssize_t n_states
    # [G] groups, in each document sorted by their ends
    cdef int32_t[::1] start, end, label, order
    cdef double[::1] score
    cdef double[::1] mass_of    # probability
    # the graph of one document
    cdef Py_ssize_t n_tokens
    cdef Arc* arcs
    cdef Py_ssize_t n_arcs, room_arcs
    cdef int32_t* state         # of each node
    cdef int32_t* first_arc     # of its best completion, -1: none
    cdef double* alpha          # or the score of its best completion
    cdef double* total          # of the shares of the arcs that reach it
    cdef double* mass           # probability
    cdef Py_ssize_t n_nodes, room_nodes
    cdef int32_t[::1] node_of   # [P] at the boundary in work, -1: none
    cdef int32_t[::1] first_node  # [n + 2] nodes of each boundary

    cdef double build(
        self, Py_ssize_t low, Py_ssize_t high, Py_ssize_t n_tokens
    ) except? -1.0 nogil
    cdef void spread(
        self, double log_z, double[:, ::1] counts, double[::1] ends
    ) noexcept nogil
    cdef double entropy(self) noexcept nogil
    cdef double complete(self) noexcept nogil
    cdef list best(self)
    cdef list best_completions(self, list options, k)
    cdef int _enter(self, Py_ssize_t g) except -1 nogil
    cdef int _node(self, int32_t state, double value) except -1 nogil
    cdef Arc* _arc(self) except NULL nogil
    cdef bint _goes_first(self, Py_ssize_t g, Py_ssize_t other) noexcept nogil
