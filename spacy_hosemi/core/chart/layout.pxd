from libc.stdint cimport int32_t, uint8_t


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
    cdef Py_ssize_t n_documents                 # in a row that have them


cdef class Layout:
    cdef Py_ssize_t n_labels, n_groups, n_states, n_nodes
    # the automaton's arrays, as PatternAutomaton documents them
    cdef const int32_t[::1] first_state
    cdef const int32_t[::1] arc_node
    cdef const int32_t[::1] arc_edge
    cdef const int32_t[::1] arc_target
    cdef Sums suffix_sums, arcs_in, arcs_out
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
    # caches: what the last document was solved with, and arrays of finished documents
    cdef EdgeWeights edge_weights
    cdef list arc_weights                       # ArcWeights: linear domain, logs
    cdef list spare                             # BestPath
    cdef list spare_batches                     # Posteriors
    cdef object arc_table                       # ArcTable
    cdef object chain                          # SuffixChain


cdef Layout layout_of(automaton)
cdef EdgeWeights edge_weights_of(Layout layout, const double[::1] pattern)
cdef Sums sums_of(schedule)
