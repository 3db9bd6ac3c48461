"""Weights of the arcs of an automaton, as the sweeps multiply or add them.

In linear arithmetic they are relative to the largest one, whose log is `scale`.
"""

import numpy as np

from libc.math cimport INFINITY, rint
from libc.stdint cimport int32_t

from ..simd cimport simd as kernels
from .observed_arcs cimport ObservedArcs
from .chart cimport Chart
from .layout cimport Layout, Sums

# The log of a weight below which linear arithmetic would underflow.
cdef double LEAST = -700.0


cdef class ArcWeights:
    """Weights of all arcs in one domain: the same for many documents."""


cdef ArcWeights arc_weights_of(Chart chart, bint in_logs):
    """Those of the last document, if the patterns have the same weights."""
    cdef Layout layout = chart.layout
    cdef ArcWeights known = layout.arc_weights[in_logs]
    if known is None or known.edge_weights is not chart.edge_weights:
        layout.arc_weights[in_logs] = known = _make_arc_weights(chart, in_logs)
    return known


cdef ArcWeights _make_arc_weights(Chart chart, bint in_logs):
    cdef ArcWeights made = ArcWeights()
    cdef Layout layout = chart.layout
    made.edge_weights, made.in_logs = chart.edge_weights, in_logs
    made.arc = np.empty(layout.arc_edge.shape[0] + 2)
    made.suffix_sums = np.empty(layout.suffix_sums.n_terms)
    made.arcs_in = np.empty(layout.arcs_in.n_terms)
    made.arcs_out = np.empty(layout.arcs_out.n_terms)
    made.scale, made.gap, made.representable = 0.0, INFINITY, True
    if layout.has_bounded_gap:
        made.gap = _future_gap(layout.pattern_length, chart.pattern_weight)
    _fill(made, layout.arc_edge, chart.edge_weights.edge)
    _spread(made.arc, &layout.suffix_sums, made.suffix_sums)
    _spread(made.arc, &layout.arcs_in, made.arcs_in)
    _spread(made.arc, &layout.arcs_out, made.arcs_out)
    return made


cdef void _fill(
    ArcWeights made, const int32_t[::1] arc_edge, const double[::1] edge_weight
) noexcept nogil:
    cdef Py_ssize_t k, n = arc_edge.shape[0]
    cdef double top = -INFINITY, x
    for k in range(n):
        made.arc[k] = x = edge_weight[arc_edge[k]]
        top = max(top, x)
    # of terms without an arc, and of padding
    made.arc[n], made.arc[n + 1] = 0.0, -INFINITY
    if made.in_logs:
        return
    if top > -INFINITY:
        made.scale = rint(top)
    for k in range(n):
        made.arc[k] -= made.scale
        if -INFINITY < made.arc[k] < LEAST:
            made.representable = False
    kernels.exp_all(&made.arc[0], n + 2)


cdef void _spread(
    const double[::1] arc, const Sums* sums, double[::1] weight
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(sums.n_terms):
        weight[k] = arc[sums.arc[k]]


cdef double _future_gap(
    const int32_t[::1] pattern_length, const double[::1] pattern_weight
) noexcept nogil:
    """How much more one state of a group can gain from here on than another one.

    All states of a group meet the same segment potentials, and the same patterns but
    for those of three or more names that begin before this segment. A pattern of k
    names can still be completed at k - 2 later segments. So what is less than
    exp(-70 - gap) of its group's largest entry is less than e^-70 of the result, and
    may be dropped. Without this, states that hold only old mass (^ is never entered
    again) and long segments of unlikely labels would underflow in every long document.
    There is no such bound with a grammar, which may forbid anything later on, and with
    observed patterns of three or more names.
    """
    cdef Py_ssize_t m, k, longest = 2
    cdef double gap = 0.0, most, least
    for m in range(pattern_length.shape[0]):
        longest = max(longest, pattern_length[m])
    for k in range(3, longest + 1):
        most = least = 0.0
        for m in range(pattern_length.shape[0]):
            if pattern_length[m] == k:
                most = max(most, pattern_weight[m])
                least = min(least, pattern_weight[m])
        gap += (k - 2) * (most - least)
    return gap


cdef class VaryingArcs:
    """Weights of arcs where entries change some of them from boundary to boundary:

    weight[j, arc] = weight[arc] * product of exp(score[j, z]) over the patterns z that
                     are suffixes of its edge
    """

    cdef bint vary_arcs(self, Py_ssize_t j) noexcept nogil:
        """Set `arc` for boundary j. RETURNS: whether anything differs there."""
        return self._vary(j, &self.at_arc, self.arc, self.entries.arcs.arc)

    cdef bint vary_in(self, Py_ssize_t j) noexcept nogil:
        """The same for `arcs_in`."""
        return self._vary(j, &self.at_in, self.arcs_in, self.entries.arcs.in_place)

    cdef bint vary_out(self, Py_ssize_t j) noexcept nogil:
        """The same for `arcs_out`."""
        return self._vary(j, &self.at_out, self.arcs_out, self.entries.arcs.out_place)

    cdef bint _vary(
        self,
        Py_ssize_t j,
        Py_ssize_t* at,             # the boundary for which weights are set
        double[::1] weight,
        const int32_t[::1] place,   # where it has the arcs that entries change
    ) noexcept nogil:
        """Multiply by, or in logs add, what the entries at token j say; behind boundary
        n there is none."""
        cdef const int32_t[::1] first = self.entries.arcs.first, begin
        cdef Py_ssize_t t, e, i
        begin = self.entries.first
        if j + 1 >= begin.shape[0] or begin[j] == begin[j + 1]:
            return False
        if at[0] == j:
            return True
        for t in range(begin[at[0]] if at[0] >= 0 else 0, begin[at[0] + 1]):
            e = self.entries.edge[t]
            for i in range(first[e], first[e + 1]):
                weight[place[i]] = self.weights.arc[self.entries.arcs.arc[i]]
        for t in range(begin[j], begin[j + 1]):
            e = self.entries.edge[t]
            for i in range(first[e], first[e + 1]):
                if self.weights.in_logs:
                    weight[place[i]] += self.score[t]
                else:
                    weight[place[i]] *= self.score[t]
        at[0] = j
        return True


cdef VaryingArcs varying_arcs(Chart chart, ArcWeights weights):
    """RETURNS (VaryingArcs): None where no entries change weights."""
    cdef ObservedArcs entries = chart.observed_arcs
    cdef VaryingArcs made
    cdef Py_ssize_t t
    if entries is None:
        return None
    made = VaryingArcs()
    made.weights, made.entries = weights, entries
    made.at_arc = made.at_in = made.at_out = -1
    made.arc = weights.arc.copy()
    made.arcs_in, made.arcs_out = weights.arcs_in.copy(), weights.arcs_out.copy()
    made.score = np.array(entries.score)
    made.representable = True
    if not weights.in_logs:
        for t in range(made.score.shape[0]):
            if made.score[t] > -LEAST or -INFINITY < made.score[t] < LEAST:
                made.representable = False
        if made.representable and made.score.shape[0]:
            kernels.exp_all(&made.score[0], made.score.shape[0])
    return made
