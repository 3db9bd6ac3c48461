"""The graph of one document of a lattice.

A node is a boundary and a state of the automaton there. An arc is a group of segments
(the same tokens, the same label), from each node that can stand before them:

    alpha[t]  = log sum over arcs (s, g, t)
                of exp(alpha[s] + weight[p(s), y(g)] + score[g])
    share     = exp(alpha[s] + weight + score - alpha[t])
    mass[s]   = sum over arcs (s, g, t) of mass[t] * share;      P(g) likewise

and the same with max, from the right, for the best segmentation.
"""

import heapq

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc


class StateTable:
    """The next state [P, L] (-1: forbidden) and the edges (-1: none) whose patterns are
    completed by each step [P, L] and at the end [P]; without observed patterns."""

    def __init__(self, automaton):
        n_labels = automaton.n_labels
        self.automaton = automaton
        self.edge = np.full((automaton.n_states, n_labels), -1, np.int32)
        self.next = np.full_like(self.edge, -1)
        # Short histories first: those that are longer differ in the edges they own.
        of_key = np.full((len(automaton.suffix_key) + 1, n_labels), -1, np.int32)
        order = [len(automaton.suffix_key), *range(len(automaton.suffix_key))]
        for key in order:
            if key < len(automaton.suffix_key):
                of_key[key] = of_key[automaton.suffix_key[key]]
            owned = slice(*automaton.first_owned[key : key + 2])
            of_key[key, automaton.owned_label[owned]] = automaton.owned_edge[owned]
        for state, (key, rule) in enumerate(
            zip(automaton.state_key, automaton.state_rule)
        ):
            to = automaton.rule_next[rule]
            self.edge[state] = of_key[key]
            reached = automaton.state_of[automaton.edge_target[of_key[key]], to]
            self.next[state] = np.where(to < 0, -1, reached)
        self.final_edge = automaton.final_edge
        self.is_final = automaton.is_final
        # Edges by the length of their chains of suffixes, shortest first.
        depth = np.zeros(len(automaton.edge_pattern) + 1, np.int32)
        for e, suffix in enumerate(automaton.edge_suffix.tolist()):
            depth[e] = depth[suffix] + 1
        depth = depth[:-1]
        self._by_depth = [
            np.flatnonzero(depth == d) for d in range(1, depth.max(initial=0) + 1)
        ]

    def weights(self, pattern):
        """Returns weights of the patterns completed by a step [P, L] and the end
        [P]."""
        automaton = self.automaton
        own = np.append(pattern, 0.0)[automaton.edge_pattern]
        of_edge = np.zeros(len(own) + 1)
        for edges in self._by_depth:
            of_edge[edges] = of_edge[automaton.edge_suffix[edges]] + own[edges]
        final = of_edge[self.final_edge]
        return of_edge[self.edge], np.where(self.is_final, final, -np.inf)

    def counts(self, steps, final):
        """Returns counts of patterns [M] from those of edges: the transpose of
        `weights`."""
        automaton = self.automaton
        n_edges = len(automaton.edge_pattern)
        of_edge = np.zeros(n_edges + 1)
        np.add.at(of_edge, self.edge.ravel(), steps.ravel())
        np.add.at(of_edge, self.final_edge, final)
        for e in range(n_edges - 1, -1, -1):  # suffixes come first
            if automaton.edge_suffix[e] >= 0:
                of_edge[automaton.edge_suffix[e]] += of_edge[e]
        found = np.zeros(len(automaton.patterns))
        has_pattern = automaton.edge_pattern >= 0
        found[automaton.edge_pattern[has_pattern]] = of_edge[:-1][has_pattern]
        return found


cdef class LatticeGraph:
    """Nodes and arcs of one document at a time; start, end, label (int32 [G]) are
    groups of segments of all documents."""

    def __init__(self, table, pattern, start, end, label, most_tokens):
        self.next = table.next
        self.weight, self.final = map(np.ascontiguousarray, table.weights(pattern))
        self.n_states = self.next.shape[0]
        self.start, self.end, self.label = start, end, label
        self.score, self.mass_of = np.empty((2, len(start)))
        self.order = np.empty(len(start), np.int32)
        self.node_of = np.full(self.n_states, -1, np.int32)
        self.first_node = np.zeros(most_tokens + 2, np.int32)

    def __dealloc__(self):
        free(self.arcs)
        free(self.state)
        free(self.first_arc)
        free(self.alpha)
        free(self.total)
        free(self.mass)

    cdef double build(
        self, Py_ssize_t low, Py_ssize_t high, Py_ssize_t n_tokens
    ) except? -1.0 nogil:
        """Nodes, their alpha, and arcs of groups low to high - 1. RETURNS: log Z."""
        cdef Py_ssize_t j, g = low, s, a, begin
        cdef double top, total
        self.n_tokens = n_tokens
        self.n_arcs = self.n_nodes = 0
        self._node(0, 0.0)
        self.node_of[0] = -1
        self.first_node[0], self.first_node[1] = 0, 1
        for j in range(1, n_tokens + 1):
            begin = self.n_arcs
            while g < high and self.end[g] == j:
                if self.score[g] > -INFINITY:
                    self._enter(g)
                g += 1
            for s in range(self.first_node[j], self.n_nodes):
                self.node_of[self.state[s]] = -1
                self.total[s] = 0.0
            self.first_node[j + 1] = <int32_t>self.n_nodes
            # alpha is the maximum so far
            for a in range(begin, self.n_arcs):
                s = self.arcs[a].target
                self.arcs[a].share = exp(
                    self.alpha[self.arcs[a].source] + self.arcs[a].score - self.alpha[s]
                )
                self.total[s] += self.arcs[a].share
            for s in range(self.first_node[j], self.n_nodes):
                self.alpha[s] += log(self.total[s])
        top = -INFINITY
        for s in range(self.first_node[n_tokens], self.first_node[n_tokens + 1]):
            top = max(top, self.alpha[s] + self.final[self.state[s]])
        if top == -INFINITY:
            return top
        total = 0.0
        for s in range(self.first_node[n_tokens], self.first_node[n_tokens + 1]):
            total += exp(self.alpha[s] + self.final[self.state[s]] - top)
        return top + log(total)

    cdef int _enter(self, Py_ssize_t g) except -1 nogil:
        """Arcs of a group from every node that it can follow."""
        cdef Py_ssize_t i = self.start[g], s, p
        cdef int32_t y = self.label[g], q
        cdef double w, value
        cdef Arc* arc
        for s in range(self.first_node[i], self.first_node[i + 1]):
            p = self.state[s]
            q, w = self.next[p, y], self.weight[p, y] + self.score[g]
            value = self.alpha[s] + w
            if q < 0 or value == -INFINITY:
                continue
            if self.node_of[q] < 0:
                self._node(q, value)
            elif value > self.alpha[self.node_of[q]]:
                self.alpha[self.node_of[q]] = value
            arc = self._arc()
            arc.source, arc.target = <int32_t>s, self.node_of[q]
            arc.group, arc.score = <int32_t>g, w
        return 0

    cdef int _node(self, int32_t state, double value) except -1 nogil:
        cdef size_t room
        if self.n_nodes == self.room_nodes:
            room = 2 * self.room_nodes + 64
            self.state = <int32_t*>_resized(self.state, room * sizeof(int32_t))
            self.first_arc = <int32_t*>_resized(self.first_arc, room * sizeof(int32_t))
            self.alpha = <double*>_resized(self.alpha, room * sizeof(double))
            self.total = <double*>_resized(self.total, room * sizeof(double))
            self.mass = <double*>_resized(self.mass, room * sizeof(double))
            self.room_nodes = room
        self.state[self.n_nodes], self.alpha[self.n_nodes] = state, value
        self.node_of[state] = <int32_t>self.n_nodes
        self.n_nodes += 1
        return 0

    cdef Arc* _arc(self) except NULL nogil:
        cdef size_t room
        if self.n_arcs == self.room_arcs:
            room = 2 * self.room_arcs + 64
            self.arcs = <Arc*>_resized(self.arcs, room * sizeof(Arc))
            self.room_arcs = room
        self.n_arcs += 1
        return &self.arcs[self.n_arcs - 1]

    cdef void spread(
        self, double log_z, double[:, ::1] counts, double[::1] ends
    ) noexcept nogil:
        """After `build`: probabilities of nodes; those of groups, of steps by state and
        label, and of ends by state are added to `mass_of` and to what is given."""
        cdef Py_ssize_t n = self.n_tokens, s, t, a, g
        cdef double share
        for s in range(self.n_nodes):
            self.mass[s] = 0.0
        for s in range(self.first_node[n], self.first_node[n + 1]):
            self.mass[s] = exp(self.alpha[s] + self.final[self.state[s]] - log_z)
            ends[self.state[s]] += self.mass[s]
        for a in range(self.n_arcs - 1, -1, -1):
            s, t, g = self.arcs[a].source, self.arcs[a].target, self.arcs[a].group
            if self.mass[t] == 0.0:
                continue
            share = self.mass[t] * self.arcs[a].share / self.total[t]
            self.mass[s] += share
            self.mass_of[g] += share
            counts[self.state[s], self.label[g]] += share

    cdef double entropy(self) noexcept nogil:
        """After `spread`: of the choice between groups."""
        cdef Py_ssize_t n = self.n_tokens, s, t, a
        cdef double found = 0.0, q
        for s in range(self.first_node[n], self.first_node[n + 1]):
            if self.mass[s] > 0.0:
                found -= self.mass[s] * log(self.mass[s])
        for a in range(self.n_arcs):
            t = self.arcs[a].target
            q = self.arcs[a].share / self.total[t]
            if q > 0.0:
                found -= self.mass[t] * q * log(q)
        return found

    cdef double complete(self) noexcept nogil:
        """After `build`: in `alpha` the score of the best completion of each node, with
        ties broken by `order`, then by length. RETURNS: that of the document."""
        cdef Py_ssize_t n = self.n_tokens, s, a, g
        cdef double value
        for s in range(self.n_nodes):
            self.first_arc[s], self.alpha[s] = -1, -INFINITY
        for s in range(self.first_node[n], self.first_node[n + 1]):
            self.alpha[s] = self.final[self.state[s]]
        for a in range(self.n_arcs - 1, -1, -1):
            s, g = self.arcs[a].source, self.arcs[a].group
            value = self.weight[self.state[s], self.label[g]] + self.score[g]
            value += self.alpha[self.arcs[a].target]
            if value == -INFINITY or value < self.alpha[s]:
                continue
            if value > self.alpha[s] or self._goes_first(
                g, self.arcs[self.first_arc[s]].group
            ):
                self.alpha[s], self.first_arc[s] = value, <int32_t>a
        return self.alpha[0]

    cdef bint _goes_first(self, Py_ssize_t g, Py_ssize_t other) noexcept nogil:
        if self.order[g] != self.order[other]:
            return self.order[g] < self.order[other]
        return self.end[g] > self.end[other]

    cdef list best(self):
        """After `complete`: the groups of the best segmentation, from the left."""
        cdef Py_ssize_t s = 0, a
        cdef list path = []
        while self.first_arc[s] >= 0:
            a = self.first_arc[s]
            path.append(self.arcs[a].group)
            s = self.arcs[a].target
        return path

    cdef list best_completions(self, list options, k):
        """After `build`: returns the k best segmentations, segments from left to right
        and score. Those of a node come from the k best of the nodes that its arcs
        reach, merged. `options` has for each group its segments: what decides ties,
        number, score."""
        cdef Py_ssize_t a, s, g, n = self.n_tokens
        cdef list arcs = [[] for _ in range(self.n_nodes)]
        cdef list best = [None] * self.n_nodes
        for a in range(self.n_arcs):
            s, g = self.arcs[a].source, self.arcs[a].group
            weight = self.weight[self.state[s], self.label[g]]
            for tie, segment, score in options[g]:
                arcs[s].append((tie, segment, weight + score, self.arcs[a].target))
        for s in range(self.n_nodes - 1, -1, -1):
            if s >= self.first_node[n]:
                value = self.final[self.state[s]]
                best[s] = [(value, -1, None)] if value > -INFINITY else []
                continue
            # (-score, tie, segment, which completion of its target, that, own score)
            heap = []
            for tie, segment, own, target in arcs[s]:
                if best[target]:
                    value = own + best[target][0][0]
                    heap.append((-value, tie, segment, 0, target, own))
            heapq.heapify(heap)
            best[s] = []
            while heap and len(best[s]) < k:
                minus, tie, segment, i, target, own = heapq.heappop(heap)
                rest = best[target]
                best[s].append((-minus, segment, rest[i]))
                if i + 1 < len(rest):
                    value = own + rest[i + 1][0]
                    heapq.heappush(heap, (-value, tie, segment, i + 1, target, own))
        return [(_segments_of(one), one[0]) for one in best[0]]


def _segments_of(completion):
    found = []
    _, segment, rest = completion
    while rest is not None:
        found.append(segment)
        _, segment, rest = rest
    return found


cdef void* _resized(void* memory, size_t size) except NULL nogil:
    cdef void* found = realloc(memory, size)
    if found == NULL:
        with gil:
            raise MemoryError
    return found
