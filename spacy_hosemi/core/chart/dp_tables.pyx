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

from ..simd cimport simd as kernels
from .chart cimport Chart
from .layout cimport Layout, Sums

# Entries of a table with all forward rows; beyond that they are kept block by block.
BLOCK = 4_000_000


# Arrays of finished documents, by thread: new ones would cost a page fault each page.
_POOL = threading.local()
_POOL_SIZE = 4
_POOLED = 2_000_000  # entries; larger arrays are given back to the system


class Lease:
    """An array that goes back into the pool when its document is forgotten."""

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


cdef class ArcWeights:
    """Weights of all arcs in one domain: the same for many documents."""


cdef class Tables(Chart):
    """Rows by token boundary, columns by state."""

    def allocate(
        self,
        bint in_logs,
        bint forward=True,
        bint backward=True,
        Py_ssize_t n_more=0,
        bint later=False,
    ):
        """Empty tables in one of the domains, all of them in one array.

        in_logs (bool): Whether the entries are logarithms.
        forward, backward (bool): Which sweeps are to come.
        n_more (int): Rows for tables of a subclass, which takes them with `take_rows`.
        later (bool): Whoever sweeps calls `clear` first, which needs no GIL.
        RETURNS (Tables): Itself.
        """
        cdef Py_ssize_t rows = self.n_tokens + 1, n_states = self.n_states
        self._release()
        self.in_logs = in_logs
        self.log_z = -INFINITY
        self.z_scale = self.z_rest = 0.0
        self._set_block(backward)
        cdef Py_ssize_t n_alpha = self.n_rows + 1 if forward else 0
        cdef Py_ssize_t n_running = n_alpha if self.has_tail else 0
        cdef Py_ssize_t n_saved = 0
        if forward and backward and self.has_tail:
            n_saved = (self.n_tokens - 1) // max(self.n_rows, 1) + 1
        # A table that nothing will read has no rows.
        cdef Py_ssize_t n_opened = rows if forward else 0
        cdef Py_ssize_t n_closing = rows if backward else 0
        cdef Py_ssize_t n_table = n_opened + n_closing + 2 + n_alpha + n_running
        n_table += n_saved + n_more
        cdef Py_ssize_t n_weights = self._n_weights() if forward and not in_logs else 0
        self.ring = min(rows, self.cells.reach + 2)
        cdef Py_ssize_t n_vectors = self._size_of_vectors()
        self._lease = lease = Lease(
            n_table * n_states
            + n_alpha * n_weights
            + (2 * self.ring * self.n_groups if n_weights else 0)
            + n_vectors
        )
        array, at = lease.array, n_table * n_states
        self._table = self._rows = array[:at].reshape(n_table, n_states)
        if not later:
            self.clear()
        self.opened = self.take_rows(n_opened)
        self.closing = self.take_rows(n_closing)
        self.rest = self.take_rows(2)
        self.alpha = self.take_rows(n_alpha)
        self.running = self.take_rows(n_running)
        self.saved = self.take_rows(n_saved)
        self._vectors = array[at : at + n_vectors]
        self._vectors[:] = 0.0
        self._take_vectors()
        self._set_arc_weights()
        if n_weights:
            at += n_vectors
            self.weight = array[at : at + n_alpha * n_weights].reshape(
                n_alpha, n_weights
            )
            at += n_alpha * n_weights
            self.opened_top = array[at : at + 2 * self.ring * self.n_groups].reshape(
                self.n_groups, 2 * self.ring
            )
            self._fill(self.opened_top, -INFINITY)
        return self

    cdef _release(self):
        """Forget the tables of the other domain before there are new ones."""
        self._lease = self._table = self._rows = self._vectors = None
        self.opened = self.closing = self.rest = self.alpha = self.running = None
        self.saved = self.weight = self.opened_top = None
        self.alpha_scale = self.opened_scale = self.running_top = self.group_top = None
        self.keep = self.node = self.back_node = self.beta = self.arc_weight = None
        self.circuit_weight = self.in_weight = self.out_weight = None
        self.late_weight = self.long_weight = None

    cdef Py_ssize_t _n_weights(self) noexcept nogil:
        return self.n_groups * (self.n_lengths + (3 if self.has_tail else 0))

    cdef _set_block(self, bint backward):
        """How many forward rows are kept at a time."""
        cdef Py_ssize_t size = BLOCK // max(self.n_states, self._n_weights())
        self.n_rows = self.n_tokens
        if self.n_tokens > size:
            self.n_rows = max(size // 40, 1)
        if not backward:  # only the last row is read again
            self.n_rows = 1

    cdef double[:, ::1] take_rows(self, Py_ssize_t n):
        """The next rows of the array, still empty."""
        cdef double[:, ::1] rows = self._rows[:n]
        self._rows = self._rows[n:]
        return rows

    cdef double[::1] _take(self, Py_ssize_t n):
        cdef double[::1] vector = self._vectors[:n]
        self._vectors = self._vectors[n:]
        return vector

    cdef Py_ssize_t _size_of_vectors(self) noexcept nogil:
        cdef Py_ssize_t n = 2 * (self.n_tokens + 1) + 3 * self.n_groups
        n += 2 * (self.n_nodes + self.n_states + 2)
        return n + self.cells.late_score.shape[0] + self.cells.long_score.shape[0]

    cdef void clear(self) noexcept nogil:
        """Empty all tables."""
        self._fill(self._table, -INFINITY if self.in_logs else 0.0)

    cdef void _fill(self, double[:, ::1] table, double value) noexcept nogil:
        cdef Py_ssize_t i
        cdef double* x
        if table.shape[0] and table.shape[1]:
            x = &table[0, 0]
            for i in range(table.shape[0] * table.shape[1]):
                x[i] = value

    cdef _take_vectors(self):
        cdef Py_ssize_t n_slots = self.n_nodes + self.n_states + 2
        self.alpha_scale = self._take(self.n_tokens + 1)
        self.opened_scale = self._take(self.n_tokens + 1)
        self.running_top = self._take(self.n_groups)
        self.group_top = self._take(self.n_groups)
        self.keep = self._take(self.n_groups)
        self.node, self.back_node = self._take(n_slots), self._take(n_slots)
        self.beta = self.back_node[self.n_states : 2 * self.n_states]
        self.late_weight = self._take(self.cells.late_score.shape[0])
        self.long_weight = self._take(self.cells.long_score.shape[0])
        self.running_top[:] = -INFINITY

    cdef _set_arc_weights(self):
        """Those of the last document, if the patterns have the same weights."""
        cdef Layout layout = self.layout
        cdef ArcWeights known = layout.arc_weights[self.in_logs]
        if known is None or known.edge_weights is not self.edge_weights:
            layout.arc_weights[self.in_logs] = known = self._make_arc_weights()
        self.arc_weight, self.circuit_weight = known.arc, known.circuit
        self.in_weight, self.out_weight = known.arcs_in, known.arcs_out
        self.arcs_out = layout.arcs_out
        self.arc_scale, self.gap = known.scale, known.gap
        self.representable = known.representable
        if self.starts is not None:
            self._make_room_for_starts()

    cdef _make_room_for_starts(self):
        cdef Py_ssize_t t, n_starts = self.starts.score.shape[0]
        cdef double[::1] weight = np.array(self.starts.score)
        self.varied_in = self.varied_out = -1
        self.in_here, self.out_here = self.in_weight.copy(), self.out_weight.copy()
        self.start_weight = weight
        if self.in_logs:
            return
        for t in range(n_starts):
            if weight[t] > 700.0 or -INFINITY < weight[t] < -700.0:
                self.representable = False
        if self.representable and n_starts:
            kernels.exp_all(&weight[0], n_starts)

    cdef bint varies(self, Py_ssize_t j, bint forward) noexcept nogil:
        """Whether entries change the weights of arcs at boundary j. If so, those that a
        sweep in this direction reads are at hand."""
        cdef Py_ssize_t last = self.varied_in if forward else self.varied_out
        if self.starts is None or j >= self.n_tokens:
            return False
        if self.starts.first[j] == self.starts.first[j + 1]:
            return False
        if last == j:
            return True
        if forward:
            self._restore(last, self.in_here, self.starts.arcs.in_place)
            self.vary(j, &self.in_here[0], self.starts.arcs.in_place, 1)
            self.varied_in = j
        else:
            self._restore(last, self.out_here, self.starts.arcs.out_place)
            self.vary(j, &self.out_here[0], self.starts.arcs.out_place, 1)
            self.varied_out = j
        return True

    cdef void vary(
        self,
        Py_ssize_t j,
        double* weight,             # of arcs, which lie `step` apart
        const int32_t[::1] place,   # of those that entries change
        Py_ssize_t step,
    ) noexcept nogil:
        # weight[j, arc] = weight[arc] * product of exp(score[j, z]) over the patterns z
        # that are suffixes of its edge
        cdef const int32_t[::1] first = self.starts.arcs.first
        cdef Py_ssize_t t, e, i
        cdef bint in_logs = self.in_logs
        cdef double more
        for t in range(self.starts.first[j], self.starts.first[j + 1]):
            e, more = self.starts.edge[t], self.start_weight[t]
            for i in range(first[e], first[e + 1]):
                if in_logs:
                    weight[place[i] * step] += more
                else:
                    weight[place[i] * step] *= more

    cdef void _restore(
        self, Py_ssize_t j, double[::1] weight, const int32_t[::1] place
    ) noexcept nogil:
        cdef const int32_t[::1] first = self.starts.arcs.first
        cdef const int32_t[::1] arc = self.starts.arcs.arc
        cdef Py_ssize_t t, e, i
        if j < 0:  # nothing was varied yet
            return
        for t in range(self.starts.first[j], self.starts.first[j + 1]):
            e = self.starts.edge[t]
            for i in range(first[e], first[e + 1]):
                weight[place[i]] = self.arc_weight[arc[i]]

    cdef ArcWeights _make_arc_weights(self):
        cdef ArcWeights made = ArcWeights()
        self.arc_weight = np.empty(self.layout.arc_edge.shape[0] + 2)
        self.circuit_weight = np.empty(self.layout.circuit.n_terms)
        self.in_weight = np.empty(self.layout.arcs_in.n_terms)
        self.out_weight = np.empty(self.layout.arcs_out.n_terms)
        self.arc_scale = 0.0
        self.gap = INFINITY
        self.representable = True
        if self.layout.has_bounded_gap:
            self.gap = self._future_gap()
        self._fill_arc_weights()
        self._spread(&self.layout.circuit, self.circuit_weight)
        self._spread(&self.layout.arcs_in, self.in_weight)
        self._spread(&self.layout.arcs_out, self.out_weight)
        made.edge_weights = self.edge_weights
        made.arc, made.circuit = self.arc_weight, self.circuit_weight
        made.arcs_in, made.arcs_out = self.in_weight, self.out_weight
        made.scale, made.gap = self.arc_scale, self.gap
        made.representable = self.representable
        return made

    cdef void _spread(self, const Sums* sums, double[::1] weight) noexcept nogil:
        """The weights of the arcs in the order in which a schedule reads them."""
        cdef Py_ssize_t k
        for k in range(sums.n_terms):
            weight[k] = self.arc_weight[sums.arc[k]]

    cdef void _fill_arc_weights(self) noexcept nogil:
        """In linear domain relative to the largest, which becomes the scale."""
        cdef Py_ssize_t k, n = self.layout.arc_edge.shape[0]
        cdef double top = -INFINITY, x
        for k in range(n):
            self.arc_weight[k] = x = self.edge_weight[self.layout.arc_edge[k]]
            top = max(top, x)
        # of terms without an arc, and of padding
        self.arc_weight[n], self.arc_weight[n + 1] = 0.0, -INFINITY
        if self.in_logs:
            return
        if top > -INFINITY:
            self.arc_scale = rint(top)
        for k in range(n):
            self.arc_weight[k] -= self.arc_scale
            x = self.arc_weight[k]
            if x < -700.0 and x > -INFINITY:
                self.representable = False
        kernels.exp_all(&self.arc_weight[0], n + 2)

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
        for m in range(self.layout.pattern_length.shape[0]):
            longest = max(longest, self.layout.pattern_length[m])
        for k in range(3, longest + 1):
            most = least = 0.0
            for m in range(self.layout.pattern_length.shape[0]):
                if self.layout.pattern_length[m] == k:
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
