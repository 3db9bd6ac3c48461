"""Sparse features: keys to rows, rows to scores, gradients back to rows.

A key is a 64-bit hash of (template, values); 0 means that the template does not fire.
A row is the place of a known key in a weight matrix [R, L], -1 if unknown.
"""

import numpy as np

from libc.math cimport exp, sqrt
from libc.stdint cimport int32_t, uint8_t, uint64_t

from . cimport kernels
from .cells cimport Cell
from .columns cimport Entry
from .kernels cimport mix, prefetch
from .potentials import CELLS, ENTRIES

# Rows that are asked for ahead of their turn.
cdef Py_ssize_t AHEAD = 8

# How `step_rows` may change a weight.
cpdef enum Freedom:
    FIXED = 0
    NONNEGATIVE = 1
    FREE = 2


def template_keys(
    const uint64_t[:, ::1] values,      # IN  [n, A] attribute values; 0: absent
    const uint64_t[::1] seeds,          # IN  [T] one for each template
    const int32_t[::1] first_atom,      # IN  [T + 1] atoms of template t
    const int32_t[::1] columns,         # IN  [atoms] which attribute
    const int32_t[::1] offsets,         # IN  [atoms] read how far from the token
    const int32_t[::1] first=None,      # IN  [D + 1] of each document, and n; None: one
):
    """Keys of all templates at all tokens of documents that follow each other.

    Before the first and after the last token of a document every attribute has a value
    of its own.
    RETURNS (uint64 [n, T]): Keys; 0 where an attribute is absent.
    """
    keys = np.zeros((values.shape[0], seeds.shape[0]), np.uint64)
    cdef uint64_t[:, ::1] keys_ = keys
    cdef Py_ssize_t i, t, k, at, n = values.shape[0], d = 0, start = 0, end = n
    cdef uint64_t value, h
    if first is not None:
        end = 0
    with nogil:
        for i in range(n):
            while i >= end:
                start, end = first[d], first[d + 1]
                d += 1
            for t in range(seeds.shape[0]):
                h = seeds[t]
                for k in range(first_atom[t], first_atom[t + 1]):
                    at = i + offsets[k]
                    value = 1
                    if at >= start:
                        value = 2 if at >= end else values[at, columns[k]]
                    if value == 0:
                        h = 0
                        break
                    h = mix(h, value)
                keys_[i, t] = h
    return keys


cdef class RowTable:
    """Exact dictionary from keys to rows, by open addressing.

    keys (uint64 [R]): Distinct keys, none of them 0; the position of a key is its row.
    """

    def __init__(self, keys):
        self.keys = np.zeros(0, np.uint64)
        self._mask = 0
        self.extend(keys)

    def extend(self, keys):
        """Add keys, whose rows come last; the table is built anew when it is half full.

        keys (uint64 [K]): Distinct and not in the table, none of them 0.
        """
        cdef Py_ssize_t n_old = len(self.keys)
        self.keys = np.concatenate([self.keys, np.asarray(keys, np.uint64)])
        cdef Py_ssize_t size = max(16, self._mask + 1)
        while size < 2 * len(self.keys):
            size *= 2
        if size > self._mask + 1:
            # Key and row side by side: of a large table each access is a wait for
            # memory.
            self._slots = np.zeros((size, 2), np.uint64)
            self._mask = size - 1
            n_old = 0
        cdef const uint64_t[::1] keys_ = self.keys
        cdef Py_ssize_t row
        cdef uint64_t slot
        with nogil:
            for row in range(n_old, keys_.shape[0]):
                slot = keys_[row] & self._mask
                while self._slots[slot, 0]:
                    slot = (slot + 1) & self._mask
                self._slots[slot, 0], self._slots[slot, 1] = keys_[row], row

    def __len__(self):
        return len(self.keys)

    def __reduce__(self):
        return RowTable, (self.keys,)

    def rows(self, const uint64_t[:, ::1] keys):
        """Rows of the keys that are known, token by token.

        keys (uint64 [n, T]): Keys; 0 is never known.
        RETURNS (Tuple[int32 [n + 1], int32 [K]]): The rows of token i are
            rows[first[i]:first[i + 1]].
        """
        cdef Py_ssize_t n = keys.shape[0], i, t, k = 0
        cdef int32_t row
        cdef const uint64_t* slots = &self._slots[0, 0]
        first = np.zeros(n + 1, np.int32)
        rows = np.empty(n * keys.shape[1], np.int32)
        cdef int32_t[::1] first_ = first, rows_ = rows
        with nogil:
            for i in range(n):
                for t in range(keys.shape[1] if i + 2 < n else 0):
                    prefetch(slots + 2 * (keys[i + 2, t] & self._mask))
                for t in range(keys.shape[1]):
                    row = self.row(keys[i, t])
                    if row >= 0:
                        rows_[k] = row
                        k += 1
                first_[i + 1] = <int32_t>k
        return first, rows[:k].copy()

    def find(self, const uint64_t[::1] keys):
        """RETURNS (int32 [K]): The row of each key, -1 where it is not known."""
        cdef Py_ssize_t k
        rows = np.empty(keys.shape[0], np.int32)
        cdef int32_t[::1] rows_ = rows
        with nogil:
            for k in range(keys.shape[0]):
                rows_[k] = self.row(keys[k])
        return rows

    cdef int32_t row(self, uint64_t key) noexcept nogil:
        return kernels.find(&self._slots[0, 0], self._mask, key)


def gather(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[:, ::1] weights,       # IN  [R, L]
    double[:, ::1] scores,              # OUT [n, L] added to
):
    """scores[i] += sum of weights[row] over the rows of token i."""
    cdef Py_ssize_t n = scores.shape[0], n_labels = weights.shape[1]
    if rows.shape[0] and n_labels:
        with nogil:
            kernels.gather(
                &first[0], &rows[0], n, &weights[0, 0], &scores[0, 0], n_labels
            )


def scatter(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[:, ::1] d_scores,      # IN  [n, L]
    double[:, ::1] d_weights,           # OUT [R, L] added to
):
    """d_weights[row] += d_scores[i] for the rows of token i."""
    cdef Py_ssize_t n = d_scores.shape[0], n_labels = d_weights.shape[1]
    if rows.shape[0] and n_labels:
        with nogil:
            kernels.scatter(
                &first[0], &rows[0], n, &d_scores[0, 0], &d_weights[0, 0], n_labels
            )


cdef bint _is_zero(const double* x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t y
    for y in range(n):
        if x[y] != 0.0:
            return False
    return True


def touched_rows(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[:, ::1] d_scores,      # IN  [n, L]
):
    """RETURNS (int32): Rows of the tokens whose derivatives are not all 0: those alone
    to which `scatter` adds something."""
    cdef Py_ssize_t i, k, at = 0, n = d_scores.shape[0], n_labels = d_scores.shape[1]
    found = np.empty(first[n] - first[0], np.int32)
    cdef int32_t[::1] found_ = found
    with nogil:
        for i in range(n):
            if not _is_zero(&d_scores[i, 0], n_labels):
                for k in range(first[i], first[i + 1]):
                    found_[at] = rows[k]
                    at += 1
    return found[:at]


def gather_pairs(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const int32_t[::1] columns,         # IN  [N] ascending within a row
    const double[::1] weights,          # IN  [N]
    double[:, ::1] scores,              # OUT [n, L] added to
):
    """`gather` where row r has weights in some columns, from first_pair[r] on."""
    if rows.shape[0] and weights.shape[0]:
        with nogil:
            kernels.gather_pairs(
                &first[0],
                &rows[0],
                scores.shape[0],
                &first_pair[0],
                &columns[0],
                &weights[0],
                &scores[0, 0],
                scores.shape[1],
            )


def scatter_pairs(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const int32_t[::1] columns,         # IN  [N]
    const double[:, ::1] d_scores,      # IN  [n, L]
    double[::1] d_weights,              # OUT [N] added to
):
    """`scatter` for weights as in `gather_pairs`."""
    cdef Py_ssize_t i, k, a, y, begin, end, n_labels = d_scores.shape[1]
    cdef const double* sums
    cdef double* row
    with nogil:
        for i in range(d_scores.shape[0]):
            sums = &d_scores[i, 0]
            if _is_zero(sums, n_labels):
                continue
            for k in range(first[i], first[i + 1]):
                if k + AHEAD < rows.shape[0]:
                    row = &d_weights[0] + first_pair[rows[k + AHEAD]]
                    for y in range(0, n_labels, 8):
                        prefetch(row + y)
                begin, end = first_pair[rows[k]], first_pair[rows[k] + 1]
                if end - begin == n_labels:  # all columns, in their order
                    row = &d_weights[begin]
                    for y in range(n_labels):
                        row[y] += sums[y]
                else:
                    for a in range(begin, end):
                        d_weights[a] += sums[columns[a]]


def gather_strengths(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1], or [0]: each row has L weights
    const int32_t[::1] columns,         # IN  [N]; or [0]
    const double[::1] weights,          # IN  [N]
    double[:, ::1] scores,              # OUT [n, L] added to
):
    """`gather` or `gather_pairs` where each row counts with a strength.

    scores[i] += sum of strength * weights[row] over the rows of token i
    """
    cdef Py_ssize_t i, k, a, y, begin, n_labels = scores.shape[1]
    cdef bint is_dense = first_pair.shape[0] == 0
    with nogil:
        for i in range(scores.shape[0]):
            for k in range(first[i], first[i + 1]):
                if is_dense:
                    begin = rows[k] * n_labels
                    for y in range(n_labels):
                        scores[i, y] += strength[k] * weights[begin + y]
                else:
                    for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                        scores[i, columns[a]] += strength[k] * weights[a]


def scatter_strengths(
    const int32_t[::1] first,           # IN  [n + 1]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1] or [0]
    const int32_t[::1] columns,         # IN  [N]; or [0]
    const double[:, ::1] d_scores,      # IN  [n, L]
    double[::1] d_weights,              # OUT [N] added to
):
    """Transpose of `gather_strengths`."""
    cdef Py_ssize_t i, k, a, y, begin, n_labels = d_scores.shape[1]
    cdef bint is_dense = first_pair.shape[0] == 0
    with nogil:
        for i in range(d_scores.shape[0]):
            for k in range(first[i], first[i + 1]):
                if is_dense:
                    begin = rows[k] * n_labels
                    for y in range(n_labels):
                        d_weights[begin + y] += strength[k] * d_scores[i, y]
                else:
                    for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                        d_weights[a] += strength[k] * d_scores[i, columns[a]]


def gather_cells(
    const int32_t[::1] starts,          # IN  [K] of segments
    const int32_t[::1] ends,            # IN  [K]
    const int32_t[::1] rows,            # IN  [K]
    const double[::1] strength,         # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1], or [0]: each row has L weights
    const int32_t[::1] columns,         # IN  [N]; or [0]
    const double[::1] weights,          # IN  [N]
    Py_ssize_t n_labels,                # IN  L
):
    """RETURNS (CELLS): For each weight of each row strength * weight."""
    cdef Py_ssize_t k, a, at = 0, n = 0
    cdef bint is_dense = first_pair.shape[0] == 0
    for k in range(rows.shape[0]):
        n += n_labels if is_dense else first_pair[rows[k] + 1] - first_pair[rows[k]]
    found = np.empty(n, CELLS)
    cdef Cell[::1] cells = found
    cdef Py_ssize_t begin, end
    with nogil:
        for k in range(rows.shape[0]):
            begin = rows[k] * n_labels if is_dense else first_pair[rows[k]]
            end = begin + n_labels if is_dense else first_pair[rows[k] + 1]
            for a in range(begin, end):
                cells[at].start, cells[at].end = starts[k], ends[k]
                cells[at].column = <int32_t>(a - begin) if is_dense else columns[a]
                cells[at].score = strength[k] * weights[a]
                at += 1
    return found


def gather_entries(
    const int32_t[::1] positions,       # IN  [K]
    const int32_t[::1] rows,            # IN  [K]
    const uint8_t[::1] roles,           # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const int32_t[::1] columns,         # IN  [N]
    const double[::1] weights,          # IN  [N]
):
    """RETURNS (ENTRIES): For each weight of each row one."""
    cdef Py_ssize_t k, a, at = 0, n = 0
    for k in range(rows.shape[0] if weights.shape[0] else 0):
        a = first_pair[rows[k]]
        prefetch(&weights[0] + a)
        prefetch(&columns[0] + a)
        n += first_pair[rows[k] + 1] - a
    found = np.empty(n, ENTRIES)
    cdef Entry[::1] entries = found
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                entries[at].position, entries[at].role = positions[k], roles[k]
                entries[at].column, entries[at].score = columns[a], weights[a]
                at += 1
    return found


def scatter_entries(
    const int32_t[::1] rows,            # IN  [K]
    const int32_t[::1] first_pair,      # IN  [R + 1]
    const Entry[::1] d_entries,         # IN  as `gather_entries` made them
    double[::1] d_weights,              # OUT [N] added to
):
    """Transpose of `gather_entries`."""
    cdef Py_ssize_t k, a, at = 0
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                if d_entries[at].score != 0.0:  # what is far away is left there
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
    """Transpose of `gather_cells`."""
    cdef Py_ssize_t k, a, at = 0, begin, end
    cdef bint is_dense = first_pair.shape[0] == 0
    with nogil:
        for k in range(rows.shape[0]):
            begin = rows[k] * n_labels if is_dense else first_pair[rows[k]]
            end = begin + n_labels if is_dense else first_pair[rows[k] + 1]
            for a in range(begin, end):
                d_weights[a] += strength[k] * d_cells[at].score
                at += 1


def adagrad_rows(
    const int32_t[::1] touched,         # IN  [K] distinct rows
    double[:, ::1] weights,             # INOUT [R, L]
    double[:, ::1] gradient,            # INOUT [R, L] cleared where touched
    double[:, ::1] squares,             # INOUT [R, L] sums of squared gradients
    const double[::1] l2,               # IN  [R] for one step of each row
    double rate,                        # IN
):
    """One AdaGrad step on the rows that fired (Duchi, Hazan and Singer 2011).

        squares += g^2;  weights -= rate * g / (1e-8 + sqrt(squares))
    """
    cdef Py_ssize_t i, y
    cdef int32_t row
    cdef double g
    with nogil:
        for i in range(touched.shape[0]):
            row = touched[i]
            for y in range(weights.shape[1]):
                g = gradient[row, y] + l2[row] * weights[row, y]
                gradient[row, y] = 0.0
                squares[row, y] += g * g
                weights[row, y] -= rate * g / (1e-8 + sqrt(squares[row, y]))


def average_rows(
    const int32_t[::1] touched,         # IN  [K] rows whose weights are about to change
    const double[:, ::1] weights,       # IN  [R, L]
    double[:, ::1] averages,            # INOUT [R, L]
    double[::1] last,                   # INOUT [R] log decay when last brought up
    double log_decay,                   # IN  log of the product of all decays so far
):
    """Bring exponential averages up to date with weights that stood still since `last`.

        average = weight + (average - weight) * exp(log_decay - last)
    """
    cdef Py_ssize_t i, y
    cdef int32_t row
    cdef double share
    with nogil:
        for i in range(touched.shape[0]):
            row = touched[i]
            share = exp(log_decay - last[row])
            last[row] = log_decay
            for y in range(weights.shape[1]):
                averages[row, y] = weights[row, y] + share * (
                    averages[row, y] - weights[row, y]
                )


def step_rows(
    const int32_t[::1] touched,         # IN    [K] rows; some of them perhaps repeated
    const int32_t[::1] first_pair,      # IN    [R + 1], or [0]: each row has L weights
    Py_ssize_t n_labels,                # IN    L
    double[::1] weights,                # INOUT [N]
    double[::1] gradient,               # INOUT [N] cleared where touched
    double[::1] moved,                  # INOUT [N] see below
    const uint8_t[::1] freedom,         # IN    [N] FIXED, NONNEGATIVE or FREE
    const double[::1] rate,             # IN    [N]
    double n_before,                    # IN    iterates before this step
):
    """One gradient step on the rows that fired, and what their uniform average needs.

        w_t = w_(t-1) + change_t;   moved = sum over t of (t - 1) * change_t
        (w_1 + .. + w_T) / T = w_T - moved / T

    since a change counts in all iterates but those before it. So a weight costs nothing
    where it stands still, and nobody remembers for how long it did.
    """
    cdef Py_ssize_t k, a, begin, end
    with nogil:
        for k in range(touched.shape[0]):
            if first_pair.shape[0]:
                begin, end = first_pair[touched[k]], first_pair[touched[k] + 1]
            else:
                begin = touched[k] * n_labels
                end = begin + n_labels
            for a in range(begin, end):
                if gradient[a] != 0.0:
                    _step(
                        &weights[a],
                        &gradient[a],
                        &moved[a],
                        freedom[a],
                        rate[a],
                        n_before,
                    )


def step_entries(
    const int32_t[::1] rows,            # IN    [K] of `gather_entries`
    const int32_t[::1] first_pair,      # IN    [R + 1]
    const Entry[::1] d_entries,         # IN    as it made them
    double[::1] weights,                # INOUT [N]
    double[::1] gradient,               # INOUT [N] cleared where touched
    double[::1] moved,                  # INOUT [N]
    const uint8_t[::1] freedom,         # IN    [N]
    const double[::1] rate,             # IN    [N]
    double n_before,                    # IN
):
    """`step_rows` for those weights alone whose entries have a derivative."""
    cdef Py_ssize_t k, a, at = 0
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                if d_entries[at].score != 0.0 and gradient[a] != 0.0:
                    _step(
                        &weights[a],
                        &gradient[a],
                        &moved[a],
                        freedom[a],
                        rate[a],
                        n_before,
                    )
                at += 1


cdef inline void _step(
    double* weight,
    double* gradient,
    double* moved,
    uint8_t freedom,
    double rate,
    double n_before,
) noexcept nogil:
    cdef double before = weight[0], after = before - rate * gradient[0]
    gradient[0] = 0.0
    if freedom == FIXED:
        return
    if freedom == NONNEGATIVE and after < 0.0:
        after = 0.0
    weight[0] = after
    moved[0] += n_before * (after - before)
