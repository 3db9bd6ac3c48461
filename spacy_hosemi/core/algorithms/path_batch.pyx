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
    tables (Optional[TablesX4]): Of the automaton, without documents; None: the
        probabilities are not asked for.

    is_ready (bool): Whether the task may be done. If not, or if `found` gives nothing,
        each document has to be done alone.
    """

    cdef readonly bint is_ready
    cdef Chart shared
    cdef BestPath best
    cdef TablesX4 tables
    cdef bint is_found
    cdef int32_t[::1] borders           # [D + 1] the first token of each document, n
    cdef int32_t[::1] n_segments        # [D]
    cdef int32_t[:, ::1] path           # [n, 3] segments from the border of a document
    # With probabilities
    cdef const int32_t[::1] order       # [D] of the documents, by length
    cdef double[::1] probability        # [n] of each segment
    cdef double[::1] whole              # [D]

    def __init__(self, automaton, potentials, TablesX4 tables):
        cdef list borders = potentials.borders
        cdef Py_ssize_t n_docs = len(borders) - 1, n = borders[n_docs], d
        cdef Py_ssize_t longest = 0, size
        self.is_ready = self.is_found = False
        self.tables = tables
        # One array: a view of an array takes longer than to solve a short document.
        self.path = np.empty((n + (2 * n_docs + 3) // 3, 3), np.int32)
        cdef int32_t[::1] room = <int32_t[: 3 * self.path.shape[0]]>&self.path[0, 0]
        self.borders = room[3 * n : 3 * n + n_docs + 1]
        self.n_segments = room[3 * n + n_docs + 1 : 3 * n + 2 * n_docs + 1]
        for d in range(n_docs + 1):
            self.borders[d] = borders[d]
        for d in range(n_docs):
            self.n_segments[d] = 0
            size = self.borders[d + 1] - self.borders[d]
            if size > self.borders[longest + 1] - self.borders[longest]:
                longest = d
        if tables is not None:
            sizes = np.diff(np.asarray(self.borders))
            self.order = np.argsort(sizes, kind="stable").astype(np.int32)
            numbers = np.ones(n + n_docs)
            self.probability, self.whole = numbers[:n], numbers[n:]
        self.shared = read_together(automaton, potentials)
        if n == 0 or self.shared is None or not finish_together(self.shared):
            return
        size = self.borders[longest + 1] - self.borders[longest]
        self.best = spare_path(self.shared.layout)
        self.best.backward.take_part(self.shared, potentials, longest)
        self.best.set_method(potentials, "auto")
        self.is_ready = tables is None or tables.reserve(
            self.best.backward.chart, size, False
        )

    cdef void run(self) noexcept nogil:
        self.is_found = self._find_paths() and (
            self.tables is None or self._find_probabilities()
        )

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
            spans (int32 [K, 3])        start, end and label of each span, document by
                                        document, in tokens of the document; none has
                                        label 0
            probability (float64 [K])   of each span; None: not asked for
            whole (float64 [D])         of each segmentation; or None
        """
        if self.best is not None:
            give_back(self.best)
        self.best = self.shared = None
        if self.tables is not None:
            self.tables.forget()
        if not self.is_found:
            return None
        cdef Py_ssize_t n_docs = self.n_segments.shape[0]
        cdef Py_ssize_t d, k, i, at, n = 0, before
        # Where they are, spans move to the front.
        for d in range(n_docs):
            at, before = self.borders[d], n
            for k in range(at, at + self.n_segments[d]):
                if not self.path[k, 2]:
                    continue
                for i in range(3):
                    self.path[n, i] = self.path[k, i]
                if self.tables is not None:
                    self.probability[n] = self.probability[k]
                n += 1
            self.n_segments[d] = <int32_t>(n - before)
        n_spans, spans = np.asarray(self.n_segments), np.asarray(self.path)[:n]
        if self.tables is None:
            return n_spans, spans, None, None
        probability = np.asarray(self.probability)[:n]
        return n_spans, spans, probability, np.asarray(self.whole)
