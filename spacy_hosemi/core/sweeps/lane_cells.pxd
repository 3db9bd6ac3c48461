from ..chart.cells cimport CellLists
from .lane_tables cimport LaneTables


cdef void read(
    LaneTables tables, CellLists cells, Py_ssize_t j, double* score
) noexcept nogil
cdef void add_keys(LaneTables tables, Py_ssize_t j, double* best) noexcept nogil
cdef bint settle(LaneTables tables, Py_ssize_t j) noexcept nogil
cdef void arrive(LaneTables tables, Py_ssize_t j) noexcept nogil
cdef void leave(LaneTables tables, Py_ssize_t j) noexcept nogil
