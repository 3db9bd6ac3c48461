"""Viterbi decoding if every segment is one token and long patterns never subtract.

Scores are read only at the start of a token. Two histories differ at a boundary only if
a pattern that is active at a later token begins with one of them:

    beta[j, p] = max(beta[j, suffix(p)],
                     max over p y active at token j, or distinguished after it,
                         of pair[last(p), y] + B[j, p y])
    B[j, q]    = start[j, q] + inside[j, q] + end[j, q] + length + beta[j + 1, q]
    beta[j, y] = max(max over labels z of pair[y, z] + B[j, z], the same)

where suffix(p) is the longest proper suffix that is distinguished, or the last label;
it represents all histories that are not. Start, inside and end are scores of the last
label; start includes the scores of all suffixes of q that are active at the token.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ...simd cimport simd as kernels
from ...chart.chart cimport Chart
from ...chart.columns cimport Entry
from .events cimport Events
from .events import ROOM
from .histories cimport Histories


@cython.final
cdef class TokenSweep:
    """The best segmentation of one document, token by token."""

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1, k
        cdef Place* place
        self.histories, self.events = histories, Events(histories)
        self.n_labels = histories.n_labels
        self.depth, self.label = &histories.depth[0], &histories.label[0]
        self.first_deep = &histories.first_deep[0]
        self.n_tokens, self.n_passed = 0, 1
        depths = np.asarray(histories.depth)
        is_final = np.greater(histories.pattern_last, n - 1)
        at_end = depths[np.asarray(histories.of_pattern)[is_final]]
        self.most_told = max(histories.most_names - 1, 2, at_end.max(initial=0))
        self.first_last = np.searchsorted(depths, self.most_told + 1)
        size = max(sizeof(Place), sizeof(Follower))
        self.bytes = np.zeros((2, histories.n_nodes * size), np.uint8)
        self.places = <Place*>&self.bytes[0, 0]
        self.nodes = <Follower*>&self.bytes[1, 0]
        for k in range(histories.n_nodes):
            place = &self.places[k]
            place.suffix, place.parent = histories.suffix[k], histories.parent[k]
            place.before, place.pair_at = histories.before[k], histories.pair_at[k]
        self.active = np.zeros(histories.n_nodes)
        self.opens, self.gains, self.begun = np.empty((3, n))
        self.last = np.empty(histories.n_nodes, np.int32)
        # a list may be written one place beyond its end
        n_here = histories.n_nodes + histories.most_names + 1
        self.here = np.empty((2, n_here), np.int32)
        self.n_here = np.zeros((2, histories.most_names + 1), np.int32)
        self.betas = np.empty((0, n))
        self.after_listed = np.empty(0, np.int64)
        self.listed, self.listed_beta = np.empty(0, np.int32), np.empty(0)

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials):
        """Take a document of tokens without cells; see `Events.load`."""
        self.n_passed += self.n_tokens + 1
        self.n_tokens = chart.n_tokens
        if chart.cells.n_cells or not self.events.load(chart, entries, potentials):
            return False
        self._make_room()
        return True

    cdef forget(self):
        self.events.forget()

    cdef _make_room(self):
        cdef Py_ssize_t n = self.n_tokens, size
        if self.betas.shape[0] <= n + 1:
            self.betas = np.empty((n + ROOM, self.n_labels + 1))
            self.after_listed = np.empty(n + ROOM, np.int64)
        # an entry needs its history at as many boundaries as it has names, a pattern
        # without one at all of them
        size = self.events.entries.shape[0] * self.histories.most_names
        size += (n + 1) * self.events.n_marked
        if self.listed.shape[0] < size:
            size += ROOM
            self.listed, self.listed_beta = np.empty(size, np.int32), np.empty(size)

    cdef Py_ssize_t size(self):
        """About how many numbers the arrays have."""
        return 2 * self.listed.shape[0] + self.betas.size + 9 * self.histories.n_nodes

    cdef double sweep(self, Chart chart) noexcept nogil:
        cdef Py_ssize_t i, width = self.n_labels + 1
        cdef const double* pair
        self._tell_apart_at_end()
        for i in range(self.n_tokens - 1, -1, -1):
            pair = self.events.pairs_at(i)
            self._activate(i)
            self._score_labels(chart, i)
            self.betas[i, :] = -INFINITY
            kernels.relax_max(
                pair, &self.begun[0], self.n_labels, width, &self.betas[i, 0]
            )
            self._begin_longer(i, pair)
            self._begin_last(i, pair)
            self._inherit(i)
        return self.betas[0, self.n_labels]

    cdef void _tell_apart_at_end(self) noexcept nogil:
        """What a pattern with $ begins with, at the last boundary."""
        cdef Py_ssize_t m, n = self.n_tokens
        self.n_listed = self.after_listed[n + 1] = 0
        self.n_here[:, :] = 0
        self.betas[n, :] = self.events.pair[self.n_labels, :]
        for m in range(self.events.n_weighted):
            if self.events.final_weight[self.events.weighted[m]] > 0.0:
                self._tell_apart(self.events.weighted[m], n, -INFINITY)
        self._inherit(n)

    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        """Add to the histories that are active, or told apart, at a boundary."""
        cdef Py_ssize_t depth = self.depth[k]
        cdef int32_t* n_here = &self.n_here[j & 1, depth]
        self.here[j & 1, self.first_deep[depth] + n_here[0]] = <int32_t>k
        n_here[0] += 1

    cdef inline void _tell_apart(
        self, Py_ssize_t k, Py_ssize_t j, double value
    ) noexcept nogil:
        """At a boundary, where something of this value may follow."""
        cdef Follower* one = &self.nodes[k]
        if one.apart_at != self.n_passed + j:
            one.apart_at, one.beta = self.n_passed + j, value
            self._put(k, j)
        elif value > one.beta:
            one.beta = value

    cdef inline void _add(
        self, Py_ssize_t k, double score, Py_ssize_t j
    ) noexcept nogil:
        """To the active entries of a history before a boundary."""
        if self.active[k] == 0.0:
            if k >= self.first_last:
                self.last[self.n_last] = <int32_t>k
                self.n_last += 1
            elif self.nodes[k].apart_at != self.n_passed + j:
                self._put(k, j)
        self.active[k] += score

    cdef void _activate(self, Py_ssize_t i) noexcept nogil:
        """Add up active entries and weights of long patterns at a token."""
        cdef Py_ssize_t e, m, node, j = i + 1, n_labels = self.n_labels
        cdef const int32_t* of_observed = &self.histories.of_observed[0]
        cdef const Entry* entry
        self.n_last = 0
        for m in range(self.events.n_weighted):
            node = self.events.weighted[m]
            if self.events.weight[node] > 0.0:
                self._add(node, self.events.weight[node], j)
        for e in range(self.events.first[i], self.events.first[j]):
            entry = &self.events.entries[e]
            if entry.column < n_labels or entry.score == 0.0:
                continue
            node = of_observed[entry.column - n_labels]
            if node >= self.histories.first_long:
                self._add(node, entry.score, j)

    cdef void _score_labels(self, Chart chart, Py_ssize_t i) noexcept nogil:
        """What labels bring at a token, and B: that and what follows."""
        cdef Py_ssize_t y
        cdef const double* first = &chart.first[i, 0]
        cdef const double* end = &chart.end[i, 0]
        cdef const double* length = &chart.length_backwards[0]
        cdef const double* behind = &self.betas[i + 1, 0]
        cdef double* opens = &self.opens[0]
        cdef double* begun = &self.begun[0]
        for y in range(self.n_labels):
            opens[y] = first[y] + length[y] + end[y]
            begun[y] = opens[y] + behind[y]

    cdef void _begin_longer(self, Py_ssize_t i, const double* pair) noexcept nogil:
        """B of histories, and beta before them."""
        cdef Py_ssize_t t, k, depth, first, other, j = i + 1, n_labels = self.n_labels
        cdef int64_t now = self.n_passed + j
        cdef int32_t* n_here = &self.n_here[j & 1, 0]
        cdef const int32_t* here = &self.here[j & 1, 0]
        cdef const int32_t* label = self.label
        cdef const double* opens = &self.opens[0]
        cdef double* beta = &self.betas[i, 0]
        cdef const Place* place
        cdef Follower* one
        cdef double value
        for depth in range(2, self.most_told + 1):
            first = self.first_deep[depth]
            for t in range(first, first + n_here[depth]):
                k = here[t]
                place, one = &self.places[k], &self.nodes[k]
                one.gain, one.begun_at = self.active[k], now
                other = place.suffix
                while other > n_labels and self.nodes[other].begun_at != now:
                    other = self.places[other].suffix
                if other > n_labels:
                    one.begun = self.nodes[other].begun + one.gain
                    one.gain += self.nodes[other].gain
                else:
                    one.begun = self.begun[other] + one.gain
                if one.apart_at == now:
                    one.begun = opens[label[k]] + (one.gain + one.beta)
                self.active[k] = 0.0
                value = pair[place.pair_at] + one.begun
                # all that follows a label alone is known after the first depth
                if depth == 2:
                    beta[place.parent] = max(beta[place.parent], value)
                elif value > beta[place.before]:
                    self._tell_apart(place.parent, i, value)
            n_here[depth] = 0

    cdef void _begin_last(self, Py_ssize_t i, const double* pair) noexcept nogil:
        """The same for histories with more names than any that is told apart."""
        cdef Py_ssize_t t, k, other, n_labels = self.n_labels
        cdef int64_t now = self.n_passed + i + 1
        cdef const int32_t* last = &self.last[0]
        cdef const double* begun = &self.begun[0]
        cdef const double* beta = &self.betas[i, 0]
        cdef double* active = &self.active[0]
        cdef const Place* places = self.places
        cdef const Follower* nodes = self.nodes
        cdef double value
        for t in range(self.n_last):
            k = last[t]
            other = places[k].suffix
            while other > n_labels and nodes[other].begun_at != now:
                other = places[other].suffix
            value = begun[other] if other < n_labels else nodes[other].begun
            value = pair[places[k].pair_at] + (value + active[k])
            active[k] = 0.0
            if value > beta[places[k].before]:
                self._tell_apart(places[k].parent, i, value)

    cdef void _inherit(self, Py_ssize_t j) noexcept nogil:
        """beta is that of a suffix, where that is better; it is listed."""
        cdef Py_ssize_t t, depth, first, b, k, n_labels = self.n_labels
        cdef int64_t now = self.n_passed + j
        cdef Follower* nodes = self.nodes
        cdef Follower* one
        cdef double value
        for depth in range(2, self.most_told + 1):
            first = self.first_deep[depth]
            for t in range(first, first + self.n_here[j & 1, depth]):
                k = self.here[j & 1, t]
                one = nodes + k
                b = self.places[k].suffix
                while b > n_labels and nodes[b].apart_at != now:
                    b = self.places[b].suffix
                value = self.betas[j, b] if b < n_labels else nodes[b].beta
                one.beta = value if value > one.beta else one.beta
                if j == self.n_tokens:
                    one.beta += self.events.final_weight[k]
                self.listed[self.n_listed] = <int32_t>k
                self.listed_beta[self.n_listed] = one.beta
                self.n_listed += 1
        self.after_listed[j] = self.n_listed

    cdef Py_ssize_t walk(self, Chart chart, int32_t[:, ::1] path) noexcept nogil:
        cdef Py_ssize_t u, t, y, e, m, node, best, n_labels = self.n_labels
        cdef Py_ssize_t last = n_labels, width = n_labels + 1
        cdef Py_ssize_t stride = path.shape[1]
        cdef const int32_t* labels = &path[0, 2] if self.n_tokens else NULL
        cdef const Entry* entry
        cdef const int32_t* before = &self.histories.before[0]
        cdef const int32_t* parent = &self.histories.parent[0]
        cdef const int32_t* of_observed = &self.histories.of_observed[0]
        cdef const double* pair
        cdef double* begun = &self.begun[0]
        cdef double* gains = &self.gains[0]
        cdef double value, top
        for u in range(self.n_tokens):
            pair = self.events.pairs_at(u)
            self._score_labels(chart, u)
            self.gains[:] = 0.0
            for t in range(self.after_listed[u + 2], self.after_listed[u + 1]):
                node, y = self.listed[t], self.label[self.listed[t]]
                if before[node] == last:
                    if self.histories.is_end(parent[node], labels, stride, u):
                        begun[y] = max(begun[y], self.opens[y] + self.listed_beta[t])
            for m in range(self.events.n_weighted):
                node = self.events.weighted[m]
                if before[node] == last:
                    if self.histories.is_end(parent[node], labels, stride, u):
                        gains[self.label[node]] += self.events.weight[node]
            for e in range(self.events.first[u], self.events.first[u + 1]):
                entry = &self.events.entries[e]
                if entry.column < n_labels:
                    continue
                node = of_observed[entry.column - n_labels]
                if before[node] == last and node >= self.histories.first_long:
                    if self.histories.is_end(parent[node], labels, stride, u):
                        gains[self.label[node]] += entry.score
            best, top = 0, -INFINITY
            for y in range(n_labels):
                value = pair[y * width + last] + (begun[y] + gains[y])
                if value > top:
                    best, top = y, value
            path[u, 0], path[u, 1] = <int32_t>u, <int32_t>(u + 1)
            path[u, 2] = <int32_t>best
            last = best
        return self.n_tokens
