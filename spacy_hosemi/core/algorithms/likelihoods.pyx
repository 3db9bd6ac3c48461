"""Log-likelihoods of many documents whose tokens are all known, and their derivatives,
four documents side by side.

    loss = log Z - score(gold)
    derivative by a potential = expected count - count in gold

For segments of one explicit token (D = 1), without cells, observed patterns and label
rules. What else there is, and documents whose numbers leave the range of float64, is
left to `marginals`.

Documents stand in *blocks* by position. In a block the longest ones stand side by side;
sums over documents are formed in this order, block by block. So the results are the
same bits for any number of threads.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..chart.chart cimport Chart
from ..chart.load cimport load_document
from ..parallel.tasks cimport Task
from ..potentials import CELLS, Potentials
from ..simd cimport simd as kernels
from ..simd.simd cimport N_LANES
from ..sweeps cimport scaled_x4
from ..sweeps.counts_x4 cimport CountsX4, counts_x4
from ..sweeps.tables_x4 cimport TablesX4

# Documents with more numbers in their tables are done alone.
LARGEST = 4_000_000


cdef class GoldPaths:
    """Segmentations of documents, as arrays.

    automaton (PatternAutomaton): L labels, without observed patterns and label rules.
    sizes (Sequence[int]): Tokens of each of D documents.
    segments (List[Optional[List[Tuple[int, int, int]]]]): (start, end, label index) of
        each document, from left to right, covering every token; None: it is left out.
    borders (Sequence[int]): Of the blocks: block b has the documents borders[b] to
        borders[b + 1] - 1.
    """

    cdef readonly object automaton
    cdef int64_t[::1] first             # [D + 1] tokens
    cdef int32_t[::1] label             # [n]
    cdef int32_t[::1] edge              # [n] of the segment that starts there, or -1
    cdef int32_t[::1] last_state        # [D]
    cdef int32_t[::1] order             # documents of each block, the longest first
    cdef int64_t[::1] first_in_order    # [B + 1]
    cdef Chart chart                    # of the present weights
    cdef readonly Py_ssize_t longest

    def __init__(self, automaton, sizes, segments, borders):
        cdef Py_ssize_t d, u, j, y, at, state, edge
        cdef Chart chart = Chart()
        self.automaton = automaton
        self.first = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))])
        n_tokens = self.first[self.first.shape[0] - 1]
        self.label = np.zeros(n_tokens, np.int32)
        self.edge = np.full(n_tokens, -1, np.int32)
        self.last_state = np.full(len(sizes), -1, np.int32)
        n_labels, n_patterns = automaton.n_labels, len(automaton.patterns)
        length, tail = np.zeros((n_labels, 1)), np.zeros(n_labels)
        _load(chart, automaton, length, tail, np.zeros(n_patterns))
        most = LARGEST // max(1, N_LANES * automaton.n_states)
        for d in range(len(sizes)):
            if segments[d] is None or not 0 < sizes[d] <= most:
                continue
            at, state = self.first[d], 0
            for u, j, y in segments[d]:
                edge = chart.edge_of(state, y)
                state = chart.state_behind(edge, state, y)
                if state < 0:
                    break
                self.edge[at + u] = <int32_t>edge
                self.label[at + u : at + j] = <int32_t>y
            self.last_state[d] = <int32_t>state
        chosen = np.asarray(self.last_state) >= 0
        length = np.where(chosen, np.asarray(sizes, np.int64), 0)
        self.longest = length.max(initial=0)
        order = [np.zeros(0, np.intp)]
        for d, j in zip(borders, borders[1:]):
            of_block = d + np.argsort(-length[d:j], kind="stable")
            order.append(of_block[chosen[of_block]])
        self.order = np.concatenate(order).astype(np.int32)
        self.first_in_order = np.cumsum([len(x) for x in order], dtype=np.int64)

    @property
    def is_chosen(self):
        """RETURNS (bool [D]): Which documents are not left out."""
        return np.asarray(self.last_state) >= 0

    def set_weights(self, pattern, length, tail):
        """Take other weights.

        pattern (float64 [M]), length (float64 [L, 1]), tail (float64 [L]): As those of
            `Potentials`.
        """
        self.chart = Chart()
        _load(self.chart, self.automaton, length, tail, pattern)


cdef _load(Chart chart, automaton, length, tail, pattern):
    """The chart of a document without tokens."""
    blank = [np.zeros((0, automaton.n_labels)) for _ in range(3)]
    given = Potentials(*blank, length, tail, np.zeros(0, CELLS), pattern, None)
    load_document(chart, automaton, given, None)


cdef class Likelihoods(Task):
    """Every n-th block of some, as a task. Its tables are used again.

    gold (GoldPaths): The segmentations.
    which, n_tasks (int): Of n tasks this is the one for blocks which, which + n, ..
    """

    cdef GoldPaths gold
    cdef Py_ssize_t which, n_tasks, begin, end
    cdef bint is_fit
    cdef TablesX4 tables
    cdef CountsX4 counts
    cdef int64_t at                     # the first token of the arrays
    cdef double[:, ::1] first           # start; with inside, while documents are solved
    cdef double[:, ::1] inside
    cdef double[:, ::1] last
    cdef double[:, ::1] within
    cdef double[::1] loss
    cdef uint8_t[::1] is_done
    cdef double[:, ::1] pattern
    cdef double[:, ::1] length

    def __init__(self, GoldPaths gold, which, n_tasks):
        self.gold, self.which, self.n_tasks = gold, which, n_tasks
        self.tables = TablesX4(gold.automaton)
        self.counts = counts_x4(self.tables)

    def take(
        self, begin, end, at, start, inside, last, within, loss, done, pattern, length
    ):
        """Take scores of tokens by role, which the derivatives of the losses replace.
        Those of documents that are left out stay.

        begin, end (int): Blocks; at (int): the first token of the arrays.
        start, inside, last (float64 [n, L]): Of all tokens of these blocks.
        within (float64 [n, L]): Likewise; [0, L]: there is no such role.
        loss (float64 [D]), done (uint8 [D]): Of each document of the corpus its loss;
            done becomes 1, or else the document has to be done alone.
        pattern (float64 [end - begin, M]), length (float64 [end - begin, L]):
            Derivatives, by block; 0 before.
        """
        self.begin, self.end = begin, end
        self.at = at
        self.first, self.inside, self.last, self.within = start, inside, last, within
        self.loss, self.is_done = loss, done
        self.pattern, self.length = pattern, length
        self.is_fit = False
        if self.gold.longest:
            longest = self.gold.longest
            self.is_fit = self.tables.reserve(self.gold.chart, longest, True)

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
        cdef Py_ssize_t a, d, at, n
        for a in range(N_LANES):
            score[a], at, n = -INFINITY, 0, 0
            if i + a < end:
                d = self.gold.order[i + a]
                at = self.gold.first[d] - self.at
                n = self.gold.first[d + 1] - self.gold.first[d]
                self._join(at, n)
                score[a] = self._score(d, at, n)
            if score[a] == -INFINITY:
                self.tables.place(a, NULL, NULL, NULL, 0)
                continue
            self.tables.place(
                a, &self.first[at, 0], &self.inside[at, 0], &self.last[at, 0], n
            )
            self.counts.start[a] = &self.first[at, 0]
            self.counts.inside[a] = &self.inside[at, 0]
            self.counts.end[a] = &self.last[at, 0]
            self.counts.within[a] = NULL
            if self.within.shape[0]:
                self.counts.within[a] = &self.within[at, 0]
        if not self.tables.longest:
            return
        self.counts.clear()
        if not self.counts.run(self.tables):
            return
        self.counts.add_patterns(self.tables, self.pattern[block])
        for a in range(N_LANES):
            n = self.tables.n_tokens[a]
            if n:
                d = self.gold.order[i + a]
                self.loss[d] = scaled_x4.log_z(self.tables, a) - score[a]
                self.is_done[d] = True
                self._subtract(block, d, self.gold.first[d] - self.at, n)

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

    cdef double _score(self, Py_ssize_t d, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
        """That of the gold; -inf if any score of the document is no number, too."""
        cdef Py_ssize_t k, y, token = at + self.at, n_labels = self.first.shape[1]
        cdef double total = self.gold.chart.final_weight(self.gold.last_state[d])
        if (
            kernels.count_bad(&self.first[at, 0], n * n_labels)
            or kernels.count_bad(&self.inside[at, 0], n * n_labels)
            or kernels.count_bad(&self.last[at, 0], n * n_labels)
        ):
            return -INFINITY
        for k in range(n):
            y = self.gold.label[token + k]
            if self.gold.edge[token + k] >= 0:
                total += self.gold.chart.edge_weight[self.gold.edge[token + k]]
                total += self.first[at + k, y] + self.gold.chart.length_backwards[y]
            else:
                total += self.inside[at + k, y] + self.gold.chart.tail[y]
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                total += self.last[at + k, y]
        return total

    cdef void _subtract(
        self, Py_ssize_t block, Py_ssize_t d, Py_ssize_t at, Py_ssize_t n
    ) noexcept nogil:
        """What the gold counts; and how many segments of each label are expected."""
        cdef Py_ssize_t k, y, edge, token = at + self.at
        cdef double[:, ::1] length = self.length
        for k in range(n):
            for y in range(self.first.shape[1]):
                length[block, y] += self.first[at + k, y]
            y, edge = self.gold.label[token + k], self.gold.edge[token + k]
            self.inside[at + k, y] -= 1.0
            if edge >= 0:
                self.first[at + k, y] -= 1.0
                length[block, y] -= 1.0
                self._subtract_patterns(block, edge)
            elif self.within.shape[0]:
                self.within[at + k, y] -= 1.0
            if k + 1 == n or self.gold.edge[token + k + 1] >= 0:
                self.last[at + k, y] -= 1.0
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
