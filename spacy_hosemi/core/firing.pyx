"""Tags on tokens, with long patterns that count only where a feature of theirs fires.

Let each segment be one token, and no score of a pattern of three or more symbols be
negative. Then a history of two or more labels need only be told apart from its suffixes
at a boundary where a pattern that has a score farther on begins with it: all other
histories have the best completion of their last label. So a document pays for the L * L
pairs of each token, and one step for each label of each pattern that fires:

    beta[j, p] = max(beta[j, suffix(p)],
                     max over p y told apart at j + 1 of pair[last(p), y] + B[j, p y])
    B[j, q]    = score[j, last(q)] + score of all patterns that are suffixes of q
                 + beta[j + 1, q]
    beta[j, y] = max(max over labels z of pair[y, z] + B[j, z], the same)

where suffix(p) is the longest proper suffix that is told apart at j, or the last label.
It is the decoder of Qian and Liu ("Sequence Labeling with Non-Negative Weighted Higher
Order Features"), whose patterns are those of single places too, from the right; the
proof is that of `nonnegative`. Pairs, which every history knows, may have scores of any
sign. Patterns without a feature fire everywhere.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from . cimport kernels
from .chart cimport Chart
from .columns cimport Entry, are_entries
from .potentials import Potentials
from .prefixes import Prefixes

# Lists grow by at least so much, and to so many numbers at most.
ROOM = 256
LARGE = 2_000_000


cdef class Histories:
    """Prefixes of the long patterns of an automaton, and what completes which."""

    cdef bint reads(
        self, const Entry entry, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether segment k, (start, end, label), reads an entry at one of its tokens.
        """
        cdef Py_ssize_t c = entry.column - self.n_labels, node
        if entry.role == 1 and entry.position != segment[k, 0]:
            return False
        if entry.role == 2 and entry.position != segment[k, 1] - 1:
            return False
        if c < 0:
            return entry.column == segment[k, 2]
        if segment[k, 2] != self.observed_last[c]:
            return False
        node = self.of_observed[c]
        if node <= self.n_labels:  # what stands before the last label
            return self.is_end(node, segment, k)
        return self.is_end(self.parent[node], segment, k)

    cdef bint is_end(
        self, Py_ssize_t node, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether the first k segments end with a history."""
        while node >= 0:
            if node == self.n_labels:
                return k == 0
            k -= 1
            if k < 0 or segment[k, 2] != self.label[node]:
                return False
            node = self.parent[node]
        return True


cdef Histories histories_of(automaton):
    """Made when they are first asked for. RETURNS (Histories): None: with a grammar, or
    without observed patterns, there is no use for them."""
    if not automaton.observed or automaton.grammar is not None:
        return None
    if automaton.histories is None:
        automaton.histories = _make_histories(automaton)
    return automaton.histories


cdef Histories _make_histories(automaton):
    cdef Histories made = Histories()
    found = Prefixes(automaton)
    made.bare = type(automaton)(automaton.labels)
    made.n_labels, made.n_nodes = automaton.n_labels, len(found.parent)
    made.parent, made.suffix = found.parent, found.suffix
    made.label, made.depth, made.begins = found.label, found.depth, found.begins
    made.of_observed, made.observed_last = found.places(automaton.observed)
    made.of_pattern, made.pattern_last = found.places(automaton.patterns)
    is_long = automaton.pattern_length > 2
    made.is_long, made.has_long = is_long.astype(np.uint8), is_long.any()
    return made


cdef without_entries(potentials, pattern):
    """The same scores, but for entries and patterns (`replace` takes longer)."""
    return Potentials(
        potentials.inside,
        potentials.start,
        potentials.end,
        potentials.length,
        potentials.tail,
        potentials.cells,
        pattern,
    )


cdef double add_fired(
    Histories histories, list segments, const Entry[::1] entries, found, double times
):
    """What fires along one segmentation.

    segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    entries (ENTRIES): Of all columns.
    found (Optional[ENTRIES]): The same; what fires is added to their scores, so many
        times.
    RETURNS: The summed scores.
    """
    cdef Py_ssize_t k, u, j, y, n = segments[len(segments) - 1][1] if segments else 0
    cdef int32_t[:, ::1] segment = np.empty((len(segments), 3), np.int32)
    cdef int32_t[::1] covers = np.empty(n, np.int32)
    cdef double total = 0.0
    cdef Entry[::1] counts = found
    for k, (u, j, y) in enumerate(segments):
        segment[k, 0], segment[k, 1], segment[k, 2] = <int32_t>u, <int32_t>j, <int32_t>y
        covers[u:j] = <int32_t>k
    for k in range(entries.shape[0]):
        if histories.reads(entries[k], segment, covers[entries[k].position]):
            total += entries[k].score
            if found is not None:
                counts[k].score += times
    return total


cdef class Firings(Histories):
    """What fires in one document, and which histories that tells apart.

    histories (Histories): Of the automaton.
    """

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1
        self.histories = histories
        self.n_labels, self.n_nodes = histories.n_labels, histories.n_nodes
        self.parent, self.suffix = histories.parent, histories.suffix
        self.label, self.depth = histories.label, histories.depth
        self.begins, self.is_long = histories.begins, histories.is_long
        self.of_observed = histories.of_observed
        self.observed_last = histories.observed_last
        self.of_pattern = histories.of_pattern
        self.pattern_last, self.has_long = histories.pattern_last, histories.has_long
        self.pair, self.pair_here = np.empty((n, n)), np.empty((n, n))
        self.stamp = np.zeros(histories.n_nodes, np.int64)
        self.place = np.zeros(histories.n_nodes, np.int32)
        self.at_end = np.zeros(histories.n_nodes)
        self.now = 0
        self.n_shorter = np.zeros(np.max(histories.depth) + 4, np.int32)
        self.begun = self.left = self.first_node = self.node = self.entry = None

    cdef bint load(self, Chart chart, potentials):
        """Take a document. RETURNS: whether nothing in it stands in the way."""
        cdef Py_ssize_t n_columns
        self.n_tokens = chart.n_tokens
        if chart.n_lengths > 1 or chart.has_tail or chart.n_cells:
            return False
        try:
            self.pattern, self.entries = potentials.pattern, potentials.entries
        except (TypeError, ValueError, BufferError):
            return False
        self.n_entries = self.entries.shape[0]
        if self.pattern.shape[0] != self.of_pattern.shape[0]:
            return False
        if self.begun is None or self.begun.shape[0] <= self.n_tokens:
            self._make_room()
        if self.entry is None or self.entry.shape[0] < self.n_entries:
            self.entry = np.empty(self.n_entries + ROOM, np.int32)
        n_columns = self.n_labels + self.of_observed.shape[0]
        if not are_entries(self.entries, self.n_tokens, n_columns):
            return False
        return self._set_weights() and self._sort_entries()

    cdef Py_ssize_t size(self):
        """RETURNS: about how many numbers there is room for."""
        cdef Py_ssize_t size = 0
        if self.begun is not None:
            size += 2 * self.begun.shape[0] * (self.n_labels + 1)
        if self.entry is not None:
            size += self.entry.shape[0]
        if self.node is not None:
            size += 5 * self.node.shape[0]
        return size

    cdef forget(self):
        """Let go of the document."""
        self.pattern, self.entries = None, None

    cdef _make_room(self):
        cdef Py_ssize_t n = self.n_tokens + ROOM, n_labels = self.n_labels
        self.begun = np.empty((n + 1, n_labels))
        self.left = np.empty((n + 1, n_labels + 1))
        rows = np.empty((3, n + 2), np.int32)
        self.first_entry, self.first_node, self.last_node = rows

    cdef bint _set_weights(self):
        """Weights of patterns. RETURNS: whether all are numbers, no long one is below
        0, and so few are above it that going through all states takes longer."""
        cdef Py_ssize_t m, end = self.n_labels, n_active = 0
        cdef double weight
        self.pair[:, :] = 0.0
        if self.has_long:
            self.at_end[:] = 0.0
        for m in range(self.pattern.shape[0]):
            weight = self.pattern[m]
            if not weight < INFINITY:
                return False
            if not self.is_long[m]:
                # $ stands in the row of ^, which is never last
                self.pair[min(self.pattern_last[m], end), self.of_pattern[m]] += weight
            elif weight < 0.0:
                return False
            else:
                n_active += weight > 0.0
                if self.pattern_last[m] > end:
                    self.at_end[self.of_pattern[m]] += weight
        return n_active <= end * end

    cdef bint _sort_entries(self):
        """Entries by token. RETURNS: whether no long one is below 0, and there is room
        for what they ask for."""
        cdef Py_ssize_t k, i, size = 0, n_labels = self.n_labels, column
        cdef double score
        cdef int32_t[::1] first = self.first_entry
        first[: self.n_tokens + 2] = 0
        for k in range(self.n_entries):
            i, column = self.entries[k].position, self.entries[k].column
            score = self.entries[k].score
            if score == 0.0:
                continue
            if column >= n_labels and self.of_observed[column - n_labels] > n_labels:
                if score < 0.0:
                    return False
                size += self.depth[self.of_observed[column - n_labels]]
            first[i + 1] += 1
        for i in range(self.n_tokens):
            first[i + 1] += first[i]
        for k in range(self.n_entries):
            if self.entries[k].score != 0.0:
                i = self.entries[k].position
                self.entry[first[i]] = <int32_t>k
                first[i] += 1
        for i in range(self.n_tokens, 0, -1):
            first[i] = first[i - 1]
        first[0] = 0
        if self.has_long:
            size += (self.n_tokens + 1) * self.n_nodes
        if size > LARGE:
            return False
        if self.node is None or self.node.shape[0] < size:
            size += ROOM
            self.node, self.below, self.order = np.empty((3, size), np.int32)
            self.gain, self.beta = np.empty((2, size))
        return True

    cdef double sweep(self, Chart chart) noexcept nogil:
        """RETURNS: the score of the best segmentation."""
        cdef Py_ssize_t j, n_labels = self.n_labels
        self.n_told = 0
        for j in range(self.n_tokens, -1, -1):
            self._tell_apart(j)
            self._close(chart, j)
        return self.left[0, n_labels]

    cdef void _tell_apart(self, Py_ssize_t j) noexcept nogil:
        """Which histories, at boundary j; what those complete with the last label."""
        cdef Py_ssize_t k, m, c, p, node, n_labels = self.n_labels
        self.now += 1
        self.first_node[j] = <int32_t>self.n_told
        if j > 0:
            for k in range(self.first_entry[j - 1], self.first_entry[j]):
                c = self.entries[self.entry[k]].column - n_labels
                if c >= 0 and self.of_observed[c] > n_labels:
                    self._add(j, self.of_observed[c], self.entries[self.entry[k]].score)
            if self.has_long:
                for m in range(self.pattern.shape[0]):
                    if not self.is_long[m] or self.pattern[m] == 0.0:
                        continue
                    if self.pattern_last[m] < n_labels:
                        self._add(j, self.of_pattern[m], self.pattern[m])
                    elif j == self.n_tokens:
                        self._add(j, self.of_pattern[m], 0.0)
        if j < self.n_tokens:
            for k in range(self.first_node[j + 1], self.last_node[j + 1]):
                p = self.parent[self.node[k]]
                if p > n_labels:
                    self._add(j, p, 0.0)
        self.last_node[j] = <int32_t>self.n_told
        self._sort(j)
        for m in range(self.first_node[j], self.last_node[j]):
            k = self.order[m]
            node = self.node[k]
            p = self.suffix[node]
            while p > n_labels and self.stamp[p] != self.now:
                p = self.suffix[p]
            if p > n_labels:
                self.below[k] = self.place[p]
                self.gain[k] += self.gain[self.place[p]]
            else:
                self.below[k] = <int32_t>(-1 - p)

    cdef void _add(self, Py_ssize_t j, Py_ssize_t node, double score) noexcept nogil:
        """A history that some pattern asks for, unless it cannot be at the boundary."""
        if self.depth[node] > j or (self.begins[node] and self.depth[node] != j):
            return
        if self.stamp[node] == self.now:
            self.gain[self.place[node]] += score
            return
        self.stamp[node], self.place[node] = self.now, <int32_t>self.n_told
        self.node[self.n_told], self.gain[self.n_told] = <int32_t>node, score
        self.n_told += 1

    cdef void _sort(self, Py_ssize_t j) noexcept nogil:
        """Short before long: `order` of the places."""
        cdef int32_t* behind = &self.n_shorter[0]
        cdef Py_ssize_t k, size, n_sizes = self.n_shorter.shape[0]
        for size in range(n_sizes):
            behind[size] = 0
        for k in range(self.first_node[j], self.last_node[j]):
            behind[self.depth[self.node[k]] + self.begins[self.node[k]] + 1] += 1
        for size in range(1, n_sizes):
            behind[size] += behind[size - 1]
        for k in range(self.first_node[j], self.last_node[j]):
            size = self.depth[self.node[k]] + self.begins[self.node[k]]
            self.order[self.first_node[j] + behind[size]] = <int32_t>k
            behind[size] += 1

    cdef const double* _pairs(self, Py_ssize_t i) noexcept nogil:
        """Weights of label pairs, with what fires for them at token i."""
        cdef Py_ssize_t k, c, n_labels = self.n_labels
        cdef bint is_plain = True
        for k in range(self.first_entry[i], self.first_entry[i + 1]):
            c = self.entries[self.entry[k]].column - n_labels
            if c >= 0 and self.of_observed[c] <= n_labels:
                if self.of_observed[c] == n_labels and i > 0:  # ^
                    continue
                if is_plain:
                    self.pair_here[:, :] = self.pair
                is_plain = False
                self.pair_here[self.observed_last[c], self.of_observed[c]] += (
                    self.entries[self.entry[k]].score
                )
        return &self.pair[0, 0] if is_plain else &self.pair_here[0, 0]

    cdef void _close(self, Chart chart, Py_ssize_t j) noexcept nogil:
        """beta of boundary j."""
        cdef Py_ssize_t k, m, p, y, c, n_labels = self.n_labels, width = n_labels + 1
        cdef double* left = &self.left[j, 0]
        cdef double* begun = &self.begun[j, 0]
        cdef const double* after
        cdef const double* pair
        cdef double value
        if j == self.n_tokens:
            for y in range(width):
                left[y] = self.pair[n_labels, y]
            for m in range(self.first_node[j], self.last_node[j]):
                k = self.order[m]
                p = self.below[k]
                self.beta[k] = left[-1 - p] if p < 0 else self.beta[p]
                self.beta[k] += self.at_end[self.node[k]]
            return
        after = &self.left[j + 1, 0]
        for y in range(n_labels):
            begun[y] = chart.first[j, y] + chart.end[j, y] + chart.length_backwards[y]
        for k in range(self.first_entry[j], self.first_entry[j + 1]):
            c = self.entries[self.entry[k]].column
            if c < n_labels:
                begun[c] += self.entries[self.entry[k]].score
        for k in range(self.first_node[j + 1], self.last_node[j + 1]):
            self.gain[k] += begun[self.label[self.node[k]]]
        for y in range(width):
            left[y] = -INFINITY
        for y in range(n_labels):
            begun[y] += after[y]
        pair = self._pairs(j)
        kernels.relax_max(pair, begun, n_labels, width, left)
        for k in range(self.first_node[j], self.last_node[j]):
            self.beta[k] = -INFINITY
        for k in range(self.first_node[j + 1], self.last_node[j + 1]):
            self.gain[k] += self.beta[k]  # B from here on
            p, y = self.parent[self.node[k]], self.label[self.node[k]]
            value = pair[y * width + self.label[p]] + self.gain[k]
            if p <= n_labels:
                left[p] = max(left[p], value)
            else:
                self.beta[self.place[p]] = max(self.beta[self.place[p]], value)
        for m in range(self.first_node[j], self.last_node[j]):
            k = self.order[m]
            p = self.below[k]
            value = left[-1 - p] if p < 0 else self.beta[p]
            self.beta[k] = max(self.beta[k], value)

    cdef Py_ssize_t walk(self, int32_t[:, ::1] path) noexcept nogil:
        """Fill in the best segmentation, if there is one. RETURNS: its segments."""
        cdef Py_ssize_t j, k, p, y, best, n_labels = self.n_labels, last = n_labels
        cdef double* begun
        cdef const double* pair
        cdef double value, top
        for j in range(self.n_tokens):
            pair, begun = self._pairs(j), &self.begun[j, 0]
            for k in range(self.first_node[j + 1], self.last_node[j + 1]):
                p, y = self.parent[self.node[k]], self.label[self.node[k]]
                if self.gain[k] > begun[y] and self.is_end(p, path, j):
                    begun[y] = self.gain[k]
            best, top = 0, -INFINITY
            for y in range(n_labels):
                value = pair[y * (n_labels + 1) + last] + begun[y]
                if value > top:
                    best, top = y, value
            path[j, 0], path[j, 1] = <int32_t>j, <int32_t>(j + 1)
            path[j, 2] = <int32_t>best
            last = best
        return self.n_tokens
