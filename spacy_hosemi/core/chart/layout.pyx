"""The arrays of an automaton as the kernels read them, and the weights of its edges."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcmp


cdef class Layout:
    """The arrays of an automaton as the kernels read them."""

    def __init__(self, automaton):
        self.n_labels = automaton.n_labels
        self.n_groups = automaton.n_groups
        self.n_states = automaton.n_states
        self.n_nodes = automaton.n_nodes
        self.first_state = automaton.first_state
        self.arc_node = automaton.arc_node
        self.arc_edge = automaton.arc_edge
        self.arc_target = automaton.arc_target
        self.suffix_sums = sums_of(automaton.suffix_sums)
        self.arcs_in = sums_of(automaton.arcs_in)
        self.arcs_out = sums_of(automaton.arcs_out)
        self.edge_suffix = automaton.edge_suffix
        self.edge_pattern = automaton.edge_pattern
        self.edge_target = automaton.edge_target
        self.suffix_key = automaton.suffix_key
        self.first_owned = automaton.first_owned
        self.owned_label = automaton.owned_label
        self.owned_edge = automaton.owned_edge
        self.state_key = automaton.state_key
        self.state_rule = automaton.state_rule
        self.state_group = automaton.state_group
        self.state_of = automaton.state_of
        self.rule_next = automaton.rule_next
        self.final_edge = automaton.final_edge
        self.is_final = automaton.is_final
        self.group_label = automaton.group_label
        self.pattern_length = automaton.pattern_length
        self.has_bounded_gap = automaton.has_bounded_gap
        self.arc_weights = [None, None]
        self.spare, self.spare_batches = [], []


cdef class EdgeWeights:
    """Weights of the edges of an automaton: the same for many documents."""


cdef Layout layout_of(automaton):
    """Made on the first call: for short documents it takes longer than the sweeps."""
    if automaton.layout is None:
        automaton.layout = Layout(automaton)
    return automaton.layout


cdef EdgeWeights edge_weights_of(Layout layout, const double[::1] pattern):
    """Those of the last document, if the patterns have the same weights."""
    cdef EdgeWeights known = layout.edge_weights
    if known is None or not _are_same(known.pattern, pattern):
        known = EdgeWeights()
        known.pattern = np.array(pattern)
        known.edge = np.empty(layout.edge_suffix.shape[0])
        known.final = np.empty(layout.n_states)
        _set_edges(known.pattern, layout.edge_pattern, layout.edge_suffix, known.edge)
        _set_final(known.edge, layout.final_edge, layout.is_final, known.final)
        layout.edge_weights = known
    known.n_documents += 1
    return known


cdef Sums sums_of(schedule):
    """A schedule's arrays as C sees them; the automaton keeps them alive."""
    cdef Sums sums
    sums.n_quads, sums.n_terms = len(schedule.fan), len(schedule.arc)
    sums.fan, sums.output = _begin_of(schedule.fan), _begin_of(schedule.output)
    sums.input, sums.arc = _begin_of(schedule.input), _begin_of(schedule.arc)
    return sums


cdef const int32_t* _begin_of(const int32_t[::1] array):
    return &array[0] if array.shape[0] else NULL


cdef bint _are_same(const double[::1] x, const double[::1] y) noexcept nogil:
    if x.shape[0] != y.shape[0]:
        return False
    return not x.shape[0] or not memcmp(&x[0], &y[0], x.shape[0] * sizeof(double))


cdef void _set_final(
    const double[::1] edge,             # IN   [E]
    const int32_t[::1] final_edge,      # IN   [P] -1: no pattern ends there in $
    const uint8_t[::1] is_final,        # IN   [P]
    double[::1] weight,                 # OUT  [P]
) noexcept nogil:
    cdef Py_ssize_t q
    for q in range(weight.shape[0]):
        weight[q] = edge[final_edge[q]] if final_edge[q] >= 0 else 0.0
        if not is_final[q]:
            weight[q] = -INFINITY


cdef void _set_edges(
    const double[::1] pattern,          # IN   [M]
    const int32_t[::1] edge_pattern,    # IN   [E] -1: no pattern ends there
    const int32_t[::1] edge_suffix,     # IN   [E] always an earlier edge, or -1
    double[::1] weight,                 # OUT  [E]
) noexcept nogil:
    # weight[e] = sum of pattern[z] over the patterns z that are suffixes of the edge
    cdef Py_ssize_t e
    for e in range(weight.shape[0]):
        weight[e] = pattern[edge_pattern[e]] if edge_pattern[e] >= 0 else 0.0
        if edge_suffix[e] >= 0:
            weight[e] += weight[edge_suffix[e]]
