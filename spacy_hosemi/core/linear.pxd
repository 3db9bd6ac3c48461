from .tables cimport Tables

cdef bint forward(Tables tables) noexcept nogil
cdef bint refill(Tables tables, Py_ssize_t j) noexcept nogil
cdef bint end_row(Tables tables) noexcept nogil
cdef void count_arcs(Tables tables, Py_ssize_t j, double* arc_count) noexcept nogil
cdef void close_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void rest_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void push_row(Tables tables, Py_ssize_t j) noexcept nogil
cdef void clear_flags() noexcept nogil
cdef bint in_range() noexcept nogil
