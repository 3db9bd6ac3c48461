from libc.stdint cimport int32_t

from ..chart.span_lists cimport Listed


cdef struct Candidate:
    int32_t start, end, label
    Py_ssize_t before                   # of candidates that it may follow; -1: left out
    double prob


cdef double first_least(double expected_f1) noexcept nogil
cdef double next_least(double least, double ratio) noexcept nogil


cdef class BestSet:
    # the spans that may still be chosen, by end, then start, then label
    cdef void* memory                   # all of these arrays
    cdef Candidate* candidate           # [room], of which there are n_candidates
    cdef double* best                   # [room + 1] gain of the best among the first k
    cdef Py_ssize_t room, n_candidates
    # what is chosen, and what is tried, from left to right
    cdef Candidate* chosen              # [room]
    cdef Candidate* tried               # [room]
    cdef Py_ssize_t n_chosen
    cdef double ratio                   # the expected F1 of these
    cdef bint is_complete               # False: there was no memory

    cdef void find(
        self,
        const Listed* spans,
        Py_ssize_t n,
        double n_expected,
        double expected_f1,
    ) noexcept nogil
    cdef void _begin(self, const Listed* spans, Py_ssize_t n) noexcept nogil
    cdef void _take_tried(self, Py_ssize_t n_tried) noexcept nogil
    cdef Py_ssize_t _choose(self, double ratio) noexcept nogil
    cdef bint _make_room(self, Py_ssize_t n) noexcept nogil
    cdef list segments(self)
