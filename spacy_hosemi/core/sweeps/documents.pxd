from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport Room
from ..parallel.tasks cimport Task
from ..simd.lanes cimport N_LANES
from .lane_counts cimport LaneCounts
from .lane_tables cimport LaneTables


cdef enum Outcome:
    UNSOLVED                            # not tried yet, or numbers left their range
    SOLVED
    NONE_PROBABLE                       # no span is probable: any path is as good
    LEFT                                # no path is found, by this task


cdef class Documents(Task):
    cdef object automaton
    cdef LaneTables four, one, logs     # of four lanes, of one, of one in logs
    cdef LaneTables tables              # those in use
    cdef bint finds_starts, keeps_counts  # see `LaneTables`
    cdef LaneCounts counts              # None: they are not asked for
    cdef bint is_in_range               # whether these tables can solve all documents
    cdef list charts                    # of lanes, or of the documents
    cdef PyObject* chart[N_LANES]       # the same
    cdef readonly Py_ssize_t n_docs
    # Columns
    cdef Chart columns                  # memory for `shared`
    cdef Chart shared                   # scores by group; None: see `charts`
    cdef const int64_t[::1] first       # [D + 1] tokens of each document
    cdef const int64_t[::1] first_cell  # [D + 1]; None: there are none
    cdef const Cell[::1] cells
    cdef Room room                      # of the largest document
    # What is to be solved
    cdef const int32_t[::1] order       # documents by length
    cdef uint8_t[::1] outcome           # of each

    cdef bint read_columns(self, potentials)
    cdef bint _has_room(self, Py_ssize_t d)
    cdef bint has_numbers(self) noexcept nogil
    cdef Py_ssize_t size(self, Py_ssize_t d) noexcept nogil
    cdef const Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil
    cdef void move(self, Chart chart, Py_ssize_t d) noexcept nogil
    cdef bint use(self, LaneTables tables)
    cdef void solve_all(self, Py_ssize_t i, Py_ssize_t end) noexcept nogil
    cdef bint solve(self, Py_ssize_t i, Py_ssize_t n) noexcept nogil
    cdef void put(self, Py_ssize_t lane, Py_ssize_t d) noexcept nogil
    cdef bint sweep(self, Py_ssize_t lowest) noexcept nogil
    cdef Py_ssize_t n_numbers(self)
    cdef forget(self)
