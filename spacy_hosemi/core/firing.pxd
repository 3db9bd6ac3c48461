from libc.stdint cimport int32_t, int64_t, uint8_t

from .chart cimport Chart
from .columns cimport Entry


cdef class Histories:
    cdef readonly object bare               # PatternAutomaton of the labels alone
    cdef Py_ssize_t n_labels, n_nodes
    # by node: 0 .. L - 1 a label, L is ^, then prefixes, short before long
    cdef const int32_t[::1] parent          # without the last label
    cdef const int32_t[::1] suffix          # the longest proper one
    cdef const int32_t[::1] label           # the last one; L of ^
    cdef const int32_t[::1] depth           # labels, ^ not counted
    cdef const uint8_t[::1] begins          # with ^
    # columns of observed patterns, and patterns: the node, or the label before the
    # last one where that is all
    cdef const int32_t[::1] of_observed
    cdef const int32_t[::1] observed_last
    cdef const int32_t[::1] of_pattern
    cdef const int32_t[::1] pattern_last
    cdef const uint8_t[::1] is_long         # [M]
    cdef bint has_long                      # whether any pattern is

    cdef bint reads(
        self, const Entry entry, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil
    cdef bint is_end(
        self, Py_ssize_t node, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil


cdef class Firings(Histories):
    cdef Histories histories                # the same, of all documents
    cdef Py_ssize_t n_tokens, n_entries
    cdef Py_ssize_t n_told                  # histories that are told apart so far
    cdef const double[::1] pattern          # [M]
    cdef const Entry[::1] entries
    cdef int32_t[::1] first_entry           # [n + 1] entries of a token
    cdef int32_t[::1] entry                 # [K] by token
    cdef double[:, ::1] pair                # [L + 1, L + 1] last label, first one; $
    cdef double[:, ::1] pair_here           # with what fires at a token
    cdef double[:, ::1] begun               # [n, L] B: a segment of the label begins
    cdef double[:, ::1] left                # [n + 1, L + 1] beta of labels and ^
    cdef double[::1] at_end                 # by node: patterns that end in $
    # by node, for one boundary
    cdef int64_t[::1] stamp
    cdef int64_t now
    cdef int32_t[::1] place                 # in `node`
    # histories that are told apart, boundary by boundary from the right
    cdef int32_t[::1] first_node            # [n + 2] of boundary j: first[j] .. last[j]
    cdef int32_t[::1] last_node
    cdef int32_t[::1] node
    cdef int32_t[::1] order                 # places, short before long
    cdef int32_t[::1] n_shorter             # [longest + 4] work space
    cdef int32_t[::1] below                 # the suffix: its place, or -1 - label
    cdef double[::1] gain                   # of all patterns completed
    cdef double[::1] beta

    cdef bint load(self, Chart chart, potentials)
    cdef Py_ssize_t size(self)
    cdef forget(self)
    cdef _make_room(self)
    cdef bint _sort_entries(self)
    cdef bint _set_weights(self)
    cdef double sweep(self, Chart chart) noexcept nogil
    cdef void _tell_apart(self, Py_ssize_t j) noexcept nogil
    cdef void _add(self, Py_ssize_t j, Py_ssize_t node, double score) noexcept nogil
    cdef void _sort(self, Py_ssize_t j) noexcept nogil
    cdef const double* _pairs(self, Py_ssize_t i) noexcept nogil
    cdef void _close(self, Chart chart, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t walk(self, int32_t[:, ::1] path) noexcept nogil


cdef Histories histories_of(automaton)
cdef without_entries(potentials, pattern)
cdef double add_fired(
    Histories histories, list segments, const Entry[::1] entries, found, double times
)
