"""Decisions by the posteriors of one document: the best set of spans with outside
between them, or, where that is not possible, the best of all possible segmentations.

The search lists spans down to some probability, and takes all others for as probable as
that. If what is best then has none of them, none can be part of anything better. Best
is what gains most together, a span 2 p - ratio: Viterbi's path where what is forbidden
has a score of -inf, and all else 0 but for spans.
"""

import numpy as np

from libc.math cimport rint
from libc.stdlib cimport qsort

from ..chart.cells cimport Cell
from ..chart.span_lists cimport Listed, SpanLists
from ..potentials import CELLS, ROLES, Potentials, check_potentials
from .best_sets import LEAST, least_listed, next_listed
from .best_sets cimport BestSet
from .viterbi import viterbi

# Unlisted spans are searched for below this share of the last least probability.
cdef double STEP = 0.25

# What a span that is not listed costs: more than all gains of a document.
cdef double COST = 1e6

# Gains are rounded to 1e-10, where the search has to compare their sums.
cdef double UNIT = 2.0**-33

# An F1 that is not higher by this much is the same.
cdef double LEAST_GAIN = 1e-12


def best_f1(posterior, automaton, potentials, constraints, expected_f1):
    """Returns the segmentation of highest expected F1 for the posterior (Marginals) of
    a document, as `viterbi` gives it; [] if nothing is possible."""
    if posterior.log_z == -np.inf:
        return []
    cdef DecisionSearch search = DecisionSearch(
        posterior, automaton, potentials, constraints
    )
    cdef double f1 = -1.0 if expected_f1 is None else expected_f1
    cdef double last, least, n_expected
    last = least = least_listed(expected_f1)
    while least > 0.0:  # until no other span pays
        n_expected = search.list_spans(least)
        search.find_best_set(n_expected, f1)
        last, least = least, next_listed(least, search.best_set.ratio)
    if not search.spans.n and expected_f1 is None:
        return search.most_probable()  # all are as good
    found = search.possible_filling()
    return found or search.best_listed(last, f1)


def most_correct(posterior, automaton, potentials, constraints):
    """Returns the segmentation with most expected correct spans, as `best_f1`."""
    if posterior.log_z == -np.inf:
        return []
    cdef DecisionSearch search = DecisionSearch(
        posterior, automaton, potentials, constraints
    )
    cdef Py_ssize_t k
    search.list_spans(LEAST)
    for k in range(search.spans.n):  # so that it gains p, not 2 p
        search.spans.rows[k].score *= 0.5
    return search.choose(0.0, -COST)


cdef int _compare(const void* a, const void* b) noexcept nogil:
    """By start, then end, then label."""
    cdef const Listed* x = <const Listed*>a
    cdef const Listed* y = <const Listed*>b
    if x.start != y.start:
        return -1 if x.start < y.start else 1
    if x.end != y.end:
        return -1 if x.end < y.end else 1
    return (x.label > y.label) - (x.label < y.label)


cdef class DecisionSearch:
    """Finds segmentations whose spans gain most together. Arguments as of `best_f1`."""

    cdef object posterior, automaton, potentials, constraints
    cdef object free                    # Potentials; None: not made yet
    cdef double[:, ::1] free_start      # of these
    cdef Py_ssize_t n_tokens, n_labels
    cdef SpanLists spans                # from left to right
    cdef BestSet best_set               # of these
    cdef bint are_known                 # whether nothing found has unlisted spans

    def __init__(self, posterior, automaton, potentials, constraints):
        self.posterior, self.automaton = posterior, automaton
        self.potentials, self.constraints = potentials, constraints
        self.free = self.free_start = None
        self.n_tokens = len(potentials.inside)
        self.n_labels = automaton.n_labels
        self.spans, self.best_set = SpanLists(), BestSet()
        self.are_known = True

    cdef double list_spans(self, double least) except? -1.0:
        """List spans of at least this probability; returns how many are expected."""
        self.spans.clear()
        self.spans.p = least
        cdef double n_expected = self.posterior.list_spans(self.spans)
        self.spans.check()
        qsort(self.spans.rows, self.spans.n, sizeof(Listed), _compare)
        return n_expected

    cdef find_best_set(self, double n_expected, double f1):
        """See `BestSet.find`."""
        self.best_set.find(self.spans.rows, self.spans.n, n_expected, f1)
        if not self.best_set.is_complete:
            raise MemoryError

    cdef list possible_filling(self):
        """Returns the best set with outside between its spans; [] if not possible."""
        for segments in _fillings(self.best_set.segments(), self.n_tokens):
            if segments and self.posterior.is_possible(segments):
                return segments
        return []

    cdef list most_probable(self):
        return viterbi(self.automaton, self.potentials, self.constraints)[0]

    cdef list best_listed(self, double least, double f1):
        """RETURNS: The possible segmentation with the highest expected F1, or with the
        highest gain at an F1 that is given; least: spans of that probability are
        listed."""
        cdef double n_expected, last = LEAST
        while True:
            least = max(STEP * least, last)
            n_expected = self.list_spans(least)
            self.are_known = True
            if f1 >= 0.0:
                best = self._choose_at(f1, least)
            else:
                best = self._highest_ratio(n_expected, least)
            if self.are_known:
                return best

    cdef list _highest_ratio(self, double n_expected, double least):
        """Dinkelbach's method, from the most probable segmentation on."""
        cdef list segments, best = self.most_probable()
        cdef double reached, ratio = self._f1(best, n_expected)
        while True:  # each time with fewer spans
            segments = self._choose_at(ratio, least)
            reached = self._f1(segments, n_expected)
            if not reached > ratio + LEAST_GAIN:
                return best
            best, ratio = segments, reached

    cdef list _choose_at(self, double ratio, double least):
        cdef bint is_last = least <= LEAST
        segments = self.choose(ratio, -COST if is_last else 2.0 * least - ratio)
        for start, end, label in segments:
            if label and not is_last and self._place(start, end, label) < 0:
                self.are_known = False
        return segments

    cdef list choose(self, double ratio, double other):
        """Returns the possible segmentation whose spans gain most, one not listed
        `other`. If `other` is 0, spans with a gain above 0 and outside between them are
        tried first. Else each span of a decoding has `other`, and cells add the rest;
        with `-COST` others are taken only where nothing else is possible."""
        cdef Py_ssize_t i, y
        cdef double[:, ::1] start
        if other <= 0.0:
            self.find_best_set(0.0, ratio)
            if segments := self.possible_filling():
                return segments
        if self.free is None:
            self.free = _free(self.automaton, self.potentials)
            self.free_start = self.free.start
        other = _whole(other)
        array = np.array(self.free_start)
        start = array
        for i in range(start.shape[0]):
            for y in range(1, self.n_labels):
                start[i, y] += other
        free = self.free
        given = Potentials(
            free.inside,
            array,
            free.end,
            free.length,
            free.tail,
            self._cells(ratio, other),
            free.pattern,
            free.entries,
        )
        return viterbi(self.automaton, given, self.constraints)[0]

    cdef object _cells(self, double ratio, double other):
        """RETURNS (CELLS): The forbidden ones; what listed spans gain beyond others."""
        cdef Py_ssize_t k, n = len(self.free.cells)
        cdef Listed* row
        found = np.empty(n + self.spans.n, CELLS)
        found[:n] = self.free.cells
        cdef Cell[::1] cells = found
        for k in range(self.spans.n):
            row = &self.spans.rows[k]
            cells[n + k].start, cells[n + k].end = row.start, row.end
            cells[n + k].column = row.label
            cells[n + k].score = _whole(2.0 * row.score - ratio) - other
        return found

    cdef Py_ssize_t _place(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t label):
        """RETURNS: Where a span is listed; -1: it is not."""
        cdef Py_ssize_t low = 0, high = self.spans.n, middle
        cdef Listed span
        cdef int order
        span.start, span.end, span.label = <int>start, <int>end, <int>label
        while low < high:
            middle = (low + high) // 2
            order = _compare(&self.spans.rows[middle], &span)
            if order == 0:
                return middle
            if order < 0:
                low = middle + 1
            else:
                high = middle
        return -1

    cdef double _f1(self, list segments, double n_expected):
        cdef Py_ssize_t k, n_spans = 0
        cdef double n_correct = 0.0
        for start, end, label in segments:
            if label:
                n_spans += 1
                k = self._place(start, end, label)
                n_correct += self.spans.rows[k].score if k >= 0 else 0.0
        cdef double size = n_spans + n_expected
        return 2.0 * n_correct / size if size else 0.0


cdef double _whole(double gain) noexcept nogil:
    """In whole numbers of a small unit: their sums are exact, so ties stay ties."""
    return rint(gain / UNIT) * UNIT


def _free(automaton, potentials):
    """RETURNS (Potentials): Scores of 0, or of -inf where these potentials have it."""
    given = check_potentials(automaton, potentials)
    names = *ROLES, "length", "tail", "pattern"
    dense = {
        name: np.where(np.isneginf(getattr(given, name)), -np.inf, 0.0)
        for name in names
    }
    cells, entries = (
        rows if rows is None else rows[np.isneginf(rows["score"])]
        for rows in (given.cells, given.entries)
    )
    return Potentials(**dense, cells=cells, entries=entries)


def _fillings(spans, n_tokens):
    """Returns spans from left to right with outside between them: first in one segment
    per gap, the usual form, then token by token."""
    starts = [0, *[end for _, end, _ in spans]]
    ends = [*[start for start, _, _ in spans], n_tokens]
    gaps = [(start, end, 0) for start, end in zip(starts, ends) if start < end]
    found = [sorted([*gaps, *spans])]
    if any([end - start > 1 for start, end, _ in gaps]):
        tokens = [(t, t + 1, 0) for start, end, _ in gaps for t in range(start, end)]
        found.append(sorted([*tokens, *spans]))
    return found
