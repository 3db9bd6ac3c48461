cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from ...chart.chart cimport Chart
from .events cimport Firings


cdef struct Place:
    # as in `Histories`
    int32_t suffix, parent, before, pair_at


cdef struct Follower:
    # the last boundary, of all documents, behind which it begins, and where it is told
    # apart
    int64_t is_begun, is_at
    double gain                     # what fires with it and its suffixes
    double begun                    # B
    double beta                     # what follows it


@cython.final
cdef class TokenFirings(Firings):
    cdef Py_ssize_t first_long              # nodes from here on have more than 2 names
    # of the longest history that may be told apart; nodes from there on have more names
    cdef Py_ssize_t most_told, first_last
    cdef Py_ssize_t n_last
    cdef int32_t[::1] last                  # those of them that fire at a token
    cdef uint8_t[:, ::1] bytes              # room for what follows
    cdef Place* places                      # [K]
    cdef Follower* nodes                    # [K]
    cdef double[::1] fired                  # [K] of entries and patterns, at a token
    cdef double[::1] always                 # [K] weights of patterns
    cdef double[::1] at_end                 # [K] the same, with $ behind
    cdef double[::1] opens                  # [L] a token of a label
    cdef double[::1] gains                  # [L] what fires on the way of `walk`
    cdef double[:, ::1] betas               # [n + 1, L + 1] what follows a label, or ^
    cdef double[::1] listed_beta            # of what is told apart

    cdef void _tell_apart_at_end(self) noexcept nogil
    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _tell_apart(
        self, Py_ssize_t k, Py_ssize_t j, double value
    ) noexcept nogil
    cdef inline void _add(
        self, Py_ssize_t k, double score, Py_ssize_t j
    ) noexcept nogil
    cdef void _fire(self, Py_ssize_t i) noexcept nogil
    cdef void _open(self, Chart chart, Py_ssize_t i) noexcept nogil
    cdef void _begin_longer(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef void _begin_last(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef void _fall(self, Py_ssize_t j) noexcept nogil
