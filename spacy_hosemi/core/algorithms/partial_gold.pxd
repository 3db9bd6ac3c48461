from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..sweeps.counts_x4 cimport CountsX4
from ..sweeps.tables_x4 cimport TablesX4
from .gold_paths cimport GoldPaths


cdef class PartialGold:
    cdef GoldPaths gold
    cdef CountsX4 counts
    cdef double[:, :, ::1] token        # [4, 4 n, L] scores, then counts, by role
    cdef Cell[::1] cells                # of each document, its own and forbidden ones
    cdef double[::1] pattern            # [M] counts of all four documents
    cdef Chart shared                   # the scores; None: no document has cells

    cdef set_weights(self)
    cdef void place(
        self,
        TablesX4 tables,
        Py_ssize_t a,
        Py_ssize_t d,
        const double* first,
        const double* inside,
        const double* last,
        const Cell[::1] cells,
    ) noexcept nogil
    cdef bint run(self, TablesX4 tables) noexcept nogil
    cdef void _take_cells(self, TablesX4 tables) noexcept nogil
    cdef void subtract(
        self, Py_ssize_t a, Py_ssize_t n, CountsX4 counts, Cell[::1] cells
    ) noexcept nogil
