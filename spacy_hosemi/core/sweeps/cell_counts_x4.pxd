from .tables_x4 cimport TablesX4


cdef struct LaneCounts:
    # Where counts of a document are written: of tokens, [n, G] each, and of cells
    double* start
    double* end
    double* inside
    double* within                      # NULL: nowhere
    double* cell                        # [merged cells]


cdef void add_cells(
    TablesX4 tables, LaneCounts* counts, double* final, Py_ssize_t j
) noexcept nogil
