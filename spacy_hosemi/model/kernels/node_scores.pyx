"""Scores of the children of the nodes of a label tree, for given segments.

The children of a node have consecutive numbers. A row has weights in some nodes,
ascending, so its weights for the children of a node are adjacent and found by
bisection: the weights of thousands of other nodes cost nothing.

    scores[at[k] + c] += sum of weight[row, first child of node[k] + c]
                         over the rows of the tokens from[k] .. to[k] - 1
"""

from libc.stdint cimport int32_t

from ...errors import Errors


cdef class ChildRows:
    """The rows that the children of nodes read, in one role.

    Raises ValueError HS114 if the arrays do not fit; pairs are checked when read.
    """

    cdef const int32_t[::1] begin, stop     # [K] tokens of each segment that are read
    cdef const int32_t[::1] node            # [K] of each segment
    cdef const Py_ssize_t[::1] at           # [K] index of the score of its first child
    cdef const int32_t[::1] first           # [n + 1] of each token, and the end
    cdef const int32_t[::1] rows            # token by token
    cdef const double[::1] strength         # of each row, or None: all 1.0
    cdef const int32_t[::1] first_child     # [V + 1] of each node
    # [R + 1], [N]: nodes in which rows have weights, ascending within a row
    cdef const int32_t[::1] first_pair, columns

    def __init__(
        self, begin, stop, node, at, first, rows, strength, first_child, first_pair,
        columns,
    ):
        self.begin, self.stop, self.node, self.at = begin, stop, node, at
        self.first, self.rows, self.strength = first, rows, strength
        self.first_child, self.first_pair = first_child, first_pair
        self.columns = columns
        self._check()

    cdef _check(self):
        cdef Py_ssize_t k, v, n_tokens = self.first.shape[0] - 1
        cdef Py_ssize_t n_nodes = self.first_child.shape[0] - 1, n = self.begin.shape[0]
        cdef bint is_sound = (
            self.stop.shape[0] == self.node.shape[0] == self.at.shape[0] == n
            and (self.strength is None or self.strength.shape[0] == self.rows.shape[0])
            and self.first[0] == 0
            and self.first[n_tokens] == self.rows.shape[0]
        )
        for k in range(n_tokens if is_sound else 0):
            is_sound = is_sound and self.first[k] <= self.first[k + 1]
        for k in range(self.rows.shape[0] if is_sound else 0):
            is_sound = is_sound and 0 <= self.rows[k] < self.first_pair.shape[0] - 1
        for k in range(n if is_sound else 0):
            v = self.node[k]
            is_sound = (
                is_sound
                and 0 <= self.begin[k] <= self.stop[k] <= n_tokens
                and 0 <= v < n_nodes
                and self.first_child[v] <= self.first_child[v + 1]
            )
            if not is_sound:
                break
        if not is_sound:
            raise ValueError(Errors.HS114)

    def gather(self, const double[::1] weights, double[::1] scores, double scale=1.0):
        """Adds the weights [N] of active rows, multiplied by `scale`, to scores."""
        self._pass(weights, scores, None, None, scale)

    def scatter(self, const double[::1] d_scores, double[::1] d_weights):
        """Transposes `gather`: adds to d_weights."""
        self._pass(None, None, d_scores, d_weights, 1.0)

    cdef _pass(
        self,
        const double[::1] weights,
        double[::1] scores,
        const double[::1] d_scores,
        double[::1] d_weights,
        double scale,
    ):
        cdef bint is_gather = weights is not None, is_sound = True
        cdef Py_ssize_t n_weights = (weights if is_gather else d_weights).shape[0]
        cdef Py_ssize_t n_scores = (scores if is_gather else d_scores).shape[0]
        cdef Py_ssize_t k, t, a, c, end
        cdef int32_t low, high, row
        cdef double much
        if n_weights != self.columns.shape[0]:
            raise ValueError(Errors.HS114)
        with nogil:
            for k in range(self.node.shape[0]):
                low = self.first_child[self.node[k]]
                high = self.first_child[self.node[k] + 1]
                if not 0 <= self.at[k] <= n_scores - (high - low):
                    is_sound = False
                    break
                if low == high:
                    continue
                for t in range(self.first[self.begin[k]], self.first[self.stop[k]]):
                    row = self.rows[t]
                    a, end = self.first_pair[row], self.first_pair[row + 1]
                    # Check only the pairs that are read: a model has many more.
                    if not 0 <= a <= end <= n_weights:
                        is_sound = False
                        break
                    a = self._first_from(a, end, low)
                    much = scale if self.strength is None else scale * self.strength[t]
                    if is_gather and a + high - low <= end and (
                        self.columns[a + high - low - 1] == high - 1
                    ):  # weights for all children, as most rows have them
                        _add(&weights[a], much, &scores[self.at[k]], high - low)
                        continue
                    while a < end and self.columns[a] < high:
                        c = self.at[k] + self.columns[a] - low
                        if is_gather:
                            scores[c] += much * weights[a]
                        else:
                            d_weights[a] += much * d_scores[c]
                        a += 1
        if not is_sound:
            raise ValueError(Errors.HS114)

    cdef Py_ssize_t _first_from(
        self, Py_ssize_t low, Py_ssize_t high, int32_t node
    ) noexcept nogil:
        """Returns the first weight from low to high - 1 in this node or a later one."""
        cdef Py_ssize_t middle
        while low < high:
            middle = (low + high) // 2
            if self.columns[middle] < node:
                low = middle + 1
            else:
                high = middle
        return low


cdef inline void _add(
    const double* x, double factor, double* y, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] += factor * x[i]
