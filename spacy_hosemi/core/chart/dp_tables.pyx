"""Arrays that are used again, and the tables of `Backward`."""

import threading

import numpy as np

from libc.math cimport INFINITY

from .arc_weights cimport arc_weights_of
from .chart cimport Chart

# Arrays of finished documents, by thread: new ones would cost a page fault each page.
_POOL = threading.local()
_POOL_SIZE = 4
_POOLED = 2_000_000  # entries; larger arrays are given back to the system


class BufferPool:
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
    """Rows by token boundary, columns by state, in logs."""

    def __cinit__(self):
        self.closing = None

    cdef allocate(self, Chart chart, Py_ssize_t n_more):
        """Allocate tables for a document, all in one array; `n_more` rows for further
        tables are taken with `take_rows`."""
        cdef Py_ssize_t n_states = chart.n_states
        cdef Py_ssize_t n_rows = chart.n_tokens + 1 + n_more
        cdef Py_ssize_t n_slots = chart.n_nodes + n_states + 2
        self._pool = self._rows = self.closing = self.back_node = self.beta = None
        self._pool = pool = BufferPool(n_rows * n_states + n_slots)
        at = n_rows * n_states
        self._rows = pool.array[:at].reshape(n_rows, n_states)
        fill(self._rows, -INFINITY)
        self.closing = self.take_rows(chart.n_tokens + 1)
        self.back_node = pool.array[at : at + n_slots]
        self.back_node[:] = 0.0
        self.beta = self.back_node[n_states : 2 * n_states]
        self.set_weights(chart)

    cdef set_weights(self, Chart chart):
        self.weights = arc_weights_of(chart, in_logs=True)
        self.arcs_out, self.out_weight = chart.layout.arcs_out, self.weights.arcs_out

    cdef double[:, ::1] take_rows(self, Py_ssize_t n):
        """The next rows of the array."""
        cdef double[:, ::1] rows = self._rows[:n]
        self._rows = self._rows[n:]
        return rows


cdef void fill(double[:, ::1] table, double value) noexcept nogil:
    cdef Py_ssize_t i
    cdef double* x
    if table.shape[0] and table.shape[1]:
        x = &table[0, 0]
        for i in range(table.shape[0] * table.shape[1]):
            x[i] = value
