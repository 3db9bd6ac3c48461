"""Long patterns that count only where a feature of theirs fires.

Let no score of a pattern of three or more symbols be negative, and a segment of d
tokens have the weight length + (d - 1) tail. Then a history of two or more labels need
only be told apart from its suffixes at a boundary where a pattern that has a score
farther on begins with it, or within a segment that reads, farther on, what it
completes. All other histories have the best completion of their last label. So a
document pays for the L * L pairs of each token, and for the patterns that fire in it:

    beta[j, p] = max(beta[j, suffix(p)],
                     max over p y told apart at j of pair[last(p), y] + B[j, p y])
    T[j, q]    = max(end[j - 1, q] + beta[j, q],
                     inside[j, q] + tail + T[j + 1, q])   the segment covers token j - 1
    B[j, q]    = start[j, q] + inside[j, q] + length + T[j + 1, q]
    beta[j, y] = max(max over labels z of pair[y, z] + B[j, z], the same)

where suffix(p) is the longest proper suffix that is told apart, or the last label, and
start, inside and end are those of the label and of all patterns that are suffixes of q.
A pattern that is read at the start of segments alone splits none of them: it is an arc
that only some tokens have. Without a tail all is read at the start, and histories are
told apart at few boundaries; with one, at all boundaries up to the last that asks.
Those of a token are the bits of a set, so that the others cost nothing there, and what
is begun is listed, behind what begins farther on.

It is the decoder of Qian and Liu ("Sequence Labeling with Non-Negative Weighted Higher
Order Features"), whose patterns are those of single places too, from the right; the
proof is that of `nonnegative`. Pairs may have scores of any sign: every history knows
those that are read at the start; one that is read farther on is told apart as long,
and what has it as a suffix never falls below it. Patterns without a feature fire
everywhere.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint64_t

from . cimport kernels
from .chart cimport Chart
from .columns cimport Entry, are_entries
from .histories cimport Histories

# Lists grow by at least so much.
ROOM = 256

# A pair that is read to the end of segments takes as long as so many patterns.
cdef Py_ssize_t COSTS = 3

# What fires: the roles of entries, a pair of labels at the start of the second one, or
# nothing at all, as what speaks for ^ farther on.
cdef enum:
    INSIDE, START, END, PAIR, NOTHING


@cython.final
cdef class Firings(Histories):
    """What fires in one document, and which histories that tells apart.

    histories (Histories): Of the automaton.
    """

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1
        self.histories = histories
        self.n_labels, self.n_nodes = histories.n_labels, histories.n_nodes
        self.most_names = histories.most_names
        self.parent, self.suffix = histories.parent, histories.suffix
        self.label, self.is_long = histories.label, histories.is_long
        self.of_observed = histories.of_observed
        self.of_pattern = histories.of_pattern
        self.pattern_last = histories.pattern_last
        self.pair, self.pair_here = np.empty((2, n, n))
        self.opens, self.goes_on = np.empty((2, n))
        marked = np.zeros((3, self.n_nodes), np.int64)
        self.marked, self.marked_inner, self.marked_read = marked
        self.now = 0
        self.has_bounded_gap = histories.has_bounded_gap
        numbers = np.zeros((9, self.n_nodes), np.int32)
        self.place, self.node, self.stop = numbers[:3]
        self.before, self.below, self.last, self.pair_at = numbers[3:7]
        self.is_at, self.is_begun = numbers[7:]
        self.is_read = np.empty(self.n_nodes, np.uint8)
        sets = np.zeros((4, self.n_nodes // 64 + 1), np.uint64)
        self.told, self.firing, self.steady, self.here = sets
        scores = np.zeros((12, self.n_nodes))
        self.always, self.at_end = scores[:2]
        self.fired, self.fired_inside, self.fired_end = scores[2:5]
        self.gain, self.gain_inside, self.gain_end = scores[5:8]
        self.beta, self.rest, self.more, self.begun = scores[8:]
        self.first_event = np.empty(0, np.int32)
        self.event_kind, self.event_at = np.empty(1, np.uint8), np.empty(1, np.int32)
        self.event_score = np.empty(1)
        self.after_listed = np.empty(1, np.int64)
        self.listed, self.listed_stop = np.empty((2, 0), np.int32)
        self.listed_score = np.empty(0)

    cdef bint load(self, Chart chart, const Entry[::1] entries, pattern):
        """Take a document, whose labels the chart knows.

        entries (ENTRIES): Of all columns.
        pattern (float64 [M]): As in Potentials.
        RETURNS: Whether nothing in it stands in the way.
        """
        cdef Py_ssize_t n_columns = self.n_labels + self.of_observed.shape[0], size
        if chart.n_lengths > 1 or chart.n_cells:
            return False
        self.n_tokens, self.has_tail = chart.n_tokens, chart.has_tail
        try:
            self.pattern, self.entries = pattern, entries
        except (TypeError, ValueError, BufferError):
            return False
        if self.pattern.shape[0] != self.of_pattern.shape[0]:
            return False
        if self.first_event.shape[0] < self.n_tokens + 2:
            self.first_event = np.empty(self.n_tokens + ROOM, np.int32)
            self.after_listed = np.empty(self.n_tokens + ROOM, np.int64)
        self.now += 1
        if not self._set_weights():
            return False
        if not are_entries(self.entries, self.n_tokens, n_columns):
            return False
        if not self._find(chart):
            return False
        self._number()
        self._set_long_weights()
        size = self.first_event[self.n_tokens]
        if self.event_at.shape[0] < size:
            size += ROOM
            self.event_kind = np.empty(size, np.uint8)
            self.event_at, self.event_score = np.empty(size, np.int32), np.empty(size)
        size = self._most_listed(size)
        if self.listed.shape[0] < size:
            size += ROOM
            self.listed, self.listed_stop = np.empty((2, size), np.int32)
            self.listed_score = np.empty(size)
        self._sort_entries(chart)
        return True

    cdef Py_ssize_t room(self):
        """RETURNS: for about how many numbers there is some."""
        return 2 * (self.listed.shape[0] + self.event_at.shape[0]) + 20 * self.n_nodes

    cdef Py_ssize_t _most_listed(self, Py_ssize_t n_events) noexcept nogil:
        """What may be begun at all tokens together: each label; what stands there
        anyway; and, with a tail, all from an event on, without one what it needs at as
        many tokens as it has names."""
        cdef Py_ssize_t n_labels = self.n_labels
        if self.has_tail:
            return self.n_tokens * self.n_told
        return self.n_tokens * (n_labels + self.n_steady) + n_events * self.most_names

    cdef forget(self):
        """Let go of the document."""
        self.pattern, self.entries = None, None

    cdef bint _find(self, Chart chart) noexcept nogil:
        """Mark what is told apart because of entries, and count those by token.

        RETURNS: whether no score of a long pattern is below 0, and bounds, where there
            are some, would not be faster.
        """
        cdef Py_ssize_t e, i, node, n_labels = self.n_labels, most = n_labels * n_labels
        cdef int32_t[::1] first = self.first_event
        cdef const Entry* entry
        cdef bint is_long, is_read
        self.n_read = 0
        first[: self.n_tokens + 2] = 0
        for e in range(self.entries.shape[0]):
            entry = &self.entries[e]
            if entry.column < n_labels or entry.score == 0.0:
                continue
            first[entry.position + 1] += 1
            node = self.of_observed[entry.column - n_labels]
            is_long = self.parent[node] > n_labels
            if is_long and entry.score < 0.0:
                return False
            is_read = entry.role != START and chart.tail[self.label[node]] > -INFINITY
            if is_long or is_read:
                self._mark(node, is_read)
            if is_read and not is_long and self.marked_read[node] != self.now:
                self.marked_read[node] = self.now
                self.n_read += 1
                if self.has_bounded_gap and self.n_active + COSTS * self.n_read > most:
                    return False
        for i in range(self.n_tokens):
            first[i + 1] += first[i]
        return True

    cdef void _mark(self, Py_ssize_t node, bint is_inner) noexcept nogil:
        """A node, and those that it needs, as part of the document."""
        if is_inner:
            self.marked_inner[node] = self.now
        while node > self.n_labels and self.marked[node] != self.now:
            self.marked[node] = self.now
            self.n_marked += 1
            node = self.parent[node]
            self.marked_inner[node] = self.now

    cdef bint _set_weights(self):
        """Weights of pairs; mark what is told apart because of others.

        RETURNS: Whether all are numbers, no long one is below 0, and so few are above
            it that going through all states takes longer.
        """
        cdef Py_ssize_t m, end = self.n_labels
        cdef double weight
        self.pair[:, :], self.n_active, self.n_marked = 0.0, 0, 0
        for m in range(self.pattern.shape[0]):
            weight = self.pattern[m]
            if not weight < INFINITY:
                return False
            if not self.is_long[m]:
                # $ stands in the row of ^, which is never last
                self.pair[min(self.pattern_last[m], end), self.of_pattern[m]] += weight
            elif weight < 0.0:
                return False
            elif weight > 0.0:
                self.n_active += 1
                self._mark(self.of_pattern[m], self.pattern_last[m] > end)
        self.n_steady = self.n_marked
        return self.n_active <= end * end

    cdef void _set_long_weights(self) noexcept nogil:
        cdef Py_ssize_t m, k
        for m in range(self.pattern.shape[0]):
            if self.is_long[m] and self.pattern[m] > 0.0:
                k = self.place[self.of_pattern[m]]
                if self.pattern_last[m] > self.n_labels:
                    self.at_end[k] = self.pattern[m]
                else:
                    self.always[k] = self.pattern[m]
                    self._add(self.steady, k)
                    self.has_always = True

    cdef void _number(self) noexcept nogil:
        """Number what is marked. Suffixes of inner nodes are inner, too."""
        cdef Py_ssize_t k, node, suffix, n, n_labels = self.n_labels
        cdef bint is_inner
        for node in range(self.n_nodes - 1, n_labels, -1):
            if self.marked_inner[node] == self.now:
                self.marked_inner[self.suffix[node]] = self.now
        for n in range(n_labels + 1):
            self.place[n], self.last[n] = <int32_t>n, self.label[n]
        n = n_labels + 1
        for is_inner in (True, False):
            for node in range(n_labels + 1, self.n_nodes):
                if self.marked[node] != self.now:
                    continue
                if (self.marked_inner[node] == self.now) != is_inner:
                    continue
                suffix = self.suffix[node]
                while suffix > n_labels and self.marked[suffix] != self.now:
                    suffix = self.suffix[suffix]
                self.place[node], self.node[n] = <int32_t>n, <int32_t>node
                self.last[n] = self.label[node]
                self.is_read[n] = self.marked_read[node] == self.now
                self.below[n] = self.place[suffix]
                self.before[n] = self.place[self.parent[node]]
                self.pair_at[n] = self.label[node] * (<int32_t>n_labels + 1)
                self.pair_at[n] += self.label[self.parent[node]]
                n += 1
            if is_inner:
                self.n_inner = n
        self.n_told, self.n_words, self.told_at = n, n // 64 + 1, -1
        self.has_always = False
        for k in range(self.n_words):
            self.told[k] = self.firing[k] = self.steady[k] = 0
        for k in range(n):
            self.is_at[k] = self.is_begun[k] = -1
            self.always[k] = self.at_end[k] = 0.0
            self.fired[k] = self.fired_inside[k] = self.fired_end[k] = 0.0
            self.gain[k] = self.gain_inside[k] = self.gain_end[k] = 0.0

    cdef void _sort_entries(self, Chart chart) noexcept nogil:
        """What fires, by token."""
        cdef Py_ssize_t e, i, at, node, n_labels = self.n_labels
        cdef int32_t* first = &self.first_event[0]
        cdef uint8_t* event_kind = &self.event_kind[0]
        cdef int32_t* event_at = &self.event_at[0]
        cdef double* event_score = &self.event_score[0]
        cdef const Entry* entry
        cdef uint8_t kind
        cdef bint is_long
        for e in range(self.entries.shape[0]):
            entry = &self.entries[e]
            if entry.column < n_labels or entry.score == 0.0:
                continue
            node = self.of_observed[entry.column - n_labels]
            i, kind = entry.position, entry.role
            is_long = self.parent[node] > n_labels
            if chart.tail[self.label[node]] == -INFINITY:  # one token is all
                kind = START
            if is_long or kind != START:
                at = self.place[node]
            else:
                kind = PAIR if self.parent[node] < n_labels or i == 0 else NOTHING
                at = self.label[node] * (n_labels + 1) + self.parent[node]
            event_kind[first[i]], event_at[first[i]] = kind, <int32_t>at
            event_score[first[i]] = entry.score
            first[i] += 1
        for i in range(self.n_tokens, 0, -1):
            first[i] = first[i - 1]
        first[0] = 0

    cdef double sweep(self, Chart chart) noexcept nogil:
        """RETURNS: the score of the best segmentation."""
        cdef Py_ssize_t i
        cdef const double* pair
        self.n_listed = self.after_listed[self.n_tokens] = 0
        self._end()
        for i in range(self.n_tokens - 1, -1, -1):
            pair = self._fire(i)
            self._begin(chart, i)
            if self.has_always or self.told_at == i + 1:
                self._gather()
                self._begin_longer(chart, i, pair)
            self.after_listed[i] = self.n_listed
            self._close(i, pair)
        return self.beta[self.n_labels]

    cdef inline void _add(self, uint64_t[::1] some, Py_ssize_t k) noexcept nogil:
        some[k // 64] |= <uint64_t>1 << (k % 64)

    cdef inline void _tell_apart(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        """At a boundary, within a segment or behind it."""
        if self.is_at[k] != j:
            self.is_at[k], self.beta[k] = <int32_t>j, -INFINITY
            self.told_at = j
            if k > self.n_labels:
                self._add(self.told, k)

    cdef void _gather(self) noexcept nogil:
        """The histories of a token; those of the next one are not known yet."""
        cdef Py_ssize_t w
        for w in range(self.n_words):
            self.here[w] = self.told[w] | self.firing[w] | self.steady[w]
            self.told[w] = self.firing[w] = 0

    cdef inline void _list(self, Py_ssize_t k) noexcept nogil:
        """What is begun with a history."""
        cdef Py_ssize_t at = self.n_listed
        self.listed[at], self.listed_stop[at] = <int32_t>k, self.stop[k]
        self.listed_score[at] = self.begun[k]
        self.n_listed += 1

    cdef void _end(self) noexcept nogil:
        """beta of the last boundary."""
        cdef Py_ssize_t k, n = self.n_tokens, n_labels = self.n_labels
        for k in range(n_labels + 1):
            self.beta[k], self.more[k] = self.pair[n_labels, k], -INFINITY
            self.stop[k] = <int32_t>n
        self._fire_ends(n)
        for k in range(n_labels + 1, self.n_inner):
            if self.at_end[k] > 0.0:
                self._tell_apart(k, n)
        self._fall(n)

    cdef const double* _fire(self, Py_ssize_t i) noexcept nogil:
        """What fires at a token. RETURNS: weights of label pairs, with that."""
        cdef Py_ssize_t e, k
        cdef int32_t j = <int32_t>(i + 1)
        cdef bint is_plain = True
        cdef double* pair = &self.pair_here[0, 0]
        cdef double* fired = &self.fired[0]
        for e in range(self.first_event[i], self.first_event[i + 1]):
            k = self.event_at[e]
            if self.event_kind[e] == START:
                self.told_at = j
                self._add(self.firing, k)
                fired[k] += self.event_score[e]
            elif self.event_kind[e] == PAIR:
                if is_plain:
                    self.pair_here[:, :] = self.pair
                is_plain = False
                pair[k] += self.event_score[e]
            elif self.event_kind[e] == INSIDE:
                self.told_at = j
                self._add(self.firing, k)
                self.fired_inside[k] += self.event_score[e]
        return &self.pair[0, 0] if is_plain else pair

    cdef void _fire_ends(self, Py_ssize_t j) noexcept nogil:
        """What fires if a segment ends at a boundary."""
        cdef Py_ssize_t e, k
        if j == 0 or not self.has_tail:
            return
        for e in range(self.first_event[j - 1], self.first_event[j]):
            if self.event_kind[e] == END:
                k = self.event_at[e]
                self._tell_apart(k, j)
                self.fired_end[k] += self.event_score[e]

    cdef void _begin(self, Chart chart, Py_ssize_t i) noexcept nogil:
        """T of labels at the boundary behind a token, and B before it."""
        cdef Py_ssize_t y, j = i + 1
        cdef double* begun = &self.begun[0]
        cdef const double* first = &chart.first[i, 0]
        cdef const double* inside = &chart.more[i, 0]
        cdef const double* end = &chart.end[i, 0]
        cdef const double* length = &chart.length_backwards[0]
        cdef const double* tail = &chart.tail[0]
        cdef double* opens = &self.opens[0]
        cdef double* goes_on = &self.goes_on[0]
        cdef double* beta = &self.beta[0]
        cdef double* rest = &self.rest[0]
        cdef double* more = &self.more[0]
        cdef int32_t* stop = &self.stop[0]
        cdef double value
        for y in range(self.n_labels):
            value = end[y] + beta[y]
            if more[y] >= value:
                value = more[y]
            else:
                stop[y] = <int32_t>j
            opens[y], goes_on[y] = first[y] + length[y], inside[y] + tail[y]
            begun[y] = opens[y] + value
            rest[y], more[y] = value, goes_on[y] + value
            beta[y] = -INFINITY
            self._list(y)
        beta[self.n_labels] = -INFINITY

    cdef void _begin_longer(
        self, Chart chart, Py_ssize_t i, const double* pair
    ) noexcept nogil:
        """The same for the histories of a token; leaves are never read farther on."""
        cdef Py_ssize_t k, y, b, p, w, n = self.n_listed, j = i + 1
        cdef Py_ssize_t n_labels = self.n_labels, n_inner = self.n_inner
        cdef const double* end = &chart.end[i, 0]
        cdef const double* opens = &self.opens[0]
        cdef const double* goes_on = &self.goes_on[0]
        cdef const double* always = &self.always[0]
        cdef double* fired = &self.fired[0]
        cdef double* fired_inside = &self.fired_inside[0]
        cdef double* gain = &self.gain[0]
        cdef double* gain_inside = &self.gain_inside[0]
        cdef double* gain_end = &self.gain_end[0]
        cdef double* begun = &self.begun[0]
        cdef double* beta = &self.beta[0]
        cdef double* rest = &self.rest[0]
        cdef double* more = &self.more[0]
        cdef int32_t* stop = &self.stop[0]
        cdef const int32_t* at = &self.is_at[0]
        cdef int32_t* is_begun = &self.is_begun[0]
        cdef const int32_t* below = &self.below[0]
        cdef const int32_t* before = &self.before[0]
        cdef const int32_t* last = &self.last[0]
        cdef const int32_t* pair_at = &self.pair_at[0]
        cdef const uint64_t* here = &self.here[0]
        cdef int32_t* listed = &self.listed[0]
        cdef int32_t* listed_stop = &self.listed_stop[0]
        cdef double* listed_score = &self.listed_score[0]
        cdef bint is_at
        cdef double value
        cdef uint64_t left
        for w in range(self.n_words):
            left = here[w]
            while left:
                k = 64 * w + kernels.lowest_bit(left)
                left &= left - 1
                b, p = below[k], before[k]
                while b > n_labels and is_begun[b] != j:
                    b = below[b]
                is_begun[k] = <int32_t>j
                if k >= n_inner:
                    begun[k], stop[k] = begun[b] + (always[k] + fired[k]), stop[b]
                else:
                    y, is_at = last[k], at[k] == j
                    gain[k] = gain[b] + (always[k] + fired[k])
                    gain_inside[k] = gain_inside[b] + fired_inside[k]
                    if not is_at:
                        gain_end[k], rest[k], stop[k] = gain_end[b], rest[b], stop[b]
                    else:
                        gain_end[k] = gain_end[b] + self.fired_end[k]
                        value = end[y] + gain_end[k] + beta[k]
                        rest[k] = more[k]
                        if not more[k] >= value:
                            rest[k], stop[k] = value, <int32_t>j
                    value = gain_inside[k] + rest[k]
                    begun[k] = opens[y] + (gain[k] + value)
                    more[k] = goes_on[y] + value
                    if (is_at or fired_inside[k] != 0.0) and goes_on[y] > -INFINITY:
                        self._tell_apart(k, i)
                    fired_inside[k] = self.fired_end[k] = 0.0
                fired[k] = 0.0
                if at[p] != i:
                    self._tell_apart(p, i)
                value = pair[pair_at[k]] + begun[k]
                beta[p] = value if value > beta[p] else beta[p]
                listed[n], listed_stop[n] = <int32_t>k, stop[k]
                listed_score[n] = begun[k]
                n += 1
        self.n_listed = n

    cdef void _close(self, Py_ssize_t i, const double* pair) noexcept nogil:
        """beta of the boundary before a token."""
        cdef Py_ssize_t at, k, width = self.n_labels + 1
        at = self._first_of(i) + self.n_labels if self.n_read else self.n_listed
        for at in range(at, self.n_listed):
            k = self.listed[at]
            # what a segment reads to its end may be below 0
            if self.is_read[k]:
                if pair == &self.pair[0, 0]:
                    self.pair_here[:, :] = self.pair
                    pair = &self.pair_here[0, 0]
                self.pair_here[self.last[k], self.before[k]] = -INFINITY
        kernels.relax_max(pair, &self.begun[0], self.n_labels, width, &self.beta[0])
        self._fire_ends(i)
        if self.told_at == i:
            self._fall(i)

    cdef inline Py_ssize_t _first_of(self, Py_ssize_t i) noexcept nogil:
        """Where the list of a token begins: the labels, then histories."""
        return self.after_listed[i + 1]

    cdef void _fall(self, Py_ssize_t j) noexcept nogil:
        """beta and T are those of a suffix, where nothing else is known."""
        cdef Py_ssize_t w, k, b, n_labels = self.n_labels
        cdef uint64_t left
        for w in range(self.n_words):
            left = self.told[w]
            while left:
                k = 64 * w + kernels.lowest_bit(left)
                left &= left - 1
                b = self.below[k]
                while b > n_labels and self.is_at[b] != j:
                    b = self.below[b]
                self.beta[k] = max(self.beta[k], self.beta[b])
                if j == self.n_tokens:
                    self.beta[k] += self.at_end[k]
                if self.is_begun[k] != j + 1:
                    self.more[k], self.stop[k] = self.more[b], self.stop[b]

    cdef Py_ssize_t walk(self, int32_t[:, ::1] path) noexcept nogil:
        """Fill in the best segmentation, if there is one. RETURNS: its segments."""
        cdef Py_ssize_t u = 0, n = 0, at, k, y, best, n_labels = self.n_labels
        cdef Py_ssize_t last = n_labels
        cdef double* begun = &self.begun[0]
        cdef int32_t* stop = &self.stop[0]
        cdef const double* pair
        cdef double value, top
        while u < self.n_tokens:
            pair = self._fire(u)
            for at in range(self._first_of(u), self.after_listed[u]):
                k = self.listed[at]
                y = k if k < n_labels else self.last[k]
                if k == y or self.is_end(self.parent[self.node[k]], path, n):
                    begun[y], stop[y] = self.listed_score[at], self.listed_stop[at]
            best, top = 0, -INFINITY
            for y in range(n_labels):
                value = pair[y * (n_labels + 1) + last] + begun[y]
                if value > top:
                    best, top = y, value
            path[n, 0], path[n, 1], path[n, 2] = <int32_t>u, stop[best], <int32_t>best
            last, u, n = best, stop[best], n + 1
        return n
