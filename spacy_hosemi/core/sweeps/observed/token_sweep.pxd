cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from ...chart.chart cimport Chart
from ...chart.columns cimport Entry
from .events cimport Events
from .histories cimport Histories


cdef struct Place:
    # as in `Histories`
    int32_t suffix, parent, before, pair_at


cdef struct Follower:
    # the last boundary, of all documents, behind which it begins, and where it is told
    # apart
    int64_t begun_at, apart_at
    double gain                     # active entries and patterns of it and its suffixes
    double begun                    # B
    double beta                     # what follows it


@cython.final
cdef class TokenSweep:
    cdef Histories histories
    cdef Events events
    cdef const int32_t* depth               # of the histories, which own them
    cdef const int32_t* label
    cdef const int32_t* first_deep
    cdef Py_ssize_t n_labels, n_tokens
    cdef int64_t n_passed                   # boundaries of documents before
    # of the longest history that may be told apart; nodes from there on have more names
    cdef Py_ssize_t most_told, first_last
    cdef Py_ssize_t n_last
    cdef int32_t[::1] last                  # those of them that are active at a token
    cdef uint8_t[:, ::1] bytes              # memory of what follows
    cdef Place* places                      # [K]
    cdef Follower* nodes                    # [K]
    cdef double[::1] active                 # [K] of entries and patterns, at a token
    cdef double[::1] opens                  # [L] a token of a label
    cdef double[::1] gains                  # [L] active entries on the way of `walk`
    cdef double[::1] begun                  # [L + 1] B: a token of a label begins
    cdef double[:, ::1] betas               # [n + 1, L + 1] what follows a label, or ^
    # histories at even and odd boundaries, of each depth from first_deep[depth] on
    cdef int32_t[:, ::1] here               # [2, K + most_names + 1]
    cdef int32_t[:, ::1] n_here             # [2, most_names + 1] by depth
    # what is told apart at each boundary, from right to left
    cdef Py_ssize_t n_listed
    cdef int64_t[::1] after_listed          # [n + 1]
    cdef int32_t[::1] listed
    cdef double[::1] listed_beta

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials)
    cdef forget(self)
    cdef _make_room(self)
    cdef Py_ssize_t size(self)
    cdef double sweep(self, Chart chart) noexcept nogil
    cdef void _tell_apart_at_end(self) noexcept nogil
    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _tell_apart(
        self, Py_ssize_t k, Py_ssize_t j, double value
    ) noexcept nogil
    cdef inline void _add(
        self, Py_ssize_t k, double score, Py_ssize_t j
    ) noexcept nogil
    cdef void _activate(self, Py_ssize_t i) noexcept nogil
    cdef void _score_labels(self, Chart chart, Py_ssize_t i) noexcept nogil
    cdef void _begin_longer(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef void _begin_last(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef void _inherit(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t walk(self, Chart chart, int32_t[:, ::1] path) noexcept nogil
