from libc.stdint cimport int32_t, uint8_t

from ...chart.columns cimport Entry


cdef class Histories:
    cdef readonly object bare               # PatternAutomaton of the labels alone
    cdef Py_ssize_t n_labels, n_nodes
    cdef Py_ssize_t most_names              # of a node
    cdef Py_ssize_t first_long              # nodes from here on have more than 2 names
    # by node: 0 .. L - 1 a label, L is ^, then prefixes, short before long
    cdef const int32_t[::1] parent          # without the last label
    cdef const int32_t[::1] suffix          # the longest proper one
    cdef const int32_t[::1] label           # the last one; L of ^
    cdef const int32_t[::1] before          # the last one but one; 0 if there is none
    cdef const int32_t[::1] depth           # how many names it has
    cdef const int32_t[::1] pair_at         # the last two, in an array [L + 1, L + 1]
    cdef const int32_t[::1] first_deep      # [most_names + 1] room for each depth
    # columns of observed patterns: the node. Patterns: the node, or the label before
    # the last one where that is all
    cdef const int32_t[::1] of_observed
    cdef const int32_t[::1] of_pattern
    cdef const int32_t[::1] pattern_last
    cdef const uint8_t[::1] is_long         # [M]

    cdef bint is_read(
        self, const Entry* entry, const int32_t* segments, Py_ssize_t k
    ) noexcept nogil
    cdef bint is_end(
        self, Py_ssize_t node, const int32_t* label, Py_ssize_t stride, Py_ssize_t k
    ) noexcept nogil


cdef Histories histories_of(automaton)
cdef bint has_sparse_columns(automaton, potentials)
cdef bint are_of_labels(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil


cdef class ActiveEntries:
    cdef Histories histories
    cdef const Entry[::1] entries
    cdef int32_t[::1] room
    cdef int32_t* found                     # [n_found] which entries
    cdef int32_t* covers                    # [n] which segment a token is in
    cdef int32_t* segments                  # [K, 3]
    cdef Py_ssize_t n_found

    cdef double find(self, list segments) except? -1.0
    cdef double _find(self) noexcept nogil
    cdef add(self, double times, Entry[::1] counts)
