"""The best segmentation of each of many documents.

The sweep of `backward` with max for +, in one of three ways that find the same: through
all arcs; through the arcs of `nonnegative`; or, the fastest for most models, only
through the groups of states that `viterbi_bounds` leaves at each token. `token_sweep`
is a fourth way, for segments of one token and observed patterns that only add.
"""

import numpy as np

from libc.math cimport INFINITY

from ..simd cimport simd as kernels
from ..sweeps.viterbi_bounds cimport Bounds, Leaps, find_leaps
from ..chart.layout cimport Layout
from ..chart.load cimport arrive, load
from ..chart.columns cimport Entry
from ..sweeps.backward cimport Completions
from ..sweeps.observed.histories cimport Histories, are_of_labels, histories_of
from ..sweeps.observed.token_sweep cimport TokenSweep
from ..parallel.tasks cimport Task
from ..sweeps.nonnegative cimport find_ladder
from ..arguments import check_kind
from ..potentials import (
    ENTRIES,
    Potentials,
    check_automaton,
    check_potentials,
    without_entries,
)

NO_PATTERNS = np.zeros(0)

# Documents in a task: enough to outweigh the cost of handing it over, few enough for
# their tables to stay in the cache of the processor.
N_TOGETHER = 8

# The tables of finished documents are used again for others: at most N_SPARE of them,
# with at most LARGE numbers together.
N_SPARE = 4 * N_TOGETHER
LARGE = 4_000_000

# Look for bounds if there are at least PAYS times as many arcs as pairs of groups.
cdef double PAYS = 1.5

# Stop computing bounds after N_TRIED documents if they held in fewer than half: then
# the weights of long patterns are large, as those of a perceptron can be.
cdef Py_ssize_t N_TRIED = 16

# The sweep of N_FEW tokens takes as long as the table of all arcs that bounds need.
N_FEW = 16


cdef class BestOfEach(Task):
    """The best segmentations of a few documents, as a task; see `viterbi`."""

    cdef list rooms, potentials
    cdef Best last

    def __init__(self, automaton, list potentials, list constraints, method="auto"):
        cdef Best best
        cdef Py_ssize_t k
        check_automaton(automaton)
        self.rooms, self.potentials = [], potentials
        for k in range(len(potentials)):
            check_kind("potentials", potentials[k], Potentials)
            best = None
            if method in ("auto", "nonnegative"):
                best = _ready_for_tokens(automaton, potentials[k], constraints[k])
            if best is None:
                best = _room(automaton, potentials[k], constraints[k])
                best._set_method(potentials[k], method)
            best.next, self.last = self.last, best
            self.rooms.append(best)

    cdef void run(self) noexcept nogil:
        if self.last is not None:
            self.last._solve_all()

    def found(self):
        """RETURNS (List[Tuple[segments, score]]): In the order of the documents."""
        cdef Best best
        cdef list found = []
        for best, given in zip(self.rooms, self.potentials):
            best.next = None
            if best.is_late:  # a score is out of range
                check_potentials(best.automaton, given)
            best._count()
            found.append((best._best_path(best.n_segments, False), best.total))
            _give_back(best)
        self.last, self.rooms, self.potentials = None, [], []
        return found


cdef bint has_sparse_columns(automaton, potentials):
    """Whether observed patterns have no scores but those of entries."""
    if getattr(potentials.entries, "dtype", None) != ENTRIES:
        return False
    if getattr(potentials.cells, "size", 1):
        return False
    for x in (potentials.inside, potentials.start, potentials.end):
        if getattr(x, "ndim", 0) != 2 or x.shape[1] != automaton.n_labels:
            return False
    return True


cdef bint has_only_tokens(potentials):
    """Whether no segment has more than one token."""
    length, tail = potentials.length, potentials.tail
    if getattr(length, "ndim", 0) != 2 or length.shape[1] != 1:
        return False
    if type(tail) is not np.ndarray or tail.dtype != np.float64:
        return False
    return bool((tail == -np.inf).all())


cdef Best _ready_for_tokens(automaton, potentials, constraints):
    """Ready to be solved by `token_sweep`. RETURNS: None where that is not possible."""
    cdef Histories histories = histories_of(automaton)
    cdef const Entry[::1] entries
    cdef Best best
    if histories is None or not has_sparse_columns(automaton, potentials):
        return None
    if type(potentials.pattern) is not np.ndarray or not has_only_tokens(potentials):
        return None
    try:
        entries = potentials.entries
    except (TypeError, ValueError, BufferError):
        return None
    given = without_entries(potentials, NO_PATTERNS)
    if are_of_labels(entries, automaton.n_labels):
        of_labels = potentials.entries["column"] < automaton.n_labels
        given.entries = potentials.entries[of_labels]
    best = _room(histories.bare, given, constraints, later=False)
    if best.token_sweep is None or best.token_sweep.histories is not histories:
        best.token_sweep = TokenSweep(histories)
    best.by_tokens = best.token_sweep.load(best, entries, potentials)
    if not best.by_tokens:
        _give_back(best)
        return None
    best.ladder = best.leaps = None
    return best


cdef Best _room(automaton, potentials, constraints, bint later=True):
    """Ready to be solved, in the tables of an earlier document if there are any: to
    allocate them takes as long as the sweep of a short document. later: see `load`."""
    cdef Layout layout = automaton.layout
    cdef Best best
    if layout is None or not layout.spare:
        best = Best.__new__(Best)
        best._start(automaton, potentials, constraints, maximum=True, keep_beta=False)
    else:
        best = layout.spare.pop()
        load(best, automaton, potentials, constraints, later)
        best._prepare()
    return best


cdef _give_back(Best best):
    """Keep the tables of a finished document for others."""
    cdef Layout layout = best.layout
    cdef Py_ssize_t n_spare = len(layout.spare)
    if n_spare < N_SPARE and best._size() * (n_spare + 1) <= LARGE:
        best.forget()
        layout.spare.append(best)


cdef class Best(Completions):
    """The best completions of a document, and its best segmentation."""

    cdef _set_method(self, potentials, method):
        self.ladder = self.leaps = None
        self.by_tokens = False
        if method == "bounds" or (method == "auto" and self._may_pay()):
            self.leaps = find_leaps(self)
        if self.leaps is not None:
            if self.bounds is None or self.bounds.first.shape[0] <= self.n_tokens:
                self.bounds = Bounds(self.closing.shape[0], self.n_groups)
        elif method in ("auto", "nonnegative"):
            self.ladder = find_ladder(self, potentials, method)
            if self.ladder is not None:
                self.arcs_out, self.out_weight = self.ladder.sums, self.ladder.weight

    cdef bint _may_pay(self):
        """Whether bounds are likely to save time. Not for a short document with new
        weights, as in training: the tables of the weights would be read once."""
        cdef Layout layout = self.layout
        cdef Leaps known = layout.leaps
        if self.arcs_out.n_terms < PAYS * self.n_groups * self.n_groups:
            return False
        if known is not None and known.edge_weights is self.edge_weights:
            if known.n_tried >= N_TRIED and 2 * known.n_held < known.n_tried:
                return False
        return self.edge_weights.n_documents > 1 or self.n_tokens >= N_FEW

    cdef _count(self):
        """Count documents in which bounds have held; see `_may_pay`."""
        if self.leaps is not None:
            self.leaps.n_tried += 1
            self.leaps.n_held += self.is_bounded

    cdef Py_ssize_t _size(self):
        """RETURNS: About how many numbers the tables have."""
        cdef Py_ssize_t size = self.closing.shape[0] * self.n_states
        return size if self.token_sweep is None else size + self.token_sweep.size()

    cdef forget(self):
        self.ladder = self.leaps = None
        if self.token_sweep is not None:
            self.token_sweep.forget()
        Completions.forget(self)

    cdef void _solve_all(self) noexcept nogil:
        """This document and the next ones."""
        self.n_segments = 0
        if self.is_late and not arrive(self):
            self.total = -INFINITY
        elif self.by_tokens:
            self.is_bounded = False
            self.total = self.token_sweep.sweep(self)
            if self.total > -INFINITY:
                self.n_segments = self.token_sweep.walk(self, self.path)
        else:
            self._sweep()
            if self.total > -INFINITY:
                self.n_segments = self._walk(0, 0)
        if self.next is not None:
            self.next._solve_all()

    cdef void _sweep(self) noexcept nogil:
        self.is_bounded = False
        if self.leaps is not None and self.n_tokens > 0:
            self.is_bounded = self.bounds.find(self, self.leaps, self.path)
        if self.is_bounded:
            self._sweep_left()
        else:
            if not self.are_tokens:  # then each row is written as a whole
                self._fill(self.closing[: self.n_tokens + 1], -INFINITY)
            Completions._sweep(self)

    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t q) noexcept nogil:
        cdef Py_ssize_t g = self.layout.state_group[q]
        return not self.is_bounded or self.bounds.is_active[i, g]

    # through the groups that are left; rows of others are never written, nor read

    cdef void _sweep_left(self) noexcept nogil:
        cdef Py_ssize_t j, k, a
        self._clear_left()
        for j in range(self.n_tokens, 0, -1):
            self._close_left(j)
            for k in range(self.bounds.first[j - 1], self.bounds.first[j]):
                self.segments_of(j, self.bounds.group[k])
            self.add_cells(j)
            for k in range(self.bounds.first[j - 1], self.bounds.first[j]):
                if self.has_tail:
                    self._rest_left(j, self.bounds.group[k])
                self._push_left(j, self.bounds.group[k])
            self._push_long(j)
        self.total = -INFINITY
        self.follow(0, self.target, self.weight_of)
        for k in range(self.n_labels):
            a = self.target[k]
            if a >= 0 and self.is_known(0, a):
                self.total = max(self.total, self.closing[0, a] + self.weight_of[k])

    cdef void _clear_left(self) noexcept nogil:
        """B = -inf."""
        cdef Py_ssize_t i, k, g, q, a, b
        for i in range(self.n_tokens):
            for k in range(self.bounds.first[i], self.bounds.first[i + 1]):
                g = self.bounds.group[k]
                a, b = self.layout.first_state[g], self.layout.first_state[g + 1]
                for q in range(a, b):
                    self.closing[i, q] = -INFINITY

    cdef void _close_left(self, Py_ssize_t j) noexcept nogil:
        """beta[j, p] = max over y of weight[y, p] + B[j, target[y, p]], or of $."""
        cdef Py_ssize_t k, t, a, b, q, y, last
        for k in range(self.bounds.first[j - 1], self.bounds.first[j]):
            a = self.layout.first_state[self.bounds.group[k]]
            b = self.layout.first_state[self.bounds.group[k] + 1]
            if a == b:  # the grammar permits no state of the group
                continue
            if j == self.n_tokens:
                for q in range(a, b):
                    self.beta[q] = self.final_weight(q)
            else:
                for q in range(a, b):
                    self.beta[q] = -INFINITY
                last = -1
                for t in range(self.bounds.first[j], self.bounds.first[j + 1]):
                    y = self.layout.group_label[self.bounds.group[t]]
                    if y != last:  # groups of one label stand side by side
                        kernels.leap_max(
                            &self.leaps.weight[y, a],
                            &self.leaps.target[y, a],
                            &self.closing[j, 0],
                            b - a,
                            &self.beta[a],
                        )
                    last = y
            if self.betas.shape[0]:
                self.betas[j, a:b] = self.beta[a:b]

    cdef void _rest_left(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil:
        cdef bint goes_on = j < self.n_tokens and self.bounds.is_active[j, g]
        kernels.rest_max(
            &self.layout.first_state[g],
            1,
            &self.end[j - 1, g],
            &self.more[j, g] if goes_on else NULL,
            &self.tail[g],
            &self.beta[0],
            &self.rests[j + 1, 0] if goes_on else &self.beta[0],
            &self.rests[j, 0],
        )

    cdef void _push_left(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil:
        """Segments of a group that end, or enter, at j."""
        cdef Py_ssize_t d, u = j - 1, n_lengths = self.n_lengths
        for d in range(1, min(n_lengths, j) + 1):
            u = j - d
            if not self.bounds.is_active[u, g]:
                return
            self._push(u, g, self.score[(g + 1) * n_lengths - d], &self.beta[0])
        if u > 0 and self.has_tail and self.bounds.is_active[u - 1, g]:
            self._push(u - 1, g, self.enter_score[g], &self.rests[j, 0])

    cdef void _push_long(self, Py_ssize_t j) noexcept nogil:
        """Segments with long cells."""
        cdef Py_ssize_t t, u, g
        for t in range(self.cells.first_long[j], self.cells.first_long[j + 1]):
            u, g = self.cells.long_start[t], self.cells.long_group[t]
            if self.bounds.is_active[j - 1, g] and self.bounds.is_active[u, g]:
                self._push(u, g, self.cells.long_score[t], &self.beta[0])
        for t in range(self.cells.first_late[j], self.cells.first_late[j + 1]):
            u, g = self.cells.late_start[t], self.cells.late_group[t]
            if self.bounds.is_active[j - 1, g] and self.bounds.is_active[u, g]:
                self._push(u, g, self.cells.late_score[t], &self.rests[j, 0])

    cdef void _push(
        self, Py_ssize_t u, Py_ssize_t g, double score, const double* after
    ) noexcept nogil:
        """B[u] = max(B[u], score + after), for the states of a group."""
        if score > -INFINITY:
            kernels.push_max(
                &self.layout.first_state[g],
                1,
                &score,
                1,
                after,
                1,
                &self.closing[u, 0],
                self.n_states,
            )
