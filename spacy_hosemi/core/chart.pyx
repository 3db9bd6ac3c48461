"""The segments of one document and their scores, as every sweep meets them.

With constraints folded in, the score of a segment (u, j, y) is

    first[u, y] + sum_{k=u+1}^{j-1} more[k, y] + end[j-1, y] + length(y, j-u) + cells

where first = inside + start, and more = inside, or -inf where no segment of label y
may cross the boundary before token k.

A segment is *explicit*, listed one by one, up to the horizon H(u, y): D tokens, or the
end of the longest cell that starts there. Beyond it all starts share one running sum
per label (Sarawagi's overlapping forward-backward): a segment *enters* it with
H(u, y) + 1 tokens, and each further token multiplies the sum by exp(more + tail).
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from .potentials import CELLS, check_automaton, check_constraints, check_potentials


cdef class Chart:
    """Automaton, potentials and constraints, checked and laid out for the sweeps."""

    def __init__(self, automaton, potentials, constraints=None):
        check_automaton(automaton)
        potentials = check_potentials(automaton, potentials)
        self._set_automaton(automaton, potentials.pattern)
        self._set_document(potentials, constraints)

    def _set_automaton(self, automaton, pattern):
        self.automaton = automaton
        self.n_labels = automaton.n_labels
        self.n_states = automaton.n_states
        self.n_nodes = automaton.n_states + len(automaton.first_input) - 1
        self.first_state = automaton.first_state
        self.first_arc = automaton.first_arc
        self.arc_node = automaton.arc_node
        self.arc_edge = automaton.arc_edge
        self.first_input = automaton.first_input
        self.node_input = automaton.node_input
        self.edge_suffix = automaton.edge_suffix
        self.edge_pattern = automaton.edge_pattern
        self.edge_target = automaton.edge_target
        self.final_edge = automaton.final_edge
        self.suffix_state = automaton.suffix_state
        self.first_owned = automaton.first_owned
        self.owned_label = automaton.owned_label
        self.owned_edge = automaton.owned_edge
        self.pattern_weight = pattern
        self.edge_weight = np.empty(len(automaton.edge_suffix))
        _edge_weights(
            pattern, self.edge_pattern, self.edge_suffix, self.edge_weight
        )

    def _set_document(self, potentials, constraints):
        n_tokens = potentials.n_tokens
        self.cells_as_given = potentials.cells
        first = potentials.inside + potentials.start
        more, end, cells = potentials.inside, potentials.end, potentials.cells
        if constraints is not None:
            constraints = check_constraints(self.automaton, constraints, n_tokens)
            first, more, end, cells = _constrain(
                constraints, first, more, end, cells, self.n_labels
            )
        self.n_tokens = n_tokens
        self.first, self.more, self.end = first, more, end
        self.length, self.tail = potentials.length, potentials.tail
        self.n_lengths = potentials.length.shape[1]
        self.has_tail = bool((potentials.tail > -np.inf).any())
        self._set_cells(cells)
        capacity = self.n_labels * (self.n_lengths + 1) + len(self.cell_start)
        capacity = max(capacity, self._longest_row())
        self.term_position = np.empty(capacity, np.intp)
        self.term_label = np.empty(capacity, np.int32)
        self.term_cell = np.empty(capacity, np.int32)
        self.term_score = np.empty(capacity)
        self.enter_position = np.empty(capacity, np.intp)
        self.enter_label = np.empty(capacity, np.int32)
        self.enter_score = np.empty(capacity)
        self.pending_start = np.empty(len(self.cell_start), np.intp)
        self.pending_label = np.empty(len(self.cell_start), np.int32)
        self.pending_cell = np.empty(len(self.cell_start), np.int32)
        self.pending_more = np.empty(len(self.cell_start))
        self.begin_sweep()

    def _set_cells(self, cells):
        n_labels = self.n_labels
        self.has_cells = len(cells) > 0
        self.cell_of = np.zeros(0, np.int32)
        self.cell_start = self.cell_end = np.zeros(0, np.int32)
        self.cell_score = np.zeros(0)
        self.first_cell = self.first_cell_by_end = self.cell_by_end = self.cell_start
        if not self.has_cells:
            return
        keys = np.stack([cells["start"], cells["column"], cells["end"]])
        (start, label, end), cell_of = np.unique(keys, axis=1, return_inverse=True)
        score = np.zeros(len(start))
        self.cell_of = cell_of.reshape(-1)
        np.add.at(score, self.cell_of, cells["score"])
        self.cell_start = np.ascontiguousarray(start, np.int32)
        self.cell_end = np.ascontiguousarray(end, np.int32)
        self.cell_score = score
        places = start.astype(np.int64) * n_labels + label
        self.first_cell = np.searchsorted(
            places, np.arange(self.n_tokens * n_labels + 1)
        ).astype(np.int32)
        order = np.lexsort((-start, label, end))
        places = (end.astype(np.int64) * n_labels + label)[order]
        self.cell_by_end = order.astype(np.int32)
        self.first_cell_by_end = np.searchsorted(
            places, np.arange((self.n_tokens + 1) * n_labels + 1)
        ).astype(np.int32)

    def given_cells(self, scores):
        """The cells as they were given, with other scores.

        scores (float64 [K]): One for each merged cell.
        RETURNS (CELLS): A copy.
        """
        cells = self.cells_as_given.copy()
        # Cells that constraints added stand behind the given ones.
        cells["score"] = scores[self.cell_of[: len(cells)]]
        return cells

    def _longest_row(self):
        """The most explicit segments that start at one token."""
        if not self.has_cells or not self.has_tail:
            return 0
        lengths = np.subtract(self.cell_end, self.cell_start)
        starts = np.asarray(self.cell_start)
        return int(np.bincount(starts, weights=lengths + self.n_lengths).max()) + (
            self.n_labels * (self.n_lengths + 1)
        )

    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t y) noexcept nogil:
        """H(u, y): the longest explicit segment."""
        cdef Py_ssize_t d = self.n_lengths, last
        if self.has_cells and self.tail[y] > -INFINITY:
            last = self.first_cell[u * self.n_labels + y + 1] - 1
            if last >= self.first_cell[u * self.n_labels + y]:
                d = max(d, self.cell_end[last] - u)
        return d

    cdef double length_score(self, Py_ssize_t y, Py_ssize_t d) noexcept nogil:
        cdef Py_ssize_t longest = self.n_lengths
        if d <= longest:
            return self.length[y, d - 1]
        return self.length[y, longest - 1] + (d - longest) * self.tail[y]

    cdef void begin_sweep(self) noexcept nogil:
        self.n_pending = 0

    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil:
        """Fill terms and enters for boundary j; to be called for j = 1, 2, .., n."""
        cdef Py_ssize_t y, d, u, k = 0, last = 0
        cdef Py_ssize_t longest = self.n_lengths
        cdef double more, score
        cdef int32_t cell
        self.n_terms = 0
        self.n_enters = 0
        for y in range(self.n_labels):
            more = 0.0
            if self.has_cells:
                k = self.first_cell_by_end[j * self.n_labels + y]
                last = self.first_cell_by_end[j * self.n_labels + y + 1]
            for d in range(1, min(longest, j) + 1):
                u = j - d
                score = (
                    self.first[u, y] + more + self.end[j - 1, y] + self.length[y, d - 1]
                )
                cell = -1
                if k < last and self.cell_start[self.cell_by_end[k]] == u:
                    cell = self.cell_by_end[k]
                    score += self.cell_score[cell]
                    k += 1
                if score > -INFINITY:
                    self._add_term(u, y, cell, score)
                more += self.more[u, y]
                if more == -INFINITY:
                    break
            if more == -INFINITY or j <= longest or self.tail[y] == -INFINITY:
                continue
            u = j - longest - 1
            if self.horizon(u, y) > longest:
                self._add_pending(u, y, more)
            else:
                score = self.first[u, y] + more + self.length_score(y, longest + 1)
                if score > -INFINITY:
                    self._add_enter(u, y, score)
        if self.n_pending:
            self._advance_pending(j)

    cdef void _advance_pending(self, Py_ssize_t j) noexcept nogil:
        """Starts beyond D whose cells have not all ended: explicit, or entering now."""
        cdef Py_ssize_t i, kept = 0, u, y, d
        cdef double more, score
        cdef int32_t k, cell
        for i in range(self.n_pending):
            u, y = self.pending_start[i], self.pending_label[i]
            k, d, more = self.pending_cell[i], j - u, self.pending_more[i]
            if d > self.n_lengths + 1:
                more += self.more[j - 1, y]
            if more == -INFINITY:
                continue
            score = self.first[u, y] + more + self.length_score(y, d)
            if d > self.horizon(u, y):
                if score > -INFINITY:
                    self._add_enter(u, y, score)
                continue
            while self.cell_end[k] < j:
                k += 1
            cell = -1
            score += self.end[j - 1, y]
            if self.cell_end[k] == j:
                cell = k
                score += self.cell_score[k]
            if score > -INFINITY:
                self._add_term(u, y, cell, score)
            self.pending_start[kept], self.pending_label[kept] = u, <int32_t>y
            self.pending_cell[kept], self.pending_more[kept] = k, more
            kept += 1
        self.n_pending = kept

    cdef void segments_starting_at(self, Py_ssize_t u) noexcept nogil:
        """Fill terms and enters for boundary u, in any order of u."""
        cdef Py_ssize_t y, d, j, k = 0, last = 0, horizon
        cdef double more, score
        cdef int32_t cell
        self.n_terms = 0
        self.n_enters = 0
        for y in range(self.n_labels):
            if self.first[u, y] == -INFINITY:
                continue
            more = 0.0
            horizon = self.horizon(u, y)
            if self.has_cells:
                k = self.first_cell[u * self.n_labels + y]
                last = self.first_cell[u * self.n_labels + y + 1]
            for d in range(1, min(horizon, self.n_tokens - u) + 1):
                j = u + d
                score = (
                    self.first[u, y]
                    + more
                    + self.end[j - 1, y]
                    + self.length_score(y, d)
                )
                cell = -1
                if k < last and self.cell_end[k] == j:
                    cell = <int32_t>k
                    score += self.cell_score[k]
                    k += 1
                if score > -INFINITY:
                    self._add_term(j, y, cell, score)
                if j < self.n_tokens:
                    more += self.more[j, y]
                if more == -INFINITY:
                    break
            j = u + horizon + 1
            if more > -INFINITY and j <= self.n_tokens and self.tail[y] > -INFINITY:
                score = self.first[u, y] + more + self.length_score(y, horizon + 1)
                if score > -INFINITY:
                    self._add_enter(j, y, score)

    cdef double segment_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y
    ) noexcept nogil:
        """The score of one segment; O(length)."""
        cdef Py_ssize_t k
        cdef double more = 0.0
        for k in range(u + 1, j):
            more += self.more[k, y]
        return self.score_of(u, j, y, more)

    cdef double score_of(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double more
    ) noexcept nogil:
        """The score of one segment, given the sum of `more` over its later tokens."""
        cdef Py_ssize_t k
        cdef double score
        if j - u > self.n_lengths and self.tail[y] == -INFINITY:
            return -INFINITY
        score = self.first[u, y] + more + self.end[j - 1, y]
        score += self.length_score(y, j - u)
        if self.has_cells:
            for k in range(
                self.first_cell[u * self.n_labels + y],
                self.first_cell[u * self.n_labels + y + 1],
            ):
                if self.cell_end[k] == j:
                    score += self.cell_score[k]
        return score

    cdef void _add_term(
        self, Py_ssize_t position, Py_ssize_t y, int32_t cell, double score
    ) noexcept nogil:
        self.term_position[self.n_terms] = position
        self.term_label[self.n_terms] = <int32_t>y
        self.term_cell[self.n_terms] = cell
        self.term_score[self.n_terms] = score
        self.n_terms += 1

    cdef void _add_enter(
        self, Py_ssize_t position, Py_ssize_t y, double score
    ) noexcept nogil:
        self.enter_position[self.n_enters] = position
        self.enter_label[self.n_enters] = <int32_t>y
        self.enter_score[self.n_enters] = score
        self.n_enters += 1

    cdef void _add_pending(
        self, Py_ssize_t u, Py_ssize_t y, double more
    ) noexcept nogil:
        self.pending_start[self.n_pending] = u
        self.pending_label[self.n_pending] = <int32_t>y
        self.pending_cell[self.n_pending] = self.first_cell[u * self.n_labels + y]
        self.pending_more[self.n_pending] = more
        self.n_pending += 1


def _constrain(constraints, first, more, end, cells, n_labels):
    """Copies of the scores with -inf wherever a constraint is violated."""
    more, end = more.copy(), end.copy()
    n_tokens = len(first)
    if constraints.allowed is not None:
        first[~constraints.allowed] = -np.inf
        more[~constraints.allowed] = -np.inf
    if constraints.boundary is not None and n_tokens:
        boundary = constraints.boundary
        before = boundary[:n_tokens]
        first[before == -1] = -np.inf
        end[boundary[1:] == -1] = -np.inf
        more[before == 1] = -np.inf
        more[before == 2, 1:] = -np.inf
    forbidden = [
        (start, stop, y, -np.inf)
        for start, stop, label in constraints.forbidden
        for y in (range(1, n_labels) if label == -1 else [label])
    ]
    if forbidden:
        cells = np.concatenate([cells, np.array(forbidden, CELLS)])
    return first, more, end, cells


cdef void _edge_weights(
    const double[::1] pattern,          # IN   [M]
    const int32_t[::1] edge_pattern,    # IN   [E] -1: no pattern ends there
    const int32_t[::1] edge_suffix,     # IN   [E] always an earlier edge, or -1
    double[::1] weight,                 # OUT  [E]
) noexcept nogil:
    # weight[e] = sum of pattern[z] over the patterns z that are suffixes of the edge
    cdef Py_ssize_t e
    for e in range(weight.shape[0]):
        weight[e] = pattern[edge_pattern[e]] if edge_pattern[e] >= 0 else 0.0
        if edge_suffix[e] >= 0:
            weight[e] += weight[edge_suffix[e]]
