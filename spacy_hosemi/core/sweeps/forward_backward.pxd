from libc.stdint cimport uint8_t

from ..chart.chart cimport Chart
from ..chart.dp_tables cimport DPTables
from ..chart.span_lists cimport SpanLists
from .expectations cimport Expectations


cdef class ForwardBackward:
    cdef Chart chart
    cdef DPTables tables
    cdef Expectations expected          # None: only probabilities of segments
    cdef double[:, ::1] betas           # [n + 1, P] without counts, or no rows
    cdef object _lease
    cdef Py_ssize_t first               # boundary at which the backward sweep ends
    cdef bint is_in_range               # of scaled arithmetic
    # Spans that are listed by the task, without counts
    cdef SpanLists spans                # None: none
    cdef double[:, ::1] start_prob      # [n, G] P(a segment starts at a token)
    cdef Py_ssize_t first_span, end_span
    cdef ForwardBackward next           # of another document of the same task

    cdef load(self, automaton, potentials, constraints, bint counts)
    cdef list_spans(self, SpanLists spans)
    cdef _allocate(self, bint in_logs, bint counts)
    cdef void run(self) noexcept nogil
    cdef finish(self)
    cdef bint _backward(self) noexcept nogil
    cdef bint _end_row(self) noexcept nogil
    cdef void _count_row(self, Py_ssize_t j) noexcept nogil
    cdef void _set_rest(self, Py_ssize_t j) noexcept nogil
    cdef double probability(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y
    ) noexcept nogil
    cdef double probability_of_labels(
        self, Py_ssize_t u, const uint8_t[:, ::1] allowed
    )
    cdef void add_spans(
        self, const double[:, :] starts, SpanLists spans, bint outside
    ) noexcept nogil
    cdef const double* _beta(self, Py_ssize_t j) noexcept nogil
    cdef double _one(
        self, Py_ssize_t u, Py_ssize_t g, double score, Py_ssize_t j, const double* beta
    ) noexcept nogil


cdef Chart chart_for_sums(automaton, potentials, constraints)
cdef bint forward(Chart chart, DPTables tables) noexcept nogil
