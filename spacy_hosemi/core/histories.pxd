from libc.stdint cimport int32_t, uint8_t

from .columns cimport Entry


cdef class Histories:
    cdef readonly object bare               # PatternAutomaton of the labels alone
    cdef Py_ssize_t n_labels, n_nodes
    cdef Py_ssize_t most_names              # of a node
    # by node: 0 .. L - 1 a label, L is ^, then prefixes, short before long
    cdef const int32_t[::1] parent          # without the last label
    cdef const int32_t[::1] suffix          # the longest proper one
    cdef const int32_t[::1] label           # the last one; L of ^
    # columns of observed patterns: the node. Patterns: the node, or the label before
    # the last one where that is all
    cdef const int32_t[::1] of_observed
    cdef const int32_t[::1] of_pattern
    cdef const int32_t[::1] pattern_last
    cdef const uint8_t[::1] is_long         # [M]
    cdef bint has_bounded_gap

    cdef bint reads(
        self, const Entry entry, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil
    cdef bint is_end(
        self, Py_ssize_t node, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil


cdef Histories histories_of(automaton)
cdef bint speak_for_labels(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil
cdef double add_fired(
    Histories histories, list segments, const Entry[::1] entries, found, double times
)
