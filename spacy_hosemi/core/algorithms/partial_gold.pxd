from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..sweeps.lane_counts cimport LaneCounts
from ..sweeps.lane_tables cimport LaneTables
from .gold_paths cimport GoldPaths


cdef class PartialGold:
    cdef GoldPaths gold
    cdef LaneCounts counts
    cdef double[:, :, ::1] token        # [4, 4 n, L] scores, then counts, by role
    cdef Cell[::1] cells                # of each document, its own and forbidden ones
    cdef double[::1] pattern            # [M] counts of all four documents
    cdef Chart shared                   # the scores

    cdef set_weights(self)
    cdef void place(
        self,
        LaneTables tables,
        Chart chart,
        Py_ssize_t a,
        Py_ssize_t d,
        const double* first,
        const double* inside,
        const double* last,
        const Cell[::1] cells,
    ) noexcept nogil
    cdef bint run(self, LaneTables tables) noexcept nogil
    cdef void _take_cells(self, LaneTables tables) noexcept nogil
    cdef void subtract(
        self, Py_ssize_t a, Py_ssize_t n, LaneCounts counts, Cell[::1] cells
    ) noexcept nogil
