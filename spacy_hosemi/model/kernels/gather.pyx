"""Sums the weights of active features to scores, and adds gradients to weights.

A row is the index of a feature in a weight matrix [R, L].
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from ...core.simd cimport counts
from ...core.simd cimport simd as kernels
from ...core.chart.cells cimport Cell
from ...core.chart.columns cimport Entry
from ...core.simd.simd cimport prefetch
from ...core.potentials import CELLS, ENTRIES

# Weights that are trained, or as they are saved: both give the same double.
ctypedef fused weight_t:
    double
    float


cdef bint _is_zero(const double* x, Py_ssize_t n) noexcept nogil:
    """Whether all n numbers are 0."""
    cdef Py_ssize_t y
    for y in range(n):
        if x[y] != 0.0:
            return False
    return True


def gather(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K], or None: all are 1
    const int32_t[::1] first_pair,      # IN  [R + 1], or [0]: each row has L weights
    const int32_t[::1] columns,         # IN  [N] ascending within a row; or [0]
    const double[::1] weights,          # IN  [N]
    double[:, ::1] scores,              # OUT [n, L] added to
):
    """scores[i] += sum of strength * weights[row] over the rows of token i. Row r has
    weights in the columns of pairs first_pair[r] to first_pair[r + 1] - 1."""
    cdef Py_ssize_t i, k, a, y, begin, n = scores.shape[0], n_labels = scores.shape[1]
    cdef bint is_dense = first_pair.shape[0] == 0, has_strength = strength is not None
    if not (rows.shape[0] and weights.shape[0]):
        return
    with nogil:
        if not has_strength and is_dense:
            kernels.gather(
                &first[0], &rows[0], n, &weights[0], &scores[0, 0], n_labels
            )
        elif not has_strength:
            kernels.gather_pairs(
                &first[0], &rows[0], n, &first_pair[0], &columns[0],
                &weights[0], &scores[0, 0], n_labels,
            )
        for i in range(n if has_strength else 0):
            for k in range(first[i], first[i + 1]):
                if is_dense:
                    begin = rows[k] * n_labels
                    for y in range(n_labels):
                        scores[i, y] += strength[k] * weights[begin + y]
                else:
                    for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                        scores[i, columns[a]] += strength[k] * weights[a]


def scatter(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K], or None
    const int32_t[::1] first_pair,      # IN  [R + 1], or [0]
    const int32_t[::1] columns,         # IN  [N]; or [0]
    const double[:, ::1] d_scores,      # IN  [n, L]
    double[::1] d_weights,              # OUT [N] added to
):
    """Transposes `gather`."""
    cdef Py_ssize_t i = 0, k, a, y, begin, n = d_scores.shape[0]
    cdef Py_ssize_t n_labels = d_scores.shape[1]
    cdef bint is_dense = first_pair.shape[0] == 0, has_strength = strength is not None
    if not (rows.shape[0] and d_weights.shape[0]):
        return
    with nogil:
        if is_dense and not has_strength:
            kernels.scatter(
                &first[0], &rows[0], n, &d_scores[0, 0], &d_weights[0], n_labels
            )
        elif not has_strength:
            for k in range(n + 1):
                if k == n or _is_zero(&d_scores[k, 0], n_labels):
                    if i < k:  # all tokens from the i-th on have derivatives
                        counts.scatter_pairs(
                            &first[i], &rows[0], k - i, &d_scores[i, 0], &first_pair[0],
                            &columns[0], 0, first_pair.shape[0] - 1, &d_weights[0],
                            n_labels,
                        )
                    i = k + 1
        for i in range(n if has_strength else 0):
            for k in range(first[i], first[i + 1]):
                if is_dense:
                    begin = rows[k] * n_labels
                    for y in range(n_labels):
                        d_weights[begin + y] += strength[k] * d_scores[i, y]
                else:
                    for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                        d_weights[a] += strength[k] * d_scores[i, columns[a]]


def touched_rows(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[:, ::1] d_scores,      # IN  [n, L]
):
    """Returns the rows of all tokens with a derivative other than 0: `scatter` adds 0
    to others."""
    cdef Py_ssize_t i, k, at = 0, n = d_scores.shape[0], n_labels = d_scores.shape[1]
    touched = np.empty(first[n] - first[0], np.int32)
    cdef int32_t[::1] touched_ = touched
    with nogil:
        for i in range(n):
            if not _is_zero(&d_scores[i, 0], n_labels):
                for k in range(first[i], first[i + 1]):
                    touched_[at] = rows[k]
                    at += 1
    return touched[:at]


def gather_cells(
    const int32_t[::1] starts,          # IN  [K] of segments
    const int32_t[::1] ends,            # IN  [K]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1], or [0]: each row has L weights
    const int32_t[::1] columns,         # IN  [N]; or [0]
    const weight_t[::1] weights,        # IN  [N]
    Py_ssize_t n_labels,                # IN  L
    bint is_single=False,               # IN  whether weights are in single precision
):
    """Returns a cell with strength * weight for each weight of each row."""
    cdef Py_ssize_t k, a, at = 0, n = 0
    cdef bint is_dense = first_pair.shape[0] == 0
    for k in range(rows.shape[0]):
        n += n_labels if is_dense else first_pair[rows[k] + 1] - first_pair[rows[k]]
    result = np.empty(n, CELLS)
    cdef Cell[::1] cells = result
    cdef Py_ssize_t begin, end
    cdef double weight
    with nogil:
        for k in range(rows.shape[0]):
            begin = rows[k] * n_labels if is_dense else first_pair[rows[k]]
            end = begin + n_labels if is_dense else first_pair[rows[k] + 1]
            for a in range(begin, end):
                cells[at].start, cells[at].end = starts[k], ends[k]
                cells[at].column = <int32_t>(a - begin) if is_dense else columns[a]
                weight = <float>weights[a] if is_single else weights[a]
                cells[at].score = strength[k] * weight
                at += 1
    return result


def gather_merged_cells(
    const int32_t[::1] starts,          # IN  [K] of segments, in concatenated documents
    const int32_t[::1] ends,            # IN  [K]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first,           # IN  [D + 1] first token of each, and n
    const int32_t[::1] first_pair,      # IN  as for `gather_cells`
    const int32_t[::1] columns,         # IN
    const weight_t[::1] weights,        # IN
    Py_ssize_t n_labels,                # IN
    bint is_single=False,               # IN
):
    """Gathers cells for documents, in tokens of each. The cells of a segment are added
    where each row has all columns; those of a document go by end, then start. Returns
    the cells, and the first of each document [D + 1]."""
    cdef const int64_t[::1] order = np.lexsort((starts, ends))
    cdef Py_ssize_t i, k, a, y, at = 0, n = 0, d = 0, begin, end, last = -1
    cdef bint is_dense = first_pair.shape[0] == 0
    for k in range(rows.shape[0]):
        n += n_labels if is_dense else first_pair[rows[k] + 1] - first_pair[rows[k]]
    result, borders = np.empty(n, CELLS), np.zeros(first.shape[0], np.int32)
    cdef Cell[::1] cells = result
    cdef int32_t[::1] borders_ = borders
    cdef double weight
    with nogil:
        for i in range(order.shape[0]):
            k = order[i]
            while starts[k] >= first[d + 1]:
                d += 1
                borders_[d] = <int32_t>at
            begin = rows[k] * n_labels if is_dense else first_pair[rows[k]]
            end = begin + n_labels if is_dense else first_pair[rows[k] + 1]
            if is_dense and last >= 0 and (
                starts[last] == starts[k] and ends[last] == ends[k]
            ):
                for y in range(n_labels):
                    weight = weights[begin + y]
                    weight = <float>weight if is_single else weight
                    cells[at - n_labels + y].score += strength[k] * weight
                continue
            for a in range(begin, end):
                cells[at].start = starts[k] - first[d]
                cells[at].end = ends[k] - first[d]
                cells[at].column = <int32_t>(a - begin) if is_dense else columns[a]
                weight = <float>weights[a] if is_single else weights[a]
                cells[at].score = strength[k] * weight
                at += 1
            last = k
        for d in range(d + 1, first.shape[0]):
            borders_[d] = <int32_t>at
    return result[:at], borders


def gather_entries(
    const int32_t[::1] positions,       # IN  [K]
    const int32_t[::1] rows,            # IN  [K]
    const uint8_t[::1] roles,           # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const int32_t[::1] columns,         # IN  [N]
    const weight_t[::1] weights,        # IN  [N]
):
    """Returns an entry for each weight of each row."""
    cdef Py_ssize_t k, a, at = 0, n = 0
    for k in range(rows.shape[0] if weights.shape[0] else 0):
        a = first_pair[rows[k]]
        prefetch(&weights[0] + a)
        prefetch(&columns[0] + a)
        n += first_pair[rows[k] + 1] - a
    result = np.empty(n, ENTRIES)
    cdef Entry[::1] entries = result
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                entries[at].position, entries[at].role = positions[k], roles[k]
                entries[at].column, entries[at].score = columns[a], weights[a]
                at += 1
    return result


def scatter_entries(
    const int32_t[::1] rows,            # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const Entry[::1] d_entries,         # IN  as `gather_entries` made them
    double[::1] d_weights,              # OUT [N] added to
):
    """Transposes `gather_entries`."""
    cdef Py_ssize_t k, a, at = 0
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                if d_entries[at].score != 0.0:  # else do not fetch the weight
                    d_weights[a] += d_entries[at].score
                at += 1


def scatter_cells(
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1] or [0]
    const Cell[::1] d_cells,            # IN  as `gather_cells` made them
    Py_ssize_t n_labels,                # IN  L
    double[::1] d_weights,              # OUT [N] added to
):
    """Transposes `gather_cells`."""
    cdef Py_ssize_t k, a, at = 0, begin, end
    cdef bint is_dense = first_pair.shape[0] == 0
    with nogil:
        for k in range(rows.shape[0]):
            begin = rows[k] * n_labels if is_dense else first_pair[rows[k]]
            end = begin + n_labels if is_dense else first_pair[rows[k] + 1]
            for a in range(begin, end):
                d_weights[a] += strength[k] * d_cells[at].score
                at += 1
