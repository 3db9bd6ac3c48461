"""Probabilities of segments of many documents, four documents side by side.

The recursions of `linear` for segments of one explicit token (D = 1) without cells,
which is what most models have:

    R[j, q]     = keep[j] R[j-1, q] + enter[j] A[j-2, q]
    alpha[j, q] = here[j] A[j-1, q] + at_end[j] R[j, q]
    B[j-1, q]   = here[j] beta[j, q] + enter[j+1] T[j+1, q]
    T[j, q]     = at_end[j] beta[j, q] + keep[j+1] T[j+1, q]

with exponentials of scores by group; A comes from alpha, and beta from B, through the
arcs. The documents have the same automaton and weights of patterns: what a sum over
arcs reads of them is read once for all four, and a number of all four is one operand of
an instruction. A *lane* is one of the four; behind its last token, others go on.

A lane goes through the operations that it would go through alone, so that nothing
depends on what stands beside it. If a number leaves the range of float64, each document
is done again alone, and where that fails, by `marginals`; so are all others: those with
cells, with longer explicit segments, and very long ones.

The task that fills the tables also reads them, while they are in the cache of its core.
"""

import numpy as np

from cpython.ref cimport PyObject
from libc.math cimport INFINITY, exp, fabs, rint
from libc.string cimport memcpy

from ..simd cimport simd as kernels
from . cimport scaled as linear
from ..chart.layout cimport Layout, Sums
from ..chart.load cimport arrive, load
from ..algorithms.marginals import check_segment, marginal_steps, marginals
from ..parallel.tasks cimport Task
from ..simd.simd cimport N_LANES
from ..chart.span_lists cimport Listed, Listing
from ..potentials import check_automaton
from ..parallel.coroutines import finish
from ..chart.dp_tables cimport Tables

# Documents for which there would have to be more numbers are done by `marginals`.
LARGE = 4_000_000
# Rooms are kept for other documents, for some threads, if they have no more numbers.
N_SPARE, SMALL = 4, 1_000_000


def segment_probabilities(automaton, potentials, segments, constraints):
    """Probabilities of some segments of each document; see `marginals`.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    segments (List[List[Tuple[int, int, int]]]): (start, end, label index) of each, in
        any order.
    RETURNS (List[List[float]]): In [0, 1].
    RAISES (ValueError): HS021, HS024 segments; and as `marginals`.
    """
    return finish(probability_steps(automaton, potentials, segments, constraints))


def probability_steps(automaton, potentials, segments, constraints):
    """`segment_probabilities`, but the tasks without the GIL are given away.

    YIELDS (Task): One after the other; whoever gets one sees to it that it is done.
    RETURNS (List[List[float]]): In [0, 1].
    """
    check_automaton(automaton)
    asked = [k for k in range(len(potentials)) if segments[k]]
    args = automaton, potentials, segments, constraints, asked
    found = yield from _side_by_side(*args, None)
    alone = [k for k in asked if not found[k]]

    def answer(k, posterior):
        return [posterior.segment(*segment) for segment in segments[k]]

    args = automaton, potentials, constraints, alone, answer
    for k, probs in zip(alone, (yield from marginal_steps(*args))):
        found[k] = probs
    return [probs or [] for probs in found]


def probable_segments(automaton, potentials, segments, constraints, double p):
    """Segments that are probable, and what they bring to a score; see `marginals`.

    automaton (PatternAutomaton): Of all documents, without observed patterns.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    segments (List[List[Tuple[int, int, int]]]): (start, end, label index) of those that
        are listed in any case.
    p (float): Least probability; 0: all that no score of -inf forbids.
    RETURNS (Tuple[int32 [N + 1], int32 [K, 3], float64 [K]]): Those of document d are
        first[d] to first[d + 1] - 1: start, end and label, by end, then start, then
        label; and scores, see `Marginals.scores_of`.
    RAISES (ValueError): HS118 observed patterns; and as `segment_probabilities`.
    """
    check_automaton(automaton)
    cdef Listing listing = Listing(p)
    sizes = np.array([len(x.inside) for x in potentials], np.int64)
    asked = np.flatnonzero(sizes).tolist()
    args = automaton, potentials, segments, constraints, asked
    found = finish(_side_by_side(*args, listing))
    for k in asked:
        if not found[k]:
            posterior = marginals(automaton, potentials[k], constraints[k])
            listing.add_all(k, posterior, sizes[k], segments[k])
    return listing.sorted(sizes, automaton.n_labels)


def decision_steps(automaton, potentials, constraints, double p, decide):
    """What is decided from the probable spans of each document.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    p (float): Least probability of a span, above 0.
    decide (Callable): (n_tokens, spans, expected number of spans) -> segmentations, of
        which the first that is possible is taken; a span is (start, end, label index,
        probability), label 0 is none.
    YIELDS (Task): One after the other; whoever gets one sees to it that it is done.
    RETURNS (List[Optional[List[Tuple[int, int, int]]]]): The segments; None: nothing is
        decided or possible so, or the document cannot stand beside others.
    RAISES (ValueError): As `log_partition`.
    """
    check_automaton(automaton)
    cdef Listing listing = Listing(p, decide)
    asked = range(len(potentials))
    none = [()] * len(potentials)
    args = automaton, potentials, none, constraints, asked, listing
    found = yield from _side_by_side(*args)
    return [x[0] if x else None for x in found]


def _side_by_side(
    automaton, potentials, segments, constraints, asked, Listing listing
):
    """YIELDS: tasks. RETURNS: Of each document that is asked for what `Lanes` has
    found, in a list of one where something was to be decided; [] if it has to be done
    alone; None: it is not asked for."""
    cdef Lanes lanes = None
    cdef Layout layout
    cdef list found = [None] * len(potentials)
    sizes = [(_size(automaton, potentials[k], constraints[k]), k) for k in asked]
    # Those of about the same length stand side by side.
    for size, k in sorted(sizes):
        found[k] = []
        if not size or (listing is not None and automaton.observed):
            continue
        if lanes is None:
            lanes = _room(automaton)
            lanes.listing = listing
        if not lanes.add(k, potentials[k], constraints[k], segments[k]):
            if lanes.set_up(-1):
                yield lanes
            lanes.write_down(found)
            lanes.add(k, potentials[k], constraints[k], segments[k])
    if lanes is not None:
        if lanes.set_up(-1):
            yield lanes
        lanes.write_down(found)
        lanes.listing = None
        layout = automaton.layout
        size = lanes.room.shape[0] + lanes.asked.room
        if len(layout.spare_lanes) < N_SPARE and size <= SMALL:
            layout.spare_lanes.append(lanes)
    return found


cdef Py_ssize_t _size(automaton, potentials, constraints):
    """Tokens of a document that may stand beside others; 0: it may not."""
    if getattr(potentials.length, "shape", ())[1:] != (1,):
        return 0
    if getattr(potentials.cells, "size", 1) or getattr(constraints, "forbidden", ()):
        return 0
    cdef Py_ssize_t n_tokens = getattr(potentials.inside, "shape", (0,))[0]
    return n_tokens if n_tokens * _n_of_row(automaton) <= LARGE else 0


cdef Py_ssize_t _n_of_row(automaton):
    """Numbers for each boundary."""
    return N_LANES * (3 * automaton.n_states + 5 * automaton.n_groups + 2)


cdef Lanes _room(automaton):
    cdef Layout layout
    if automaton.layout is not None:
        layout = automaton.layout
        if layout.spare_lanes:
            return layout.spare_lanes.pop()
    return Lanes(automaton)


cdef class Lanes(Task):
    """Up to four documents, and room for them."""

    cdef object automaton
    cdef list rooms                     # Tables without rows: each document as it is
    cdef Tables shared                  # the first: all have the same weights of arcs
    cdef list numbers                   # of each document
    cdef Listing asked                  # segments by lane, and how probable they are
    cdef Listing listing                # of what else is probable; None: nothing
    cdef Py_ssize_t n_groups, n_states, n_rows
    # by lane
    cdef Py_ssize_t number[N_LANES]
    cdef Py_ssize_t first_asked[N_LANES + 1]
    cdef Py_ssize_t first_listed[N_LANES], after_listed[N_LANES]
    cdef double n_expected[N_LANES]     # spans, with `decide`
    # NULL and 0 where there is no document, or it has to wait
    cdef PyObject* tables[N_LANES]      # of `rooms`
    cdef const double* first[N_LANES]
    cdef const double* more[N_LANES]
    cdef const double* end[N_LANES]
    cdef Py_ssize_t n_tokens[N_LANES]
    cdef double z_rest[N_LANES]         # as of Tables
    cdef Py_ssize_t longest, lowest     # boundaries: the last one, the first with beta
    cdef double share
    cdef bint trusted                   # the sweeps that were run
    cdef double[::1] room               # all that follow
    # Row j + 1 is that of boundary j: behind a start there is always one
    cdef double[:, :, ::1] opened       # [n + 2, P, lanes] A
    cdef double[:, :, ::1] beta         # [n + 2, P, lanes]
    cdef double[:, :, ::1] closing      # [n + 2, P, lanes] B, for a listing
    cdef double[:, :, ::1] weight       # [n + 2, 4 G, lanes] here, keep, enter, at_end
    cdef double[:, :, ::1] top          # [n + 2, G, lanes] bounds on A
    cdef double[:, ::1] scale           # [n + 2, lanes] of alpha and R
    cdef double[:, ::1] opened_scale    # [n + 2, lanes]
    # One row
    cdef double[:, ::1] node            # [N + P + 2, lanes] as of Tables
    cdef double[:, ::1] back_node       # [N + P + 2, lanes]
    cdef double[:, ::1] running         # [P, lanes] R
    cdef double[:, ::1] rest            # [P, lanes] T
    cdef double[:, ::1] running_top     # [G, lanes]
    cdef double[:, ::1] length          # [G, lanes]
    cdef double[:, ::1] tail            # [G, lanes]
    cdef double[:, ::1] never           # [G, lanes] -inf

    def __init__(self, automaton):
        self.automaton = automaton
        self.n_groups, self.n_states = automaton.n_groups, automaton.n_states
        self.rooms, self.numbers, self.asked = [], [], Listing()
        self.first_asked[0] = 0
        self.n_rows = 0
        self.room = np.zeros(0)

    cdef bint add(self, k, potentials, constraints, segments):
        """Load a document. RETURNS: whether it may be solved with the others."""
        cdef Py_ssize_t lane = len(self.numbers), start, end, label
        cdef Tables tables
        if lane == N_LANES:
            return False
        if lane == len(self.rooms):
            self.rooms.append(Tables.__new__(Tables))
        tables = self.rooms[lane]
        load(tables, self.automaton, potentials, constraints, later=True)
        if lane == 0:
            self.shared = tables
            tables._set_arc_weights()
        elif tables.edge_weights is not self.shared.edge_weights:
            return False
        for start, end, label in segments:
            if not 0 <= start < end <= tables.n_tokens or not (
                0 <= label < tables.n_labels
            ):
                check_segment(start, end, label, tables.n_tokens, tables.n_labels)
            self.asked.add(lane, start, end, label, 0.0)
        self.asked.check()
        self.numbers.append(k)
        self.number[lane] = k
        self.first_asked[lane + 1] = self.asked.n
        return True

    cdef write_down(self, list found):
        """The probabilities of the documents that stand here; nothing for one that has
        to be done by `marginals`. Then there is none any more."""
        cdef Py_ssize_t lane, k
        cdef bint together = self.trusted
        for lane in range(len(self.numbers)):
            if not together:
                if len(self.numbers) == 1 or not self.set_up(lane):
                    continue
                self.do()
                if not self.trusted:
                    continue
            if self.listing is None:
                found[self.numbers[lane]] = [
                    self.asked.rows[k].score
                    for k in range(self.first_asked[lane], self.first_asked[lane + 1])
                ]
            else:
                self.listing.check()
                found[self.numbers[lane]] = [self._decided(lane)]
        for tables in self.rooms:
            (<Tables>tables).forget()
        self.shared, self.numbers = None, []
        self.asked.clear()

    cdef bint set_up(self, Py_ssize_t alone):
        """Make ready to be run, for all lanes or for one. RETURNS: whether that may
        do."""
        cdef Py_ssize_t lane, g, k, n_lanes = len(self.numbers)
        cdef Tables tables
        self.longest = 0
        for lane in range(N_LANES):
            self.n_tokens[lane] = 0
            if lane < n_lanes and (alone < 0 or lane == alone):
                tables = self.rooms[lane]
                self.n_tokens[lane] = tables.n_tokens
                self.longest = max(self.longest, tables.n_tokens)
        self._make_room()
        self.lowest = self.longest if self.listing is None else 1
        for lane in range(N_LANES):
            if not self.n_tokens[lane]:
                continue
            tables = self.rooms[lane]
            self.tables[lane] = <PyObject*>tables
            self.first[lane] = &tables.first[0, 0]
            self.more[lane], self.end[lane] = &tables.more[0, 0], &tables.end[0, 0]
            for g in range(self.n_groups):
                self.length[g, lane] = tables.length_backwards[g]
                self.tail[g, lane] = tables.tail[g]
            for k in range(self.first_asked[lane], self.first_asked[lane + 1]):
                self.lowest = min(self.lowest, self.asked.rows[k].end)
        if self.listing is not None and self.listing.decide is not None:
            self.listing.clear()  # what was listed has been decided
        self.trusted = False
        return self.shared.representable

    cdef void run(self) noexcept nogil:
        """Both sweeps, and what they are for."""
        cdef Py_ssize_t a
        linear.clear_flags()
        self.trusted = self._arrive() and self._forward() and self._backward()
        self.trusted = self.trusted and linear.in_range() and self._sums_are_exact()
        # Here, for the tables are in the cache of this core.
        for a in range(N_LANES if self.trusted else 0):
            if not self.n_tokens[a]:
                continue
            if self.listing is None:
                self._answer(<Tables>self.tables[a], a)
            else:
                self._list(<Tables>self.tables[a], self.listing, a)

    cdef bint _sums_are_exact(self) noexcept nogil:
        """Whether no scale is so large that small scores are lost beside it."""
        cdef Py_ssize_t a, j
        for a in range(N_LANES):
            for j in range(1, self.n_tokens[a] + 1):
                if fabs(self.scale[j + 1, a]) > kernels.LARGEST_SUM:
                    return False
        return True

    cdef bint _arrive(self) noexcept nogil:
        """RETURNS: whether all scores are numbers; if not, `marginals` will say so."""
        cdef Py_ssize_t a
        for a in range(N_LANES):
            if self.n_tokens[a] and (<Tables>self.tables[a]).is_late:
                if not arrive(<Tables>self.tables[a]):
                    return False
        return True

    cdef _make_room(self):
        """Tables that are long enough."""
        cdef Py_ssize_t n_rows = self.longest + 2
        cdef Py_ssize_t n_slots = self.shared.n_nodes + self.n_states + 2
        if n_rows <= self.n_rows:
            return
        self.n_rows = n_rows
        shapes = [
            *[(n_rows, self.n_states)] * 3,
            *((n_rows, n) for n in (4 * self.n_groups, self.n_groups)),
            *[(n_rows,)] * 2,
            *((n,) for n in (n_slots, n_slots, self.n_states, self.n_states)),
            *[(self.n_groups,)] * 4,
        ]
        sizes = [N_LANES * int(np.prod(shape)) for shape in shapes]
        room = np.zeros(sum(sizes) + N_LANES)
        # One operand is never in two lines of the cache.
        room = room[-(room.ctypes.data // 8) % N_LANES :]
        self.room = room
        borders = np.cumsum([0, *sizes])
        (
            self.opened,
            self.beta,
            self.closing,
            self.weight,
            self.top,
            self.scale,
            self.opened_scale,
            self.node,
            self.back_node,
            self.running,
            self.rest,
            self.running_top,
            self.length,
            self.tail,
            self.never,
        ) = (
            room[i:j].reshape(*shape, N_LANES)
            for i, j, shape in zip(borders, borders[1:], shapes)
        )
        self.never[:, :] = -INFINITY

    # the sweeps

    cdef bint _forward(self) noexcept nogil:
        cdef Py_ssize_t j, a, n_groups = self.n_groups
        cdef double best[N_LANES]
        cdef double* weight
        self.share = exp(-70.0 - self.shared.gap)
        self.node[:, :] = 0.0
        self.running[:, :] = 0.0
        self.running_top[:, :] = -INFINITY
        self.opened[0, :, :] = 0.0  # nothing begins before the first token
        self.top[0, :, :] = -INFINITY
        for a in range(N_LANES):
            self.node[0, a] = 1.0 if self.n_tokens[a] else 0.0
            self.z_rest[a] = -INFINITY
            self.scale[1, a] = self.opened_scale[0, a] = 0.0
        self._open(0)
        self.node[0, :] = 0.0  # ^, which no group has, is never entered again
        for j in range(1, self.longest + 1):
            weight = &self.weight[j, 0, 0]
            for a in range(N_LANES):
                self._read(j, a, weight + a)
            kernels.lane_keys(
                n_groups,
                &self.opened_scale[j, 0],
                &self.scale[j, 0],
                &self.opened_scale[j - 1, 0],
                &self.top[j, 0, 0],
                &self.top[j - 1, 0, 0],
                &self.running_top[0, 0],
                weight,
                best,
            )
            for a in range(N_LANES):
                self.scale[j + 1, a] = self.scale[j, a]
                if best[a] > -INFINITY:
                    self.scale[j + 1, a] = rint(best[a])
            if not kernels.lane_settle(
                n_groups,
                self.shared.gap,
                &self.scale[j + 1, 0],
                &self.top[j, 0, 0],
                weight,
            ):
                return False
            kernels.exp_all(weight, 4 * n_groups * N_LANES)
            kernels.lane_arrive(
                &self.shared.layout.first_state[0],
                n_groups,
                self.share,
                weight,
                &self.opened[j, 0, 0],
                &self.opened[j - 1, 0, 0],
                &self.running[0, 0],
                &self.running_top[0, 0],
                &self.node[0, 0],
            )
            for a in range(N_LANES):
                if j == self.n_tokens[a]:
                    self._finish(a)
            if j < self.longest:
                self._open(j)
        return True

    cdef void _read(self, Py_ssize_t j, Py_ssize_t a, double* score) noexcept nogil:
        """Scores of the segments of a lane that end at j, or run on over it."""
        cdef Py_ssize_t n_groups = self.n_groups, at = (j - 1) * n_groups
        cdef const double* never = &self.never[0, 0]
        cdef bint goes_on = j <= self.n_tokens[a]
        kernels.lane_scores(
            n_groups,
            self.first[a] + at - n_groups if goes_on and j > 1 else NULL,
            self.first[a] + at if goes_on else never,
            self.more[a] + at if goes_on else never,
            self.end[a] + at if goes_on else never,
            &self.length[0, a],
            &self.tail[0, a],
            score,
        )

    cdef void _finish(self, Py_ssize_t a) noexcept nogil:
        """Z of a lane, whose alpha is complete."""
        cdef Py_ssize_t p
        self.z_rest[a] = linear.log_final(self.shared, &self.node[0, a], N_LANES)
        for p in range(self.n_states):
            self.node[p, a] = 0.0

    cdef void _open(self, Py_ssize_t j) noexcept nogil:
        """A[j] from alpha[j], which stands in the first nodes."""
        cdef Py_ssize_t a
        _sum(&self.shared.layout.circuit, self.shared.circuit_weight, self.node)
        _sum(&self.shared.layout.arcs_in, self.shared.in_weight, self.node)
        kernels.lane_bound(
            &self.shared.layout.first_state[0],
            self.n_groups,
            self.share,
            &self.node[self.shared.n_nodes, 0],
            &self.opened[j + 1, 0, 0],
            &self.top[j + 1, 0, 0],
        )
        for a in range(N_LANES):
            self.opened_scale[j + 1, a] = self.scale[j + 1, a] + self.shared.arc_scale

    cdef bint _backward(self) noexcept nogil:
        """beta of all boundaries from `lowest` on, and B for a listing."""
        cdef Py_ssize_t j, a, n = self.longest, n_states = self.n_states
        cdef size_t size = n_states * N_LANES * sizeof(double)
        cdef double* beta = &self.back_node[n_states, 0]
        self.back_node[:, :] = 0.0
        self.rest[:, :] = 0.0
        self.weight[n + 1, :, :] = 0.0  # nothing goes on
        for j in range(n, self.lowest - 1, -1):
            if j < n:
                _sum(&self.shared.arcs_out, self.shared.out_weight, self.back_node)
            for a in range(N_LANES):
                if j == self.n_tokens[a] and self.z_rest[a] > -INFINITY:
                    if not linear.fill_end(
                        self.shared, self.z_rest[a], beta + a, N_LANES
                    ):
                        return False
            memcpy(&self.beta[j, 0, 0], beta, size)
            kernels.lane_leave(
                &self.shared.layout.first_state[0],
                self.n_groups,
                &self.weight[j, 0, 0],
                &self.weight[j + 1, 0, 0],
                beta,
                &self.rest[0, 0],
                &self.back_node[0, 0],
            )
            if self.listing is not None:
                memcpy(&self.closing[j, 0, 0], &self.back_node[0, 0], size)
        return True

    cdef void _answer(self, Tables tables, Py_ssize_t lane) noexcept nogil:
        """The probabilities that are asked for of a document."""
        cdef Py_ssize_t g, k
        cdef double total, score
        cdef Listed* row
        for k in range(self.first_asked[lane], self.first_asked[lane + 1]):
            row, total = &self.asked.rows[k], 0.0
            for g in range(self.n_groups):
                if tables.layout.group_label[g] == row.label:
                    score = tables.segment_score(row.start, row.end, g)
                    total += self._one(tables, lane, row.start, row.end, g, score)
            row.score = total

    cdef void _list(
        self, Tables tables, Listing listing, Py_ssize_t lane
    ) noexcept nogil:
        """What is asked for and what is probable, as `Marginals.segments_above` finds
        it: a start is followed while its segment may not have ended yet."""
        cdef Py_ssize_t k = self.number[lane], i, u, j, g
        cdef double p = listing.p, open_, prob, more, score
        cdef double some = p * (1.0 - 1e-9), least = some - 1e-12
        cdef bint decides = listing.decide is not None
        cdef Listed* row
        if p == 0.0:
            least = -INFINITY
        self.first_listed[lane] = listing.n
        for i in range(self.first_asked[lane], self.first_asked[lane + 1]):
            row = &self.asked.rows[i]
            score = tables.segment_score(row.start, row.end, row.label)
            listing.add(k, row.start, row.end, row.label, score)
        self.n_expected[lane] = 0.0
        for u in range(tables.n_tokens):
            for g in range(decides, self.n_groups):
                open_ = self._start(tables, lane, u, g)
                self.n_expected[lane] += open_
                if open_ < some:
                    continue
                more = 0.0
                for j in range(u + 1, tables.n_tokens + 1):
                    if j > u + 1:
                        more += tables.more[j - 1, g]
                    score = tables.first[u, g] + more + tables.end[j - 1, g]
                    score += tables.length_score(g, j - u)
                    prob = self._one(tables, lane, u, j, g, score)
                    if prob >= p * (1.0 - 1e-12):
                        score = prob if decides else tables.segment_score(u, j, g)
                        listing.add(k, u, j, g, score)
                    open_ -= prob
                    if open_ < least:
                        break
        self.after_listed[lane] = listing.n

    cdef object _decided(self, Py_ssize_t lane):
        """What is decided from the spans that are listed; None: nothing that is
        possible, or nothing is to be decided."""
        cdef Tables tables = self.rooms[lane]
        cdef Listing listing = self.listing
        if listing.decide is None:
            return None
        spans = listing.spans(self.first_listed[lane], self.after_listed[lane])
        for found in listing.decide(tables.n_tokens, spans, self.n_expected[lane]):
            if tables.path_score(found) > -INFINITY:
                return found
        return None

    cdef double _start(
        self, Tables tables, Py_ssize_t lane, Py_ssize_t u, Py_ssize_t g
    ) noexcept nogil:
        """P(a segment of the group starts at u) = sum_q A[u, q] B[u, q]"""
        cdef Py_ssize_t q
        cdef double total = 0.0
        for q in range(tables.layout.first_state[g], tables.layout.first_state[g + 1]):
            total += self.opened[u + 1, q, lane] * self.closing[u + 1, q, lane]
        return total

    cdef double _one(
        self,
        Tables tables,
        Py_ssize_t lane,
        Py_ssize_t u,
        Py_ssize_t j,
        Py_ssize_t g,
        double score,
    ) noexcept nogil:
        """P(segment u, j, g) = exp(segment) sum_q A[u, q] beta[j, q] / Z"""
        cdef Py_ssize_t a = tables.layout.first_state[g]
        if score == -INFINITY or self.z_rest[lane] == -INFINITY:
            return 0.0
        score += self.opened_scale[u + 1, lane] - self.scale[j + 1, lane]
        return linear.probability(
            &self.opened[u + 1, 0, lane] + a * N_LANES,
            &self.beta[j, 0, lane] + a * N_LANES,
            tables.layout.first_state[g + 1] - a,
            N_LANES,
            score,
        )


cdef void _sum(
    const Sums* sums, const double[::1] weight, double[:, ::1] slot
) noexcept nogil:
    if sums.n_quads:
        kernels.lane_sum(
            sums.fan, sums.output, sums.input, &weight[0], sums.n_quads, &slot[0, 0]
        )
