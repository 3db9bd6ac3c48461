"""What can follow after each boundary and state: a backward sweep in log domain.

A walk from the left then knows the exact state that it is in. It recomputes the
segments from one token instead of storing a pointer for each of the n |P| entries.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from . cimport kernels, logspace
from .chart cimport Layout
from .nonnegative cimport find_ladder
from .potentials import check_automaton
from .tables cimport Tables, are_same


# Entries of a table that may be kept without a thought.
SMALL = 1_000_000

# Pairs of a label and a state for which the edge may be written down.
N_LEAPS = 200_000

# So many boundaries are closed in the time that it takes to write them down.
N_FEW = 16

# At most so many boundaries are closed without leaps where those were of no use.
cdef Py_ssize_t MAX_PAUSE = 31

# So many documents are solved at a time without the GIL: enough for other threads to
# get on with their work, so few that their rooms stay in the cache of the processor.
N_TOGETHER = 8

# Rooms of finished documents are kept for others, for some threads.
N_SPARE = 4 * N_TOGETHER


cdef list best_segments(automaton, list potentials, list constraints, method):
    """The best segmentation of each document, and its score; see `viterbi`."""
    cdef Completions last, best
    cdef list found = [], rooms
    check_automaton(automaton)
    for at in range(0, len(potentials), N_TOGETHER):
        last, rooms = None, []
        for k in range(at, min(at + N_TOGETHER, len(potentials))):
            best = _completions(automaton, potentials[k], constraints[k], method)
            best.next, last = last, best
            rooms.append(best)
        with nogil:
            last._solve_all()
        for best in rooms:
            best.next = None
            found.append((best._best_path(best.n_best, False), best.total))
            _give_back(best)
    return found


cdef Completions _completions(automaton, potentials, constraints, method):
    """Ready to be solved, perhaps in the room of another document: for short documents
    allocating takes as long as the sweep."""
    cdef Layout layout = automaton.layout
    cdef Completions best
    cdef bint all_arcs = method == "nonnegative"
    if layout is None or not layout.spare:
        best = Completions.__new__(Completions)
        best.all_arcs = all_arcs
        best._start(automaton, potentials, constraints, maximum=True, keep_beta=False)
    else:
        best = layout.spare.pop()
        best.all_arcs = all_arcs
        best.automaton = automaton
        best._load(potentials, constraints)
        best._prepare()
    if method != "automaton":
        best._set_ladder(potentials, method)
    return best


cdef _give_back(Completions best):
    """Keep the room of completions that nobody will look at any more."""
    cdef Layout layout = best.automaton.layout
    cdef Py_ssize_t n_spare = len(layout.spare)
    if n_spare < N_SPARE and best._size() * (n_spare + 1) <= 4 * SMALL:
        best._forget()
        layout.spare.append(best)


cdef class Leaps:
    """Where each label leads from each state, and the weight of that edge, which is
    -inf where the grammar forbids it."""


cdef class Completions(Tables):
    """What can follow after each boundary and state.

    maximum (bool): Score of the best completion; else log of their summed exp(score).
    keep_beta (bool): Whether beta is kept for all boundaries of a large document, too,
        instead of made again when asked for: faster, for another n |P| numbers.

    total (float): Of the whole document.
    """

    def __init__(
        self, automaton, potentials, constraints, *, bint maximum, bint keep_beta=False
    ):
        self._start(automaton, potentials, constraints, maximum, keep_beta)
        with nogil:
            self._sweep()

    cdef _start(
        self, automaton, potentials, constraints, bint maximum, bint keep_beta
    ):
        Tables.__init__(self, automaton, potentials, constraints)
        self.maximum, self.keep_beta = maximum, keep_beta
        self._prepare()

    cdef Py_ssize_t _size(self):
        """RETURNS: about how many numbers there is room for."""
        return self.closing.shape[0] * self.n_states

    cdef _forget(self):
        """Let go of the document, and of the automaton, which owns the room now."""
        cdef Layout layout = self.automaton.layout
        self.arcs_out = layout.arcs_out
        self.automaton = self.cells_as_given = self.ladder = None
        self.more = self.end = self.length = self.leaps = None
        self.given_tail = self.pattern_weight = None

    cdef _prepare(self):
        """All that needs the GIL."""
        if self._has_room():
            self._set_arc_weights()
            self._fill(self.closing[: self.n_tokens + 1], -INFINITY)
        else:
            self._make_room()
        if self.maximum and not self.all_arcs:
            self._set_leaps()

    cdef void _solve_all(self) noexcept nogil:
        """This document and the next ones, each with its best segmentation."""
        self._sweep()
        self.n_best = self._walk(0, 0) if self.total > -INFINITY else 0
        if self.next is not None:
            self.next._solve_all()

    cdef bint _has_room(self) noexcept nogil:
        if self._lease is None or self.n_tokens >= self.closing.shape[0]:
            return False
        if self.has_tail and self.n_tokens + 2 > self.rests.shape[0]:
            return False
        return self.reach < self.from_start.shape[0]

    cdef _make_room(self):
        cdef Py_ssize_t n_rests = self.n_tokens + 2 if self.has_tail else 0, n_betas = 0
        cdef bint is_small = (self.n_tokens + 1) * self.n_states <= SMALL
        # Where segments have one explicit end, a walk needs beta at their ends only.
        if self.keep_beta or (is_small and self.reach > 2):
            n_betas = self.n_tokens + 1
        self.allocate(in_logs=True, forward=False, n_more=n_rests + n_betas)
        self.rests, self.betas = self.take_rows(n_rests), self.take_rows(n_betas)
        cdef double[::1] scores = np.empty(
            self.reach + 1 + 3 * self.n_labels + self.n_groups
        )
        cdef int32_t[:, ::1] targets = np.empty((2, self.n_labels), np.int32)
        self.target, self.next_target = targets[0], targets[1]
        self.weight_of = scores[: self.n_labels]
        self.next_weight = scores[self.n_labels : 2 * self.n_labels]
        self.bound = scores[2 * self.n_labels : 3 * self.n_labels]
        scores = scores[3 * self.n_labels :]
        self.top, self.from_start = scores[: self.n_groups], scores[self.n_groups :]
        self.path = np.empty((self.n_tokens, 4), np.int32)

    cdef _set_ladder(self, potentials, method):
        """Instead of all arcs, if patterns only add."""
        self.ladder = find_ladder(self, potentials, method)
        if self.ladder is not None:
            self.arcs_out, self.out_weight = self.ladder.sums, self.ladder.weight

    cdef _set_leaps(self):
        """Those of another document, if the patterns have the same weights; new ones
        for a short document only if the one before had the same: in training weights
        change from one to the next."""
        cdef Layout layout = self.automaton.layout
        cdef Leaps known = layout.leaps
        if self.n_labels * self.n_states > N_LEAPS:
            return
        if known is None or not are_same(known.pattern, self.pattern_weight):
            if self.n_tokens < N_FEW and not self._were_met():
                return
            layout.leaps = known = self._make_leaps()
        self.leaps = known

    cdef bint _were_met(self):
        """Whether the document before had the same weights."""
        cdef Layout layout = self.automaton.layout
        if layout.met is None or not are_same(layout.met, self.pattern_weight):
            layout.met = np.array(self.pattern_weight)
            return False
        return True

    cdef Leaps _make_leaps(self):
        cdef Leaps made = Leaps()
        cdef Py_ssize_t y, q, n_labels = self.n_labels
        made.pattern = np.array(self.pattern_weight)
        made.weight = np.full((n_labels, self.n_states), -np.inf)
        made.target = np.zeros((n_labels, self.n_states), np.int32)
        made.most = np.full(n_labels, -np.inf)
        for q in range(self.n_states):
            self.follow(q, self.target, self.weight_of)
            for y in range(n_labels):
                if self.target[y] >= 0:
                    made.target[y, q] = self.target[y]
                    made.weight[y, q] = self.weight_of[y]
                    made.most[y] = max(made.most[y], self.weight_of[y])
        return made

    cdef void _sweep(self) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* rest = NULL
        logspace.end_row(self)
        for j in range(self.n_tokens, 0, -1):
            self.segments_ending_at(j)
            if self.betas.shape[0]:
                self.betas[j, :] = self.beta
            if self.has_tail:
                logspace.rest_row(
                    self, j, &self.rests[j, 0], &self.rests[j + 1, 0], self.maximum
                )
                rest = &self.rests[j, 0]
            logspace.push_row(self, j, rest, self.maximum)
            self._close(j - 1)
        if self.betas.shape[0]:
            self.betas[0, :] = self.beta
        self.total = self.beta[0]

    cdef void _close(self, Py_ssize_t j) noexcept nogil:
        """beta[j, p] = max over y of weight[y, p] + B[j, target[y, p]]

        Labels come in the order of a bound on what they give. As a rule two or three of
        them leave all others behind at every state; where they do not, and if it is a
        sum, all arcs are gone through: at the next boundary too, at the next three when
        that happens again, and so on.
        """
        cdef Py_ssize_t k, y, n_states = self.n_states
        cdef double least = -INFINITY
        if self.leaps is None or self.n_paused > 0:
            self.n_paused -= 1
            logspace.close_row(self, j, self.maximum)
            return
        self._bound_labels(j)
        for k in range(n_states):
            self.beta[k] = -INFINITY
        for _ in range(1 + self.arcs_out.n_terms // (2 * n_states)):
            y = _place_of_largest(&self.bound[0], self.n_labels)
            if self.bound[y] == -INFINITY or self.bound[y] < least:
                self.pause = 0
                return
            self.bound[y] = -INFINITY
            least = kernels.leap_max(
                &self.leaps.weight[y, 0],
                &self.leaps.target[y, 0],
                &self.closing[j, 0],
                n_states,
                &self.beta[0],
            )
        self.n_paused = self.pause = min(2 * self.pause + 1, MAX_PAUSE)
        logspace.close_row(self, j, self.maximum)

    cdef void _bound_labels(self, Py_ssize_t j) noexcept nogil:
        """bound[y] >= weight[y, p] + B[j, target[y, p]] for all p"""
        cdef Py_ssize_t g, y
        cdef double* bound = &self.bound[0]
        cdef const int32_t* label = &self.group_label[0]
        cdef double* top = &self.top[0]
        kernels.tops(&self.first_state[0], self.n_groups, &self.closing[j, 0], top)
        for y in range(self.n_labels):
            bound[y] = -INFINITY
        for g in range(self.n_groups):
            bound[label[g]] = max(bound[label[g]], top[g])
        for y in range(self.n_labels):
            bound[y] += self.leaps.most[y]

    def follow_best(self, Py_ssize_t u, Py_ssize_t state, bint with_states=False):
        """The best completion, by the tie rule of `viterbi`; needs `maximum`.

        u, state (int): Where to begin.
        with_states (bool): Whether to tell the state behind each segment.
        RETURNS (List[Tuple[int, int, int]]): start, end, label, and state; [] if none
            is possible.
        """
        cdef Py_ssize_t n = 0
        if self.best_from(u, state) > -INFINITY:
            with nogil:
                n = self._walk(u, state)
        return self._best_path(n, with_states)

    cdef list _best_path(self, Py_ssize_t n, bint with_states):
        """The n segments of the last walk."""
        cdef const int32_t[:, ::1] path = self.path
        cdef Py_ssize_t k
        if with_states:
            return [(path[k, 0], path[k, 1], path[k, 2], path[k, 3]) for k in range(n)]
        return [(path[k, 0], path[k, 1], path[k, 2]) for k in range(n)]

    cdef Py_ssize_t _walk(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil:
        """Fill `path`. RETURNS: the number of segments."""
        cdef Py_ssize_t n = 0, y
        while u < self.n_tokens:
            self.follow(state, self.target, self.weight_of)
            y = self._label(u)
            state = self.target[y]
            self.path[n, 0], self.path[n, 2], self.path[n, 3] = u, y, state
            u = self._end(u, state)
            self.path[n, 1] = u
            n += 1
        return n

    cdef Py_ssize_t _label(self, Py_ssize_t u) noexcept nogil:
        """The smallest label of a best segment from u."""
        cdef Py_ssize_t y, best = 0
        cdef double top = -INFINITY, value
        for y in range(self.n_labels):
            if self.target[y] >= 0:
                value = self.closing[u, self.target[y]] + self.weight_of[y]
                if value > top:
                    best, top = y, value
        return best

    cdef Py_ssize_t _end(self, Py_ssize_t u, Py_ssize_t q) noexcept nogil:
        """The end of the longest best segment from u that leaves in state q."""
        cdef Py_ssize_t g = self.state_group[q], d, end = 0
        cdef Py_ssize_t n = self.ends_from(u, q, self.from_start)
        for d in range(n):
            if self.from_start[d] >= self.from_start[end]:
                end = d
        if end + 1 > self.horizon(u, g):
            return self.running_end(u + end + 1, g, q)
        return u + end + 1

    cdef Py_ssize_t running_end(
        self, Py_ssize_t j, Py_ssize_t g, Py_ssize_t q
    ) noexcept nogil:
        """Where a running segment ends: as late as the best score allows."""
        cdef double more
        while j < self.n_tokens:
            more = self.more[j, g] + self.tail[g]
            if more == -INFINITY or more + self.rests[j + 1, q] != self.rests[j, q]:
                break
            j += 1
        return j

    cdef double best_from(self, Py_ssize_t j, Py_ssize_t q) noexcept nogil:
        """beta[j, q]"""
        cdef Py_ssize_t y
        cdef double best = -INFINITY, value
        if self.betas.shape[0]:
            return self.betas[j, q]
        if j == self.n_tokens:
            return self.final_weight(q)
        self.follow(q, self.next_target, self.next_weight)
        for y in range(self.n_labels):
            if self.next_target[y] >= 0:
                value = self.closing[j, self.next_target[y]] + self.next_weight[y]
                best = value if value > best else best
        return best

    cdef Py_ssize_t ends_from(
        self, Py_ssize_t u, Py_ssize_t q, double[::1] value
    ) noexcept nogil:
        """What the segments from u of 1, 2, .. tokens and all behind them are worth.

        The last one may stand for all beyond the horizon. RETURNS: how many.
        """
        cdef Py_ssize_t g = self.state_group[q], d
        cdef Py_ssize_t n = self.segments_starting_at(u, g, value)
        cdef Py_ssize_t j = u + self.horizon(u, g) + 1
        for d in range(1, n + 1):
            value[d - 1] += self.best_from(u + d, q)
        if self.tail[g] == -INFINITY or j > self.n_tokens:
            return n
        value[n] = self.running_score(u, j, g) + self.rests[j, q]
        return n + 1


cdef Py_ssize_t _place_of_largest(const double* x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, best = 0
    for i in range(1, n):
        if x[i] > x[best]:
            best = i
    return best
