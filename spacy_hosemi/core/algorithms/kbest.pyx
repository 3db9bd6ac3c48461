"""The k best segmentations.

The first is the Viterbi path. Any other path follows a better one up to some node, and
there takes another option, then the best completion (Lawler 1972). The backward sweep
has the score of that completion, so a candidate has its exact score before it is built.
Nodes are the boundaries between segments, where label and end are chosen, and the
boundaries that a segment passes beyond its horizon, where it ends or goes on.
"""

import heapq
from collections import namedtuple
from itertools import count

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t

from ..arguments import MOST_SEGMENTS, check_whole
from ..potentials import check_document
from ..chart.chart cimport Chart
from ..sweeps.backward cimport Backward, swept


def kbest(automaton, potentials, k, constraints=None):
    """The k segmentations with the highest scores.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    k (int): How many; fewer if no more are possible.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (List[Tuple[List[Tuple[int, int, int]], float]]): Segments, as `viterbi`
        gives them, and score; distinct, best first, equal ones by its tie rule. Where
        more than k have the k-th score or a higher one, any of those with the k-th
        score may be missing.
    RAISES (ValueError): HS026 k, which times n is at most 10,000,000; and as
        `log_partition`.
    """
    check_document(automaton, potentials)
    cdef Alternatives paths = Alternatives(automaton, potentials, constraints)
    k = check_whole("k", k, 1, MOST_SEGMENTS // max(paths.chart.n_tokens, 1))
    if paths.backward.total == -INFINITY:
        return []
    found = [(paths.backward.follow_best(0, 0), Start(0, 0, ()))]
    candidates = []  # (-score, number, path, option): a path is built when it is taken
    results = []
    numbers = count()  # of equal scores the earlier candidate goes first
    while True:
        path, start = found[len(found) - 1]
        results.append(([segment[:3] for segment in path], paths.score_of(path)))
        if len(results) == k:
            break
        n_missing = k - len(results)
        least = -INFINITY
        if len(candidates) >= n_missing:
            least = -candidates[n_missing - 1][0]
        for value, option in paths.options(path, start, least):
            candidates.append((-value, next(numbers), path, option))
        candidates = heapq.nsmallest(n_missing, candidates)
        if not candidates:
            break
        found.append(paths.take(*candidates.pop(0)[2:]))
    return sorted(results, key=lambda result: (-result[1], tie_key(result[0])))


def tie_key(path):
    """The key by which segmentations of the same score are sorted."""
    return [(segment[2], segment[0] - segment[1]) for segment in path]


# Where a path may first be left: at the segment of this index, or within it from this
# boundary on if that is not 0; and the options at its begin that are taken already.
Start = namedtuple("Start", ["segment", "boundary", "taken"])

# How a path is left: at the begin of a segment by another label and end, at a boundary
# that a long segment passes by ending there, or by not ending there.
OTHER, ENDS, GOES_ON = 0, 1, 2


cdef class Alternatives:
    """Where a path can be left, and the score of the best completion there."""

    cdef Backward backward
    cdef Chart chart                    # of it
    cdef Py_ssize_t n_ends              # options of a label: lengths, and beyond
    cdef double[::1] value              # [L n_ends]
    cdef uint8_t[::1] is_taken          # [L n_ends]

    def __init__(self, automaton, potentials, constraints):
        self.backward = swept(automaton, potentials, constraints, maximum=True)
        self.chart = self.backward.chart
        self.n_ends = self.chart.cells.reach + 1
        self.value = np.empty(self.chart.n_labels * self.n_ends)
        self.is_taken = np.zeros(self.chart.n_labels * self.n_ends, np.uint8)

    def score_of(self, path):
        """The score of a path, from left to right."""
        cdef double total = 0.0
        cdef Py_ssize_t state = 0
        for segment in path:
            total += self._worth(segment, state)
            state = segment[3]
        return total + self.chart.final_weight(state)

    cdef double _worth(self, segment, Py_ssize_t state):
        """The score of a segment behind a state, patterns included."""
        cdef Py_ssize_t u = segment[0], j = segment[1], y = segment[2], q = segment[3]
        cdef Py_ssize_t g = self.chart.layout.state_group[q]
        self.backward.follow(state)
        return self.backward.weight_of[y] + self.chart.segment_score(u, j, g)

    def options(self, path, start, double least):
        """Alternatives of more than the least score, one for each node.

        RETURNS (List[Tuple[float, tuple]]): Score, and what `take` needs.
        """
        cdef double before = 0.0
        cdef Py_ssize_t t, state = 0
        found = []
        for t, segment in enumerate(path):
            if t > start.segment or (t == start.segment and not start.boundary):
                taken = start.taken if t == start.segment else ()
                taken = (*taken, self._option_of(segment))
                value, option = self._other(segment[0], state, taken)
                if before + value > least:
                    found.append((before + value, (OTHER, t, option, taken)))
            if t >= start.segment:
                first = start.boundary if t == start.segment else 0
                found += self._beyond(t, segment, state, before, first, least)
            before += self._worth(segment, state)
            state = segment[3]
        return found

    cdef Py_ssize_t _option_of(self, segment):
        cdef Py_ssize_t u = segment[0], j = segment[1], y = segment[2]
        cdef Py_ssize_t g = self.chart.layout.state_group[<Py_ssize_t>segment[3]]
        return y * self.n_ends + min(j - u, self.chart.horizon(u, g) + 1) - 1

    def _other(self, Py_ssize_t u, Py_ssize_t state, taken):
        """The best option at the begin of a segment that is not taken."""
        cdef Py_ssize_t i, y, d, best = 0
        cdef double top = -INFINITY
        for i in taken:
            self.is_taken[i] = 1
        with nogil:
            self._set_values(u, state)
            for y in range(self.chart.n_labels):
                for d in range(self.n_ends, 0, -1):
                    i = y * self.n_ends + d - 1
                    if self.value[i] > top and not self.is_taken[i]:
                        best, top = i, self.value[i]
        for i in taken:
            self.is_taken[i] = 0
        return top, best

    cdef void _set_values(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil:
        cdef Py_ssize_t y, q, g, d, n, j
        cdef double* value
        cdef double weight
        self.value[:] = -INFINITY
        self.backward.follow(state)
        for y in range(self.chart.n_labels):
            q = self.backward.target[y]
            if q < 0:
                continue
            g, weight = self.chart.layout.state_group[q], self.backward.weight_of[y]
            value = &self.value[y * self.n_ends]
            n = self.chart.segments_starting_at(u, g, self.backward.from_start)
            for d in range(1, n + 1):
                value[d - 1] = self.backward.from_start[d - 1]
                value[d - 1] += self.backward.best_from(u + d, q)
                value[d - 1] += weight
            j = u + self.chart.horizon(u, g) + 1
            if self.chart.tail[g] > -INFINITY and j <= self.chart.n_tokens:
                value[j - u - 1] = self.chart.running_score(u, j, g)
                value[j - u - 1] += self.backward.rests[j, q]
                value[j - u - 1] += weight

    def _beyond(
        self,
        t,
        segment,
        Py_ssize_t state,
        double before,
        Py_ssize_t first,
        double least,
    ):
        """Alternatives at the boundaries that a segment reaches beyond its horizon."""
        cdef Py_ssize_t u = segment[0], j = segment[1], y = segment[2], q = segment[3]
        cdef Py_ssize_t g = self.chart.layout.state_group[q]
        cdef Py_ssize_t k = u + self.chart.horizon(u, g) + 1
        cdef double running, value
        found = []
        if j < k:
            return found
        self.backward.follow(state)
        running = before + self.backward.weight_of[y]
        running += self.chart.running_score(u, k, g)
        for k in range(k, j + 1):
            if k >= first:
                if k < j:
                    value = running + self.chart.end[k - 1, g]
                    value += self.backward.best_from(k, q)
                elif k < self.chart.n_tokens:
                    value = running + self.chart.more[k, g] + self.chart.tail[g]
                    value += self.backward.rests[k + 1, q]
                else:
                    value = -INFINITY
                if value > least:
                    found.append((value, (ENDS if k < j else GOES_ON, t, k, ())))
            if k < j:
                running += self.chart.more[k, g] + self.chart.tail[g]
        return found

    def take(self, path, option):
        """RETURNS (Tuple[list, Start]): The best path that leaves this one so."""
        kind, t, which, taken = option
        cdef Py_ssize_t u = path[t][0], y = path[t][2], q = path[t][3], j, d, g
        cdef Py_ssize_t state = path[t - 1][3] if t else 0
        if kind == ENDS:
            segment = (u, which, y, q)
            start = Start(t + 1, 0, ())
            rest = self.backward.follow_best(which, q)
            return [*path[:t], segment, *rest], start
        if kind == GOES_ON:
            g = self.chart.layout.state_group[q]
            j = self.backward.running_end(which + 1, g, q)
            start = Start(t, which + 1, ())
        else:
            y, d = which // self.n_ends, which % self.n_ends + 1
            self.backward.follow(state)
            q, j = self.backward.target[y], u + d
            g = self.chart.layout.state_group[q]
            if d > self.chart.horizon(u, g):
                j = self.backward.running_end(j, g, q)
            start = Start(t, 0, taken)
        rest = self.backward.follow_best(j, q)
        return [*path[:t], (u, j, y, q), *rest], start
