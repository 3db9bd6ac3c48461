"""Segmentations that are made of given segments only.

Where few segments are left of all (start, end, label), a document is a small graph: its
nodes are a boundary and a state of the automaton there, its arcs are the segments, from
each state that can stand before them. Patterns may be as long as they like. In logs,
and each probability is a product of shares, so nothing cancels or overflows:

    alpha[t]  = log sum over arcs (s, k, t)
                of exp(alpha[s] + weight[p(s), y(k)] + score[k])
    share     = exp(alpha[s] + weight + score - alpha[t])
    mass[s]   = sum over arcs (s, k, t) of mass[t] * share;      P(k) likewise

and the same with max, from the right, for the best segmentation.

Neighbours with the same tokens and the same label are one segment k here: as many nodes
of a tree may have one label of the automaton. Its score is log sum exp of theirs, and
its probability is divided among them.
"""

import heapq

import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

from ...errors import Errors
from ..simd cimport simd as kernels


cdef struct Arc:
    int32_t source
    int32_t target
    int32_t group
    double score
    double share                # of what reaches its target, times the total there


class Steps:
    """Where each label leads from each state, and the weights on the way.

    automaton (PatternAutomaton): L labels, P states, without observed patterns.

    next (int32 [P, L]): -1: the grammar forbids it.
    edge, final_edge (int32 [P, L], int32 [P]): Whose patterns are completed; -1: none.
    """

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
        """Weights of all patterns that are completed at once.

        pattern (float64 [M]): Of each.
        RETURNS (Tuple[float64 [P, L], float64 [P]]): For each step, and at the end.
        """
        automaton = self.automaton
        own = np.append(pattern, 0.0)[automaton.edge_pattern]
        of_edge = np.zeros(len(own) + 1)
        for edges in self._by_depth:
            of_edge[edges] = of_edge[automaton.edge_suffix[edges]] + own[edges]
        final = of_edge[self.final_edge]
        return of_edge[self.edge], np.where(self.is_final, final, -np.inf)

    def counts(self, steps, final):
        """Transpose of `weights`: how often each pattern is completed.

        steps (float64 [P, L]), final (float64 [P]): Expected counts.
        RETURNS (float64 [M])
        """
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


cdef class Lattice:
    """Given segments of several documents, and what they cost.

    steps (Steps): Of an automaton.
    pattern (float64 [M]): Weights of its patterns.
    first (int32 [N + 1]): The segments of document d are first[d] to first[d + 1] - 1.
    sizes (int32 [N]): Its tokens.
    starts, ends, labels (int32 [K]): Segments, in each document sorted by their ends.
    RAISES (ValueError): HS113 segments that are not so.
    """

    cdef readonly object steps
    cdef const int32_t[:, ::1] next
    cdef const int32_t[::1] first, sizes, starts, ends, labels
    cdef readonly double[:, ::1] weight
    cdef readonly double[::1] final
    cdef Py_ssize_t n_states
    # Group g: segments group[g] .. group[g + 1] - 1, with the same tokens and label
    cdef int32_t[::1] group, group_of_doc
    cdef double[::1] group_score    # of all together, or of the best
    cdef double[::1] part           # [K] of each segment in its group
    cdef int32_t[::1] chosen        # of each group the best
    # of one document
    cdef Arc* arcs
    cdef Py_ssize_t n_arcs, room_arcs
    cdef int32_t* state         # of each node
    cdef int32_t* first_arc     # of its best completion, -1: none
    cdef double* alpha          # or the best completion
    cdef double* total          # of exp(alpha + score) of its arcs, but for a factor
    cdef double* mass
    cdef Py_ssize_t n_nodes, room_nodes
    cdef int32_t[::1] node_of   # [P] at the boundary in work, -1: none
    cdef int32_t[::1] first_node

    def __init__(self, steps, pattern, first, sizes, starts, ends, labels):
        self.steps = steps
        self.next = steps.next
        self.weight, self.final = map(np.ascontiguousarray, steps.weights(pattern))
        self.first, self.sizes = first, sizes
        self.starts, self.ends, self.labels = starts, ends, labels
        self.n_states = self.next.shape[0]
        self._check()
        self._find_groups()
        self.node_of = np.full(self.n_states, -1, np.int32)
        self.first_node = np.zeros(np.max(sizes, initial=0) + 2, np.int32)

    def __dealloc__(self):
        free(self.arcs)
        free(self.state)
        free(self.first_arc)
        free(self.alpha)
        free(self.total)
        free(self.mass)

    cdef _check(self):
        cdef Py_ssize_t d, k, n_labels = self.next.shape[1], last
        cdef bint is_sound = (
            self.first.shape[0] == self.sizes.shape[0] + 1
            and self.first[0] == 0
            and self.first[self.first.shape[0] - 1] == self.starts.shape[0]
            and self.starts.shape[0] == self.ends.shape[0] == self.labels.shape[0]
        )
        for d in range(self.sizes.shape[0] if is_sound else 0):
            last = 0
            is_sound = is_sound and self.first[d] <= self.first[d + 1]
            for k in range(self.first[d], self.first[d + 1]):
                is_sound = (
                    is_sound
                    and 0 <= self.starts[k] < self.ends[k] <= self.sizes[d]
                    and last <= self.ends[k]
                    and 0 <= self.labels[k] < n_labels
                )
                last = self.ends[k]
        if not is_sound:
            raise ValueError(Errors.HS113)

    cdef _find_groups(self):
        cdef Py_ssize_t d, k, n_groups = 0
        self.group = np.empty(self.starts.shape[0] + 1, np.int32)
        self.group_of_doc = np.zeros(self.first.shape[0], np.int32)
        for d in range(self.sizes.shape[0]):
            for k in range(self.first[d], self.first[d + 1]):
                if (
                    k == self.first[d]
                    or self.starts[k] != self.starts[k - 1]
                    or self.ends[k] != self.ends[k - 1]
                    or self.labels[k] != self.labels[k - 1]
                ):
                    self.group[n_groups] = <int32_t>k
                    n_groups += 1
            self.group_of_doc[d + 1] = <int32_t>n_groups
        self.group[n_groups] = <int32_t>self.starts.shape[0]
        self.group_score = np.empty(n_groups)
        self.part = np.empty(self.starts.shape[0])
        self.chosen = np.empty(n_groups, np.int32)

    def sums(self, const double[::1] scores, kept=None):
        """Sums over all segmentations of each document.

        scores (float64 [K]): Of each segment; -inf forbids.
        kept (Optional[uint8 [K]]): Which segments there are; None: all.
        RETURNS (Tuple[float64 [N], float64 [K], float64 [P, L], float64 [P]]): log Z of
            each document, -inf where there is no segmentation; the probability of each
            segment; expected steps, and ends by state.
        """
        cdef Py_ssize_t d
        cdef double[::1] log_z = np.empty(self.sizes.shape[0])
        cdef double[::1] prob = np.zeros(self.starts.shape[0])
        cdef double[:, ::1] counts = np.zeros_like(self.weight)
        cdef double[::1] ends = np.zeros(self.n_states)
        cdef const unsigned char[::1] mask = kept
        self._check_scores(scores, mask)
        with nogil:
            for d in range(self.sizes.shape[0]):
                self._merge(d, scores, mask)
                log_z[d] = self._forward(d)
                if log_z[d] > -INFINITY:
                    self._spread(d, log_z[d], prob, counts, ends)
        return tuple(map(np.asarray, (log_z, prob, counts, ends)))

    def solve(self, const double[::1] scores, const int32_t[::1] order):
        """Probabilities and the best segmentation of each document.

        scores (float64 [K]): Of each segment; -inf forbids.
        order (int32 [K]): Among equals the first segment with the smallest order goes,
            then the longest, as in `viterbi`.
        RETURNS (Tuple[float64 [K], int32 [B], float64 [N]]): The probability of each
            segment; the best segments, from left to right in each document; their
            score, -inf where there is no segmentation.
        """
        cdef Py_ssize_t d
        cdef double log_z
        cdef double[::1] prob = np.zeros(self.starts.shape[0])
        cdef double[:, ::1] counts = np.zeros_like(self.weight)
        cdef double[::1] ends = np.zeros(self.n_states)
        cdef double[::1] found = np.empty(self.sizes.shape[0])
        cdef list path = []
        self._check_scores(scores, None)
        for d in range(self.sizes.shape[0]):
            with nogil:
                self._merge(d, scores, None)
                log_z = self._forward(d)
                if log_z > -INFINITY:
                    self._spread(d, log_z, prob, counts, ends)
                found[d] = self._complete(d, scores, order)
            if found[d] > -INFINITY:
                self._walk(d, path)
        return np.asarray(prob), np.array(path, np.int32), np.asarray(found)

    def entropies(self, const double[::1] scores):
        """How uncertain the segmentation of each document is.

        Seen from the right, each node chooses one of the arcs that reach it:

            H = sum over nodes t of mass[t] * sum over arcs to t of -q log q;
            q = share / total[t]

        and each group one of its segments.

        scores (float64 [K]): Of each segment; -inf forbids.
        RETURNS (float64 [N]): In nats; 0 where there is no segmentation.
        """
        cdef Py_ssize_t d
        cdef double log_z
        cdef double[::1] found = np.zeros(self.sizes.shape[0])
        cdef double[::1] prob = np.zeros(self.starts.shape[0])
        cdef double[:, ::1] counts = np.zeros_like(self.weight)
        cdef double[::1] ends = np.zeros(self.n_states)
        self._check_scores(scores, None)
        with nogil:
            for d in range(self.sizes.shape[0]):
                self._merge(d, scores, None)
                log_z = self._forward(d)
                if log_z > -INFINITY:
                    self._spread(d, log_z, prob, counts, ends)
                    found[d] = self._uncertainty(d, prob)
        return np.asarray(found)

    def kbest(
        self, Py_ssize_t d, const double[::1] scores, const int32_t[::1] order, k
    ):
        """The k best segmentations of one document.

        Of each node, from the right, the k best completions: those of its arcs merged,
        each of which begins one of the completions of the node that it reaches.

        d (int): Which document.
        scores (float64 [K]), order (int32 [K]): As for `solve`.
        k (int): How many; fewer if no more are possible.
        RETURNS (List[Tuple[List[int], float]]): Segments from left to right, score;
            distinct, best first, equal ones by the rule of `solve`.
        RAISES (ValueError): HS113 no such document.
        """
        cdef Py_ssize_t a, g, s, n, y
        self._check_scores(scores, None)
        if not 0 <= d < self.sizes.shape[0]:
            raise ValueError(Errors.HS113)
        n = self.sizes[d]
        self._merge(d, scores, None)
        self._forward(d)
        cdef list arcs = [[] for _ in range(self.n_nodes)]
        cdef list best = [None] * self.n_nodes
        for a in range(self.n_arcs):
            s, g = self.arcs[a].source, self.arcs[a].group
            for y in range(self.group[g], self.group[g + 1]):
                if scores[y] > -INFINITY:
                    value = self.weight[self.state[s], self.labels[y]] + scores[y]
                    tie = order[y], -self.ends[y]
                    arcs[s].append((tie, y, value, self.arcs[a].target))
        for s in range(self.n_nodes - 1, -1, -1):
            if s >= self.first_node[n]:
                value = self.final[self.state[s]]
                best[s] = [(value, -1, None)] if value > -INFINITY else []
                continue
            # (-score, tie, segment, which completion of its target, that, own score)
            heap = []
            for tie, y, own, target in arcs[s]:
                if best[target]:
                    value = own + best[target][0][0]
                    heap.append((-value, tie, y, 0, target, own))
            heapq.heapify(heap)
            best[s] = []
            while heap and len(best[s]) < k:
                minus, tie, y, i, target, own = heapq.heappop(heap)
                rest = best[target]
                best[s].append((-minus, y, rest[i]))
                if i + 1 < len(rest):
                    value = own + rest[i + 1][0]
                    heapq.heappush(heap, (-value, tie, y, i + 1, target, own))
        return [(_segments_of(one), one[0]) for one in best[0]]

    cdef _check_scores(self, const double[::1] scores, const unsigned char[::1] mask):
        cdef Py_ssize_t n = self.starts.shape[0]
        if scores.shape[0] != n or (mask is not None and mask.shape[0] != n):
            raise ValueError(Errors.HS113)

    cdef void _merge(
        self, Py_ssize_t d, const double[::1] scores, const unsigned char[::1] mask
    ) noexcept nogil:
        """Scores of groups, and the part of each segment."""
        cdef Py_ssize_t low = self.group_of_doc[d], high = self.group_of_doc[d + 1]
        cdef Py_ssize_t g, k
        cdef double top, total
        for g in range(low, high):
            top = -INFINITY
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] = -INFINITY
                if mask is None or mask[k]:
                    self.part[k] = scores[k]
                    top = max(top, scores[k])
            self.group_score[g] = top
            if top == -INFINITY:
                continue
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] -= top
        if low == high:
            return
        k = self.first[d]
        kernels.exp_all(&self.part[k], self.first[d + 1] - k)
        for g in range(low, high):
            total = 0.0
            for k in range(self.group[g], self.group[g + 1]):
                total += self.part[k]
            if total == 0.0:
                continue
            self.group_score[g] += log(total)
            for k in range(self.group[g], self.group[g + 1]):
                self.part[k] /= total

    cdef double _forward(self, Py_ssize_t d) except? -1.0 nogil:
        """The graph of a document, and alpha of its nodes. RETURNS: log Z."""
        cdef Py_ssize_t n = self.sizes[d], j, g = self.group_of_doc[d], s, a, begin
        cdef Py_ssize_t n_groups = self.group_of_doc[d + 1]
        cdef double top, total
        self.n_arcs = self.n_nodes = 0
        self._node(0, 0.0)
        self.node_of[0] = -1
        self.first_node[0], self.first_node[1] = 0, 1
        for j in range(1, n + 1):
            begin = self.n_arcs
            while g < n_groups and self.ends[self.group[g]] == j:
                if self.group_score[g] > -INFINITY:
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
        for s in range(self.first_node[n], self.first_node[n + 1]):
            top = max(top, self.alpha[s] + self.final[self.state[s]])
        if top == -INFINITY:
            return top
        total = 0.0
        for s in range(self.first_node[n], self.first_node[n + 1]):
            total += exp(self.alpha[s] + self.final[self.state[s]] - top)
        return top + log(total)

    cdef int _enter(self, Py_ssize_t g) except -1 nogil:
        """Arcs of a group from every node that it can follow."""
        cdef Py_ssize_t i = self.starts[self.group[g]], s, p
        cdef int32_t y = self.labels[self.group[g]], q
        cdef double w, value
        cdef Arc* arc
        for s in range(self.first_node[i], self.first_node[i + 1]):
            p = self.state[s]
            q, w = self.next[p, y], self.weight[p, y] + self.group_score[g]
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

    cdef void _spread(
        self,
        Py_ssize_t d,
        double log_z,
        double[::1] prob,
        double[:, ::1] counts,
        double[::1] ends,
    ) noexcept nogil:
        """Shares of the whole mass, from the right."""
        cdef Py_ssize_t n = self.sizes[d], s, t, a, g, k
        cdef double share
        for s in range(self.n_nodes):
            self.mass[s] = 0.0
        for s in range(self.first_node[n], self.first_node[n + 1]):
            self.mass[s] = exp(self.alpha[s] + self.final[self.state[s]] - log_z)
            ends[self.state[s]] += self.mass[s]
        for a in range(self.n_arcs - 1, -1, -1):
            s, t = self.arcs[a].source, self.arcs[a].target
            if self.mass[t] == 0.0:
                continue
            share = self.mass[t] * self.arcs[a].share / self.total[t]
            self.mass[s] += share
            k = self.group[self.arcs[a].group]
            prob[k] += share  # of all of the group
            counts[self.state[s], self.labels[k]] += share
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            share = prob[self.group[g]]
            for k in range(self.group[g], self.group[g + 1]):
                prob[k] = share * self.part[k]

    cdef void _choose(
        self, Py_ssize_t d, const double[::1] scores, const int32_t[::1] order
    ) noexcept nogil:
        """The best segment of each group: the first of them in `order`."""
        cdef Py_ssize_t g, k, best
        for g in range(self.group_of_doc[d], self.group_of_doc[d + 1]):
            best = self.group[g]
            for k in range(best + 1, self.group[g + 1]):
                if scores[k] > scores[best] or (
                    scores[k] == scores[best] and order[k] < order[best]
                ):
                    best = k
            self.chosen[g], self.group_score[g] = <int32_t>best, scores[best]

    cdef double _uncertainty(
        self, Py_ssize_t d, const double[::1] prob
    ) noexcept nogil:
        """What is left to choose, after `_spread`."""
        cdef Py_ssize_t n = self.sizes[d], s, t, a, k
        cdef double found = 0.0, q
        for s in range(self.first_node[n], self.first_node[n + 1]):
            if self.mass[s] > 0.0:
                found -= self.mass[s] * log(self.mass[s])
        for a in range(self.n_arcs):
            t = self.arcs[a].target
            q = self.arcs[a].share / self.total[t]
            if q > 0.0:
                found -= self.mass[t] * q * log(q)
        for k in range(self.first[d], self.first[d + 1]):
            if prob[k] > 0.0:
                found -= prob[k] * log(self.part[k])
        return max(found, 0.0)

    cdef double _complete(
        self, Py_ssize_t d, const double[::1] scores, const int32_t[::1] order
    ) noexcept nogil:
        """In `alpha` the best completion of each node."""
        cdef Py_ssize_t n = self.sizes[d], s, a, g, k
        cdef double value
        self._choose(d, scores, order)
        for s in range(self.n_nodes):
            self.first_arc[s], self.alpha[s] = -1, -INFINITY
        for s in range(self.first_node[n], self.first_node[n + 1]):
            self.alpha[s] = self.final[self.state[s]]
        for a in range(self.n_arcs - 1, -1, -1):
            s, g = self.arcs[a].source, self.arcs[a].group
            k = self.chosen[g]
            value = self.weight[self.state[s], self.labels[k]] + self.group_score[g]
            value += self.alpha[self.arcs[a].target]
            if value == -INFINITY or value < self.alpha[s]:
                continue
            if value > self.alpha[s] or self._goes_first(
                k, self.chosen[self.arcs[self.first_arc[s]].group], order
            ):
                self.alpha[s], self.first_arc[s] = value, <int32_t>a
        return self.alpha[0]

    cdef bint _goes_first(
        self, Py_ssize_t k, Py_ssize_t other, const int32_t[::1] order
    ) noexcept nogil:
        if order[k] != order[other]:
            return order[k] < order[other]
        return self.ends[k] > self.ends[other]

    cdef _walk(self, Py_ssize_t d, list path):
        cdef Py_ssize_t s = 0, a
        while self.first_arc[s] >= 0:
            a = self.first_arc[s]
            path.append(self.chosen[self.arcs[a].group])
            s = self.arcs[a].target


def _segments_of(completion):
    found = []
    _, y, rest = completion
    while rest is not None:
        found.append(y)
        _, y, rest = rest
    return found


cdef void* _resized(void* memory, size_t size) except NULL nogil:
    cdef void* found = realloc(memory, size)
    if found == NULL:
        with gil:
            raise MemoryError
    return found
