# cython: language_level=3, boundscheck=False, wraparound=False
"""What the arithmetic alone would cost: bare loops to measure the engine against.

    alpha[j, q] += w * A[u, q]          for each boundary j, u up to D before, state q
    A[j, next[p, y]] += alpha[j, p] * w[p, y]       for each boundary, state p, label y

No scaling, no -inf, no checks, no result: `inference.py` compiles and calls them.
"""

from libc.stdint cimport int32_t


def segment_loop(
    double[:, ::1] alpha,               # INOUT [n + 1, P]
    const double[:, ::1] opened,        # IN    [n + 1, P]
    const double[:, ::1] weight,        # IN    [n + 1, D]
):
    """The (j, u <= D, q) loop. RETURNS (int): How many multiply-adds it did."""
    cdef Py_ssize_t j, d, q, n_states = alpha.shape[1], count = 0
    cdef double w
    cdef double* into
    cdef const double* of
    with nogil:
        for j in range(1, alpha.shape[0]):
            into = &alpha[j, 0]
            for d in range(1, min(weight.shape[1], j) + 1):
                of = &opened[j - d, 0]
                w = weight[j, d - 1]
                for q in range(n_states):
                    into[q] += w * of[q]
                count += n_states
    return count


def arc_loop(
    const double[:, ::1] alpha,         # IN    [n + 1, P]
    double[:, ::1] opened,              # INOUT [n + 1, P]
    const double[:, ::1] weight,        # IN    [P, L]
    const int32_t[:, ::1] next_state,   # IN    [P, L]
):
    """The dense (p, y) loop. RETURNS (int): How many arcs it passed."""
    cdef Py_ssize_t j, p, y, n_labels = weight.shape[1]
    cdef double mass
    cdef double* into
    with nogil:
        for j in range(alpha.shape[0]):
            into = &opened[j, 0]
            for p in range(weight.shape[0]):
                mass = alpha[j, p]
                for y in range(n_labels):
                    into[next_state[p, y]] += mass * weight[p, y]
    return alpha.shape[0] * weight.shape[0] * n_labels
