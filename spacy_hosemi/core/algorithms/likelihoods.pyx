"""Log-likelihoods of many documents, and their derivatives, four documents at a time.

    loss = log Z - score(gold)             all tokens known
    loss = log Z - log Z(what agrees)      some missing
    derivative by a potential = expected count - count in gold, or expected there

For segments of one explicit token (D = 1), without observed patterns. What else there
is, and documents whose numbers leave the range of float64, is left to `marginals`.

Documents stand in *blocks* by position. In a block the longest ones stand in lanes
together; sums over documents are formed in this order, block by block. So the results
are the same bits for any number of threads.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..parallel.tasks cimport Task
from ..potentials import CELLS
from ..simd cimport simd as kernels
from ..simd.lanes cimport FOUR, N_LANES
from ..sweeps cimport lanes
from ..sweeps.documents cimport Documents
from ..sweeps.lane_counts cimport LaneCounts, lane_counts
from ..sweeps.lane_tables cimport LaneTables
from .gold_paths cimport GoldPaths
from .partial_gold cimport PartialGold


cdef class Likelihoods(Task):
    """Computes blocks which, which + n_tasks, .. as a task; its tables are used
    again."""

    cdef GoldPaths gold
    cdef Py_ssize_t which, n_tasks, begin, end
    cdef bint is_fit
    cdef Documents documents
    cdef LaneTables tables
    cdef LaneCounts counts
    cdef PartialGold partial_gold       # None: no annotation is partial
    cdef double[:, ::1] first           # start; with inside, while documents are solved
    cdef double[:, ::1] inside
    cdef double[:, ::1] last
    cdef double[:, ::1] within
    cdef Cell[::1] cells
    cdef double[::1] loss
    cdef uint8_t[::1] is_done
    cdef double[:, ::1] pattern
    cdef double[:, ::1] length

    def __init__(self, GoldPaths gold, which, n_tasks):
        self.documents, self.tables = Documents(), LaneTables(gold.automaton, FOUR)
        self.gold, self.which, self.n_tasks = gold, which, n_tasks
        self.counts = lane_counts(self.tables)
        self.counts.reserve_cells(gold.room.n_cells)
        if gold.longest_partial:
            self.partial_gold = PartialGold(gold)

    def take(
        self,
        begin,
        end,
        at,
        start,
        inside,
        last,
        within,
        loss,
        done,
        pattern,
        length,
        cells=np.zeros(0, CELLS),
        first_cell=None,
        cell_at=0,
    ):
        """Take scores by role of the tokens of blocks begin .. end - 1 (float64 [n,
        L]), and cells; derivatives replace them, but for documents left out. `loss` and
        `done` are by document of the corpus: where done stays 0, it has to be done
        alone. Derivatives of patterns [blocks, M] and lengths [blocks, L] are 0 before.
        `at` and `cell_at` are the first token and cell of the arrays; first_cell int64
        [D + 1] is of the corpus."""
        cdef Documents documents = self.documents
        self.begin, self.end = begin, end
        self.first, self.inside, self.last, self.within = start, inside, last, within
        self.loss, self.is_done = loss, done
        self.pattern, self.length, self.cells = pattern, length, cells
        documents.shared = self.gold.rows(self.first, self.inside, self.last)
        documents.first, documents.token_at = self.gold.first, at
        documents.cells, documents.cell_at = self.cells, cell_at
        documents.first_cell, documents.room = first_cell, self.gold.room
        self.is_fit = False
        if self.gold.longest:
            self.is_fit = documents.reserve(self.tables, False, True)
        if self.partial_gold is not None:
            self.partial_gold.set_weights()

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t i, end, b = self.begin + self.which
        while b < self.end and self.is_fit:
            i, end = self.gold.first_in_order[b], self.gold.first_in_order[b + 1]
            while i < end:
                self._solve(b - self.begin, i, min(i + N_LANES, end))
                i += N_LANES
            b += self.n_tasks

    cdef void _solve(
        self, Py_ssize_t block, Py_ssize_t i, Py_ssize_t end
    ) noexcept nogil:
        """Some documents of the order, side by side."""
        cdef double score[N_LANES]
        cdef Py_ssize_t a, d, n, at
        cdef bint is_any = False
        for a in range(N_LANES):
            score[a] = -INFINITY
            if i + a < end:
                d = self.gold.order[i + a]
                n, at = self.documents.size(d), self._at(d)
                self._join(at, n)
                if self._has_numbers(d, at, n):
                    score[a] = 0.0
        if not self._agree(i, end, score):
            return
        for a in range(N_LANES):
            self._place(a, self.gold.order[i + a] if score[a] > -INFINITY else -1)
            if self.tables.n_tokens[a]:
                d = self.gold.order[i + a]
                if self.gold.last_state[d] >= 0:
                    score[a] = self._score(<Chart>self.tables.chart[a], d)
                if score[a] == -INFINITY:
                    self._place(a, -1)
                is_any |= score[a] > -INFINITY
        if not is_any:
            return
        self.counts.clear()
        self.tables.place_cells()
        if not lanes.run(self.tables, self.counts):
            return
        self.counts.add_patterns(self.tables, self.pattern[block])
        for a in range(N_LANES):
            if self.tables.n_tokens[a]:
                d = self.gold.order[i + a]
                self.loss[d] = lanes.log_z(self.tables, a) - score[a]
                self.is_done[d] = True
                self._finish(block, d, a)

    cdef bint _agree(
        self, Py_ssize_t i, Py_ssize_t end, double* score
    ) noexcept nogil:
        """Solve what agrees with partial annotation: its log Z is the score. RETURNS:
        whether that can be trusted."""
        cdef Py_ssize_t a, d, at
        cdef bint is_any = False
        for a in range(N_LANES):
            d = self.gold.order[i + a] if i + a < end else -1
            if score[a] == -INFINITY or self.gold.last_state[d] >= 0:
                if self.partial_gold is not None:
                    self._place(a, -1)
                continue
            is_any, at = True, self._at(d)
            self.partial_gold.place(
                self.tables,
                <Chart>self.documents.chart[a],
                a,
                d,
                &self.first[at, 0],
                &self.inside[at, 0],
                &self.last[at, 0],
                self._cells_of(d),
            )
        if not is_any:
            return True
        if not self.partial_gold.run(self.tables):
            return False
        for a in range(N_LANES):
            if self.tables.n_tokens[a]:
                score[a] = lanes.log_z(self.tables, a)
        return True

    cdef void _place(self, Py_ssize_t a, Py_ssize_t d) noexcept nogil:
        """Put a document in a lane; -1: none."""
        cdef Py_ssize_t at
        self.documents.put(self.tables, a, d)
        if d < 0:
            return
        at = self._at(d)
        self.counts.lane[a].start = &self.first[at, 0]
        self.counts.lane[a].inside = &self.inside[at, 0]
        self.counts.lane[a].end = &self.last[at, 0]
        self.counts.lane[a].within = NULL
        if self.within.shape[0]:
            self.counts.lane[a].within = &self.within[at, 0]

    cdef Py_ssize_t _at(self, Py_ssize_t d) noexcept nogil:
        """Returns the row of the first token of a document."""
        return self.documents.first[d] - self.documents.token_at

    cdef Cell[::1] _cells_of(self, Py_ssize_t d) noexcept nogil:
        """Returns the cells of a document, to be written to."""
        cdef Py_ssize_t i, j
        if self.documents.first_cell is None:
            return self.cells[:0]
        i = self.documents.first_cell[d] - self.documents.cell_at
        j = self.documents.first_cell[d + 1] - self.documents.cell_at
        return self.cells[i:j]

    cdef void _join(self, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
        """From scores by role to those of first and of further tokens."""
        cdef Py_ssize_t i, size = n * self.first.shape[1]
        cdef double* first = &self.first[at, 0]
        cdef double* inside = &self.inside[at, 0]
        for i in range(size):
            first[i] += inside[i]
        if self.within.shape[0]:
            for i in range(size):
                inside[i] += (&self.within[at, 0])[i]

    cdef bint _has_numbers(
        self, Py_ssize_t d, Py_ssize_t at, Py_ssize_t n
    ) noexcept nogil:
        """Whether all scores of a document are numbers."""
        cdef Py_ssize_t k, size = n * self.first.shape[1]
        cdef Cell[::1] cells = self._cells_of(d)
        for k in range(cells.shape[0]):
            if not kernels.is_score(cells[k].score):
                return False
        return not (
            kernels.count_bad(&self.first[at, 0], size)
            or kernels.count_bad(&self.inside[at, 0], size)
            or kernels.count_bad(&self.last[at, 0], size)
        )

    cdef double _score(self, Chart chart, Py_ssize_t d) noexcept nogil:
        """That of the gold path of a document; the chart has its cells."""
        cdef Py_ssize_t k, y, u = 0, token = self.gold.first[d]
        cdef Py_ssize_t n = self.documents.size(d), at = self._at(d)
        cdef double total = self.gold.chart.final_weight(self.gold.last_state[d])
        for k in range(n):
            y = self.gold.label[token + k]
            if self.gold.edge[token + k] >= 0:
                u = k
                total += self.gold.chart.edge_weight[self.gold.edge[token + k]]
                total += self.first[at + k, y] + self.gold.chart.length_backwards[y]
            else:
                total += self.inside[at + k, y] + self.gold.chart.tail[y]
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                total += self.last[at + k, y]
                if chart.cells.n_cells:
                    total += chart.cells_of(u, k + 1, y)
        return total

    cdef void _finish(
        self, Py_ssize_t block, Py_ssize_t d, Py_ssize_t a
    ) noexcept nogil:
        """From expected counts to derivatives, and expected segments of each label."""
        cdef Py_ssize_t k, y, m, n = self.tables.n_tokens[a]
        cdef Py_ssize_t at = self._at(d)
        cdef Cell[::1] cells = self._cells_of(d)
        if self.gold.last_state[d] >= 0:
            self._subtract(<Chart>self.tables.chart[a], block, d, a)
        for k in range(cells.shape[0]):
            cells[k].score = 0.0
        if cells.shape[0]:
            (<Chart>self.tables.chart[a]).cells.add_counts(self.counts.cell[a], cells)
        if self.gold.last_state[d] < 0:
            self.partial_gold.subtract(a, n, self.counts, cells)
            for k in range(n):
                for y in range(self.first.shape[1]):
                    self.length[block, y] += self.first[at + k, y]
            for m in range(self.pattern.shape[1]):
                # Counts of up to four documents together, subtracted once.
                self.pattern[block, m] -= self.partial_gold.pattern[m]
                self.partial_gold.pattern[m] = 0.0

    cdef void _subtract(
        self, Chart chart, Py_ssize_t block, Py_ssize_t d, Py_ssize_t a
    ) noexcept nogil:
        """What the gold path counts."""
        cdef Py_ssize_t k, y, m, edge, u = 0, token = self.gold.first[d]
        cdef Py_ssize_t n = self.tables.n_tokens[a], at = self._at(d)
        for k in range(n):
            for y in range(self.first.shape[1]):
                self.length[block, y] += self.first[at + k, y]
            y, edge = self.gold.label[token + k], self.gold.edge[token + k]
            self.inside[at + k, y] -= 1.0
            if edge >= 0:
                u = k
                self.first[at + k, y] -= 1.0
                self.length[block, y] -= 1.0
                self._subtract_patterns(block, edge)
            elif self.within.shape[0]:
                self.within[at + k, y] -= 1.0
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                self.last[at + k, y] -= 1.0
                m = chart.cells.merged_of(u, k + 1, y) if chart.cells.n_cells else -1
                if m >= 0:
                    self.counts.cell[a, m] -= 1.0
        edge = self.gold.chart.layout.final_edge[self.gold.last_state[d]]
        self._subtract_patterns(block, edge)

    cdef void _subtract_patterns(
        self, Py_ssize_t block, Py_ssize_t edge
    ) noexcept nogil:
        """Patterns that are complete on an edge; -1: none is."""
        cdef Py_ssize_t m
        while edge >= 0:
            m = self.gold.chart.layout.edge_pattern[edge]
            if m >= 0:
                self.pattern[block, m] -= 1.0
            edge = self.gold.chart.layout.edge_suffix[edge]
