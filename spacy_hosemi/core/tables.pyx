"""The tables that the forward and backward sweeps fill, in either domain.

Linear domain: each row has one scale, so that a multiply-add is all that an arc or a
(segment, state) pair costs. If a number leaves the range of float64 the document is
done again in log domain, where the scales stay zero.

Two tables have a row for each boundary: A, from the left, and B, from the right. The
other forward rows are kept for one block of boundaries at a time, which is the whole
document unless that is very long; the backward sweep makes them again from A, block by
block.
"""

import threading

import numpy as np

from libc.math cimport INFINITY, rint
from libc.stdint cimport int32_t

from . cimport kernels
from .chart cimport Chart

# Entries of a table with all forward rows; beyond that they are kept block by block.
BLOCK = 4_000_000


# Arrays of finished documents, by thread: new ones would cost a page fault each page.
_POOL = threading.local()
_POOL_SIZE = 8
_POOLED = 2_000_000  # entries; larger arrays are given back to the system


class Lease:
    """Arrays that go back into the pool when their document is forgotten."""

    def __init__(self):
        self._arrays = []

    def array(self, rows, columns):
        """RETURNS (float64 [rows, columns]): Not initialized."""
        size = rows * columns
        pool = getattr(_POOL, "arrays", ())
        fits = [i for i, array in enumerate(pool) if size <= len(array) <= 4 * size]
        array = pool.pop(fits[0]) if fits else np.empty(size)
        if 1000 < len(array) <= _POOLED:
            self._arrays.append(array)
        return array[:size].reshape(rows, columns)

    def __del__(self):
        if not hasattr(_POOL, "arrays"):
            _POOL.arrays = []
        _POOL.arrays = [*self._arrays, *_POOL.arrays][:_POOL_SIZE]


cdef class Tables(Chart):
    """Rows by token boundary, columns by state."""

    def allocate(self, bint in_logs, bint forward=True, bint backward=True):
        """Empty tables in one of the domains.

        in_logs (bool): Whether the entries are logarithms.
        forward, backward (bool): Which sweeps are to come.
        RETURNS (Tables): Itself.
        """
        rows = self.n_tokens + 1
        self.in_logs = in_logs
        self._lease = Lease()
        self.log_z = -INFINITY
        self.z_scale = self.z_rest = 0.0
        # A table that nothing will read has no rows.
        self.opened = self._table(rows if forward else 0)
        self.closing = self._table(rows if backward else 0)
        self.beta = self._table(1)[0]
        self.rest = self._table(2)
        self.keep = np.zeros(self.n_groups)
        self.node, self.back_node = np.empty((2, self.n_nodes))
        self.alpha_scale, self.opened_scale = np.zeros((2, rows))
        self._set_arc_weights()
        if forward:
            self._allocate_block(backward)
        return self

    def _allocate_block(self, backward):
        n_tokens, n_groups = self.n_tokens, self.n_groups
        n_weights = n_groups * (self.n_lengths + (3 if self.has_tail else 0))
        size = BLOCK // max(self.n_states, n_weights)
        self.n_rows = n_tokens
        if n_tokens > size:
            self.n_rows = max(size // 40, 1)
        if not backward:  # only the last row is read again
            self.n_rows = 1
        n_blocks = -(-n_tokens // max(self.n_rows, 1)) if backward else 0
        self.alpha = self._table(self.n_rows + 1)
        self.running = self._table(self.n_rows + 1 if self.has_tail else 0)
        self.saved = self._table(n_blocks if self.has_tail else 0)
        if self.in_logs:
            return
        self.weight = self._lease.array(self.n_rows + 1, n_weights)
        self.opened_top = np.empty((n_groups, n_tokens + 1))
        self.opened_top[:] = -INFINITY
        self.running_top, self.group_top = np.empty((2, n_groups))
        self.running_top[:] = -INFINITY
        self.late_weight = np.zeros(len(self.late_score))
        self.long_weight = np.zeros(len(self.long_score))

    def _table(self, rows):
        table = self._lease.array(rows, self.n_states)
        table.fill(-np.inf if self.in_logs else 0.0)
        return table

    def _set_arc_weights(self):
        self.arc_weight, self.out_weight = np.empty((2, self.arc_edge.shape[0]))
        self.arc_scale = 0.0
        self.gap = INFINITY
        self.representable = True
        if self.automaton.has_bounded_gap:
            self.gap = self._future_gap()
        with nogil:
            self._fill_arc_weights()

    cdef void _fill_arc_weights(self) noexcept nogil:
        """In linear domain relative to the largest, which becomes the scale."""
        cdef Py_ssize_t k
        cdef double top = -INFINITY, x
        for k in range(self.arc_weight.shape[0]):
            self.arc_weight[k] = x = self.edge_weight[self.arc_edge[k]]
            top = max(top, x)
        if not self.in_logs:
            if top > -INFINITY:
                self.arc_scale = rint(top)
            for k in range(self.arc_weight.shape[0]):
                self.arc_weight[k] -= self.arc_scale
                x = self.arc_weight[k]
                if x < -700.0 and x > -INFINITY:
                    self.representable = False
            kernels.exp_all(&self.arc_weight[0], self.arc_weight.shape[0])
        for k in range(self.arc_weight.shape[0]):
            self.out_weight[k] = self.arc_weight[self.out_arc[k]]

    cdef double _future_gap(self) noexcept nogil:
        """How much more one state of a group can gain from here on than another one.

        All states of a group meet the same segment potentials, and the same patterns
        but for those of three or more names that begin before this segment. A pattern
        of k names can still fire at k - 2 later segments. So what is less than
        exp(-70 - gap) of its group's largest entry is less than e^-70 of the result,
        and may be dropped. Without this, states that hold only old mass (^ is never
        entered again) and long segments of unlikely labels would underflow in every
        long document. There is no such bound with a grammar, which may forbid anything
        later on, and with observed patterns of three or more names.
        """
        cdef Py_ssize_t m, k, longest = 2
        cdef double gap = 0.0, most, least
        for m in range(self.pattern_length.shape[0]):
            longest = max(longest, self.pattern_length[m])
        for k in range(3, longest + 1):
            most = least = 0.0
            for m in range(self.pattern_length.shape[0]):
                if self.pattern_length[m] == k:
                    most = max(most, self.pattern_weight[m])
                    least = min(least, self.pattern_weight[m])
            gap += (k - 2) * (most - least)
        return gap

    cdef void begin_block(self, Py_ssize_t base) noexcept nogil:
        """Forget the forward rows; the row of the boundary `base` is the last one."""
        cdef Py_ssize_t q, r, last = base - self.base
        cdef double nothing = -INFINITY if self.in_logs else 0.0
        for q in range(self.n_states):
            self.alpha[0, q] = self.alpha[last, q]
            if self.has_tail:
                self.running[0, q] = self.running[last, q]
        for r in range(1, self.n_rows + 1):
            for q in range(self.n_states):
                self.alpha[r, q] = nothing
                if self.has_tail:
                    self.running[r, q] = nothing
        self.base = base

    cdef const int32_t* node_inputs(self) noexcept nogil:
        return &self.node_input[0] if self.node_input.shape[0] else NULL

    cdef const int32_t* parents(self) noexcept nogil:
        return &self.parent[0] if self.parent.shape[0] else NULL

    cdef double* row_weight(self, Py_ssize_t j) noexcept nogil:
        """Weights of boundary j: explicit by slot, then those that follow."""
        return &self.weight[j - self.base, 0]

    cdef Py_ssize_t at_keep(self) noexcept nogil:
        """Where the weights are with which running segments reach this boundary."""
        return self.n_groups * self.n_lengths

    cdef Py_ssize_t at_enter(self) noexcept nogil:
        return self.n_groups * (self.n_lengths + 1)

    cdef Py_ssize_t at_end(self) noexcept nogil:
        return self.n_groups * (self.n_lengths + 2)
