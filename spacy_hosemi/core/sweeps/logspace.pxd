from ..chart.chart cimport Chart
from .backward cimport Backward


cdef void close_row(Backward backward, Py_ssize_t j) noexcept nogil
cdef void rest_row(Backward backward, Py_ssize_t j) noexcept nogil
cdef void push_row(Backward backward, Chart chart, Py_ssize_t j) noexcept nogil
