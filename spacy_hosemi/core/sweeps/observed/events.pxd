from libc.stdint cimport int32_t, int64_t

from ...chart.chart cimport Chart
from ...chart.columns cimport Entry
from .histories cimport Histories


cdef class Events:
    cdef Histories histories
    cdef Py_ssize_t n_tokens
    cdef const double[::1] pattern          # [M]
    cdef const Entry[::1] entries           # token by token
    cdef int32_t[::1] first                 # [n + 1] entries of a token
    cdef double[:, ::1] pair                # [L + 1, L + 1] last label, first one; $
    cdef double[:, ::1] pair_here           # the same with the entries of a token
    cdef bint has_pairs                     # whether entries add to pairs of labels
    # nodes of longer patterns with a weight of their own
    cdef Py_ssize_t n_weighted
    cdef int32_t[::1] weighted
    cdef double[::1] weight                 # [K] of the patterns
    cdef double[::1] final_weight           # [K] of patterns with $ behind
    # nodes of the document: those, and the histories that they begin with
    cdef Py_ssize_t n_marked
    cdef int64_t n_documents
    cdef int64_t[::1] marked                # [K] the last document that has the node

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials)
    cdef forget(self)
    cdef bint _sort_by_token(self) noexcept nogil
    cdef bint _set_weights(self)
    cdef void _mark(self, Py_ssize_t node) noexcept nogil
    cdef bint _only_add(self) noexcept nogil
    cdef const double* pairs_at(self, Py_ssize_t i) noexcept nogil
