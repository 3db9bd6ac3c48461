from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..simd.lanes cimport N_LANES
from .lane_tables cimport LaneTables


cdef struct CountsOfLane:
    # Where counts of a document are written: of tokens, [n, G] each; of cells, lengths
    double* start
    double* end
    double* inside
    double* within                      # NULL: nowhere; else D = 1
    double* cell                        # [merged cells]
    double* slot                        # [G D] by group and length, as scores; or NULL
    double* tail                        # [G]


cdef class LaneCounts:
    cdef double[::1] arc                # [A lanes] but for the arcs' weights, see there
    cdef double[::1] final              # [P] states at the end
    cdef double[::1] edge               # [E] work
    cdef double[::1] entry              # [F] of ObservedArcs; None without them
    cdef CountsOfLane lane[N_LANES]
    cdef double[:, ::1] cell            # [lanes, K] of merged cells, or more
    # Of one row
    cdef double[:, :, ::1] group        # [3, G, lanes] see lanes.h
    cdef double[:, ::1] prob            # [G D, lanes] of explicit segments
    cdef double[:, ::1] entered         # [G, lanes] of those that enter
    cdef dict arrays                    # of one document, for its gradient

    cdef reserve_cells(self, Py_ssize_t n)
    cdef void clear(self) noexcept nogil
    cdef void begin(self, LaneTables tables) noexcept nogil
    cdef void add_arcs(self, LaneTables tables, Py_ssize_t j) noexcept nogil
    cdef void _add_entries(
        self, LaneTables tables, Py_ssize_t j, const double* weight
    ) noexcept nogil
    cdef void add_final(
        self, LaneTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void add_row(self, LaneTables tables, Py_ssize_t j) noexcept nogil
    cdef void _pair(self, LaneTables tables, Py_ssize_t j) noexcept nogil
    cdef void _write_tokens(
        self, LaneTables tables, Py_ssize_t at, Py_ssize_t a
    ) noexcept nogil
    cdef void _add_lengths(
        self, LaneTables tables, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void _add_short(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void _add_long(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void _add_late(
        self, LaneTables tables, CellLists cells, Py_ssize_t j, Py_ssize_t a
    ) noexcept nogil
    cdef void _cover(
        self,
        LaneTables tables,
        Py_ssize_t a,
        Py_ssize_t g,
        Py_ssize_t u,
        Py_ssize_t end,
        double prob,
    ) noexcept nogil
    cdef void add_patterns(self, LaneTables tables, double[::1] pattern) noexcept nogil
    cdef gradient(self, Chart chart, LaneTables tables, potentials)
    cdef _entries(self, Chart chart, potentials)


cdef LaneCounts lane_counts(LaneTables tables)
cdef LaneCounts counts_of_document(Chart chart, LaneTables tables)
