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

from libc.math cimport INFINITY

from .arc_weights cimport arc_weights_of, varying_arcs
from .chart cimport Chart

# Entries of a table with all forward rows; beyond that they are kept block by block.
BLOCK = 4_000_000

# Arrays of finished documents, by thread: new ones would cost a page fault each page.
_POOL = threading.local()
_POOL_SIZE = 4
_POOLED = 2_000_000  # entries; larger arrays are given back to the system


class Lease:
    """An array that goes back into the pool when its document is forgotten."""

    array = ()  # where memory does not suffice for one

    def __init__(self, size):
        pool = getattr(_POOL, "arrays", ())
        for i, array in enumerate(pool):
            if size <= len(array) <= 4 * size:
                self.array = pool.pop(i)
                return
        self.array = np.empty(size)

    def __del__(self):
        if 1000 < len(self.array) <= _POOLED:
            _POOL.arrays = [self.array, *getattr(_POOL, "arrays", ())][:_POOL_SIZE]


cdef class DPTables:
    """Rows by token boundary, columns by state."""

    def __cinit__(self):
        self.closing = None

    cdef allocate(
        self,
        Chart chart,
        bint in_logs,
        bint forward=True,
        bint backward=True,
        Py_ssize_t n_more=0,
    ):
        """Allocate tables for a document and the sweeps to come, all in one array,
        which `clear` fills; `n_more` rows for further tables are taken with
        `take_rows`."""
        cdef Py_ssize_t rows = chart.n_tokens + 1, n_states = chart.n_states
        cdef Py_ssize_t n_groups = chart.n_groups, n_lengths = chart.n_lengths
        cdef Py_ssize_t n_weights = n_groups * n_lengths
        if chart.has_tail:
            n_weights += 3 * n_groups
        self._release()
        self.in_logs = in_logs
        self.log_z, self.z_scale, self.z_rest = -INFINITY, 0.0, 0.0
        self.at_keep = n_groups * n_lengths
        self.at_enter = self.at_keep + n_groups
        self.at_end = self.at_enter + n_groups
        # How many forward rows are kept at a time.
        cdef Py_ssize_t size = BLOCK // max(n_states, n_weights)
        self.n_rows = chart.n_tokens
        if chart.n_tokens > size:
            self.n_rows = max(size // 40, 1)
        if not backward:  # only the last row is read again
            self.n_rows = 1
        cdef Py_ssize_t n_alpha = self.n_rows + 1 if forward else 0
        cdef Py_ssize_t n_running = n_alpha if chart.has_tail else 0
        cdef Py_ssize_t n_saved = 0
        if forward and backward and chart.has_tail:
            n_saved = (chart.n_tokens - 1) // max(self.n_rows, 1) + 1
        # A table that nothing will read has no rows.
        cdef Py_ssize_t n_opened = rows if forward else 0
        cdef Py_ssize_t n_closing = rows if backward else 0
        cdef Py_ssize_t n_table = n_opened + n_closing + 2 + n_alpha + n_running
        n_table += n_saved + n_more
        if not forward or in_logs:
            n_weights = 0
        self.ring = min(rows, chart.cells.reach + 2)
        cdef Py_ssize_t n_late = chart.cells.late_score.shape[0]
        cdef Py_ssize_t n_long = chart.cells.long_score.shape[0]
        cdef Py_ssize_t n_slots = chart.n_nodes + n_states + 2
        cdef Py_ssize_t n_vectors = 2 * (rows + n_slots) + 3 * n_groups
        n_vectors += n_late + n_long
        self._lease = lease = Lease(
            n_table * n_states
            + n_alpha * n_weights
            + (2 * self.ring * n_groups if n_weights else 0)
            + n_vectors
        )
        array, at = lease.array, n_table * n_states
        self._table = self._rows = array[:at].reshape(n_table, n_states)
        self.opened = self.take_rows(n_opened)
        self.closing = self.take_rows(n_closing)
        self.rest = self.take_rows(2)
        self.alpha = self.take_rows(n_alpha)
        self.running = self.take_rows(n_running)
        self.saved = self.take_rows(n_saved)
        self._vectors = array[at : at + n_vectors]
        self._vectors[:] = 0.0
        self.alpha_scale, self.opened_scale = self._take(rows), self._take(rows)
        self.running_top = self._take(n_groups)
        self.group_top, self.keep = self._take(n_groups), self._take(n_groups)
        self.node, self.back_node = self._take(n_slots), self._take(n_slots)
        self.beta = self.back_node[n_states : 2 * n_states]
        self.late_weight, self.long_weight = self._take(n_late), self._take(n_long)
        self.running_top[:] = -INFINITY
        self.set_weights(chart)
        if n_weights:
            at += n_vectors
            size = n_alpha * n_weights
            self.weight = array[at : at + size].reshape(n_alpha, n_weights)
            at, size = at + size, 2 * self.ring * n_groups
            self.opened_top = array[at : at + size].reshape(n_groups, 2 * self.ring)
            fill(self.opened_top, -INFINITY)

    cdef _release(self):
        """Forget the tables of the other domain before there are new ones."""
        self._lease = self._table = self._rows = self._vectors = None
        self.opened = self.closing = self.rest = self.alpha = self.running = None
        self.saved = self.weight = self.opened_top = None
        self.alpha_scale = self.opened_scale = self.running_top = self.group_top = None
        self.keep = self.node = self.back_node = self.beta = None
        self.late_weight = self.long_weight = None

    cdef set_weights(self, Chart chart):
        self.weights = arc_weights_of(chart, self.in_logs)
        self.varying = varying_arcs(chart, self.weights)
        self.arcs_out, self.out_weight = chart.layout.arcs_out, self.weights.arcs_out

    cdef bint are_representable(self) noexcept nogil:
        """Whether no weight of an arc underflows."""
        return self.weights.representable and (
            self.varying is None or self.varying.representable
        )

    cdef bint varies_in(self, Py_ssize_t j) noexcept nogil:
        """Whether at boundary j the weights `varying.arcs_in` hold, which are set."""
        return self.varying is not None and self.varying.vary_in(j)

    cdef bint varies_out(self, Py_ssize_t j) noexcept nogil:
        return self.varying is not None and self.varying.vary_out(j)

    cdef double[:, ::1] take_rows(self, Py_ssize_t n):
        """The next rows of the array, still empty."""
        cdef double[:, ::1] rows = self._rows[:n]
        self._rows = self._rows[n:]
        return rows

    cdef double[::1] _take(self, Py_ssize_t n):
        cdef double[::1] vector = self._vectors[:n]
        self._vectors = self._vectors[n:]
        return vector

    cdef void clear(self) noexcept nogil:
        """Empty all tables."""
        fill(self._table, -INFINITY if self.in_logs else 0.0)

    cdef void begin_block(self, Py_ssize_t base) noexcept nogil:
        """Keep of the forward rows the last one, that of the boundary `base`."""
        cdef Py_ssize_t last = base - self.base
        self.alpha[0, :] = self.alpha[last]
        if self.running.shape[0]:
            self.running[0, :] = self.running[last]
        self._clear_block(1)
        if self.saved.shape[0]:
            self.saved[base // self.n_rows, :] = self.running[0]
        self.base = base

    cdef void begin_again(self, Py_ssize_t block) noexcept nogil:
        """Forget the forward rows, but what is saved of the first one of a block."""
        self._clear_block(0)
        self.base = block * self.n_rows
        if self.base == 0:
            self.alpha[0, 0] = 0.0 if self.in_logs else 1.0
        if self.saved.shape[0]:
            self.running[0, :] = self.saved[block]

    cdef void _clear_block(self, Py_ssize_t first) noexcept nogil:
        cdef double nothing = -INFINITY if self.in_logs else 0.0
        fill(self.alpha[first:], nothing)
        fill(self.running[first if self.running.shape[0] else 0 :], nothing)

    cdef double* row_weight(self, Py_ssize_t j) noexcept nogil:
        """Weights of boundary j: explicit by slot, then those that follow."""
        return &self.weight[j - self.base, 0]


cdef void fill(double[:, ::1] table, double value) noexcept nogil:
    cdef Py_ssize_t i
    cdef double* x
    if table.shape[0] and table.shape[1]:
        x = &table[0, 0]
        for i in range(table.shape[0] * table.shape[1]):
            x[i] = value
