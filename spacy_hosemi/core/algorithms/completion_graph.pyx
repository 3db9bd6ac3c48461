"""Detours from the best completions of a document: what `kbest` searches.

Segmentations are the paths of a graph. Its nodes are the boundaries between segments,
by state, where label and end of a segment are chosen, and the boundaries that a segment
passes beyond its horizon, where it ends or goes on. The backward sweep has the score of
the best completion of each node. A path is told by its *detours* (Eppstein 1998): the
nodes where it takes another option than the best one. Each costs the difference of what
the two options are worth, so the cheapest sets of detours are the best paths.

Each node has a heap of the detours on its best completion. It is the heap of the next
node with one detour more; the two share all entries but O(log n). Where paths meet they
share nodes and heaps.
"""

from operator import itemgetter

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..sweeps.backward cimport swept


cdef class CompletionGraph:
    """The nodes that some path has come to, within a segment or between two, their best
    completions and their heaps."""

    def __cinit__(self, *args):
        self.boundary = self.state = self.label = self.next = self.after = None
        self.is_within = self.heap = self.detour = self.worth = None
        self.cost = self.node = self.left = self.right = self.depth = None

    def __init__(self, automaton, potentials, constraints):
        cdef Py_ssize_t n_labels, n_ends
        self.backward = swept(automaton, potentials, constraints, maximum=True)
        self.chart = self.backward.chart
        n_labels, n_ends = self.chart.n_labels, self.chart.cells.reach + 1
        self.value = np.empty(n_labels * n_ends)
        self.first = np.empty(n_labels + 1, np.int32)
        self.node_of, self.segments, self.options = {}, [], []
        self.n_nodes = self.n_entries = 0
        self._make_room(self.chart.n_tokens + 1, 0)
        if self.backward.total > -INFINITY:
            self._node_at(0, 0, False)

    # nodes

    cdef _make_room(self, Py_ssize_t n_nodes, Py_ssize_t n_entries):
        """For that many nodes and entries."""
        if self.boundary is None or n_nodes > self.boundary.shape[0]:
            n_nodes *= 2
            self.boundary = _grown(self.boundary, n_nodes, np.int32)
            self.state = _grown(self.state, n_nodes, np.int32)
            self.label = _grown(self.label, n_nodes, np.int32)
            self.is_within = _grown(self.is_within, n_nodes, np.uint8)
            self.next = _grown(self.next, n_nodes, np.int32)
            self.after = _grown(self.after, n_nodes, np.int32)
            self.heap = _grown(self.heap, n_nodes, np.int32)
            self.detour = _grown(self.detour, n_nodes, np.float64)
            self.worth = _grown(self.worth, n_nodes, np.float64)
        if self.cost is None or n_entries > self.cost.shape[0]:
            n_entries = 2 * n_entries + 64
            self.cost = _grown(self.cost, n_entries, np.float64)
            self.node = _grown(self.node, n_entries, np.int32)
            self.left = _grown(self.left, n_entries, np.int32)
            self.right = _grown(self.right, n_entries, np.int32)
            self.depth = _grown(self.depth, n_entries, np.int32)

    cdef Py_ssize_t _node_at(self, Py_ssize_t u, Py_ssize_t state, bint is_within):
        """The node there; with it come those that its best completion passes."""
        cdef Py_ssize_t first = self.n_nodes, node
        known = self.node_of.get(self._key(u, state, is_within))
        while known is None:
            node = self._add_node(u, state, is_within)
            if u == self.chart.n_tokens and not is_within:
                self.next[node] = -1
                break
            if is_within:
                is_within = self._goes_on(node)
                u += is_within
            else:
                u, state, is_within = self._choose(node)
            known = self.node_of.get(self._key(u, state, is_within))
            self.next[node] = self.n_nodes if known is None else known
        if first == self.n_nodes:
            return known
        for node in range(self.n_nodes - 1, first - 1, -1):
            self._complete(node)
        return first

    cdef object _key(self, Py_ssize_t u, Py_ssize_t state, bint is_within):
        return (2 * u + is_within) * self.chart.n_states + state

    cdef Py_ssize_t _add_node(self, Py_ssize_t u, Py_ssize_t state, bint is_within):
        cdef Py_ssize_t node = self.n_nodes
        self._make_room(node + 1, self.n_entries)
        self.node_of[self._key(u, state, is_within)] = node
        self.boundary[node], self.state[node] = <int32_t>u, <int32_t>state
        self.is_within[node], self.detour[node] = is_within, INFINITY
        self.segments.append(None)
        self.options.append(None)
        self.n_nodes += 1
        return node

    cdef bint _goes_on(self, Py_ssize_t node):
        """Whether a segment that passes the node had better go on than end there."""
        cdef Py_ssize_t j = self.boundary[node], q = self.state[node]
        cdef Py_ssize_t g = self.chart.layout.state_group[q]
        cdef double best = self.backward.rests[j, q], other = -INFINITY
        if j < self.chart.n_tokens:
            other = self.chart.more[j, g] + self.chart.tail[g]
            other += self.backward.rests[j + 1, q]
        cdef bint goes_on = other == best
        if goes_on:
            other = self.chart.end[j - 1, g] + self.backward.best_from(j, q)
        self.detour[node] = best - other
        return goes_on

    cdef tuple _choose(self, Py_ssize_t node):
        """Returns boundary, state and kind of the node after the best segment."""
        cdef Py_ssize_t u = self.boundary[node], i, y, q, best
        cdef double worth
        self._set_values(u, self.state[node])
        q = self.backward.best_after(u, self.state[node], &worth)
        y = self.backward.label_of(q)
        best = self.first[y]
        for i in range(best, self.first[y + 1]):
            if self.value[i] >= self.value[best]:
                best = i
        for i in range(self.first[self.chart.n_labels]):
            if i != best and self.value[i] > -INFINITY:
                self.detour[node] = min(
                    self.detour[node], self.value[best] - self.value[i]
                )
        self.label[node] = <int32_t>y
        return self._leads_to(u, q, best - self.first[y] + 1)

    cdef tuple _leads_to(self, Py_ssize_t u, Py_ssize_t q, Py_ssize_t d):
        """Boundary and state of the node behind d tokens, and whether it is within a
        segment that goes on."""
        return u + d, q, d > self.chart.horizon(u, self.chart.layout.state_group[q])

    cdef void _set_values(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil:
        """What the segments from there and all behind them are worth."""
        cdef Py_ssize_t y, i, d, n
        cdef double[::1] value = self.backward.from_start
        self.backward.follow(state)
        i = 0
        for y in range(self.chart.n_labels):
            self.first[y] = <int32_t>i
            if self.backward.target[y] < 0:
                continue
            n = self.backward.ends_from(u, self.backward.target[y], value)
            for d in range(n):
                self.value[i] = value[d] + self.backward.weight_of[y]
                i += 1
        self.first[self.chart.n_labels] = <int32_t>i

    cdef _complete(self, Py_ssize_t node):
        """The rest of a node, once there is the next one of its best completion."""
        cdef Py_ssize_t u = self.boundary[node], next = self.next[node], j
        self.heap[node] = self.after[node] = -1
        if next < 0:
            return
        self.after[node] = self.after[next] if self.is_within[next] else next
        self.heap[node] = self.heap[next]
        if self.detour[node] < INFINITY:
            self._make_room(self.n_nodes, self.n_entries + 64)
            self.heap[node] = self._insert(self.heap[next], self.detour[node], node)
        if not self.is_within[node]:
            next = self.after[node]
            j = self.boundary[next]
            self.segments[node] = u, j, self.label[node]
            self.worth[node] = self._worth(
                u, j, self.label[node], self.state[node], self.state[next]
            )

    cdef double _worth(
        self,
        Py_ssize_t u,
        Py_ssize_t j,
        Py_ssize_t y,
        Py_ssize_t before,
        Py_ssize_t q,
    ) noexcept nogil:
        """The score of a segment from state `before` to q, patterns included."""
        cdef Py_ssize_t g = self.chart.layout.state_group[q]
        self.backward.follow(before)
        return self.backward.weight_of[y] + self.chart.segment_score(u, j, g)

    # heaps

    cdef int32_t _insert(
        self, Py_ssize_t top, double cost, Py_ssize_t node
    ) noexcept nogil:
        """A heap with one entry more; the given one stays as it is (a leftist heap,
        Crane 1972). There is room. RETURNS: its top entry."""
        cdef int32_t made = <int32_t>self.n_entries, other
        self.n_entries += 1
        if top < 0 or cost <= self.cost[top]:
            self.cost[made], self.node[made] = cost, <int32_t>node
            self.left[made], self.right[made] = <int32_t>top, -1
        else:
            self.cost[made], self.node[made] = self.cost[top], self.node[top]
            self.left[made] = self.left[top]
            other = self._insert(self.right[top], cost, node)
            self.right[made] = other
            if self._depth(other) > self._depth(self.left[made]):
                self.right[made], self.left[made] = self.left[made], other
        self.depth[made] = self._depth(self.right[made]) + 1
        return made

    cdef int32_t _depth(self, Py_ssize_t entry) noexcept nogil:
        """How many entries lie from one to the right end, with it."""
        return self.depth[entry] if entry >= 0 else 0

    # options

    cdef tuple option(self, Py_ssize_t node, Py_ssize_t rank, Py_ssize_t k):
        """Returns the detour of a rank among the k cheapest ones: the node that it
        leads to, and label."""
        if self.options[node] is None:
            self.options[node] = self._options(node)[:k]
        _, label, end, state, is_within = self.options[node][rank]
        return self._node_at(end, state, is_within), label

    cdef double option_cost(self, Py_ssize_t node, Py_ssize_t rank):
        """What a detour costs at a node that `option` has been asked for; inf: there is
        none."""
        cdef list options = self.options[node]
        return options[rank][0] if rank < len(options) else INFINITY

    cdef list _options(self, Py_ssize_t node):
        cdef Py_ssize_t u = self.boundary[node], state = self.state[node], y, i, best
        cdef Py_ssize_t next = self.next[node]
        if self.is_within[node]:
            if self.is_within[next]:
                return [(self.detour[node], -1, u, state, False)]
            return [(self.detour[node], -1, u + 1, state, True)]
        self._set_values(u, state)
        y, best = self.label[node], self.boundary[next] - u - 1
        best += self.first[y]
        found = []
        for y in range(self.chart.n_labels):
            for i in range(self.first[y + 1] - 1, self.first[y] - 1, -1):
                if i != best and self.value[i] > -INFINITY:
                    cost = self.value[best] - self.value[i]
                    q, d = self.backward.target[y], i - self.first[y] + 1
                    found.append((cost, y, *self._leads_to(u, q, d)))
        return sorted(found, key=itemgetter(0))

    # paths

    cdef tuple path(self, tuple taken):
        """Returns a segmentation from left to right and its score. `taken`: detours
        before, node, the node that it leads to and label; or ()."""
        cdef list detours = []
        cdef Py_ssize_t at = 0, node, target, label
        while taken:
            detours.append(taken)
            taken = taken[0]
        self.found, self.total = [], 0.0
        for _, node, target, label in reversed(detours):
            if self.is_within[at] and not self._passes(at, node):
                at = self._end(self.after[at])
            if not self.is_within[at]:
                at = self._follow(at, self.boundary[node] - self.is_within[node])
                self._begin(at, self.label[at] if self.is_within[node] else label)
            at = target
            if not self.is_within[at]:
                self._end(at)
        if self.is_within[at]:
            at = self._end(self.after[at])
        at = self._follow(at, self.chart.n_tokens)
        return self.found, self.total + self.chart.final_weight(self.state[at])

    cdef bint _passes(self, Py_ssize_t at, Py_ssize_t node):
        """Whether a segment on its best completion passes another node within it."""
        if not self.is_within[node]:
            return False
        return self.boundary[node] <= self.boundary[self.after[at]]

    cdef Py_ssize_t _follow(self, Py_ssize_t at, Py_ssize_t boundary):
        """Add the segments of a best completion that end there or before."""
        while self.after[at] >= 0 and self.boundary[self.after[at]] <= boundary:
            self.found.append(self.segments[at])
            self.total += self.worth[at]
            at = self.after[at]
        return at

    cdef void _begin(self, Py_ssize_t at, Py_ssize_t label) noexcept nogil:
        self.begin, self.begun_as = self.boundary[at], label
        self.begun_in = self.state[at]

    cdef Py_ssize_t _end(self, Py_ssize_t at):
        """Add the segment that was begun."""
        cdef Py_ssize_t u = self.begin, j = self.boundary[at], y = self.begun_as
        self.found.append((u, j, y))
        self.total += self._worth(u, j, y, self.begun_in, self.state[at])
        return at


def _grown(array, size, dtype):
    """RETURNS (dtype [size]): With what is in an array, or None, at the beginning."""
    found = np.empty(size, dtype)
    if array is not None:
        found[: len(array)] = array
    return found
