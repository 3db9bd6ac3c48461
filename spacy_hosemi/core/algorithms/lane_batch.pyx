"""Both sweeps over one to four documents, and what is asked of their posteriors.

Of each document one of four things: the probabilities of some segments; those of the
spans of a path, and its score; the same of the path with the highest expected F1, which
is to be found; or a list of all probable segments. The task that fills the tables also
reads them, while they are in the cache of its core.
"""

from libc.math cimport INFINITY

from ..chart.load cimport load_document
from ..chart.span_lists cimport Listed
from ..simd.lanes cimport FOUR, ONE
from ..sweeps cimport lanes
from .best_sets cimport first_least, next_least
from .marginals import check_segment

# More tokens than any document has.
cdef Py_ssize_t MANY = 2**31 - 1


cdef class LaneBatch(Task):
    """Up to four documents of one automaton, and what is asked of each."""

    def __init__(self, automaton):
        self.charts = [Chart() for _ in range(N_LANES)]
        self.one, self.four = LaneTables(automaton, ONE), LaneTables(automaton, FOUR)
        self.tables, self.begin = self.four, 0
        self.numbers, self.asked, self.probable = [], SpanLists(), SpanLists()
        self.best_set = BestSet()
        self.ask_for_segments()

    cdef ask_for_segments(self):
        """Ask for the probabilities of the segments that are given."""
        self.listing, self.are_paths, self.decides = None, False, False
        self.answers = True

    cdef ask_for_paths(self):
        """Ask for the score of the path that is given, too."""
        self.ask_for_segments()
        self.are_paths = True

    cdef ask_for_decisions(self, expected_f1, bint answers=True):
        """Ask for the path with the highest expected F1, as `core.mbr` finds it, and
        with `answers` for its score and the probabilities of its spans."""
        self.ask_for_paths()
        self.answers = answers
        self.decides = True
        self.expected_f1 = -1.0 if expected_f1 is None else expected_f1

    cdef ask_for_list(self, SpanLists listing):
        """Ask for a list of probable segments, which also has those that are given."""
        self.ask_for_segments()
        self.listing = listing

    cdef Py_ssize_t size(self):
        """RETURNS: How many numbers there is room for."""
        return (
            self.one.n_numbers()
            + self.four.n_numbers()
            + self.asked.room
            + self.probable.room
        )

    cdef bint add(self, k, potentials, constraints, segments):
        """Load a document. RETURNS: whether it may be solved with the others."""
        cdef Py_ssize_t lane = len(self.numbers), start, end, label
        cdef Chart chart, first
        if lane == N_LANES:
            return False
        chart, first = self.charts[lane], self.charts[0]
        load_document(chart, self.four.automaton, potentials, constraints, defer=True)
        if chart.edge_weights is not first.edge_weights or (
            chart.n_lengths != first.n_lengths
        ):
            return False
        self.first_asked[lane] = self.asked.n
        for start, end, label in segments:
            if not 0 <= start < end <= chart.n_tokens or not (
                0 <= label < chart.n_labels
            ):
                check_segment(start, end, label, chart.n_tokens, chart.n_labels)
            self.asked.add(lane, start, end, label, 0.0)
        self.asked.check()
        self.after_asked[lane] = self.asked.n
        self.numbers.append(k)
        self.number[lane] = k
        return True

    cdef write_down(self, list found, list log_z):
        """Write what was found into the lists, and let go of the documents. Nothing is
        written for one that has to be done by `marginals`."""
        cdef Py_ssize_t lane
        cdef bint together = self.trusted
        for lane in range(len(self.numbers)):
            if not together:
                if len(self.numbers) == 1 or not self.set_up(lane):
                    continue
                self.do()
                if not self.trusted:
                    continue
            if log_z is not None:
                log_z[self.numbers[lane]] = lanes.log_z(self.tables, lane - self.begin)
            found[self.numbers[lane]] = self._found(lane)
        self.tables.forget()
        for chart in self.charts:
            (<Chart>chart).forget()
        self.numbers = []
        self.asked.clear()

    cdef object _found(self, Py_ssize_t lane):
        """What was asked for of a document, see `segment_probabilities`."""
        cdef Py_ssize_t k, first = self.first_asked[lane]
        cdef Py_ssize_t after = self.after_asked[lane]
        cdef Listed row
        cdef list segments, probs
        self.asked.check()
        if self.listing is not None:
            self.listing.check()
            return ()
        if not self.are_paths:
            return [self.asked.rows[k].score for k in range(first, after)]
        if not self.best_set.is_complete:
            raise MemoryError
        if first == after:
            return () if self.has_none[lane] else None
        segments, probs = [], []
        for k in range(first, after):
            row = self.asked.rows[k]
            segments.append((row.start, row.end, row.label))
            if row.label:
                probs.append(row.score)
        return segments, probs, self.path_score[lane]

    cdef bint set_up(self, Py_ssize_t alone):
        """Prepare all lanes, or lane `alone` >= 0; returns whether weights permit."""
        cdef Py_ssize_t begin = 0, end = len(self.numbers), k, lowest = 1
        cdef bint lists = self.decides or self.listing is not None
        if alone >= 0:
            begin, end = alone, alone + 1
        if self.decides:
            self.asked.clear()
        elif not lists:
            lowest = MANY
            for k in range(self.first_asked[begin], self.after_asked[end - 1]):
                lowest = min(lowest, self.asked.rows[k].end)
        self.trusted = False
        self.use(begin, end)
        return self.tables.set_up(self.charts[begin:end], lowest, lists)

    cdef LaneTables use(self, Py_ssize_t begin, Py_ssize_t end):
        """Returns the tables for documents begin .. end - 1."""
        self.tables, self.begin = self.one if end == begin + 1 else self.four, begin
        return self.tables

    cdef void run(self) noexcept nogil:
        """Both sweeps, then what they are for."""
        cdef Py_ssize_t a
        self.trusted = lanes.run(self.tables, None)
        for a in range(self.tables.n_lanes if self.trusted else 0):
            if self.tables.n_tokens[a]:
                self._read(<Chart>self.tables.chart[a], self.begin + a)

    cdef void _read(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        if self.listing is not None:
            self._add_asked(chart, lane)
            self._list(chart, lane, self.listing.p, self.listing)
            return
        if self.decides:
            self._decide(chart, lane)
        if self.answers:
            self.answer(chart, lane)

    cdef void answer(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        """The probabilities asked for of a document; of a path its score, too."""
        cdef Py_ssize_t g, k, state = 0
        cdef double total, score
        cdef Listed* row
        self.path_score[lane] = 0.0
        for k in range(self.first_asked[lane], self.after_asked[lane]):
            row, total = &self.asked.rows[k], 0.0
            if self.are_paths:
                if state >= 0:
                    state = chart.add_step(
                        state, row.start, row.end, row.label, &self.path_score[lane]
                    )
                if row.label == 0:
                    continue
            for g in range(chart.n_groups):
                if chart.layout.group_label[g] == row.label:
                    score = chart.segment_score(row.start, row.end, g)
                    total += lanes.probability(
                        self.tables, lane - self.begin, row.start, row.end, g, score
                    )
            row.score = total
        if self.are_paths:
            score = chart.final_weight(state) if state >= 0 else -INFINITY
            self.path_score[lane] += score

    cdef void _add_asked(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        """List the segments that are asked for, with their scores."""
        cdef Py_ssize_t k
        cdef double score
        cdef Listed* row
        for k in range(self.first_asked[lane], self.after_asked[lane]):
            row = &self.asked.rows[k]
            score = chart.segment_score(row.start, row.end, row.label)
            self.listing.add(
                self.number[lane], row.start, row.end, row.label, score
            )

    cdef double _list(
        self, Chart chart, Py_ssize_t lane, double p, SpanLists listing
    ) noexcept nogil:
        """List what is at least that probable, as `Marginals.segments_above` does; with
        `decides` spans and probabilities, else segments and scores. Returns how many
        are expected."""
        cdef Py_ssize_t k = self.number[lane], a = lane - self.begin, u, j, g
        cdef double open_, prob, more, score, n_expected = 0.0
        cdef double some = p * (1.0 - 1e-9), least = some - 1e-12
        if p == 0.0:
            least = -INFINITY
        for u in range(chart.n_tokens):
            for g in range(self.decides, chart.n_groups):
                open_ = self.tables.starts[u, g, a]
                n_expected += open_
                if open_ < some:
                    continue
                more = 0.0
                for j in range(u + 1, chart.n_tokens + 1):
                    if j > u + 1:
                        more += chart.more[j - 1, g]
                    score = chart.first[u, g] + more + chart.end[j - 1, g]
                    score += chart.length_score(g, j - u)
                    if chart.cells.n_cells:
                        score += chart.cells_of(u, j, g)
                    prob = lanes.probability(self.tables, a, u, j, g, score)
                    if prob >= p * (1.0 - 1e-12):
                        score = prob if self.decides else chart.segment_score(u, j, g)
                        listing.add(k, u, j, g, score)
                    open_ -= prob
                    if open_ < least:
                        break
        return n_expected

    cdef void _decide(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        """Ask for the path with the highest expected F1: the best of all sets of spans
        that do not overlap, with outside between them, if that is possible."""
        cdef double n_expected, least = first_least(self.expected_f1)
        self.first_asked[lane] = self.after_asked[lane] = self.asked.n
        while least > 0.0:
            self.probable.clear()
            n_expected = self._list(chart, lane, least, self.probable)
            self.best_set.find(
                self.probable.rows, self.probable.n, n_expected, self.expected_f1
            )
            if not (self.best_set.is_complete and self.probable.is_complete):
                self.best_set.is_complete = False
                return
            least = next_least(least, self.best_set.ratio)
        self.has_none[lane] = self.expected_f1 < 0.0 and self.probable.n == 0
        if self.has_none[lane]:
            return
        # Outside has one segment per gap, the usual form, or else one per token.
        if self._fill(chart, lane, False) or self._fill(chart, lane, True):
            self.after_asked[lane] = self.asked.n
        else:
            self.asked.n = self.first_asked[lane]

    cdef bint _fill(
        self, Chart chart, Py_ssize_t lane, bint by_token
    ) noexcept nogil:
        """Ask for the best set with outside between; returns whether it is possible."""
        cdef Py_ssize_t k, at = 0, state = 0
        cdef double total = 0.0
        cdef Candidate span
        self.asked.n = self.first_asked[lane]
        for k in range(self.best_set.n_chosen):
            span = self.best_set.chosen[k]
            self._add_outside(lane, at, span.start, by_token)
            self.asked.add(lane, span.start, span.end, span.label, 0.0)
            at = span.end
        self._add_outside(lane, at, chart.n_tokens, by_token)
        if not self.asked.is_complete:
            return True  # `_found` raises MemoryError
        for k in range(self.first_asked[lane], self.asked.n):
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
        self, Py_ssize_t lane, Py_ssize_t start, Py_ssize_t end, bint by_token
    ) noexcept nogil:
        cdef Py_ssize_t i
        if not by_token and start < end:
            self.asked.add(lane, start, end, 0, 0.0)
        for i in range(start, end if by_token else start):
            self.asked.add(lane, i, i + 1, 0, 0.0)
