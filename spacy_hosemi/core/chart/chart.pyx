"""The segments of one document and their scores, as every sweep reads them.

A segment belongs to a *group*: its label, and which observed patterns it completes. So
the columns that it reads are known, and with constraints folded in its score is

    first[u, g] + sum_{k=u+1}^{j-1} more[k, g] + end[j-1, g] + length(g, j-u) + cells

where first = inside + start, and more = inside, or -inf where no segment of the group
may cross the boundary before token k.

A segment is *explicit*, listed one by one, up to the horizon: D tokens, or the end of
the longest cell that starts there. Beyond it all starts share one running sum per group
(Sarawagi's overlapping forward-backward): a segment *enters* it one token behind the
horizon, and each further token multiplies the sum by exp(more + tail). All sweeps go by
the ends of segments, so explicit segments lie side by side:

    score[g D + D - d]      d = 1 .. D tokens, from the longest to the shortest
    long segments           explicit ones of more than D tokens, for long cells
    enter_score[g]          enters here with D + 1 tokens
    late segments           enter here after a long cell
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..potentials import CELLS


cdef class Chart:
    """Scores of one document, laid out for the sweeps; `load` makes it."""

    def __cinit__(self, *args, **kwargs):
        self.sums = self.score = None

    cdef forget(self):
        """Drop references to the document and to the automaton, which keeps a chart."""
        self.automaton = self.layout = self.cells_as_given = None
        self.inside = self.start = self.given_end = None
        self.more = self.end = self.length = None
        self.first = self.sums  # memory of its own
        self.given_tail = self.pattern_weight = None
        if self.cells is not None:
            self.cells.forget()

    cdef cell_gradient(self, const double[::1] counts):
        """Returns a copy of the given cells with expected counts [K], one for each
        merged cell, as scores."""
        given = self.cells_as_given
        if not len(given):
            return given.copy()
        cells = np.array(given, CELLS)
        cells["score"] = 0.0
        self.cells.add_counts(counts, cells)
        return cells

    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil:
        """Fill score and enter_score for boundary j."""
        cdef Py_ssize_t g
        for g in range(self.n_groups):
            self.segments_of(j, g)
        self.add_cells(j)

    cdef void segments_of(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil:
        """Fill the scores of one group, without cells."""
        cdef Py_ssize_t i, u = j - 1, n_lengths = self.n_lengths
        cdef Py_ssize_t low = max(n_lengths - j, 0)  # there, one begins at token 0
        cdef double* score = &self.score[g * n_lengths]
        cdef const double* length = &self.length_backwards[g * n_lengths]
        cdef double more = 0.0, at_end = self.end[j - 1, g]
        for i in range(low):
            score[i] = -INFINITY
        for i in range(n_lengths - 1, low - 1, -1):
            score[i] = self.first[u, g] + more + at_end + length[i]
            more += self.more[u, g]
            u -= 1
        self.enter_score[g] = -INFINITY
        if u >= 0 and self.tail[g] > -INFINITY:
            if self.horizon(u, g) == n_lengths:
                self.enter_score[g] = self.first[u, g] + more + length[0]
                self.enter_score[g] += self.tail[g]

    cdef void add_cells(self, Py_ssize_t j) noexcept nogil:
        """Add cells to the scores of all groups."""
        cdef Py_ssize_t i
        for i in range(self.cells.first_short[j], self.cells.first_short[j + 1]):
            self.score[self.cells.short_slot[i]] += self.cells.short_score[i]

    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t g) noexcept nogil:
        """The longest explicit segment from u."""
        if self.cells.late_horizon.shape[0] and self.cells.late_horizon[u, g]:
            return self.cells.late_horizon[u, g]
        return self.n_lengths

    cdef Py_ssize_t segments_starting_at(
        self, Py_ssize_t u, Py_ssize_t g, double[::1] score
    ) noexcept nogil:
        """Writes scores of explicit segments of 1, 2, .. tokens from u; returns how
        many."""
        cdef Py_ssize_t d, j, last = min(self.horizon(u, g), self.n_tokens - u)
        cdef double more = 0.0
        for d in range(1, last + 1):
            j = u + d
            if d > 1:
                more += self.more[j - 1, g]
            score[d - 1] = self.first[u, g] + more + self.end[j - 1, g]
            score[d - 1] += self.length_score(g, d) + self.cells_of(u, j, g)
        return last

    cdef void follow(
        self, Py_ssize_t state, int32_t[::1] target, double[::1] weight
    ) noexcept nogil:
        """For each label the state that it leads to from `state`, -1 if it may not
        follow, and the weight of the patterns that it completes."""
        cdef const int32_t* first_owned = &self.layout.first_owned[0]
        cdef const int32_t* next_rule = &self.layout.rule_next[0, 0]
        cdef Py_ssize_t k, y, edge, n_keys = self.layout.suffix_key.shape[0]
        cdef Py_ssize_t key = self.layout.state_key[state], rule
        next_rule += self.layout.state_rule[state] * self.n_labels
        for y in range(self.n_labels):
            target[y] = -2
        while True:
            for k in range(first_owned[key], first_owned[key + 1]):
                y = self.layout.owned_label[k]
                if target[y] == -2:
                    edge = self.layout.owned_edge[k]
                    weight[y] = self.edge_weight[edge]
                    rule = next_rule[y]
                    target[y] = -1
                    if rule >= 0:
                        edge = self.layout.edge_target[edge]
                        target[y] = self.layout.state_of[edge, rule]
            if key == n_keys:  # the root, which has an edge for every label
                return
            key = self.layout.suffix_key[key]

    cdef Py_ssize_t edge_of(self, Py_ssize_t state, Py_ssize_t y) noexcept nogil:
        """The edge for a label that `follow` takes from `state`."""
        cdef const int32_t* first_owned = &self.layout.first_owned[0]
        cdef Py_ssize_t k, key = self.layout.state_key[state]
        while True:
            for k in range(first_owned[key], first_owned[key + 1]):
                if self.layout.owned_label[k] == y:
                    return self.layout.owned_edge[k]
            key = self.layout.suffix_key[key]

    cdef Py_ssize_t state_behind(
        self, Py_ssize_t edge, Py_ssize_t state, Py_ssize_t y
    ) noexcept nogil:
        """Where the edge for a label leads from `state`; -1: the grammar forbids it."""
        cdef Py_ssize_t rule = self.layout.rule_next[self.layout.state_rule[state], y]
        if rule < 0:
            return -1
        return self.layout.state_of[self.layout.edge_target[edge], rule]

    cdef double path_score(self, segments):
        """The score of segments (start, end, label) that cover every token."""
        cdef Py_ssize_t state = 0, u, j, y
        cdef double total = 0.0
        for u, j, y in segments:
            state = self.add_step(state, u, j, y, &total)
            if state < 0:
                return -INFINITY
        return total + self.final_weight(state)

    cdef Py_ssize_t add_step(
        self, Py_ssize_t state, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double* total
    ) noexcept nogil:
        """Add what a segment behind `state` brings to the score of a path. RETURNS: The
        state that it leads to; -1: the grammar forbids it."""
        cdef Py_ssize_t edge = self.edge_of(state, y)
        state = self.state_behind(edge, state, y)
        if state >= 0:
            total[0] += self.edge_weight[edge]
            if self.observed_arcs is not None:
                total[0] += self.score_at_start(u, edge)
            total[0] += self.segment_score(u, j, self.layout.state_group[state])
        return state

    cdef double score_at_start(self, Py_ssize_t u, Py_ssize_t edge) noexcept nogil:
        """What entries at token u add to the weight of an edge."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.observed_arcs.first[u], self.observed_arcs.first[u + 1]):
            if self.has_suffix(edge, self.observed_arcs.edge[k]):
                total += self.observed_arcs.score[k]
        return total

    cdef bint has_suffix(self, Py_ssize_t edge, Py_ssize_t suffix) noexcept nogil:
        """Whether an edge completes what another one does."""
        while edge > suffix:  # suffixes are earlier edges
            edge = self.layout.edge_suffix[edge]
        return edge == suffix

    cdef double length_score(self, Py_ssize_t g, Py_ssize_t d) noexcept nogil:
        cdef Py_ssize_t n_lengths = self.n_lengths
        if d <= n_lengths:
            return self.length_backwards[(g + 1) * n_lengths - d]
        if self.tail[g] == -INFINITY:
            return -INFINITY
        return self.length_backwards[g * n_lengths] + (d - n_lengths) * self.tail[g]

    cdef double running_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil:
        """The score of a segment that has not ended yet, without cells; O(length)."""
        cdef Py_ssize_t k
        cdef double more = 0.0
        for k in range(j - 1, u, -1):
            more += self.more[k, g]
        return self.first[u, g] + more + self.length_score(g, j - u)

    cdef double segment_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil:
        """The score of one segment; O(length)."""
        return self.running_score(u, j, g) + self.end[j - 1, g] + self.cells_of(u, j, g)

    cdef double cells_of(self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g) noexcept nogil:
        """What the cells add to the score of one segment."""
        cdef Py_ssize_t m = self.cells.merged_of(u, j, g)
        return self.cells.score_room[0, m] if m >= 0 else 0.0

    cdef double final_weight(self, Py_ssize_t q) noexcept nogil:
        """Weight of the patterns that end in $ after state q; -inf: not permitted."""
        return self.edge_weights.final[q]
