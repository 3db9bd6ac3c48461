"""Checks of arrays and sums in the kernels."""

from libc.math cimport INFINITY

from ..simd cimport simd as kernels
from .cells cimport Cell
from ...errors import Errors
from ..potentials import CELLS, LARGEST_SUM, check_cells

cdef double _LARGEST = LARGEST_SUM


cdef bint is_fit(
    const double[:, ::1] x,
    Py_ssize_t n_rows,
    Py_ssize_t n_columns,
    Py_ssize_t or_columns,
) noexcept nogil:
    """Whether the shape is right."""
    if x.shape[0] != n_rows:
        return False
    return x.shape[1] == n_columns or x.shape[1] == or_columns


cdef checked_cells(cells, Py_ssize_t n_tokens, Py_ssize_t n_columns):
    """Returns the cells as the kernels read them, not a copy if they are so already.
    Raises as `check_cells`."""
    cdef const Cell[::1] records
    if getattr(cells, "dtype", None) is CELLS and cells.ndim == 1:
        if not len(cells):
            return cells
        try:
            records = cells
            if are_sound(records, n_tokens, n_columns):
                return cells
        except (TypeError, ValueError, BufferError):
            pass
    return check_cells(cells, n_tokens, n_columns)


cdef bint are_numbers(const double[::1] x) noexcept nogil:
    """Whether all are in the range of scores."""
    return x.shape[0] == 0 or kernels.count_bad(&x[0], x.shape[0]) == 0


cdef bint are_all_numbers(const double[:, ::1] x) noexcept nogil:
    """The same, of all rows."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return True
    return kernels.count_bad(&x[0, 0], x.shape[0] * x.shape[1]) == 0


cdef bint are_sound(
    const Cell[::1] cells, Py_ssize_t n_tokens, Py_ssize_t n_columns
) noexcept nogil:
    """Whether all are within the document, and all scores are in range."""
    cdef Py_ssize_t k
    for k in range(cells.shape[0]):
        if not 0 <= cells[k].start < cells[k].end <= n_tokens:
            return False
        if not 0 <= cells[k].column < n_columns:
            return False
        if not kernels.is_score(cells[k].score):
            return False
    return True


cdef check_sum(double total):
    """RAISES (ValueError): HS124 a log of a sum in which small scores are lost."""
    if -INFINITY < total < -_LARGEST or total > _LARGEST:
        raise ValueError(Errors.HS124.format(found=total, limit=LARGEST_SUM))
