"""Both sweeps over documents in lanes, and what is asked of their posteriors.

Of each document one of four things: the probabilities of some segments; those of the
spans of a path, and its score; the same of the path with the highest score, or with the
highest expected F1, which is to be found; or a list of all probable segments. The task
that fills the tables also reads them, while they are in the cache of its core.
"""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t

from ..chart.chart cimport Chart
from ..chart.checks cimport check_sum
from ..chart.load cimport load_document
from ..chart.span_lists cimport Listed, SpanLists
from ..potentials import check_potentials
from ..simd.lanes cimport N_LANES
from ..sweeps cimport lanes
from ..sweeps.documents cimport (
    LEFT,
    NONE_PROBABLE,
    SOLVED,
    UNSOLVED,
    Documents,
    Outcome,
)
from ..sweeps.forward_backward cimport list_segments, segment_probability
from .best_path cimport BestPath, give_back, spare_path
from .best_sets cimport BestSet, Candidate, first_least, next_least
from .marginals import check_segment

# Tables are kept for other documents, for some threads, if they have no more numbers.
N_SPARE, SMALL = 4, 1_000_000
# More tokens than any document has.
cdef Py_ssize_t MANY = 2**31 - 1
# The order of charts.
cdef const int32_t[::1] _AS_ADDED = np.arange(N_LANES, dtype=np.int32)


cdef class Posteriors(Documents):
    """Documents of one automaton, and what is asked of each."""

    # What is asked
    cdef SpanLists asked                # segments, and how probable they are
    cdef bint are_paths                 # whether those of a document are a path
    cdef bint answers                   # whether numbers of it are found
    cdef bint decides                   # whether the path is to be found ..
    cdef double expected_f1             # .. at this F1; below 0: at its own
    cdef BestPath best                  # finds the paths; None: they are given
    cdef SpanLists probable             # spans of a document
    cdef BestSet best_set               # of these
    cdef SpanLists listing              # of what is probable; None: nothing
    # By document
    cdef int32_t[::1] number            # [D] as the caller counts
    cdef int32_t[::1] first_asked       # [D]
    cdef int32_t[::1] after_asked       # [D]
    cdef double[::1] log_z              # [D]
    cdef double[::1] path_score         # [D]

    def __init__(self, automaton):
        Documents.__init__(self, automaton)
        self.asked, self.probable, self.best_set = SpanLists(), SpanLists(), BestSet()
        self._make_room(N_LANES)
        self.ask_for_segments()

    def ask_for_segments(self):
        """Ask for the probabilities of the segments that are given."""
        self.listing, self.are_paths, self.decides = None, False, False
        self.answers = True

    def ask_for_paths(self, bint answers=True):
        """Ask for paths, with `answers` for their scores, too, and the probabilities of
        their spans: those that are given, of columns those with the highest score."""
        self.ask_for_segments()
        self.are_paths, self.answers = True, answers

    def ask_for_decisions(self, expected_f1, bint answers=True):
        """Ask for the paths with the highest expected F1, as `core.mbr` finds them."""
        self.ask_for_paths(answers)
        self.decides = True
        self.expected_f1 = -1.0 if expected_f1 is None else expected_f1

    def ask_for_list(self, SpanLists listing):
        """Ask for a list of probable segments, which also has those that are given."""
        self.ask_for_segments()
        self.listing = listing

    cdef _make_room(self, Py_ssize_t n_docs):
        """Memory for what is known of documents."""
        cdef int32_t[:, ::1] ints = np.empty((3, n_docs), np.int32)
        cdef double[:, ::1] floats = np.empty((2, n_docs))
        self.first_asked, self.after_asked, self.number = ints[0], ints[1], ints[2]
        self.outcome = np.empty(n_docs, np.uint8)
        self.log_z, self.path_score = floats[0], floats[1]

    # documents that have charts

    def add(self, k, potentials, constraints, segments):
        """Load a document. Returns whether it may be solved with the others."""
        cdef Py_ssize_t d = self.n_docs, start, end, label
        cdef Chart chart, first
        if d == N_LANES:
            return False
        chart, first = self.charts[d], self.charts[0]
        load_document(chart, self.automaton, potentials, constraints, defer=True)
        if chart.edge_weights is not first.edge_weights or (
            chart.n_lengths != first.n_lengths
        ):
            return False
        self.first_asked[d] = <int32_t>self.asked.n
        for start, end, label in segments:
            if not 0 <= start < end <= chart.n_tokens or not (
                0 <= label < chart.n_labels
            ):
                check_segment(start, end, label, chart.n_tokens, chart.n_labels)
            self.asked.add(d, start, end, label, 0.0)
        self.asked.check()
        self.after_asked[d], self.order = <int32_t>self.asked.n, _AS_ADDED
        self.outcome[d], self.number[d] = UNSOLVED, k
        self.log_z[d] = self.path_score[d] = 0.0
        self.n_docs = d + 1
        return True

    def write_down(self, list answers, list log_z, potentials):
        """Write what was found of the documents into the lists, and let go of them.
        Raises HS011 for a score, HS124 for a sum that is out of range."""
        cdef Py_ssize_t d
        self._solve_rest()
        for d in range(self.n_docs):
            k = self.number[d]
            if (<Chart>self.charts[d]).is_deferred:
                check_potentials(self.automaton, potentials[k])
            answers[k] = self._answer_of(d)
            if log_z is not None:
                log_z[k] = self.log_z[d]
        self.forget()
        self.asked.clear()

    cdef object _answer_of(self, Py_ssize_t d):
        """What was asked for of a document, see `segment_probabilities`."""
        cdef Py_ssize_t k, first = self.first_asked[d], after = self.after_asked[d]
        cdef Listed row
        cdef list segments, probs
        if self.outcome[d] == LEFT:
            return None
        if self.listing is not None or self.outcome[d] == NONE_PROBABLE:
            return ()
        if not self.are_paths:
            return [self.asked.rows[k].score for k in range(first, after)]
        segments, probs = [], []
        for k in range(first, after):
            row = self.asked.rows[k]
            segments.append((row.start, row.end, row.label))
            if row.label:
                probs.append(row.score)
        return segments, probs, self.path_score[d]

    # documents as columns

    def read(self, potentials, Py_ssize_t most):
        """Load `ManyPotentials`. Returns whether all can be solved together: they are
        sound, and none has more than `most` tokens."""
        cdef Py_ssize_t d
        if not self.read_columns(potentials) or self.room.n_tokens > most:
            self.forget()
            return False
        if self.outcome.shape[0] < self.n_docs:
            self._make_room(2 * self.n_docs)
        for d in range(self.n_docs):
            self.first_asked[d] = self.after_asked[d] = 0
            self.outcome[d], self.number[d] = UNSOLVED, d
            self.log_z[d] = self.path_score[d] = 0.0
        self.order = _AS_ADDED
        if self.n_docs > 1:
            sizes = np.diff(np.asarray(self.first))
            self.order = np.argsort(sizes, kind="stable").astype(np.int32)
        self.best = spare_path(self.four.layout)
        self.best.backward.take_shared(self.shared, self.room)
        self.best.set_method(potentials, "auto")
        return True

    def arrays(self):
        """What was found of columns, which are let go; see `best_path_steps`. None if a
        document has to be done alone."""
        cdef Py_ssize_t d, k, n_docs, n_segments, n = 0
        cdef bint is_solved = True
        cdef Listed* row
        self._solve_rest()
        give_back(self.best)
        self.best = None
        for d in range(self.n_docs):
            is_solved &= self.outcome[d] == SOLVED
        n_docs, n_segments = self.n_docs, self.asked.n
        # Views of arrays take long for a short document.
        integers = np.zeros(n_docs + 3 * n_segments, np.int32)
        numbers = np.empty(n_docs + n_segments)
        cdef int32_t[::1] n_spans = integers
        cdef double[::1] whole = numbers
        cdef int32_t* span = &n_spans[0] + n_docs
        cdef double* probability = &whole[0] + n_docs
        for d in range(self.n_docs if is_solved else 0):
            for k in range(self.first_asked[d], self.after_asked[d]):
                row = &self.asked.rows[k]
                if row.label:
                    span[0], span[1], span[2] = row.start, row.end, row.label
                    probability[n] = min(row.score, 1.0)
                    span += 3
                    n_spans[d] += 1
                    n += 1
            whole[d] = exp(min(self.path_score[d] - self.log_z[d], 0.0))
        self.forget()
        self.asked.clear()
        if not is_solved:
            return None
        spans = integers[n_docs : n_docs + 3 * n].reshape(n, 3)
        if not self.answers:
            return integers[:n_docs], spans, None, None
        return integers[:n_docs], spans, numbers[n_docs : n_docs + n], numbers[:n_docs]

    # both

    def set_up(self):
        """Make ready for a task, which solves up to four documents together. Returns
        whether the weights permit it."""
        self.is_in_range = True
        self.finds_starts = self.decides or self.listing is not None
        if self._has_sweeps():
            self.use(self.one if self.n_docs == 1 else self.four)
        return self.is_in_range

    cdef bint _has_sweeps(self) noexcept nogil:
        """Whether more than Viterbi's paths is asked for."""
        return self.answers or self.decides

    cdef _solve_rest(self):
        """Solve what is left. Raises MemoryError for lists, HS124 for sums."""
        cdef Py_ssize_t d
        self.finish()
        self.asked.check()
        if self.listing is not None:
            self.listing.check()
        for d in range(self.n_docs):
            if self.outcome[d] == SOLVED:
                check_sum(self.log_z[d])

    def n_of_row(self, potentials):
        """Returns how many numbers four lanes have for each boundary."""
        shape = getattr(potentials.length, "shape", ())  # which is not checked yet
        n_lengths = shape[1] if len(shape) == 2 else 1
        n_of_groups = (4 + n_lengths) * self.four.n_groups
        return N_LANES * (4 * self.four.n_states + n_of_groups + 2)

    def give_back(self):
        """Keep the tables for others."""
        cdef list spare = self.four.layout.spare_batches
        cdef Py_ssize_t n = self.asked.room + self.probable.room
        n += self.n_numbers() + self.outcome.shape[0]
        self.listing = None
        if len(spare) < N_SPARE and n <= SMALL:
            spare.append(self)

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t d
        if not self.has_numbers():
            return
        if self.best is not None and not self.decides:
            for d in range(self.n_docs):
                if self.outcome[d] == UNSOLVED and not self._find_path(d):
                    self.outcome[d] = LEFT
                    return
        self.solve_all(0, self.n_docs)

    cdef bint _find_path(self, Py_ssize_t d) noexcept nogil:
        """Ask for the path with the highest score, once. Returns whether there is
        one."""
        cdef Py_ssize_t k, n = self.size(d)
        cdef const int32_t[:, ::1] path
        if not n or self.first_asked[d] < self.after_asked[d]:
            return True
        self.move(self.best.backward.chart, d)
        self.best.run()
        self.best.count()
        path = self.best.backward.path
        self.first_asked[d] = <int32_t>self.asked.n
        for k in range(self.best.n_segments):
            self.asked.add(d, path[k, 0], path[k, 1], path[k, 2], 0.0)
        self.after_asked[d] = <int32_t>self.asked.n
        return self.best.n_segments > 0

    cdef bint solve(self, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t a, d, k, lowest = MANY
        if not self._has_sweeps():
            for a in range(n):
                self.outcome[self.order[i + a]] = SOLVED
            return True
        for a in range(self.tables.n_lanes):
            d = self.order[i + min(a, n - 1)]
            self.put(a, d if a < n else -1)
            for k in range(self.first_asked[d], self.after_asked[d] if a < n else 0):
                lowest = min(lowest, self.asked.rows[k].end)
        if not self.sweep(1 if self.finds_starts else lowest):
            return False
        for a in range(n):
            d = self.order[i + a]
            self.outcome[d] = self._read(<Chart>self.tables.chart[a], d, a)
        return True

    cdef Outcome _read(self, Chart chart, Py_ssize_t d, Py_ssize_t a) noexcept nogil:
        """Read what is asked of a document in lane a."""
        cdef Outcome outcome = SOLVED
        if not chart.n_tokens and self.shared is not None:
            return outcome  # its path is certain, even where none is possible
        if not chart.n_tokens:
            self.log_z[d] = chart.final_weight(0)
            return LEFT if self.are_paths else outcome
        self.log_z[d] = lanes.log_z(self.tables, a)
        if self.listing is not None:
            self._list_asked(chart, d)
            self._list(chart, d, a, self.listing.p, self.listing)
            return outcome
        if self.decides:
            outcome = self._decide(chart, d, a)
        if outcome == NONE_PROBABLE and self.best is not None:
            outcome = SOLVED if self._find_path(d) else LEFT
        if outcome == SOLVED and self.answers:
            self._answer(chart, d, a)
        return outcome

    cdef void _answer(self, Chart chart, Py_ssize_t d, Py_ssize_t a) noexcept nogil:
        """Write the probabilities asked for of a document; of a path its score, too."""
        cdef Py_ssize_t k, state = 0
        cdef Listed* row
        self.path_score[d] = 0.0
        for k in range(self.first_asked[d], self.after_asked[d]):
            row = &self.asked.rows[k]
            if self.are_paths:
                if state >= 0:
                    state = chart.add_step(
                        state, row.start, row.end, row.label, &self.path_score[d]
                    )
                if row.label == 0:
                    continue
            row.score = segment_probability(
                self.tables, a, chart, row.start, row.end, row.label
            )
        if self.are_paths:
            self.path_score[d] += chart.final_weight(state) if state >= 0 else -INFINITY

    cdef void _list_asked(self, Chart chart, Py_ssize_t d) noexcept nogil:
        """List the segments that are asked for, with their scores."""
        cdef Py_ssize_t k
        cdef double score
        cdef Listed* row
        for k in range(self.first_asked[d], self.after_asked[d]):
            row = &self.asked.rows[k]
            score = chart.segment_score(row.start, row.end, row.label)
            self.listing.add(self.number[d], row.start, row.end, row.label, score)

    cdef double _list(
        self, Chart chart, Py_ssize_t d, Py_ssize_t a, double p, SpanLists spans
    ) noexcept nogil:
        """See `list_segments`: no segments of outside where spans are chosen."""
        cdef const double[:, :] starts = self.tables.starts[:, :, a]
        return list_segments(
            self.tables, a, chart, starts, p, not self.decides, self.number[d], spans
        )

    cdef Outcome _decide(self, Chart chart, Py_ssize_t d, Py_ssize_t a) noexcept nogil:
        """Ask for the path with the highest expected F1: the best of all sets of spans
        that do not overlap, with outside between them, if that is possible."""
        cdef double n_expected, least = first_least(self.expected_f1)
        while least > 0.0:
            self.probable.clear()
            n_expected = self._list(chart, d, a, least, self.probable)
            self.best_set.find(
                self.probable.rows, self.probable.n, n_expected, self.expected_f1
            )
            if not (self.best_set.is_complete and self.probable.is_complete):
                return LEFT
            least = next_least(least, self.best_set.ratio)
        if self.expected_f1 < 0.0 and self.probable.n == 0:
            return NONE_PROBABLE
        # Outside has one segment per gap, the usual form, or else one per token.
        is_possible = self._fill(chart, d, False) or self._fill(chart, d, True)
        return SOLVED if is_possible else LEFT

    cdef bint _fill(self, Chart chart, Py_ssize_t d, bint by_token) noexcept nogil:
        """Ask for the best set with outside between; returns whether it is possible."""
        cdef Py_ssize_t k, at = 0, state = 0
        cdef double total = 0.0
        cdef Candidate span
        self.first_asked[d] = <int32_t>self.asked.n
        for k in range(self.best_set.n_chosen):
            span = self.best_set.chosen[k]
            self._add_outside(at, span.start, by_token)
            self.asked.add(d, span.start, span.end, span.label, 0.0)
            at = span.end
        self._add_outside(at, chart.n_tokens, by_token)
        self.after_asked[d] = <int32_t>self.asked.n
        if not self.asked.is_complete:
            return True  # `_solve_rest` raises MemoryError
        for k in range(self.first_asked[d], self.after_asked[d]):
            state = chart.add_step(
                state,
                self.asked.rows[k].start,
                self.asked.rows[k].end,
                self.asked.rows[k].label,
                &total,
            )
            if state < 0 or total == -INFINITY:
                return False
        return total + chart.final_weight(state) > -INFINITY

    cdef void _add_outside(
        self, Py_ssize_t start, Py_ssize_t end, bint by_token
    ) noexcept nogil:
        cdef Py_ssize_t i
        if not by_token and start < end:
            self.asked.add(0, start, end, 0, 0.0)
        for i in range(start, end if by_token else start):
            self.asked.add(0, i, i + 1, 0, 0.0)
