"""The segments of one document and their scores, as every sweep meets them.

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
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcmp

from ..simd cimport simd as kernels
from .cells cimport Cell, Cells, are_cells
from .columns cimport Entry, entries_of, scores_of_groups
from ..potentials import (
    CELLS,
    check_automaton,
    check_cells,
    check_constraints,
    check_potentials,
)


cdef class Layout:
    """The arrays of an automaton as the kernels read them."""

    def __init__(self, automaton):
        self.n_labels = automaton.n_labels
        self.n_groups = automaton.n_groups
        self.n_states = automaton.n_states
        self.n_nodes = automaton.n_nodes
        self.first_state = automaton.first_state
        self.arc_node = automaton.arc_node
        self.arc_edge = automaton.arc_edge
        self.arc_target = automaton.arc_target
        self.circuit = sums_of(automaton.suffix_sums)
        self.arcs_in = sums_of(automaton.arcs_in)
        self.arcs_out = sums_of(automaton.arcs_out)
        self.edge_suffix = automaton.edge_suffix
        self.edge_pattern = automaton.edge_pattern
        self.edge_target = automaton.edge_target
        self.suffix_key = automaton.suffix_key
        self.first_owned = automaton.first_owned
        self.owned_label = automaton.owned_label
        self.owned_edge = automaton.owned_edge
        self.state_key = automaton.state_key
        self.state_rule = automaton.state_rule
        self.state_group = automaton.state_group
        self.state_of = automaton.state_of
        self.rule_next = automaton.rule_next
        self.final_edge = automaton.final_edge
        self.is_final = automaton.is_final
        self.group_label = automaton.group_label
        self.pattern_length = automaton.pattern_length
        self.has_bounded_gap = automaton.has_bounded_gap
        self.arc_weights = [None, None]
        self.spare, self.spare_lanes = [], []


cdef class EdgeWeights:
    """Weights of the edges of an automaton: the same for many documents."""


cdef class Chart(Cells):
    """Automaton, potentials and constraints, checked and laid out for the sweeps."""

    def __init__(self, automaton, potentials, constraints=None):
        check_automaton(automaton)
        self.sums = self.score = self.none = None
        self._set_automaton(automaton)
        self._load(potentials, constraints)

    cdef _load(self, potentials, constraints, bint later=False):
        """Take a document, instead of another one perhaps: what there is room for need
        not be allocated.

        later: Leave to `arrive` what goes through all scores, if the document permits:
            until then `first` is not known.
        """
        cdef bint is_read = self._read(potentials)
        self.is_late = later and is_read and self._may_wait(potentials, constraints)
        if not self.is_late and not (is_read and self._has_numbers()):
            potentials = check_potentials(self.automaton, potentials)
            self._read(potentials)
        self._set_document(potentials, constraints)

    cdef bint _may_wait(self, potentials, constraints):
        """Whether nothing but numbers is to be checked, and nothing to be changed."""
        if constraints is not None or len(self.automaton.observed):
            return False
        cells = potentials.cells
        if potentials.entries is not None or getattr(cells, "size", 1):
            return False
        return _are_checked(cells, self.inside.shape[0], self.n_labels)

    cdef bint arrive(self) noexcept nogil:
        """Go through the scores of a late document. RETURNS: whether all are numbers
        below +inf."""
        if not self._has_numbers():
            return False
        _add(self.inside, self.start, self.first)
        self.is_late = False
        return True

    cdef forget(self):
        """Let go of the document, and of the automaton, which owns the room now."""
        self.automaton = self.cells_as_given = None
        self.inside = self.start = self.given_end = None
        self.more = self.end = self.length = None
        self.given_tail = self.pattern_weight = None

    cdef bint _read(self, potentials):
        """Views of the arrays. RETURNS: whether shapes are right, and nothing to
        convert."""
        cdef Py_ssize_t n_labels = self.n_labels
        cdef Py_ssize_t n_columns = n_labels + len(self.automaton.observed)
        inside, start, end = potentials.inside, potentials.start, potentials.end
        length, tail, pattern = potentials.length, potentials.tail, potentials.pattern
        if inside is None or start is None or end is None:
            return False
        if length is None or tail is None or pattern is None:
            return False
        try:
            self.inside, self.start, self.given_end = inside, start, end
            self.length, self.given_tail, self.pattern_weight = length, tail, pattern
        except (TypeError, ValueError, BufferError):
            return False
        cdef Py_ssize_t n_tokens = self.inside.shape[0]
        if self.length.shape[0] != n_labels or self.length.shape[1] < 1:
            return False
        if self.given_tail.shape[0] != n_labels:
            return False
        if self.pattern_weight.shape[0] != self.pattern_length.shape[0]:
            return False
        return (
            _is_fit(self.inside, n_tokens, n_labels, n_columns)
            and _is_fit(self.start, n_tokens, n_labels, n_columns)
            and _is_fit(self.given_end, n_tokens, n_labels, n_columns)
            and _are_all_numbers(self.length)
            and _are_numbers(self.given_tail)
            and _are_numbers(self.pattern_weight)
        )

    cdef bint _has_numbers(self) noexcept nogil:
        """Whether no score of tokens is NaN or +inf."""
        return (
            _are_all_numbers(self.inside)
            and _are_all_numbers(self.start)
            and _are_all_numbers(self.given_end)
        )

    def _set_automaton(self, automaton):
        # Views of the arrays are made once: for short documents that is what counts.
        cdef Layout layout = automaton.layout or Layout(automaton)
        automaton.layout = layout
        self.automaton = automaton
        self.n_labels = layout.n_labels
        self.n_groups = layout.n_groups
        self.n_states = layout.n_states
        self.n_nodes = layout.n_nodes
        self.first_state = layout.first_state
        self.arc_node = layout.arc_node
        self.arc_edge = layout.arc_edge
        self.arc_target = layout.arc_target
        self.circuit = layout.circuit
        self.arcs_in = layout.arcs_in
        self.arcs_out = layout.arcs_out
        self.edge_suffix = layout.edge_suffix
        self.edge_pattern = layout.edge_pattern
        self.edge_target = layout.edge_target
        self.suffix_key = layout.suffix_key
        self.first_owned = layout.first_owned
        self.owned_label = layout.owned_label
        self.owned_edge = layout.owned_edge
        self.state_key = layout.state_key
        self.state_rule = layout.state_rule
        self.state_group = layout.state_group
        self.state_of = layout.state_of
        self.rule_next = layout.rule_next
        self.final_edge = layout.final_edge
        self.is_final = layout.is_final
        self.group_label = layout.group_label
        self.pattern_length = layout.pattern_length
        self.has_bounded_gap = layout.has_bounded_gap

    cdef _set_document(self, potentials, constraints):
        automaton = self.automaton
        cdef Py_ssize_t n_groups = self.n_groups, n_tokens = self.inside.shape[0]
        cdef Py_ssize_t n_columns = self.n_labels + len(automaton.observed)
        self.n_tokens = n_tokens
        cells = potentials.cells
        if not _are_checked(cells, n_tokens, n_columns):
            cells = check_cells(cells, n_tokens, n_columns)
        self.cells_as_given = cells
        cdef const Entry[::1] entries = entries_of(potentials, n_tokens, n_columns)
        if not automaton.observed and not entries.shape[0]:
            if self.sums is None or self.sums.shape[0] < n_tokens:
                self.sums = np.empty((n_tokens, n_groups))
            self.first, self.more, self.end = self.sums, self.inside, self.given_end
            if not self.is_late:
                _add(self.inside, self.start, self.first)
        else:
            self.more = scores_of_groups(automaton, self.inside, entries, 0)
            self.first = scores_of_groups(automaton, self.start, entries, 1)
            self.end = scores_of_groups(automaton, self.given_end, entries, 2)
            _add(self.more, self.first, self.first)
        if constraints is not None:
            constraints = check_constraints(automaton, constraints, n_tokens)
            self.more = more = np.array(self.more)
            self.end = end = np.array(self.end)
            first = np.asarray(self.first)[:n_tokens]
            _constrain(constraints, automaton.group_label, first, more, end)
            cells = np.concatenate([cells, _forbidden(constraints, self.n_labels)])
        if not self.is_late:
            self.inside = self.start = self.given_end = None
        self._set_lengths()
        self._set_cells(cells)

    cdef _set_lengths(self):
        """Lengths and weights of edges, and room for the scores of a row."""
        cdef Py_ssize_t g, d, y, n_groups = self.n_groups
        cdef Py_ssize_t n_lengths = self.length.shape[1], n_slots = n_groups * n_lengths
        cdef double[::1] room
        if self.score is None or self.n_lengths != n_lengths:
            room = np.empty(2 * n_slots + 2 * n_groups)
            self.score = room[:n_slots]
            self.length_backwards = room[n_slots : 2 * n_slots]
            room = room[2 * n_slots :]
            self.enter_score, self.tail = room[:n_groups], room[n_groups:]
        self.n_lengths = n_lengths
        self.has_tail = False
        for g in range(n_groups):
            y = self.group_label[g]
            self.tail[g] = self.given_tail[y]
            self.has_tail |= self.given_tail[y] > -INFINITY
            for d in range(1, n_lengths + 1):
                self.length_backwards[g * n_lengths + n_lengths - d] = (
                    self.length[y, d - 1]
                )
        self.are_tokens = n_lengths == 1 and not self.has_tail
        self._set_edge_weights()

    cdef _set_edge_weights(self):
        """Those of the last document, if the patterns have the same weights."""
        cdef Layout layout = self.automaton.layout
        cdef EdgeWeights known = layout.edge_weights
        if known is None or not _are_same(known.pattern, self.pattern_weight):
            known = EdgeWeights()
            known.pattern = np.array(self.pattern_weight)
            known.edge = np.empty(self.edge_suffix.shape[0])
            known.final = np.empty(self.n_states)
            _edge_weights(
                known.pattern, self.edge_pattern, self.edge_suffix, known.edge
            )
            _final_weights(known.edge, self.final_edge, self.is_final, known.final)
            layout.edge_weights = known
        known.n_met += 1
        self.edge_weights, self.edge_weight = known, known.edge

    cdef _set_cells(self, cells):
        if not len(cells):
            self.set_no_cells()
            return
        if self.automaton.observed:
            given, group = _groups_of_columns(self.automaton, cells["column"])
        else:
            given, group = np.arange(len(cells)), cells["column"]
        records = np.ascontiguousarray(cells, CELLS)
        given, group = given.astype(np.int32), group.astype(np.int32)
        self.set_cells(records, given, group, self.tail)
        self._score_long()

    cdef void _score_long(self) noexcept nogil:
        """Add to the cells of long segments everything else."""
        cdef Py_ssize_t p, i, u, g, d, t
        cdef double score
        for p in range(self.place_start.shape[0]):
            u, g = self.place_start[p], self.place_group[p]
            d = self.n_lengths
            score = self.first[u, g]
            for i in range(u + 1, u + d):
                score += self.more[i, g]
            for i in range(self.place_first[p], self.place_first[p + 1]):
                t = self.place_long[i]
                score += self.more[u + d, g]
                d += 1
                self.long_score[t] += score + self.end[u + d - 1, g]
                self.long_score[t] += self.length_score(g, d)
            t = self.place_late[p]
            if t >= 0:
                self.late_score[t] = score + self.more[u + d, g]
                self.late_score[t] += self.length_score(g, d + 1)

    cdef cell_gradient(self, const double[::1] counts):
        """The cells as they were given, with expected counts as scores.

        counts (float64 [K]): One for each merged cell.
        RETURNS (CELLS): A copy.
        """
        given = self.cells_as_given
        if not len(given):
            return given.copy()
        cells = np.array(given, CELLS)
        cells["score"] = 0.0
        self.add_counts(counts, cells)
        return cells

    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil:
        """Fill score and enter_score for boundary j."""
        cdef Py_ssize_t g
        for g in range(self.n_groups):
            self.segments_of(j, g)
        self.add_cells(j)

    cdef void segments_of(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil:
        """Those of one group, without cells."""
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
        """To the scores of all groups."""
        cdef Py_ssize_t i
        for i in range(self.first_short[j], self.first_short[j + 1]):
            self.score[self.short_slot[i]] += self.short_score[i]

    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t g) noexcept nogil:
        """The longest explicit segment from u."""
        if self.late_horizon.shape[0] and self.late_horizon[g, u]:
            return self.late_horizon[g, u]
        return self.n_lengths

    cdef Py_ssize_t segments_starting_at(
        self, Py_ssize_t u, Py_ssize_t g, double[::1] score
    ) noexcept nogil:
        """Fill in the scores of the explicit segments of 1, 2, .. tokens from u.

        RETURNS: How many there are.
        """
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
        cdef Py_ssize_t k, y, edge, n_keys = self.suffix_key.shape[0]
        cdef Py_ssize_t key = self.state_key[state], rule = self.state_rule[state]
        for y in range(self.n_labels):
            target[y] = -2
        while True:
            for k in range(self.first_owned[key], self.first_owned[key + 1]):
                y = self.owned_label[k]
                if target[y] == -2:
                    edge = self.owned_edge[k]
                    weight[y] = self.edge_weight[edge]
                    target[y] = self.rule_next[rule, y]
                    if target[y] >= 0:
                        target[y] = self.state_of[self.edge_target[edge], target[y]]
            if key == n_keys:  # the root, which has an edge for every label
                return
            key = self.suffix_key[key]

    cdef Py_ssize_t edge_of(self, Py_ssize_t state, Py_ssize_t y) noexcept nogil:
        """The edge for a label that `follow` takes from `state`."""
        cdef Py_ssize_t k, key = self.state_key[state]
        while True:
            for k in range(self.first_owned[key], self.first_owned[key + 1]):
                if self.owned_label[k] == y:
                    return self.owned_edge[k]
            key = self.suffix_key[key]

    cdef Py_ssize_t state_behind(
        self, Py_ssize_t edge, Py_ssize_t state, Py_ssize_t y
    ) noexcept nogil:
        """Where the edge for a label leads from `state`; -1: the grammar forbids it."""
        cdef Py_ssize_t rule = self.rule_next[self.state_rule[state], y]
        return self.state_of[self.edge_target[edge], rule] if rule >= 0 else -1

    cdef double path_score(self, segments):
        """The score of segments (start, end, label) that cover every token."""
        cdef Py_ssize_t state = 0, edge, u, j, y
        cdef double total = 0.0
        for u, j, y in segments:
            edge = self.edge_of(state, y)
            state = self.state_behind(edge, state, y)
            if state < 0:
                return -INFINITY
            total += self.edge_weight[edge]
            if self.starts is not None:
                total += self.score_at_start(u, edge)
            total += self.segment_score(u, j, self.state_group[state])
        return total + self.final_weight(state)

    cdef double score_at_start(self, Py_ssize_t u, Py_ssize_t edge) noexcept nogil:
        """What entries at token u add to the weight of an edge."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.starts.first[u], self.starts.first[u + 1]):
            if self.has_suffix(edge, self.starts.edge[k]):
                total += self.starts.score[k]
        return total

    cdef bint has_suffix(self, Py_ssize_t edge, Py_ssize_t suffix) noexcept nogil:
        """Whether an edge completes what another one does."""
        while edge > suffix:  # suffixes are earlier edges
            edge = self.edge_suffix[edge]
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
        cdef Py_ssize_t i, slot
        if j - u > self.n_lengths:
            for i in range(self.first_long[j], self.first_long[j + 1]):
                if self.long_start[i] == u and self.long_group[i] == g:
                    return self.long_extra[i]
            return 0.0
        slot = (g + 1) * self.n_lengths - (j - u)
        for i in range(self.first_short[j], self.first_short[j + 1]):
            if self.short_slot[i] == slot:  # duplicates are merged
                return self.short_score[i]
        return 0.0

    cdef double final_weight(self, Py_ssize_t q) noexcept nogil:
        """Weight of the patterns that end in $ after state q; -inf: not permitted."""
        return self.edge_weights.final[q]


cdef Sums sums_of(schedule):
    """A schedule's arrays as C sees them; the automaton keeps them alive."""
    cdef Sums sums
    cdef const int32_t[::1] view
    sums.n_quads, sums.n_terms = len(schedule.fan), len(schedule.input)
    sums.fan = sums.output = sums.input = sums.arc = NULL
    if sums.n_quads:
        view = schedule.fan
        sums.fan = &view[0]
        view = schedule.output
        sums.output = &view[0]
    if sums.n_terms:
        view = schedule.input
        sums.input = &view[0]
        view = schedule.arc
        sums.arc = &view[0]
    return sums


cdef bint _is_fit(
    const double[:, ::1] x,
    Py_ssize_t n_rows,
    Py_ssize_t n_columns,
    Py_ssize_t or_columns,
) noexcept nogil:
    """Whether the shape is right."""
    if x.shape[0] != n_rows:
        return False
    return x.shape[1] == n_columns or x.shape[1] == or_columns


cdef bint _are_checked(cells, Py_ssize_t n_tokens, Py_ssize_t n_columns):
    """Whether these are records as the kernels read them, and all is well."""
    cdef const Cell[::1] records
    if getattr(cells, "dtype", None) is not CELLS:
        return False
    if not len(cells):
        return cells.ndim == 1
    try:
        records = cells
    except (TypeError, ValueError, BufferError):
        return False
    return are_cells(records, n_tokens, n_columns)


cdef bint _are_numbers(const double[::1] x) noexcept nogil:
    """Whether none is NaN or +inf."""
    return x.shape[0] == 0 or kernels.count_bad(&x[0], x.shape[0]) == 0


cdef bint _are_all_numbers(const double[:, ::1] x) noexcept nogil:
    """The same, of all rows."""
    if x.shape[0] == 0 or x.shape[1] == 0:
        return True
    return kernels.count_bad(&x[0, 0], x.shape[0] * x.shape[1]) == 0


cdef void _add(
    const double[:, ::1] x, const double[:, ::1] y, double[:, ::1] total
) noexcept nogil:
    cdef Py_ssize_t i, g
    for i in range(x.shape[0]):
        for g in range(x.shape[1]):
            total[i, g] = x[i, g] + y[i, g]


def _groups_of_columns(automaton, columns):
    """Pairs of a given column (its place in the list) and a group that reads it."""
    if not automaton.observed:
        return np.arange(len(columns)), columns
    first, group = automaton.readers
    sizes = first[columns + 1] - first[columns]
    ends = np.cumsum(sizes)
    given = np.repeat(np.arange(len(columns)), sizes)
    return given, group[np.arange(len(given)) + (first[columns + 1] - ends)[given]]


def _constrain(constraints, label, first, more, end):
    """Write -inf wherever a constraint is violated."""
    n_tokens = len(first)
    if constraints.allowed is not None:
        bad = ~constraints.allowed[:, label]
        first[bad] = -np.inf
        more[bad] = -np.inf
    if constraints.boundary is not None and n_tokens:
        boundary = constraints.boundary
        before = boundary[:n_tokens]
        first[before == -1] = -np.inf
        end[boundary[1:] == -1] = -np.inf
        more[before == 1] = -np.inf
        more[np.ix_(before == 2, label > 0)] = -np.inf


def _forbidden(constraints, n_labels):
    """Forbidden segments as cells."""
    cells = [
        (start, stop, y, -np.inf)
        for start, stop, label in constraints.forbidden
        for y in (range(1, n_labels) if label == -1 else [label])
    ]
    return np.array(cells, CELLS)


cdef bint _are_same(const double[::1] x, const double[::1] y) noexcept nogil:
    if x.shape[0] != y.shape[0]:
        return False
    return not x.shape[0] or not memcmp(&x[0], &y[0], x.shape[0] * sizeof(double))


cdef void _final_weights(
    const double[::1] edge,             # IN   [E]
    const int32_t[::1] final_edge,      # IN   [P] -1: no pattern ends there in $
    const uint8_t[::1] is_final,        # IN   [P]
    double[::1] weight,                 # OUT  [P]
) noexcept nogil:
    cdef Py_ssize_t q
    for q in range(weight.shape[0]):
        weight[q] = edge[final_edge[q]] if final_edge[q] >= 0 else 0.0
        if not is_final[q]:
            weight[q] = -INFINITY


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
