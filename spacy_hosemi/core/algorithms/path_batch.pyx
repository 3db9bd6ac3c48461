"""The best segmentations of many documents, and how probable they are.

What `viterbi` and `path_steps`, or `mbr`, find of documents that nothing limits but
their cells, the same bits, in one task without an object for each document: all of them
are solved in the tables of one, and stand side by side, four at a time.
"""

import numpy as np

from libc.math cimport exp
from libc.stdint cimport int32_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport Room, add_room, finish_loading, move_to, read_together
from ..chart.span_lists cimport Listed
from ..parallel.tasks cimport Task
from ..sweeps cimport lanes
from ..sweeps.lane_tables cimport LaneTables
from .lane_batch cimport LaneBatch
from .best_path cimport BestPath, give_back, spare_path

# More numbers of long segments are left to others.
cdef Py_ssize_t LARGE = 1_000_000


cdef class PathBatch(Task):
    """The best segmentations of documents of n tokens together: decisions or paths of
    `batch` if there is one, else Viterbi's, without probabilities. If not `is_ready`,
    or if `found` returns None, each document has to be done alone."""

    cdef readonly bint is_ready
    cdef Chart shared
    cdef BestPath best
    cdef LaneBatch batch
    cdef LaneTables tables                # its tables
    cdef bint is_found, has_cells
    cdef const Cell[::1] cells          # [K] of all documents
    cdef int32_t[::1] first_cell        # [D + 1]
    cdef int32_t[::1] borders           # [D + 1] the first token of each document, n
    cdef int32_t[::1] n_segments        # [D]
    cdef int32_t[:, ::1] path           # [n, 3] segments from the border of a document
    # With a batch
    cdef const int32_t[::1] order       # [D] of the documents, by length
    cdef double[::1] probability        # [n] of each segment
    cdef double[::1] whole              # [D]

    def __init__(self, automaton, potentials, LaneBatch batch):
        cdef list borders = potentials.borders
        cdef Py_ssize_t n_docs = len(borders) - 1, n = borders[n_docs]
        cdef Room room
        self.is_ready = self.is_found = False
        self.batch, self.tables = batch, None if batch is None else batch.use(0, n_docs)
        # One array: a view of an array takes longer than to solve a short document.
        self.path = np.empty((n + n_docs + 1, 3), np.int32)
        cdef int32_t[::1] rest = <int32_t[: 3 * self.path.shape[0]]>&self.path[0, 0]
        rest = rest[3 * n :]
        self.borders, self.first_cell = rest[: n_docs + 1], rest[n_docs + 1 :]
        self.first_cell = self.first_cell[: n_docs + 1]
        self.n_segments = rest[2 * (n_docs + 1) : 2 * (n_docs + 1) + n_docs]
        _copy(borders, self.borders)
        self.n_segments[:] = 0
        if batch is not None:
            sizes = np.diff(np.asarray(self.borders))
            self.order = np.argsort(sizes, kind="stable").astype(np.int32)
            numbers = np.ones(n + n_docs)
            self.probability, self.whole = numbers[:n], numbers[n:]
        self.shared = read_together(automaton, potentials)
        if n == 0 or self.shared is None or not self._read_cells(potentials, &room):
            return
        self.best = spare_path(self.shared.layout)
        self.best.backward.take_shared(self.shared, room)
        self.best.set_method(potentials, "auto")
        self.is_ready = batch is None or self._reserve(room)

    cdef bint _read_cells(self, potentials, Room* room):
        """Returns whether the cells of the documents are sound, and not too many."""
        cdef Py_ssize_t d, i, j
        cdef Py_ssize_t n_docs = self.n_segments.shape[0]
        self.cells, self.has_cells = potentials.cells, len(potentials.cells) > 0
        if potentials.cell_borders is None:
            self.first_cell[:] = 0
        else:
            _copy(potentials.cell_borders, self.first_cell)
        room.n_tokens = room.n_cells = room.n_long_cells = room.n_long = 0
        room.longest = 0
        for d in range(n_docs):
            i, j = self.first_cell[d], self.first_cell[d + 1]
            if not 0 <= i <= j <= self.cells.shape[0] or not add_room(
                self.shared,
                self.cells[i:j],
                self.borders[d + 1] - self.borders[d],
                room,
            ):
                return False
        return room.n_long + room.n_long_cells * self.shared.n_states <= LARGE

    cdef bint _reserve(self, Room room):
        """RETURNS: Whether the weights permit it."""
        cdef Chart chart = self.best.backward.chart
        cdef bint found
        found = self.tables.reserve(chart, room.n_tokens, self.batch.decides, False)
        self.tables.take_shared(self.shared, room)
        return found

    cdef void run(self) noexcept nogil:
        if finish_loading(self.shared):
            self.is_found = self._find_paths() and (
                self.batch is None or self._find_probabilities()
            )

    cdef bint _find_paths(self) noexcept nogil:
        """RETURNS: whether each document has one, or will be given one."""
        cdef Py_ssize_t d
        if self.batch is not None and self.batch.decides:
            return True
        for d in range(self.n_segments.shape[0]):
            if self.borders[d] < self.borders[d + 1] and not self._find_path(d):
                return False
        return True

    cdef bint _find_path(self, Py_ssize_t d) noexcept nogil:
        """Viterbi's. RETURNS: whether there is one."""
        cdef Py_ssize_t k, i
        self._move_to(self.best.backward.chart, d)
        self.best.solve()
        self.best.count()
        self.n_segments[d] = <int32_t>self.best.n_segments
        for k in range(self.best.n_segments):
            for i in range(3):
                self.path[self.borders[d] + k, i] = self.best.backward.path[k, i]
        return self.best.n_segments > 0

    cdef bint _find_probabilities(self) noexcept nogil:
        """RETURNS: whether all can be trusted."""
        cdef Py_ssize_t i = 0, a, n = self.order.shape[0]
        while i < n:
            if self._place(i, min(i + self.tables.n_lanes, n)):
                self.batch.run()
                if not self.batch.trusted:
                    return False
                for a in range(min(self.tables.n_lanes, n - i)):
                    if self.tables.n_tokens[a]:
                        if not self._read(self.order[i + a], a):
                            return False
            i += self.tables.n_lanes
        return True

    cdef Py_ssize_t _place(self, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
        """Place documents and what is asked of them; returns tokens of the longest."""
        cdef Py_ssize_t a, d, at, lowest = self.probability.shape[0]
        self.batch.asked.clear()
        for a in range(self.tables.n_lanes):
            d = self.order[min(i + a, end - 1)]
            at = self.borders[d]
            if i + a >= end or self.borders[d + 1] == at:
                self.tables.place(a, NULL, NULL, NULL, 0)
                continue
            self.tables.place(
                a,
                &self.shared.first[at, 0],
                &self.shared.more[at, 0],
                &self.shared.end[at, 0],
                self.borders[d + 1] - at,
            )
            self._move_to(<Chart>self.tables.chart[a], d)
            if not self.batch.decides:
                self._ask(d, a)
                lowest = min(lowest, self.path[at, 1])
        if self.has_cells:
            self.tables.place_cells()
        if self.batch.decides:
            lowest = 1
        self.tables.lowest = max(1, min(lowest, self.tables.longest))
        return self.tables.longest

    cdef void _ask(self, Py_ssize_t d, Py_ssize_t lane) noexcept nogil:
        """Ask for the numbers of the path of a document."""
        cdef Py_ssize_t k, at = self.borders[d]
        self.batch.first_asked[lane] = self.batch.asked.n
        for k in range(at, at + self.n_segments[d]):
            self.batch.asked.add(
                lane, self.path[k, 0], self.path[k, 1], self.path[k, 2], 0.0
            )
        self.batch.after_asked[lane] = self.batch.asked.n

    cdef bint _read(self, Py_ssize_t d, Py_ssize_t lane) noexcept nogil:
        """Write path and probabilities of a document; returns whether there is one."""
        cdef Py_ssize_t k, at = self.borders[d]
        cdef double score
        cdef Listed* row
        if self.batch.has_none[lane]:
            if not self._find_path(d):
                return False
            self._ask(d, lane)
            if self.batch.answers:
                self.batch.answer(<Chart>self.tables.chart[lane], lane)
        if not (self.batch.asked.is_complete and self.batch.best_set.is_complete):
            return False
        row = &self.batch.asked.rows[self.batch.first_asked[lane]]
        self.n_segments[d] = <int32_t>(
            self.batch.after_asked[lane] - self.batch.first_asked[lane]
        )
        for k in range(at, at + self.n_segments[d]):
            self.path[k, 0], self.path[k, 1] = row.start, row.end
            self.path[k, 2], self.probability[k] = row.label, min(row.score, 1.0)
            row += 1
        if self.batch.answers:
            score = self.batch.path_score[lane]
            score -= lanes.log_z(self.tables, lane)
            self.whole[d] = exp(min(score, 0.0))
        return self.n_segments[d] > 0

    cdef void _move_to(self, Chart chart, Py_ssize_t d) noexcept nogil:
        move_to(
            chart,
            self.shared,
            self.borders[d],
            self.borders[d + 1],
            self.cells[self.first_cell[d] : self.first_cell[d + 1]],
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
        cdef bint answers = self.batch is not None and self.batch.answers
        if self.best is not None:
            give_back(self.best)
        self.best = self.shared = None
        if self.batch is not None:
            self.tables.forget()
            self.batch.asked.clear()
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
                if answers:
                    self.probability[n] = self.probability[k]
                n += 1
            self.n_segments[d] = <int32_t>(n - before)
        # A copy: `n_segments` lies in the memory of `path`, and does not keep it.
        n_spans, spans = np.array(self.n_segments), np.asarray(self.path)[:n]
        if not answers:
            return n_spans, spans, None, None
        probability = np.asarray(self.probability)[:n]
        return n_spans, spans, probability, np.asarray(self.whole)


cdef _copy(list values, int32_t[::1] out):
    cdef Py_ssize_t k
    for k in range(out.shape[0]):
        out[k] = values[k]
