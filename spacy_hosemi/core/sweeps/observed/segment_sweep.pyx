"""`firing` where a segment may have many tokens.

Let a segment of d tokens have the weight length + (d - 1) tail. Then a history is told
apart at a boundary where a pattern that has a score farther on begins with it, or
within a segment that reads, farther on, what it completes:

    beta[j, p] = max(beta[j, suffix(p)],
                     max over p y told apart at j of pair[last(p), y] + B[j, p y])
    T[j, q]    = max(end[j - 1, q] + beta[j, q],
                     inside[j, q] + tail + T[j + 1, q])   the segment covers token j - 1
    B[j, q]    = start[j, q] + inside[j, q] + length + T[j + 1, q]
    beta[j, y] = max(max over labels z of pair[y, z] + B[j, z], the same)

where suffix(p) is the longest proper suffix that is told apart, or the last label, and
start, inside and end are those of the label and of all patterns that are suffixes of q.
A pattern that is read at the start of segments alone splits none of them: it is an arc
that only some tokens have. Histories are told apart at all boundaries up to the last
that asks. Those of a token are listed, short before long, so that the others cost
nothing there; and so is what is begun, behind what begins farther on. A pair that is
read farther on than at the start is told apart as long, and what has it as a suffix
never falls below it.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from ...simd cimport simd as kernels
from ...chart.chart cimport Chart
from ...chart.columns cimport Entry
from .events cimport END, INSIDE, START, Firings
from .events import ROOM
from .histories cimport Histories

# A pair that is read to the end of segments takes as long as so many patterns.
cdef Py_ssize_t COSTS = 3


@cython.final
cdef class SegmentFirings(Firings):
    """What fires in one document, and which histories that tells apart.

    histories (Histories): Of the automaton.
    """

    def __init__(self, Histories histories):
        cdef Py_ssize_t n = histories.n_labels + 1, k
        cdef History* one
        Firings.__init__(self, histories)
        self.opens, self.goes_on, self.beta = np.empty((3, n))
        self.bytes = np.zeros(self.n_nodes * sizeof(History), np.uint8)
        self.nodes = <History*>&self.bytes[0]
        for k in range(self.n_nodes):
            one = &self.nodes[k]
            one.suffix, one.parent = self.suffix[k], self.parent[k]
            one.label, one.pair_at = self.label[k], self.pair_at[k]
            one.depth, one.is_inner = self.depth[k], self.is_inner[k]
        self.listed_stop, self.listed_score = np.empty(0, np.int32), np.empty(0)

    cdef bint load(self, Chart chart, const Entry[::1] entries, potentials):
        self.tail = chart.tail
        return Firings.load(self, chart, entries, potentials)

    cdef forget(self):
        self.tail = None
        Firings.forget(self)

    cdef _make_room(self):
        cdef Py_ssize_t size = self.n_tokens * (self.n_labels + self.n_marked)
        if self.after_listed.shape[0] <= self.n_tokens:
            self.after_listed = np.empty(self.n_tokens + ROOM, np.int64)
        # at all tokens each label, and all histories that the document has
        if self.listed.shape[0] < size:
            size += ROOM
            self.listed, self.listed_stop = np.empty((2, size), np.int32)
            self.listed_score = np.empty(size)

    cdef Py_ssize_t room(self):
        return 2 * self.listed.shape[0] + 20 * self.n_nodes

    cdef void _forget_steady(self) noexcept nogil:
        cdef Py_ssize_t m
        for m in range(self.n_steady):
            self.nodes[self.steady[m]].always = 0.0
            self.nodes[self.steady[m]].at_end = 0.0

    cdef void _keep_steady(
        self, Py_ssize_t node, double weight, bint is_end
    ) noexcept nogil:
        if is_end:
            self.nodes[node].at_end = weight
            self._mark_inner(node)
        else:
            self.nodes[node].always = weight

    cdef bint _find(self) noexcept nogil:
        cdef Py_ssize_t e, node, role, n_labels = self.n_labels
        cdef Py_ssize_t most = n_labels * n_labels
        cdef const Entry* entry
        cdef bint is_long
        self.n_read, self.has_pairs = 0, False
        for e in range(self.entries.shape[0]):
            entry = &self.entries[e]
            if entry.column < n_labels or entry.score == 0.0:
                continue
            node = self.of_observed[entry.column - n_labels]
            is_long = self.parent[node] > n_labels
            if is_long and entry.score < 0.0:
                return False
            role = self._role(entry, node)
            if not is_long and role == START:
                self.has_pairs = True
                continue
            self._mark(node)
            if role == START:
                continue
            self._mark_inner(node)
            if not is_long and self.nodes[node].marked_read != self.n_documents:
                self.nodes[node].marked_read = self.n_documents
                self.n_read += 1
                if self.has_bounded_gap and self.n_steady + COSTS * self.n_read > most:
                    return False
        return True

    cdef inline Py_ssize_t _role(
        self, const Entry* entry, Py_ssize_t node
    ) noexcept nogil:
        """Where a label has one token, that is all."""
        return entry.role if self.tail[self.label[node]] > -INFINITY else START

    cdef void _mark_inner(self, Py_ssize_t node) noexcept nogil:
        """A node that is told apart itself, and the suffixes that it falls back on."""
        cdef History* one = &self.nodes[node]
        while node > self.n_labels and one.marked_inner != self.n_documents:
            one.marked_inner = self.n_documents
            node = one.suffix
            one = &self.nodes[node]

    cdef double sweep(self, Chart chart) noexcept nogil:
        cdef Py_ssize_t i
        cdef const double* pair
        self.n_listed = self.after_listed[self.n_tokens] = 0
        self._end()
        for i in range(self.n_tokens - 1, -1, -1):
            pair = self._pairs(i)
            self._fire(i)
            self._begin(chart, i)
            self._begin_longer(chart, i, pair)
            self.after_listed[i] = self.n_listed
            self._close(i, pair)
        return self.beta[self.n_labels]

    cdef inline int64_t _at(self, Py_ssize_t j) noexcept nogil:
        """Of a boundary, in all documents so far."""
        return self.n_passed + j

    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        """Among the histories that begin at the token before a boundary, if they are
        told apart there, or complete."""
        cdef History* one = &self.nodes[k]
        cdef int32_t* n_here = &self.n_here[j % 2, one.depth]
        self.here[j % 2, self.first_deep[one.depth] + n_here[0]] = <int32_t>k
        n_here[0] += one.is_here != self._at(j)
        one.is_here = self._at(j)

    cdef inline void _tell_apart(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil:
        """At a boundary, within a segment or behind it."""
        cdef History* one = &self.nodes[k]
        if one.is_at != self._at(j):
            one.is_at, one.beta = self._at(j), -INFINITY
            self._put(k, j)

    cdef inline void _list(
        self, Py_ssize_t k, double score, int32_t stop
    ) noexcept nogil:
        """What is begun with a history."""
        cdef Py_ssize_t at = self.n_listed
        self.listed[at], self.listed_stop[at] = <int32_t>k, stop
        self.listed_score[at] = score
        self.n_listed += 1

    cdef void _end(self) noexcept nogil:
        """beta of the last boundary."""
        cdef Py_ssize_t k, m, n = self.n_tokens, n_labels = self.n_labels
        self.n_here[:, :] = 0
        for k in range(n_labels + 1):
            self.beta[k] = self.pair[n_labels, k]
            self.nodes[k].more, self.nodes[k].stop = -INFINITY, <int32_t>n
        self._fire_ends(n)
        for m in range(self.n_steady):
            if self.nodes[self.steady[m]].at_end > 0.0:
                self._tell_apart(self.steady[m], n)
        self._fall(n)

    cdef void _fire(self, Py_ssize_t i) noexcept nogil:
        """What is complete at a token."""
        cdef Py_ssize_t e, m, node, role, j = i + 1
        cdef const Entry* entry
        for m in range(self.n_steady):
            if self.nodes[self.steady[m]].always > 0.0:
                self._put(self.steady[m], j)
        for e in range(self.first_event[i], self.first_event[j]):
            entry = &self.entries[e]
            if entry.column < self.n_labels or entry.score == 0.0:
                continue
            node = self.of_observed[entry.column - self.n_labels]
            role = self._role(entry, node)
            if role == START and self.parent[node] > self.n_labels:
                self._put(node, j)
                self.nodes[node].fired += entry.score
            elif role == INSIDE:
                self._put(node, j)
                self.nodes[node].fired_inside += entry.score

    cdef void _fire_ends(self, Py_ssize_t j) noexcept nogil:
        """What fires if a segment ends at a boundary."""
        cdef Py_ssize_t e, node
        cdef const Entry* entry
        if j == 0:
            return
        for e in range(self.first_event[j - 1], self.first_event[j]):
            entry = &self.entries[e]
            if entry.role != END or entry.column < self.n_labels or entry.score == 0.0:
                continue
            node = self.of_observed[entry.column - self.n_labels]
            if self._role(entry, node) == END:
                self._tell_apart(node, j)
                self.nodes[node].fired_end += entry.score

    cdef void _begin(self, Chart chart, Py_ssize_t i) noexcept nogil:
        """T of labels at the boundary behind a token, and B before it."""
        cdef Py_ssize_t y, j = i + 1
        cdef int64_t now = self._at(j)
        cdef History* one
        cdef const double* first = &chart.first[i, 0]
        cdef const double* inside = &chart.more[i, 0]
        cdef const double* end = &chart.end[i, 0]
        cdef const double* length = &chart.length_backwards[0]
        cdef const double* tail = &self.tail[0]
        cdef double* opens = &self.opens[0]
        cdef double* goes_on = &self.goes_on[0]
        cdef double* begun = &self.begun[0]
        cdef double* beta = &self.beta[0]
        cdef double value
        for y in range(self.n_labels):
            one = &self.nodes[y]
            value = end[y] + beta[y]
            if one.more >= value:
                value = one.more
            else:
                one.stop = <int32_t>j
            opens[y], goes_on[y] = first[y] + length[y], inside[y] + tail[y]
            begun[y] = one.begun = opens[y] + value
            one.rest, one.more = value, goes_on[y] + value
            beta[y], one.is_begun = -INFINITY, now
            self._list(y, begun[y], one.stop)
        beta[self.n_labels] = -INFINITY

    cdef void _begin_longer(
        self, Chart chart, Py_ssize_t i, const double* pair
    ) noexcept nogil:
        """The same for the histories of a token; leaves are never read farther on."""
        cdef Py_ssize_t t, depth, j = i + 1
        cdef int64_t now = self._at(j)
        cdef const double* end = &chart.end[i, 0]
        cdef const int32_t* here
        cdef int32_t* n_here = &self.n_here[j % 2, 0]
        cdef History* nodes = self.nodes
        cdef History* one
        cdef History* other
        cdef double* beta
        cdef double value
        for depth in range(2, self.most_names + 1):
            here = &self.here[j % 2, self.first_deep[depth]]
            for t in range(n_here[depth]):
                one = nodes + here[t]
                other = nodes + one.suffix
                while other.is_begun != now:
                    other = nodes + other.suffix
                one.is_begun = now
                if one.is_inner or one.marked_inner == self.n_documents:
                    if self._begin_inner(one, other, end[one.label], j):
                        self._tell_apart(here[t], i)
                else:
                    one.begun = other.begun + (one.always + one.fired)
                    one.stop = other.stop
                one.fired = 0.0
                if depth == 2:
                    beta = &self.beta[one.parent]
                else:
                    self._tell_apart(one.parent, i)
                    beta = &nodes[one.parent].beta
                value = pair[one.pair_at] + one.begun
                beta[0] = value if value > beta[0] else beta[0]
                self._list(here[t], one.begun, one.stop)
            n_here[depth] = 0

    cdef inline bint _begin_inner(
        self, History* one, const History* other, double end, Py_ssize_t j
    ) noexcept nogil:
        """One that may be told apart; other: the longest of its suffixes that are.
        RETURNS: whether it is told apart before the token, too."""
        cdef Py_ssize_t y = one.label
        cdef double value
        cdef bint is_at = one.is_at == self._at(j), reads = one.fired_inside != 0.0
        one.gain = other.gain + (one.always + one.fired)
        one.gain_inside = other.gain_inside + one.fired_inside
        one.gain_end = other.gain_end + one.fired_end
        if not is_at:
            one.rest, one.stop = other.rest, other.stop
        else:
            value = end + one.gain_end + one.beta
            one.rest = one.more
            if not one.more >= value:
                one.rest, one.stop = value, <int32_t>j
        value = one.gain_inside + one.rest
        one.begun = self.opens[y] + (one.gain + value)
        one.more = self.goes_on[y] + value
        one.fired_inside = one.fired_end = 0.0
        return (is_at or reads) and self.goes_on[y] > -INFINITY

    cdef void _close(self, Py_ssize_t i, const double* pair) noexcept nogil:
        """beta of the boundary before a token."""
        cdef Py_ssize_t at, k, width = self.n_labels + 1
        at = self._first_of(i) + self.n_labels if self.n_read else self.n_listed
        for at in range(at, self.n_listed):
            k = self.listed[at]
            # what a segment reads to its end may be below 0
            if self.nodes[k].marked_read == self.n_documents:
                if pair == &self.pair[0, 0]:
                    self.pair_here[:, :] = self.pair
                    pair = &self.pair_here[0, 0]
                self.pair_here[self.label[k], self.parent[k]] = -INFINITY
        kernels.relax_max(pair, &self.begun[0], self.n_labels, width, &self.beta[0])
        self._fire_ends(i)
        self._fall(i)

    cdef inline Py_ssize_t _first_of(self, Py_ssize_t i) noexcept nogil:
        """Where the list of a token begins: the labels, then histories."""
        return self.after_listed[i + 1]

    cdef void _fall(self, Py_ssize_t j) noexcept nogil:
        """beta and T are those of a suffix, where nothing else is known."""
        cdef Py_ssize_t t, b, depth, first, n_labels = self.n_labels
        cdef int64_t now = self._at(j), behind = self._at(j + 1)
        cdef History* nodes = self.nodes
        cdef History* one
        cdef double value
        for depth in range(2, self.most_names + 1):
            first = self.first_deep[depth]
            for t in range(first, first + self.n_here[j % 2, depth]):
                one = nodes + self.here[j % 2, t]
                b = one.suffix
                while b > n_labels and nodes[b].is_at != now:
                    b = nodes[b].suffix
                value = self.beta[b] if b < n_labels else nodes[b].beta
                one.beta = value if value > one.beta else one.beta
                if j == self.n_tokens:
                    one.beta += one.at_end
                if one.is_begun != behind:
                    one.more, one.stop = nodes[b].more, nodes[b].stop

    cdef Py_ssize_t walk(self, Chart chart, int32_t[:, ::1] path) noexcept nogil:
        cdef Py_ssize_t u = 0, n = 0, at, y, best, n_labels = self.n_labels
        cdef Py_ssize_t last = n_labels
        cdef const int32_t* labels = &path[0, 2] if self.n_tokens else NULL
        cdef History* nodes = self.nodes
        cdef const History* one
        cdef double* begun = &self.begun[0]
        cdef const double* pair
        cdef double value, top
        while u < self.n_tokens:
            pair = self._pairs(u)
            at = self._first_of(u)
            for y in range(n_labels):
                begun[y] = self.listed_score[at + y]
                nodes[y].stop = self.listed_stop[at + y]
            for at in range(at + n_labels, self.after_listed[u]):
                one = nodes + self.listed[at]
                if nodes[one.parent].label != last:
                    continue
                if self.is_end(one.parent, labels, path.shape[1], n):
                    begun[one.label] = self.listed_score[at]
                    nodes[one.label].stop = self.listed_stop[at]
            best, top = 0, -INFINITY
            for y in range(n_labels):
                value = pair[y * (n_labels + 1) + last] + begun[y]
                if value > top:
                    best, top = y, value
            path[n, 0], path[n, 2] = <int32_t>u, <int32_t>best
            path[n, 1] = nodes[best].stop
            last, u, n = best, nodes[best].stop, n + 1
        return n
