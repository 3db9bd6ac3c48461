"""What constraints forbid, as scores of -inf."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, uint8_t

from ..potentials import CELLS


cdef void prohibit(
    const uint8_t* allowed,             # [n, L] labels of tokens; NULL: all
    const int8_t* boundary,             # [n + 1] see `Constraints`; NULL: all 0
    Py_ssize_t n_tokens,
    Py_ssize_t n_labels,
    const int32_t[::1] label,           # [G] of each group
    double* first,                      # [n, G] as of `Chart`, written to
    double* more,
    double* end,
) noexcept nogil:
    cdef Py_ssize_t i, g, k, n_groups = label.shape[0]
    cdef int before = 0, behind = 0
    for i in range(n_tokens):
        if boundary != NULL:
            before, behind = boundary[i], boundary[i + 1]
        for g in range(n_groups):
            k = i * n_groups + g
            if allowed != NULL and not allowed[i * n_labels + label[g]]:
                first[k] = more[k] = -INFINITY
            if before == -1:
                first[k] = -INFINITY
            if behind == -1:
                end[k] = -INFINITY
            if before == 1 or (before == 2 and label[g] > 0):
                more[k] = -INFINITY


def forbidden_cells(constraints, n_labels):
    """RETURNS (CELLS): Forbidden segments."""
    cells = [
        (start, stop, y, -np.inf)
        for start, stop, label in constraints.forbidden
        for y in (range(1, n_labels) if label == -1 else [label])
    ]
    return np.array(cells, CELLS)
