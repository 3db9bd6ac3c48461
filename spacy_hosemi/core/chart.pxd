from libc.stdint cimport int32_t


cdef class Chart:
    cdef readonly object automaton
    cdef Py_ssize_t n_tokens, n_labels, n_lengths, n_states, n_nodes
    # the automaton's arrays, as PatternAutomaton documents them
    cdef const int32_t[::1] first_state
    cdef const int32_t[::1] first_arc
    cdef const int32_t[::1] arc_node
    cdef const int32_t[::1] arc_edge
    cdef const int32_t[::1] first_input
    cdef const int32_t[::1] node_input
    cdef const int32_t[::1] edge_suffix
    cdef const int32_t[::1] edge_pattern
    cdef const int32_t[::1] edge_target
    cdef const int32_t[::1] final_edge
    cdef const int32_t[::1] suffix_state
    cdef const int32_t[::1] first_owned
    cdef const int32_t[::1] owned_label
    cdef const int32_t[::1] owned_edge
    cdef readonly object pattern_weight         # [M]
    cdef double[::1] edge_weight                # [E] log weight of all patterns there
    # the document
    cdef const double[:, ::1] first             # [n, L] inside + start
    cdef const double[:, ::1] more              # [n, L] inside, -inf after a boundary
    cdef const double[:, ::1] end               # [n, L]
    cdef const double[:, ::1] length            # [L, D]
    cdef const double[::1] tail                 # [L]
    cdef bint has_tail, has_cells
    # cells by (start, label, end), duplicates merged
    cdef const int32_t[::1] cell_start
    cdef const int32_t[::1] cell_end
    cdef const double[::1] cell_score
    cdef const int32_t[::1] first_cell          # [n L + 1]
    cdef const int32_t[::1] cell_by_end         # [K] cells by (end, label, -start)
    cdef const int32_t[::1] first_cell_by_end   # [(n + 1) L + 1]
    cdef object cells_as_given
    cdef readonly object cell_of                # [K'] the merged cell of a given one
    # what `segments_ending_at` and `segments_starting_at` find
    cdef Py_ssize_t n_terms, n_enters, n_pending
    cdef Py_ssize_t[::1] term_position
    cdef int32_t[::1] term_label
    cdef int32_t[::1] term_cell
    cdef double[::1] term_score
    cdef Py_ssize_t[::1] enter_position
    cdef int32_t[::1] enter_label
    cdef double[::1] enter_score
    cdef Py_ssize_t[::1] pending_start
    cdef int32_t[::1] pending_label
    cdef int32_t[::1] pending_cell
    cdef double[::1] pending_more

    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t y) noexcept nogil
    cdef double length_score(self, Py_ssize_t y, Py_ssize_t d) noexcept nogil
    cdef void begin_sweep(self) noexcept nogil
    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil
    cdef void segments_starting_at(self, Py_ssize_t u) noexcept nogil
    cdef double segment_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y
    ) noexcept nogil
    cdef double score_of(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double more
    ) noexcept nogil
    cdef void _add_term(
        self, Py_ssize_t position, Py_ssize_t y, int32_t cell, double score
    ) noexcept nogil
    cdef void _add_enter(
        self, Py_ssize_t position, Py_ssize_t y, double score
    ) noexcept nogil
    cdef void _add_pending(self, Py_ssize_t u, Py_ssize_t y, double more) noexcept nogil
    cdef void _advance_pending(self, Py_ssize_t j) noexcept nogil
