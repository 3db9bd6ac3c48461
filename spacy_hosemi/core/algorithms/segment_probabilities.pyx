"""Probabilities of segments of many documents, four documents at a time.

If a number leaves the range of float64, each document is done again alone, and where
that fails, by `marginals`; so are all others: those with longer explicit segments, and
very long ones.

The task that fills the tables also reads them, while they are in the cache of its core.
"""

from functools import partial

import numpy as np

from libc.math cimport INFINITY

from ..chart.chart cimport Chart
from ..chart.layout cimport Layout
from ..chart.span_lists cimport Listed, SpanLists
from ..parallel.tasks cimport Task
from ..parallel.coroutines import finish
from ..simd.simd cimport N_LANES
from ..sweeps cimport scaled_x4
from ..sweeps.tables_x4 cimport TablesX4
from .marginals import check_segment, log_partition, marginal_steps, marginals

# Documents for which there would have to be more numbers are done by `marginals`.
LARGE = 4_000_000
# Tables are kept for other documents, for some threads, if they have no more numbers.
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
    return finish(probability_steps(automaton, potentials, segments, constraints))[0]


def probability_steps(automaton, potentials, segments, constraints):
    """`segment_probabilities`, in steps, with log Z.

    YIELDS (Task): Work without the GIL, which must be done before the next step.
    RETURNS (Tuple[List[List[float]], List[Optional[float]]]): In [0, 1]; log Z of each
        document, None where no segments are asked for.
    """
    asked = [k for k in range(len(potentials)) if segments[k]]
    log_z = [None] * len(potentials)
    args = automaton, potentials, segments, constraints, asked
    found = yield from _side_by_side(*args, None, log_z)
    alone = [k for k in asked if log_z[k] is None]
    args = automaton, potentials, constraints, alone, partial(_probabilities, segments)
    for k, answer in zip(alone, (yield from marginal_steps(*args))):
        found[k], log_z[k] = answer
    return [probs or [] for probs in found], log_z


def _probabilities(segments, k, posterior):
    return [posterior.segment(*x) for x in segments[k]], posterior.log_z


def log_partition_as_asked(automaton, potentials, constraints):
    """Log Z of a document, the same bits as `probability_steps` finds it with.

    automaton (PatternAutomaton), potentials (Potentials), constraints
        (Optional[Constraints]): As of `log_partition`.
    RETURNS (float): In nats; -inf if no segmentation is possible.
    RAISES: As `log_partition`.
    """
    log_z = [None]
    finish(
        _side_by_side(automaton, [potentials], [()], [constraints], [0], None, log_z)
    )
    if log_z[0] is None:
        return log_partition(automaton, potentials, constraints)
    return log_z[0]


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
    cdef SpanLists listing = SpanLists(p)
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
    YIELDS (Task): Work without the GIL, which must be done before the next step.
    RETURNS (List[Optional[List[Tuple[int, int, int]]]]): The segments; None: nothing is
        decided or possible so, or the document cannot stand beside others.
    RAISES (ValueError): As `log_partition`.
    """
    cdef SpanLists listing = SpanLists(p, decide)
    asked = range(len(potentials))
    none = [()] * len(potentials)
    args = automaton, potentials, none, constraints, asked, listing
    found = yield from _side_by_side(*args)
    return [x[0] if x else None for x in found]


def _side_by_side(
    automaton, potentials, segments, constraints, asked, SpanLists listing, log_z=None
):
    """YIELDS: tasks. RETURNS: For each document that `BatchOfFour` can do, what it has
    found, in a list of one where something was to be decided; [] for one that has to be
    done alone; None for one that is not asked for. Where there is a list for them, it
    is given log Z of those that were done."""
    cdef BatchOfFour batch = None
    cdef Layout layout
    cdef list found = [None] * len(potentials)
    sizes = [(_size(automaton, potentials[k], constraints[k]), k) for k in asked]
    # Those of about the same length stand side by side.
    for size, k in sorted(sizes):
        found[k] = []
        if not size or (listing is not None and automaton.observed):
            continue
        if batch is None:
            batch = _batch(automaton)
            batch.listing = listing
        if not batch.add(k, potentials[k], constraints[k], segments[k]):
            if batch.set_up(-1):
                yield batch
            batch.write_down(found, log_z)
            batch.add(k, potentials[k], constraints[k], segments[k])
    if batch is not None:
        if batch.set_up(-1):
            yield batch
        batch.write_down(found, log_z)
        batch.listing = None
        layout = automaton.layout
        size = batch.tables.n_numbers() + batch.asked.room
        if len(layout.spare_batches) < N_SPARE and size <= SMALL:
            layout.spare_batches.append(batch)
    return found


cdef Py_ssize_t _size(automaton, potentials, constraints):
    """Tokens of a document that may stand beside others; 0: it may not."""
    if getattr(potentials.length, "shape", ())[1:] != (1,):
        return 0
    cdef Py_ssize_t n_tokens = getattr(potentials.inside, "shape", (0,))[0]
    return n_tokens if n_tokens * _n_of_row(automaton) <= LARGE else 0


cdef Py_ssize_t _n_of_row(automaton):
    """Numbers for each boundary."""
    return N_LANES * (4 * automaton.n_states + 5 * automaton.n_groups + 2)


cdef BatchOfFour _batch(automaton):
    cdef Layout layout
    if automaton.layout is not None:
        layout = automaton.layout
        if layout.spare_batches:
            return layout.spare_batches.pop()
    return BatchOfFour(automaton)


cdef class BatchOfFour(Task):
    """Up to four documents, and what is asked of them."""

    cdef TablesX4 tables
    cdef list numbers                   # of each document
    cdef SpanLists asked                # segments by lane, and how probable they are
    cdef SpanLists listing              # of what else is probable; None: nothing
    cdef bint trusted                   # the sweeps that were run
    # by lane
    cdef Py_ssize_t number[N_LANES]
    cdef Py_ssize_t first_asked[N_LANES + 1]
    cdef Py_ssize_t first_listed[N_LANES], after_listed[N_LANES]
    cdef double n_expected[N_LANES]     # spans, with `decide`

    def __init__(self, automaton):
        self.tables = TablesX4(automaton)
        self.numbers, self.asked = [], SpanLists()
        self.first_asked[0] = 0

    cdef bint add(self, k, potentials, constraints, segments):
        """Load a document. RETURNS: whether it may be solved with the others."""
        cdef Py_ssize_t lane = len(self.numbers), start, end, label
        cdef Chart chart
        if lane == N_LANES:
            return False
        chart = self.tables.load(lane, potentials, constraints)
        if chart is None:
            return False
        for start, end, label in segments:
            if not 0 <= start < end <= chart.n_tokens or not (
                0 <= label < chart.n_labels
            ):
                check_segment(start, end, label, chart.n_tokens, chart.n_labels)
            self.asked.add(lane, start, end, label, 0.0)
        self.asked.check()
        self.numbers.append(k)
        self.number[lane] = k
        self.first_asked[lane + 1] = self.asked.n
        return True

    cdef write_down(self, list found, list log_z):
        """Write what was found into the lists, and let go of the documents. Nothing is
        written for one that has to be done by `marginals`."""
        cdef Py_ssize_t lane, k
        cdef bint together = self.trusted
        for lane in range(len(self.numbers)):
            if not together:
                if len(self.numbers) == 1 or not self.set_up(lane):
                    continue
                self.do()
                if not self.trusted:
                    continue
            if log_z is not None:
                log_z[self.numbers[lane]] = scaled_x4.log_z(self.tables, lane)
            if self.listing is None:
                found[self.numbers[lane]] = [
                    self.asked.rows[k].score
                    for k in range(self.first_asked[lane], self.first_asked[lane + 1])
                ]
            else:
                self.listing.check()
                found[self.numbers[lane]] = [self._decided(lane)]
        self.tables.forget()
        self.numbers = []
        self.asked.clear()

    cdef bint set_up(self, Py_ssize_t alone):
        """Prepare to run: all lanes, or only lane `alone` if it is not -1. RETURNS:
        whether the weights permit it."""
        cdef Py_ssize_t begin = 0, end = len(self.numbers), k, lowest = 1
        if alone >= 0:
            begin, end = alone, alone + 1
        if self.listing is None:
            lowest = LARGE  # more than any document has
            for k in range(self.first_asked[begin], self.first_asked[end]):
                lowest = min(lowest, self.asked.rows[k].end)
        elif self.listing.decide is not None:
            self.listing.clear()  # what was listed has been decided
        self.trusted = False
        return self.tables.set_up(begin, end, lowest, self.listing is not None)

    cdef void run(self) noexcept nogil:
        """Both sweeps, then the probabilities that they are for."""
        cdef Py_ssize_t a
        self.trusted = scaled_x4.run(self.tables)
        # Here, for the tables are in the cache of this core.
        for a in range(N_LANES if self.trusted else 0):
            if not self.tables.n_tokens[a]:
                continue
            if self.listing is None:
                self._answer(<Chart>self.tables.chart[a], a)
            else:
                self._list(<Chart>self.tables.chart[a], self.listing, a)

    cdef void _answer(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        """The probabilities that are asked for of a document."""
        cdef Py_ssize_t g, k
        cdef double total, score
        cdef Listed* row
        for k in range(self.first_asked[lane], self.first_asked[lane + 1]):
            row, total = &self.asked.rows[k], 0.0
            for g in range(chart.n_groups):
                if chart.layout.group_label[g] == row.label:
                    score = chart.segment_score(row.start, row.end, g)
                    total += scaled_x4.probability(
                        self.tables, lane, row.start, row.end, g, score
                    )
            row.score = total

    cdef void _list(
        self, Chart chart, SpanLists listing, Py_ssize_t lane
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
            score = chart.segment_score(row.start, row.end, row.label)
            listing.add(k, row.start, row.end, row.label, score)
        self.n_expected[lane] = 0.0
        for u in range(chart.n_tokens):
            for g in range(decides, chart.n_groups):
                open_ = scaled_x4.start_probability(self.tables, lane, u, g)
                self.n_expected[lane] += open_
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
                    prob = scaled_x4.probability(self.tables, lane, u, j, g, score)
                    if prob >= p * (1.0 - 1e-12):
                        score = prob if decides else chart.segment_score(u, j, g)
                        listing.add(k, u, j, g, score)
                    open_ -= prob
                    if open_ < least:
                        break
        self.after_listed[lane] = listing.n

    cdef object _decided(self, Py_ssize_t lane):
        """What is decided from the spans that are listed; None: nothing that is
        possible, or nothing is to be decided."""
        cdef Chart chart = self.tables.charts[lane]
        cdef SpanLists listing = self.listing
        if listing.decide is None:
            return None
        spans = listing.spans(self.first_listed[lane], self.after_listed[lane])
        for found in listing.decide(chart.n_tokens, spans, self.n_expected[lane]):
            if chart.path_score(found) > -INFINITY:
                return found
        return None
