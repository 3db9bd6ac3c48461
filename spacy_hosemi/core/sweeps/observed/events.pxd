from libc.stdint cimport int32_t, int64_t

from ...chart.chart cimport Chart
from ...chart.columns cimport Entry
from .histories cimport Histories


# Roles of entries: each token of a segment reads them, or the first, or the last one.
cdef enum:
    INSIDE, START, END


cdef class Firings(Histories):
    cdef Histories histories                # the same, of all documents
    cdef Py_ssize_t n_tokens
    cdef bint has_pairs                     # whether entries speak for pairs of labels
    cdef const double[::1] pattern          # [M]
    cdef const Entry[::1] entries           # token by token
    cdef int32_t[::1] first_event           # [n + 1] of a token
    cdef double[:, ::1] pair                # [L + 1, L + 1] last label, first one; $
    cdef double[:, ::1] pair_here           # with what fires at a token
    cdef Py_ssize_t n_steady
    cdef int32_t[::1] steady                # nodes that have a weight without an entry
    cdef int64_t n_documents
    cdef int64_t n_passed                   # boundaries of documents before
    cdef double[::1] begun                  # [L + 1] B: a segment of a label begins
    cdef Py_ssize_t n_marked
    cdef int64_t[::1] marked                # [K] the last document that has the node
    # histories at even and odd boundaries
    cdef int32_t[:, ::1] here               # [2, K + ..]
    cdef int32_t[:, ::1] n_here             # [2, most_names + 1] by depth
    # what is listed at each boundary, from right to left
    cdef Py_ssize_t n_listed
    cdef int64_t[::1] after_listed          # [n + 1]
    cdef int32_t[::1] listed

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials)
    cdef forget(self)
    cdef bint _count_events(self) noexcept nogil
    cdef bint _set_weights(self)
    cdef void _mark(self, Py_ssize_t node) noexcept nogil
    cdef Py_ssize_t _role(self, const Entry* entry, Py_ssize_t node) noexcept nogil
    cdef const double* _pairs(self, Py_ssize_t i) noexcept nogil
    # those of segments and of tokens
    cdef void _forget_steady(self) noexcept nogil
    cdef void _keep_steady(
        self, Py_ssize_t node, double weight, bint is_end
    ) noexcept nogil
    cdef bint _find(self) noexcept nogil
    cdef _make_room(self)
    cdef Py_ssize_t room(self)
    cdef double sweep(self, Chart chart) noexcept nogil
    cdef Py_ssize_t walk(self, Chart chart, int32_t[:, ::1] path) noexcept nogil
