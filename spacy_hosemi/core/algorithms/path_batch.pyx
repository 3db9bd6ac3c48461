"""The best segmentations of many documents, and how probable they are.

What `viterbi` and `path_steps` find of documents that nothing limits, the same bits, in
one task without an object for each document: all of them are solved in the tables of
one, and then stand side by side, four at a time.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t

from ..chart.chart cimport Chart
from ..chart.load cimport finish_together, move_to, read_together
from ..parallel.tasks cimport Task
from ..simd.simd cimport N_LANES
from ..sweeps cimport scaled_x4
from ..sweeps.tables_x4 cimport TablesX4
from .best_path cimport BestPath, give_back, spare_path


cdef class PathBatch(Task):
    """The best segmentations of some documents.

    automaton (PatternAutomaton), potentials (ManyPotentials): Of the documents, of n
        tokens together.
    tables (TablesX4): Of the automaton, without documents.

    is_ready (bool): Whether the task may be done. If not, or if `found` gives nothing,
        each document has to be done alone.
    """

    cdef readonly bint is_ready
    cdef Chart shared
    cdef BestPath best
    cdef TablesX4 tables
    cdef bint is_found
    cdef const int32_t[::1] borders     # [D + 1] the first token of each document, n
    cdef const int32_t[::1] order       # [D] of the documents, by length
    cdef int32_t[:, ::1] path           # [n, 3] segments from the border of a document
    cdef double[::1] probability        # [n] of each segment
    cdef int32_t[::1] n_segments        # [D]
    cdef double[::1] whole              # [D]

    def __init__(self, automaton, potentials, TablesX4 tables):
        self.is_ready = self.is_found = False
        borders = np.array(potentials.borders, np.int32)
        sizes = np.diff(borders)
        order = np.argsort(sizes, kind="stable").astype(np.int32)
        self.borders, self.order, self.tables = borders, order, tables
        cdef Py_ssize_t n = borders[len(borders) - 1], longest
        # One array of each type: a view of an array takes longer than a short document.
        self.path = np.empty((n, 3), np.int32)
        self.n_segments = np.zeros(len(sizes), np.int32)
        numbers = np.ones(n + len(sizes))
        self.probability, self.whole = numbers[:n], numbers[n:]
        self.shared = read_together(automaton, potentials)
        if n == 0 or self.shared is None or not finish_together(self.shared):
            return
        longest = order[len(order) - 1]
        self.best = spare_path(self.shared.layout)
        self.best.backward.take_part(self.shared, potentials, longest)
        self.best.set_method(potentials, "auto")
        longest = sizes[longest]
        self.is_ready = tables.reserve(self.best.backward.chart, longest, False)

    cdef void run(self) noexcept nogil:
        self.is_found = self._find_paths() and self._find_probabilities()

    cdef bint _find_paths(self) noexcept nogil:
        """RETURNS: whether each document has one."""
        cdef Py_ssize_t d, k, i
        for d in range(self.n_segments.shape[0]):
            if self.borders[d] == self.borders[d + 1]:
                continue
            self._move_to(d)
            self.best.solve()
            self.best.count()
            if self.best.n_segments == 0:
                return False
            self.n_segments[d] = <int32_t>self.best.n_segments
            for k in range(self.best.n_segments):
                for i in range(3):
                    self.path[self.borders[d] + k, i] = self.best.backward.path[k, i]
        return True

    cdef bint _find_probabilities(self) noexcept nogil:
        """RETURNS: whether all can be trusted."""
        cdef Py_ssize_t i = 0, a, n = self.order.shape[0]
        while i < n:
            if self._place(i, min(i + N_LANES, n)):
                if not scaled_x4.run(self.tables):
                    return False
                for a in range(min(N_LANES, n - i)):
                    if self.tables.n_tokens[a]:
                        self._answer(self.best.backward.chart, self.order[i + a], a)
            i += N_LANES
        return True

    cdef Py_ssize_t _place(self, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
        """Place some documents of the order. RETURNS: the tokens of the longest."""
        cdef Py_ssize_t a, d, at, lowest = self.probability.shape[0]
        for a in range(N_LANES):
            if i + a >= end:
                self.tables.place(a, NULL, NULL, NULL, 0)
                continue
            d = self.order[i + a]
            at = self.borders[d]
            if self.borders[d + 1] == at:
                self.tables.place(a, NULL, NULL, NULL, 0)
                continue
            self.tables.place(
                a,
                &self.shared.first[at, 0],
                &self.shared.more[at, 0],
                &self.shared.end[at, 0],
                self.borders[d + 1] - at,
            )
            lowest = min(lowest, self.path[at, 1])
        self.tables.lowest = min(lowest, self.tables.longest)
        return self.tables.longest

    cdef void _answer(self, Chart chart, Py_ssize_t d, Py_ssize_t lane) noexcept nogil:
        """The probabilities of the spans of a document, and of its segmentation."""
        cdef Py_ssize_t k, u, j, y, state = 0
        cdef double score = 0.0
        self._move_to(d)
        for k in range(self.borders[d], self.borders[d] + self.n_segments[d]):
            u, j, y = self.path[k, 0], self.path[k, 1], self.path[k, 2]
            state = chart.add_step(state, u, j, y, &score)
            if y:
                self.probability[k] = min(
                    scaled_x4.probability(
                        self.tables, lane, u, j, y, chart.segment_score(u, j, y)
                    ),
                    1.0,
                )
        score += chart.final_weight(state)
        self.whole[d] = exp(min(score - scaled_x4.log_z(self.tables, lane), 0.0))

    cdef void _move_to(self, Py_ssize_t d) noexcept nogil:
        move_to(
            self.best.backward.chart,
            self.shared,
            self.borders[d],
            self.borders[d + 1],
        )

    def found(self):
        """What was found, once; the tables are given back.

        RETURNS (Optional[Tuple]): None: nothing. Otherwise

            n_spans (int32 [D])         of each document
            start, end, label           of the K spans, document by document, in tokens
                (int32 [K])             of the document; none has label 0
            probability (float64 [K])   of each span
            whole (float64 [D])         of each segmentation
        """
        if self.best is not None:
            give_back(self.best)
        self.best = self.shared = None
        self.tables.forget()
        if not self.is_found:
            return None
        cdef Py_ssize_t n = self.path.shape[0], n_docs = self.n_segments.shape[0]
        cdef Py_ssize_t d, k, at, n_found = 0, before
        n_spans, whole = np.empty(n_docs, np.int32), np.array(self.whole)
        spans, probability = np.empty((3, n), np.int32), np.empty(n)
        cdef int32_t[::1] n_spans_ = n_spans
        cdef int32_t[:, ::1] spans_ = spans
        cdef double[::1] probability_ = probability
        for d in range(n_docs):
            at, before = self.borders[d], n_found
            for k in range(at, at + self.n_segments[d]):
                if self.path[k, 2]:
                    spans_[0, n_found] = self.path[k, 0]
                    spans_[1, n_found] = self.path[k, 1]
                    spans_[2, n_found] = self.path[k, 2]
                    probability_[n_found] = self.probability[k]
                    n_found += 1
            n_spans_[d] = <int32_t>(n_found - before)
        start, end, label = spans[:, :n_found]
        return n_spans, start, end, label, probability[:n_found], whole
