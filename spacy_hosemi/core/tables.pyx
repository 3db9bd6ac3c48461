"""The tables that the forward and backward sweeps fill, in either domain.

Linear domain: each row has one scale, so that a multiply-add is all that an arc or a
(segment, state) pair costs. If a number leaves the range of float64 the document is
done again in log domain, where the scales stay zero.
"""

import numpy as np

from libc.math cimport INFINITY, exp, rint

from .chart cimport Chart


cdef class Tables(Chart):
    """Rows by token boundary, columns by state.

    in_logs (bool): Whether the entries are logarithms.
    forward (bool): Whether the forward tables are needed too.
    """

    def allocate(self, bint in_logs, bint forward=True):
        """Empty tables in one of the domains. RETURNS (Tables): Itself."""
        cdef Py_ssize_t rows = self.n_tokens + 1
        self.in_logs = in_logs
        self.log_z = -INFINITY
        self.z_scale = self.z_rest = 0.0
        # A table that nothing will read has no rows.
        n_forward = rows if forward else 0
        n_running = rows if self.has_tail else 0
        self.alpha = self._table(n_forward)
        self.opened = self._table(n_forward)
        self.running = self._table(min(n_forward, n_running))
        self.beta = self._table(rows)
        self.closing = self._table(rows)
        self.rest = self._table(n_running)
        scales = np.zeros((5, rows))
        self.alpha_scale, self.opened_scale, self.beta_scale = scales[:3]
        self.closing_scale, self.rest_scale = scales[3:]
        tops = np.full((3, rows, self.n_labels), -np.inf)
        self.opened_top, self.beta_top, self.rest_top = tops
        self.running_top = np.full(self.n_labels, -np.inf)
        self.node = np.empty(self.n_nodes)
        self._set_arc_weights()
        return self

    def _table(self, rows):
        shape = rows, self.n_states
        return np.full(shape, -np.inf) if self.in_logs else np.zeros(shape)

    def _set_arc_weights(self):
        weight = np.asarray(self.edge_weight)[self.arc_edge]
        self.arc_scale = 0.0
        self.flush = 0.0
        self.representable = True
        if not self.in_logs:
            self.arc_scale = weight.max(initial=-np.inf)
            if self.arc_scale == -INFINITY:
                self.arc_scale = 0.0
            self.arc_scale = rint(self.arc_scale)
            weight = weight - self.arc_scale
            self.representable = not ((weight < -700.0) & (weight > -np.inf)).any()
            weight = np.exp(weight)
            self.flush = _flush_threshold(
                self.automaton.pattern_length, self.pattern_weight
            )
        self.arc_weight = weight


def _flush_threshold(lengths, weights):
    """Below which share of its label's largest entry a state's mass may be dropped.

    All states of a label meet the same segment potentials from here on, and the same
    patterns but for those of three or more names that begin before this segment. So
    their futures differ by no more than exp(gap): a pattern of k names can still fire
    at k - 2 later segments. What is dropped below exp(-70 - gap) of its neighbour is
    less than e^-70 of the result. Without this, states that hold only old mass (^ is
    never entered again) would underflow in every long document.
    """
    cdef double gap = 0.0
    for k in np.unique(lengths[lengths > 2]):
        weight = weights[lengths == k]
        gap += (k - 2) * (max(weight.max(), 0.0) - min(weight.min(), 0.0))
    return exp(-70.0 - gap) if gap < 300.0 else 0.0
