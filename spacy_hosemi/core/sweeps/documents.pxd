from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport Room
from ..simd.lanes cimport N_LANES
from .lane_tables cimport LaneTables


cdef class Documents:
    cdef list charts                    # of lanes, or of the documents
    cdef PyObject* chart[N_LANES]       # the same
    cdef Py_ssize_t n_docs
    # Columns
    cdef Chart columns                  # memory for `shared`
    cdef Chart shared                   # scores by group; None: see `charts`
    cdef const int64_t[::1] first       # [D + 1] tokens of each document
    cdef const int64_t[::1] first_cell  # [D + 1]; None: there are none
    cdef const Cell[::1] cells
    cdef int64_t token_at, cell_at      # of the first rows of the columns
    cdef Room room                      # of the largest document

    cdef bint read(self, automaton, potentials)
    cdef bint _has_room(self, Py_ssize_t d)
    cdef bint finish(self) noexcept nogil
    cdef Py_ssize_t size(self, Py_ssize_t d) noexcept nogil
    cdef const Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil
    cdef void move(self, Chart chart, Py_ssize_t d) noexcept nogil
    cdef bint reserve(self, LaneTables tables, bint finds_starts, bint keeps_counts)
    cdef Py_ssize_t put(
        self, LaneTables tables, Py_ssize_t lane, Py_ssize_t d
    ) noexcept nogil
    cdef Py_ssize_t n_numbers(self)
    cdef forget(self)
