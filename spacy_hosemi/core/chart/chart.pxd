from libc.stdint cimport int32_t, uint8_t

from .cells cimport Cells
from .arc_entries cimport Starts


cdef struct Sums:
    # a SumSchedule
    Py_ssize_t n_quads, n_terms
    const int32_t* fan
    const int32_t* output
    const int32_t* input
    const int32_t* arc


cdef class EdgeWeights:
    cdef double[::1] pattern                    # [M] for which the others were made
    cdef double[::1] edge                       # [E] log weight of all patterns there
    cdef double[::1] final                      # [P] of those that end in $
    cdef Py_ssize_t n_met                       # documents in a row that have them


cdef class Layout:
    cdef Py_ssize_t n_labels, n_groups, n_states, n_nodes
    # the automaton's arrays, as PatternAutomaton documents them
    cdef const int32_t[::1] first_state
    cdef const int32_t[::1] arc_node
    cdef const int32_t[::1] arc_edge
    cdef const int32_t[::1] arc_target
    cdef Sums circuit, arcs_in, arcs_out
    cdef const int32_t[::1] edge_suffix
    cdef const int32_t[::1] edge_pattern
    cdef const int32_t[::1] edge_target
    cdef const int32_t[::1] suffix_key
    cdef const int32_t[::1] first_owned
    cdef const int32_t[::1] owned_label
    cdef const int32_t[::1] owned_edge
    cdef const int32_t[::1] state_key
    cdef const int32_t[::1] state_rule
    cdef const int32_t[::1] state_group
    cdef const int32_t[:, ::1] state_of
    cdef const int32_t[:, ::1] rule_next
    cdef const int32_t[::1] final_edge
    cdef const uint8_t[::1] is_final
    cdef const int32_t[::1] group_label
    cdef const int32_t[::1] pattern_length
    cdef bint has_bounded_gap
    cdef EdgeWeights edge_weights               # of the last document
    cdef list arc_weights                       # ArcWeights: linear domain, logs
    cdef list spare                             # Best of finished documents
    cdef list spare_lanes                       # Lanes
    cdef object leaps                           # Leaps
    cdef object ladder                          # Ladder


cdef class Chart(Cells):
    cdef readonly object automaton
    cdef Py_ssize_t n_labels, n_states, n_nodes
    # the automaton's arrays, as PatternAutomaton documents them
    cdef const int32_t[::1] first_state
    cdef const int32_t[::1] arc_node
    cdef const int32_t[::1] arc_edge
    cdef const int32_t[::1] arc_target
    cdef Sums circuit, arcs_in, arcs_out
    cdef const int32_t[::1] edge_suffix
    cdef const int32_t[::1] edge_pattern
    cdef const int32_t[::1] edge_target
    cdef const int32_t[::1] suffix_key
    cdef const int32_t[::1] first_owned
    cdef const int32_t[::1] owned_label
    cdef const int32_t[::1] owned_edge
    cdef const int32_t[::1] state_key
    cdef const int32_t[::1] state_rule
    cdef const int32_t[::1] state_group
    cdef const int32_t[:, ::1] state_of
    cdef const int32_t[:, ::1] rule_next
    cdef const int32_t[::1] final_edge
    cdef const uint8_t[::1] is_final
    cdef const int32_t[::1] group_label
    cdef const int32_t[::1] pattern_length
    cdef bint has_bounded_gap
    cdef const double[::1] pattern_weight       # [M]
    cdef EdgeWeights edge_weights
    cdef double[::1] edge_weight                # [E] theirs
    cdef Starts starts                          # None: they are the same everywhere
    # the document as it was given
    cdef bint is_late                           # whether `arrive` is still to be called
    cdef const double[:, ::1] inside            # [n, L] or [n, C]
    cdef const double[:, ::1] start             # [n, L] or [n, C]
    cdef const double[:, ::1] given_end         # [n, L] or [n, C]
    cdef const double[:, ::1] length            # [L, D]
    cdef const double[::1] given_tail           # [L]
    # the document, by group
    cdef double[:, ::1] sums                    # [n or more, G] room for `first`
    cdef double[:, ::1] first                   # [n or more, G] inside + start
    cdef const double[:, ::1] more              # [n, G] inside, -inf after a boundary
    cdef const double[:, ::1] end               # [n, G]
    cdef double[::1] length_backwards           # [G D] of D tokens, .., of 1
    cdef double[::1] tail                       # [G]
    cdef bint has_tail
    cdef bint are_tokens                        # no segment has more than one token
    cdef object cells_as_given
    # what `segments_ending_at` finds
    cdef double[::1] score                      # [G D] slot: group * D + D - length
    cdef double[::1] enter_score                # [G] start j - D - 1

    cdef _load(self, potentials, constraints, bint later=*)
    cdef bint _may_wait(self, potentials, constraints)
    cdef bint arrive(self) noexcept nogil
    cdef bint _has_numbers(self) noexcept nogil
    cdef forget(self)
    cdef bint _read(self, potentials)
    cdef _set_document(self, potentials, constraints)
    cdef _set_lengths(self)
    cdef _set_edge_weights(self)
    cdef _set_cells(self, cells)
    cdef cell_gradient(self, const double[::1] counts)
    cdef void _score_long(self) noexcept nogil
    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil
    cdef void segments_of(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef void add_cells(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t g) noexcept nogil
    cdef Py_ssize_t segments_starting_at(
        self, Py_ssize_t u, Py_ssize_t g, double[::1] score
    ) noexcept nogil
    cdef void follow(
        self, Py_ssize_t state, int32_t[::1] target, double[::1] weight
    ) noexcept nogil
    cdef Py_ssize_t edge_of(self, Py_ssize_t state, Py_ssize_t y) noexcept nogil
    cdef Py_ssize_t state_behind(
        self, Py_ssize_t edge, Py_ssize_t state, Py_ssize_t y
    ) noexcept nogil
    cdef double path_score(self, segments)
    cdef double score_at_start(self, Py_ssize_t u, Py_ssize_t edge) noexcept nogil
    cdef bint has_suffix(self, Py_ssize_t edge, Py_ssize_t suffix) noexcept nogil
    cdef double length_score(self, Py_ssize_t g, Py_ssize_t d) noexcept nogil
    cdef double segment_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil
    cdef double running_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil
    cdef double cells_of(self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef double final_weight(self, Py_ssize_t q) noexcept nogil


cdef Sums sums_of(schedule)
