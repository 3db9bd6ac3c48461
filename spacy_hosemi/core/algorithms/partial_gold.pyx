"""Segmentations that agree with the partial annotation: log Z and expected counts under
these constraints, of up to four documents in lanes."""

import numpy as np

from libc.string cimport memcpy

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport move_to
from ..potentials import CELLS
from ..simd.lanes cimport FOUR, N_LANES
from ..sweeps cimport lanes
from ..sweeps.lane_counts cimport LaneCounts, lane_counts
from ..sweeps.lane_tables cimport LaneTables
from .gold_paths cimport GoldPaths


cdef class PartialGold:
    """Memory for the documents of a corpus."""

    def __init__(self, GoldPaths gold):
        n_labels = gold.automaton.n_labels
        self.gold = gold
        self.counts = lane_counts(LaneTables(gold.automaton, FOUR))
        self.pattern = np.zeros(len(gold.automaton.patterns))
        self.token = np.zeros((4, N_LANES * gold.longest_partial, n_labels))
        self.cells = np.zeros(N_LANES * gold.room.n_cells, CELLS)
        self.counts.reserve_cells(gold.room.n_cells)

    cdef set_weights(self):
        """Take the present weights of `gold`."""
        self.shared = self.gold.rows(self.token[0], self.token[1], self.token[2])

    cdef void place(
        self,
        LaneTables tables,
        Chart chart,                    # of the lane
        Py_ssize_t a,
        Py_ssize_t d,
        const double* first,            # [n, L] scores as of `Chart`
        const double* inside,
        const double* last,
        const Cell[::1] cells,
    ) noexcept nogil:
        """Put a document with constraints in a lane."""
        cdef Py_ssize_t n = self.gold.first[d + 1] - self.gold.first[d], k
        cdef Py_ssize_t at = a * self.gold.longest_partial
        cdef Py_ssize_t i = a * self.gold.room.n_cells
        cdef size_t size = n * self.token.shape[2] * sizeof(double)
        cdef Cell[::1] forbidden = self.gold.constraints.cells_of(d)
        cdef Cell[::1] joined
        cdef double* start = &self.token[0, at, 0]
        cdef double* more = &self.token[1, at, 0]
        cdef double* end = &self.token[2, at, 0]
        memcpy(start, first, size)
        memcpy(more, inside, size)
        memcpy(end, last, size)
        self.gold.constraints.write(
            d, self.gold.chart.layout.group_label, start, more, end
        )
        joined = self.cells[i : i + cells.shape[0] + forbidden.shape[0]]
        for k in range(cells.shape[0]):
            joined[k] = cells[k]
        for k in range(forbidden.shape[0]):
            joined[cells.shape[0] + k] = forbidden[k]
        move_to(chart, self.shared, at, at + n, joined)
        tables.put(a, chart)
        self.counts.lane[a].start, self.counts.lane[a].inside = start, more
        self.counts.lane[a].end = end
        self.counts.lane[a].within = &self.token[3, at, 0]

    cdef bint run(self, LaneTables tables) noexcept nogil:
        """Both sweeps. RETURNS: whether they can be trusted."""
        self.counts.clear()
        tables.place_cells()
        if not lanes.run(tables, self.counts):
            return False
        self.pattern[:] = 0.0
        self.counts.add_patterns(tables, self.pattern)
        self._take_cells(tables)
        return True

    cdef void _take_cells(self, LaneTables tables) noexcept nogil:
        """Counts of cells as they were given, before others are placed."""
        cdef Py_ssize_t a, i, k
        for a in range(N_LANES):
            if not tables.n_tokens[a]:
                continue
            i = a * self.gold.room.n_cells
            for k in range(i, i + self.gold.room.n_cells):
                self.cells[k].score = 0.0
            (<Chart>tables.chart[a]).cells.add_counts(
                self.counts.cell[a], self.cells[i : i + self.gold.room.n_cells]
            )

    cdef void subtract(
        self,
        Py_ssize_t a,
        Py_ssize_t n,
        LaneCounts counts,                # of the same document without constraints
        Cell[::1] cells,                # its cells, whose scores are counts, too
    ) noexcept nogil:
        """Subtract the counts of a lane."""
        cdef Py_ssize_t k, at = a * self.gold.longest_partial
        cdef Py_ssize_t size = n * self.token.shape[2]
        for k in range(size):
            counts.lane[a].start[k] -= (&self.token[0, at, 0])[k]
            counts.lane[a].inside[k] -= (&self.token[1, at, 0])[k]
            counts.lane[a].end[k] -= (&self.token[2, at, 0])[k]
        if counts.lane[a].within != NULL:
            for k in range(size):
                counts.lane[a].within[k] -= (&self.token[3, at, 0])[k]
        for k in range(cells.shape[0]):
            cells[k].score -= self.cells[a * self.gold.room.n_cells + k].score
