cimport cython
from libc.stdint cimport int32_t, int64_t

from .chart cimport Chart
from .columns cimport Entry
from .histories cimport Histories


@cython.final
cdef class Firings(Histories):
    cdef Histories histories                # the same, of all documents
    cdef Py_ssize_t n_tokens
    cdef bint has_tail
    cdef const double[::1] tail             # [L]
    cdef Py_ssize_t n_marked                # nodes, of those that `_most_listed` counts
    cdef bint has_pairs                     # whether entries speak for pairs of labels
    cdef Py_ssize_t n_read                  # pairs that segments read to their end
    cdef const double[::1] pattern          # [M]
    cdef const Entry[::1] entries           # token by token
    cdef int32_t[::1] first_event           # [n + 1] of a token
    cdef double[:, ::1] pair                # [L + 1, L + 1] last label, first one; $
    cdef double[:, ::1] pair_here           # with what fires at a token
    cdef double[::1] opens                  # [L] a segment of a label
    cdef double[::1] goes_on                # [L]
    cdef Py_ssize_t n_steady
    cdef int32_t[::1] steady                # nodes that have a weight without an entry
    # by node: the last document in which it has a part, is told apart itself or is a
    # suffix of such, and is a pair that segments read to their end
    cdef int64_t n_documents
    cdef int64_t[::1] marked
    cdef int64_t[::1] marked_inner
    cdef int64_t[::1] marked_read
    cdef double[::1] always                 # weight of the pattern
    cdef double[::1] at_end                 # of that with $
    # by node: the last boundary, of all documents, where it is told apart, behind which
    # it begins, and before which it stands in a list
    cdef int64_t n_passed                   # boundaries of documents before
    cdef int64_t[::1] is_at
    cdef int64_t[::1] is_begun
    cdef int64_t[::1] is_here
    cdef int32_t[:, ::1] here               # [2, K + ..] that list, of even, odd ones
    cdef int32_t[:, ::1] n_here             # [2, most_names + 1] by depth
    # by node, at one boundary
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

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials)
    cdef Py_ssize_t room(self)
    cdef Py_ssize_t _most_listed(self) noexcept nogil
    cdef forget(self)
    cdef bint _are_sorted(self) noexcept nogil
    cdef bint _set_weights(self)
    cdef bint _find(self) noexcept nogil
    cdef inline Py_ssize_t _role(
        self, const Entry* entry, Py_ssize_t node
    ) noexcept nogil
    cdef void _mark(self, Py_ssize_t node) noexcept nogil
    cdef void _mark_inner(self, Py_ssize_t node) noexcept nogil
    cdef double sweep(self, Chart chart) noexcept nogil
    cdef inline int64_t _at(self, Py_ssize_t j) noexcept nogil
    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _tell_apart(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _list(self, Py_ssize_t k) noexcept nogil
    cdef void _end(self) noexcept nogil
    cdef const double* _pairs(self, Py_ssize_t i) noexcept nogil
    cdef void _fire(self, Py_ssize_t i) noexcept nogil
    cdef void _fire_ends(self, Py_ssize_t j) noexcept nogil
    cdef void _begin(self, Chart chart, Py_ssize_t i) noexcept nogil
    cdef void _begin_longer(
        self, Chart chart, Py_ssize_t i, const double* pair
    ) noexcept nogil
    cdef void _close(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef inline Py_ssize_t _first_of(self, Py_ssize_t i) noexcept nogil
    cdef void _fall(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t walk(self, int32_t[:, ::1] path) noexcept nogil
