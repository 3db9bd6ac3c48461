"""Scores of tokens from the weights of their features, and the transpose, in parts that
threads share: `gather` and `scatter`.

A part has some of the tokens, where scores are summed, and some of the features, where
derivatives are. So each number is summed by one thread, in the order of the tokens.
"""

import numpy as np

from libc.stdint cimport int32_t

from ...core.parallel.tasks cimport Task
from ...core.simd cimport counts
from ...core.simd cimport simd as kernels

cdef enum:
    MOST_ROLES = 8


cdef struct Role:
    const int32_t* first
    const int32_t* rows
    double* scores
    Py_ssize_t n_tokens


cdef class TokenSums(Task):
    """Sums one part of n."""

    cdef Py_ssize_t which, n_tasks, n_roles, n_labels, n_rows
    cdef Role roles[MOST_ROLES]
    cdef list kept                      # arrays that the roles point to
    cdef const int32_t[::1] first_pair  # [R + 1]; [0]: each row has L weights
    cdef const int32_t[::1] columns
    cdef double[::1] weights
    cdef bint is_transpose

    def __init__(self, which, n_tasks):
        self.which, self.n_tasks = which, n_tasks
        self.first_pair = self.columns = np.zeros(0, np.int32)

    def take(self, roles, first_pair, columns, weights, n_labels, is_transpose):
        """Takes for each role `first` and `row`, see `RoleRows`, and scores [n, L], to
        which are added products with `weights` [N]; or, for the transpose, derivatives,
        which are added to these. Without pairs each row has L weights."""
        cdef const int32_t[::1] first, rows
        cdef double[:, ::1] scores
        cdef Role* role
        self.kept, self.n_roles = list(roles), 0
        self.first_pair, self.columns, self.weights = first_pair, columns, weights
        self.n_labels, self.is_transpose = n_labels, is_transpose
        self.n_rows = weights.shape[0] // max(n_labels, 1)
        if first_pair.shape[0]:
            self.n_rows = first_pair.shape[0] - 1
        for first, rows, scores in roles:
            if not (scores.shape[0] and rows.shape[0] and n_labels and len(weights)):
                continue
            role = &self.roles[self.n_roles]
            role.first, role.rows = &first[0], &rows[0]
            role.scores, role.n_tokens = &scores[0, 0], scores.shape[0]
            self.n_roles += 1

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_roles):
            if self.is_transpose:
                self._scatter(&self.roles[k])
            else:
                self._gather(&self.roles[k])

    cdef void _gather(self, Role* role) noexcept nogil:
        cdef Py_ssize_t begin = role.n_tokens * self.which // self.n_tasks
        cdef Py_ssize_t end = role.n_tokens * (self.which + 1) // self.n_tasks
        cdef double* scores = role.scores + begin * self.n_labels
        if self.first_pair.shape[0]:
            kernels.gather_pairs(
                role.first + begin, role.rows, end - begin, &self.first_pair[0],
                &self.columns[0], &self.weights[0], scores, self.n_labels,
            )
        else:
            kernels.gather(
                role.first + begin, role.rows, end - begin, &self.weights[0], scores,
                self.n_labels,
            )

    cdef void _scatter(self, Role* role) noexcept nogil:
        cdef Py_ssize_t begin = self.n_rows * self.which // self.n_tasks
        cdef Py_ssize_t end = self.n_rows * (self.which + 1) // self.n_tasks
        if self.first_pair.shape[0]:
            counts.scatter_pairs(
                role.first, role.rows, role.n_tokens, role.scores, &self.first_pair[0],
                &self.columns[0], begin, end, &self.weights[0], self.n_labels,
            )
        else:
            counts.scatter_rows(
                role.first, role.rows, role.n_tokens, role.scores, begin, end,
                &self.weights[0], self.n_labels,
            )
