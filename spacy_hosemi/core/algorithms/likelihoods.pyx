"""Log-likelihoods of many documents, and their derivatives, four documents at a time.

    loss = log Z - score(gold)             all tokens known
    loss = log Z - log Z(what agrees)      some missing
    derivative by a potential = expected count - count in gold, or expected there

For segments of one explicit token (D = 1), without observed patterns. What else there
is, and gold that is impossible, is left to `marginals`.

Documents stand in *blocks* by position. In a block the longest ones stand in lanes
together; sums over documents are formed in this order, block by block. So the results
are the same bits for any number of threads.
"""

import numpy as np

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..potentials import CELLS
from ..simd cimport simd as kernels
from ..simd.lanes cimport N_LANES
from ..sweeps cimport lanes
from ..sweeps.documents cimport SOLVED, Documents
from .gold_paths cimport GoldPaths
from .path_counts cimport add_suffixes


cdef class Likelihoods(Documents):
    """Computes blocks which, which + n_tasks, .. as a task; its memory is used again.
    Its columns are the documents of the lanes, then the same under the constraints of
    partial annotation. Scores are copied there, and counts replace them."""

    cdef GoldPaths gold
    cdef Py_ssize_t which, n_tasks, begin, end, block
    # Columns, see `Documents`
    cdef int64_t[::1] row               # [9]
    cdef int64_t[::1] cell_row          # [9]
    cdef double[:, :, ::1] token        # [4, n, L] by role: start, inside, last, within
    cdef Cell[::1] copies
    cdef double[::1] agreeing           # [M] counts under constraints
    # Of the corpus; of its tokens and cells those of the blocks
    cdef Py_ssize_t token_at, cell_at   # the first ones
    cdef double[:, ::1] start
    cdef double[:, ::1] inside
    cdef double[:, ::1] last
    cdef double[:, ::1] within
    cdef Cell[::1] corpus_cells
    cdef double[::1] loss
    cdef double[:, ::1] pattern
    cdef double[:, ::1] length

    def __init__(self, GoldPaths gold, which, n_tasks):
        Documents.__init__(self, gold.automaton)
        self.gold, self.which, self.n_tasks = gold, which, n_tasks
        self.order, self.room, self.keeps_counts = gold.order, gold.room, True
        self.row = rows = np.zeros(2 * N_LANES + 1, np.int64)
        self.cell_row = cell_rows = np.zeros(2 * N_LANES + 1, np.int64)
        self.first, self.first_cell, self.n_docs = rows, cell_rows, 2 * N_LANES
        n_rows = N_LANES * (gold.longest + gold.longest_partial) + 1
        self.token = np.zeros((4, n_rows, gold.automaton.n_labels))
        self.copies = copies = np.zeros(2 * N_LANES * gold.room.n_cells, CELLS)
        self.cells = copies
        self.agreeing = np.zeros(len(gold.automaton.patterns))

    def take(
        self,
        begin,
        end,
        start,
        inside,
        last,
        within,
        cells,
        loss,
        done,
        pattern,
        length,
    ):
        """Take scores by role of the tokens of blocks begin .. end - 1 (float64 [n,
        L]), and their cells; derivatives replace them, but for documents left out.
        `loss` and `done` are by document of the corpus: where done stays 0, it has to
        be done alone. Derivatives of patterns [blocks, M] and lengths [blocks, L] are 0
        before. `finish` is to be called when the task is done."""
        cdef Py_ssize_t first = self.gold.borders[begin]
        self.begin, self.end, self.token_at = begin, end, self.gold.first[first]
        self.cell_at = self.gold.first_cell[first]
        self.start, self.inside, self.last, self.within = start, inside, last, within
        self.loss, self.outcome = loss, done
        self.pattern, self.length = pattern, length
        self.corpus_cells = cells
        self.shared = self.gold.rows(self.token[0], self.token[1], self.token[2])
        self.use(self.four)

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t b = self.begin + self.which
        cdef bint is_permitted = self.is_in_range  # by the weights, see `use`
        while b < self.end and is_permitted:
            self.block = b - self.begin
            self.solve_all(
                self.gold.first_in_order[b], self.gold.first_in_order[b + 1]
            )
            b += self.n_tasks

    cdef bint solve(self, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
        cdef double score[N_LANES]
        cdef Py_ssize_t a, d, m, n_lanes = self.tables.n_lanes
        for a in range(N_LANES):
            self._copy(a, self.order[i + a] if a < n else -1)
        if self.gold.longest_partial and not self._agree(i, score):
            return False
        for a in range(n_lanes):
            self.put(a, a)
            if self.tables.n_tokens[a]:
                d = self.order[i + a]
                if self.gold.last_state[d] >= 0:
                    score[a] = self._score(<Chart>self.tables.chart[a], d, self.row[a])
                if score[a] == -INFINITY:
                    self.put(a, -1)
        if not self._count(0, self.pattern[self.block]):
            return False
        for a in range(n_lanes):
            if self.tables.n_tokens[a]:
                self._write(self.order[i + a], a, score[a])
        for m in range(self.agreeing.shape[0] if self.gold.longest_partial else 0):
            self.pattern[self.block, m] -= self.agreeing[m]
        return True

    cdef bint _agree(self, Py_ssize_t i, double* score) noexcept nogil:
        """Solve what agrees with partial annotation: its log Z is the score. Returns
        whether that can be trusted."""
        cdef Py_ssize_t a, n_lanes = self.tables.n_lanes
        for a in range(N_LANES):
            self._limit(a, self.order[i + a] if self.size(a) else -1)
        for a in range(n_lanes):
            self.put(a, N_LANES + a)
        self.agreeing[:] = 0.0
        if not self._count(N_LANES, self.agreeing):
            return False
        for a in range(n_lanes):
            if self.tables.n_tokens[a]:
                score[a] = lanes.log_z(self.tables, a)
                self._take_cells(N_LANES + a, a)
        return True

    cdef void _copy(self, Py_ssize_t a, Py_ssize_t d) noexcept nogil:
        """Let column a be a document, with scores of first and of further tokens, or
        none: -1, or one with scores that are no numbers."""
        cdef Py_ssize_t k, at, n, size, row = self.row[a], cell = self.cell_row[a]
        cdef double* first = &self.token[0, row, 0]
        cdef double* more = &self.token[1, row, 0]
        cdef double* end = &self.token[2, row, 0]
        cdef Cell[::1] cells
        self.row[a + 1], self.cell_row[a + 1] = row, cell
        if d < 0:
            return
        at, n = self._at(d), self.gold.first[d + 1] - self.gold.first[d]
        size = n * self.token.shape[2]
        for k in range(size):
            more[k] = (&self.inside[at, 0])[k]
            first[k] = (&self.start[at, 0])[k] + more[k]
        for k in range(size if self.within.shape[0] else 0):
            more[k] += (&self.within[at, 0])[k]
        memcpy(end, &self.last[at, 0], size * sizeof(double))
        cells = self._cells_of(d)
        for k in range(cells.shape[0]):
            if not kernels.is_score(cells[k].score):
                return
            self.copies[cell + k] = cells[k]
        if not (
            kernels.count_bad(first, size)
            or kernels.count_bad(more, size)
            or kernels.count_bad(end, size)
        ):
            self.row[a + 1], self.cell_row[a + 1] = row + n, cell + cells.shape[0]

    cdef void _limit(self, Py_ssize_t a, Py_ssize_t d) noexcept nogil:
        """Let column 4 + a be the document of column a under its constraints, or none
        where it has none."""
        cdef Py_ssize_t k, r, n = self.size(a), b = N_LANES + a, row = self.row[b]
        cdef Py_ssize_t cell = self.cell_row[b]
        cdef size_t size = n * self.token.shape[2] * sizeof(double)
        cdef const Cell[::1] cells, forbidden
        self.row[b + 1], self.cell_row[b + 1] = row, cell
        if d < 0 or self.gold.last_state[d] >= 0:
            return
        for r in range(3):
            memcpy(&self.token[r, row, 0], &self.token[r, self.row[a], 0], size)
        self.gold.limit(
            d, &self.token[0, row, 0], &self.token[1, row, 0], &self.token[2, row, 0]
        )
        cells, forbidden = self.cells_of(a), self.gold.cells_of(d)
        for k in range(cells.shape[0]):
            self.copies[cell + k] = cells[k]
        cell += cells.shape[0]
        for k in range(forbidden.shape[0]):
            self.copies[cell + k] = forbidden[k]
        self.row[b + 1], self.cell_row[b + 1] = row + n, cell + forbidden.shape[0]

    cdef bint _count(self, Py_ssize_t c, double[::1] pattern) noexcept nogil:
        """Both sweeps over the documents in lanes, from column c on: expected counts of
        tokens replace scores, those of patterns are added. Returns whether they can be
        trusted."""
        cdef Py_ssize_t a, row
        if not self.tables.longest:
            return True
        for a in range(self.tables.n_lanes):
            row = self.row[c + a]
            self.counts.lane[a].start = &self.token[0, row, 0]
            self.counts.lane[a].inside = &self.token[1, row, 0]
            self.counts.lane[a].end = &self.token[2, row, 0]
            self.counts.lane[a].within = NULL
            if self.within.shape[0]:
                self.counts.lane[a].within = &self.token[3, row, 0]
        self.counts.clear()
        if not self.sweep(1):
            return False
        self.counts.add_patterns(self.tables, pattern)
        return True

    cdef void _take_cells(self, Py_ssize_t c, Py_ssize_t a) noexcept nogil:
        """Let the cells of column c, in lane a, have expected counts for scores."""
        cdef Py_ssize_t k
        cdef Cell[::1] cells = self.copies[self.cell_row[c] : self.cell_row[c + 1]]
        for k in range(cells.shape[0]):
            cells[k].score = 0.0
        if cells.shape[0]:
            (<Chart>self.tables.chart[a]).cells.add_counts(self.counts.cell[a], cells)

    cdef Py_ssize_t _at(self, Py_ssize_t d) noexcept nogil:
        """Returns the row of the first token of a document of the corpus."""
        return self.gold.first[d] - self.token_at

    cdef Cell[::1] _cells_of(self, Py_ssize_t d) noexcept nogil:
        """Returns the cells of a document of the corpus."""
        cdef Py_ssize_t i = self.gold.first_cell[d] - self.cell_at
        cdef Py_ssize_t j = self.gold.first_cell[d + 1] - self.cell_at
        return self.corpus_cells[i:j]

    cdef double _score(
        self, Chart chart, Py_ssize_t d, Py_ssize_t row
    ) noexcept nogil:
        """That of the gold path of a document; the chart has its cells."""
        cdef Py_ssize_t k, y, u = 0, n = chart.n_tokens, token = self.gold.first[d]
        cdef double total = self.gold.chart.final_weight(self.gold.last_state[d])
        for k in range(n):
            y = self.gold.label[token + k]
            if self.gold.edge[token + k] >= 0:
                u = k
                total += self.gold.chart.edge_weight[self.gold.edge[token + k]]
                total += self.token[0, row + k, y] + chart.length_backwards[y]
            else:
                total += self.token[1, row + k, y] + chart.tail[y]
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                total += self.token[2, row + k, y]
                if chart.cells.n_cells:
                    total += chart.cells_of(u, k + 1, y)
        return total

    cdef void _write(self, Py_ssize_t d, Py_ssize_t a, double score) noexcept nogil:
        """Write the loss of the document of lane a, and its derivatives for scores; add
        expected segments of each label. What is out of range is left out."""
        cdef Py_ssize_t k, r, y, at = self._at(d), n = self.tables.n_tokens[a]
        cdef Py_ssize_t row = self.row[a], other = self.row[N_LANES + a]
        cdef Py_ssize_t cell = self.cell_row[a], size = n * self.token.shape[2]
        cdef double log_z = lanes.log_z(self.tables, a)
        cdef Cell[::1] cells = self._cells_of(d)
        if not fabs(log_z) <= kernels.LARGEST_SUM:
            return
        self.loss[d], self.outcome[d] = log_z - score, SOLVED
        if self.gold.last_state[d] >= 0:
            self._subtract(<Chart>self.tables.chart[a], d, a)
        self._take_cells(a, a)
        for k in range(cells.shape[0]):
            cells[k].score = self.copies[cell + k].score
        if self.gold.last_state[d] < 0:
            for r in range(4 if self.within.shape[0] else 3):
                for k in range(size):
                    (&self.token[r, row, 0])[k] -= (&self.token[r, other, 0])[k]
            cell = self.cell_row[N_LANES + a]
            for k in range(cells.shape[0]):
                cells[k].score -= self.copies[cell + k].score
            for k in range(row, row + n):
                for y in range(self.length.shape[1]):
                    self.length[self.block, y] += self.token[0, k, y]
        memcpy(&self.start[at, 0], &self.token[0, row, 0], size * sizeof(double))
        memcpy(&self.inside[at, 0], &self.token[1, row, 0], size * sizeof(double))
        memcpy(&self.last[at, 0], &self.token[2, row, 0], size * sizeof(double))
        if self.within.shape[0]:
            memcpy(&self.within[at, 0], &self.token[3, row, 0], size * sizeof(double))

    cdef void _subtract(self, Chart chart, Py_ssize_t d, Py_ssize_t a) noexcept nogil:
        """What the gold path counts."""
        cdef Py_ssize_t k, y, m, row, edge, u = 0, token = self.gold.first[d]
        cdef Py_ssize_t n = chart.n_tokens
        cdef double[::1] pattern = self.pattern[self.block]
        for k in range(n):
            row = self.row[a] + k
            for y in range(self.length.shape[1]):
                self.length[self.block, y] += self.token[0, row, y]
            y, edge = self.gold.label[token + k], self.gold.edge[token + k]
            self.token[1, row, y] -= 1.0
            if edge >= 0:
                u = k
                self.token[0, row, y] -= 1.0
                self.length[self.block, y] -= 1.0
                add_suffixes(chart, edge, pattern, -1.0)
            elif self.within.shape[0]:
                self.token[3, row, y] -= 1.0
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                self.token[2, row, y] -= 1.0
                m = chart.cells.merged_of(u, k + 1, y) if chart.cells.n_cells else -1
                if m >= 0:
                    self.counts.cell[a, m] -= 1.0
        edge = self.gold.chart.layout.final_edge[self.gold.last_state[d]]
        add_suffixes(chart, edge, pattern, -1.0)
