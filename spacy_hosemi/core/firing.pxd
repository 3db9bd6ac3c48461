cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from .chart cimport Chart
from .columns cimport Entry
from .histories cimport Histories


@cython.final
cdef class Firings(Histories):
    cdef Histories histories                # the same, of all documents
    cdef Py_ssize_t n_tokens
    cdef bint has_tail
    cdef Py_ssize_t n_active                # long patterns with weights
    cdef Py_ssize_t n_marked                # nodes
    cdef Py_ssize_t n_steady                # those that need no event
    cdef Py_ssize_t n_read                  # pairs that segments read to their end
    cdef const double[::1] pattern          # [M]
    cdef const Entry[::1] entries
    cdef double[:, ::1] pair                # [L + 1, L + 1] last label, first one; $
    cdef double[:, ::1] pair_here           # with what fires at a token
    cdef double[::1] opens                  # [L] a segment of a label
    cdef double[::1] goes_on                # [L]
    # what fires, token by token
    cdef int32_t[::1] first_event           # [n + 2]
    cdef uint8_t[::1] event_kind            # [K]
    cdef int32_t[::1] event_at              # [K] a history, or a place in `pair`
    cdef double[::1] event_score            # [K]
    # by node, of the document that it is in
    cdef int64_t[::1] marked
    cdef int64_t[::1] marked_inner
    cdef int64_t[::1] marked_read
    cdef int64_t now
    cdef int32_t[::1] place                 # its history
    # by history of the document: labels, ^, inner nodes, leaves: behind which there is
    # nothing to be told apart; of each kind, short before long
    cdef Py_ssize_t n_inner, n_told
    cdef Py_ssize_t n_words                 # of a set of histories, a bit each
    cdef uint64_t[::1] steady               # complete at every token: `always`
    cdef int32_t[::1] node
    cdef int32_t[::1] before                # without the last label
    cdef int32_t[::1] below                 # the longest proper suffix
    cdef int32_t[::1] last                  # label
    cdef int32_t[::1] pair_at               # the last two in `pair`
    cdef uint8_t[::1] is_read               # such a pair
    cdef double[::1] always                 # weight of the pattern
    cdef double[::1] at_end                 # of that with $
    cdef bint has_always
    # the same, for one boundary
    cdef uint64_t[::1] told                 # told apart there, but for labels
    cdef uint64_t[::1] firing               # complete behind it
    cdef uint64_t[::1] here                 # of the token before: one of the three
    cdef Py_ssize_t told_at                 # the last one where any is told apart
    cdef int32_t[::1] is_at                 # the boundary where it is told apart
    cdef int32_t[::1] is_begun              # that behind a token where it begins
    cdef double[::1] fired                  # when it is complete: read at the start ..
    cdef double[::1] fired_inside           # .. and at each token ..
    cdef double[::1] fired_end              # .. and at the last one
    cdef double[::1] gain                   # the same, of all suffixes
    cdef double[::1] gain_inside
    cdef double[::1] gain_end
    cdef double[::1] beta                   # what follows it
    cdef double[::1] rest                   # T: what follows in and after its segment
    cdef double[::1] more                   # the same, of segments that go on
    cdef int32_t[::1] stop                  # where they end
    cdef double[::1] begun                  # B: a segment begins
    # of each token, from right to left: labels, then histories that are begun there
    cdef Py_ssize_t n_listed
    cdef int64_t[::1] after_listed          # [n + 1]
    cdef int32_t[::1] listed
    cdef double[::1] listed_score           # B
    cdef int32_t[::1] listed_stop           # where the segment ends

    cdef bint load(self, Chart chart, const Entry[::1] entries, pattern)
    cdef Py_ssize_t room(self)
    cdef Py_ssize_t _most_listed(self, Py_ssize_t n_events) noexcept nogil
    cdef forget(self)
    cdef bint _find(self, Chart chart) noexcept nogil
    cdef void _mark(self, Py_ssize_t node, bint is_inner) noexcept nogil
    cdef bint _set_weights(self)
    cdef void _number(self) noexcept nogil
    cdef void _set_long_weights(self) noexcept nogil
    cdef void _sort_entries(self, Chart chart) noexcept nogil
    cdef double sweep(self, Chart chart) noexcept nogil
    cdef inline void _add(self, uint64_t[::1] some, Py_ssize_t k) noexcept nogil
    cdef inline void _tell_apart(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef void _gather(self) noexcept nogil
    cdef inline void _list(self, Py_ssize_t k) noexcept nogil
    cdef void _end(self) noexcept nogil
    cdef const double* _fire(self, Py_ssize_t i) noexcept nogil
    cdef void _fire_ends(self, Py_ssize_t j) noexcept nogil
    cdef void _begin(self, Chart chart, Py_ssize_t i) noexcept nogil
    cdef void _begin_longer(
        self, Chart chart, Py_ssize_t i, const double* pair
    ) noexcept nogil
    cdef void _close(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef inline Py_ssize_t _first_of(self, Py_ssize_t i) noexcept nogil
    cdef void _fall(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t walk(self, int32_t[:, ::1] path) noexcept nogil
