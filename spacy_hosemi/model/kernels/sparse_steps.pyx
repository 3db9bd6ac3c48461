"""Steps of sparse optimizers, which change only rows with a gradient."""

from libc.math cimport exp, sqrt
from libc.stdint cimport int32_t, uint8_t

from ...core.chart.columns cimport Entry

# How `step_rows` may change a weight.
cpdef enum Freedom:
    FIXED = 0
    NONNEGATIVE = 1
    FREE = 2


def adagrad_rows(
    const int32_t[::1] touched,         # IN  [K] distinct rows
    double[:, ::1] weights,             # INOUT [R, L]
    double[:, ::1] gradient,            # INOUT [R, L] cleared where touched
    double[:, ::1] squares,             # INOUT [R, L] sums of squared gradients
    const double[::1] l2,               # IN  [R] for one step of each row
    double rate,                        # IN
):
    """One AdaGrad step on the touched rows (Duchi, Hazan and Singer 2011).

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
    """Bring exponential averages up to date with weights unchanged since `last`.

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
    """One gradient step on the touched rows, and what their uniform average needs.

        w_t = w_(t-1) + change_t;   moved = sum over t of (t - 1) * change_t
        (w_1 + .. + w_T) / T = w_T - moved / T

    since a change is part of all iterates except those before it. So a weight costs no
    time in steps that do not change it.
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
                        &weights[a], &gradient[a], &moved[a], freedom[a], rate[a],
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
    """Steps weights whose entries have a derivative other than 0, see `step_rows`."""
    cdef Py_ssize_t k, a, at = 0
    with nogil:
        for k in range(rows.shape[0]):
            for a in range(first_pair[rows[k]], first_pair[rows[k] + 1]):
                if d_entries[at].score != 0.0 and gradient[a] != 0.0:
                    _step(
                        &weights[a], &gradient[a], &moved[a], freedom[a], rate[a],
                        n_before,
                    )
                at += 1


cdef inline void _step(
    double* weight, double* gradient, double* moved, uint8_t freedom, double rate,
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
