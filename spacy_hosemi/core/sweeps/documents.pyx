"""Documents of one automaton, from which lanes are filled: columns of many with the
same weights, or up to four that have a chart each."""

import numpy as np

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport (
    Room,
    add_chart,
    add_room,
    finish_loading,
    move_to,
    read_together,
    share,
)
from ..potentials import CELLS
from ..simd.lanes cimport N_LANES

# More numbers of long segments are left to others.
LARGE = 1_000_000

cdef const Cell[::1] NO_CELLS = np.zeros(0, CELLS)


cdef class Documents:
    """D documents. Columns have their tokens, and cells, one after the other."""

    def __init__(self):
        cdef Py_ssize_t a
        self.charts, self.n_docs = [Chart() for _ in range(N_LANES)], 0
        for a in range(N_LANES):
            self.chart[a] = <PyObject*>self.charts[a]
        self.first_cell = self.cells = None
        self.columns = Chart()

    cdef bint read(self, automaton, potentials):
        """Take `ManyPotentials`, whose scores `finish_loading` looks through. Returns
        whether all else is sound, and there are tokens; if not, each document has to
        be loaded alone."""
        cdef Py_ssize_t d
        if not read_together(self.columns, automaton, potentials):
            return False
        self.shared = self.columns
        self.first = np.array(potentials.borders, np.int64)
        self.n_docs, self.token_at, self.cell_at = self.first.shape[0] - 1, 0, 0
        self.first_cell, self.cells = None, potentials.cells
        if potentials.cell_borders is not None:
            self.first_cell = np.array(potentials.cell_borders, np.int64)
        self.room = Room(0, 0, 0, 0, 0)
        for d in range(self.n_docs):
            if not self._has_room(d):
                return False
        n_long = self.room.n_long + self.room.n_long_cells * self.shared.n_states
        return self.room.n_tokens > 0 and n_long <= LARGE

    cdef bint _has_room(self, Py_ssize_t d):
        """Make room for a document of the columns. Returns whether its cells are
        sound."""
        cdef int64_t i, j
        if self.first_cell is not None:
            i, j = self.first_cell[d], self.first_cell[d + 1]
            if not 0 <= i <= j <= self.cells.shape[0]:
                return False
        return add_room(self.shared, self.cells_of(d), self.size(d), &self.room)

    cdef bint finish(self) noexcept nogil:
        """Finish loading. Returns whether all scores are numbers."""
        cdef Py_ssize_t d
        if self.shared is not None:
            return finish_loading(self.shared)
        for d in range(self.n_docs):
            if not finish_loading(<Chart>self.chart[d]):
                return False
        return True

    cdef Py_ssize_t size(self, Py_ssize_t d) noexcept nogil:
        """Returns how many tokens a document of the columns has."""
        return self.first[d + 1] - self.first[d]

    cdef const Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil:
        if self.first_cell is None:
            return NO_CELLS
        return self.cells[
            self.first_cell[d] - self.cell_at : self.first_cell[d + 1] - self.cell_at
        ]

    cdef void move(self, Chart chart, Py_ssize_t d) noexcept nogil:
        """Let a chart that shares the columns be that of a document; see `share`."""
        cdef Py_ssize_t at = self.first[d] - self.token_at
        move_to(chart, self.shared, at, at + self.size(d), self.cells_of(d))

    cdef bint reserve(self, LaneTables tables, bint finds_starts, bint keeps_counts):
        """Make tables ready for all documents, and charts for the columns. Returns
        whether the weights permit it."""
        cdef Room room = Room(0, 0, 0, 0, 0)
        cdef Py_ssize_t k
        if self.shared is not None:
            room = self.room
            for k in range(tables.n_lanes):
                share(self.charts[k], self.shared, room)
        else:
            for k in range(self.n_docs):
                add_chart(self.charts[k], &room)
        return tables.reserve(self.charts[0], room, finds_starts, keeps_counts)

    cdef Py_ssize_t put(
        self, LaneTables tables, Py_ssize_t lane, Py_ssize_t d
    ) noexcept nogil:
        """Put a document into a lane, from the first lane on; -1: none. Returns the
        number of its chart."""
        cdef Py_ssize_t k = lane if self.shared is not None else d
        if d < 0:
            tables.put(lane, None)
            return -1
        if self.shared is not None:
            self.move(<Chart>self.chart[k], d)
        tables.put(lane, <Chart>self.chart[k])
        return k

    cdef Py_ssize_t n_numbers(self):
        """Returns how many numbers there is room for, without those of charts."""
        return 0 if self.columns.sums is None else self.columns.sums.size

    cdef forget(self):
        """Let go of the documents."""
        self.shared, self.n_docs = None, 0
        self.first = self.first_cell = self.cells = None
        self.columns.forget()
        for chart in self.charts:
            (<Chart>chart).forget()
