"""Documents of one automaton that are solved in lanes: columns of many with the same
weights, or up to four that have a chart each."""

import numpy as np

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from . cimport lanes
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
from ..parallel.tasks cimport Task
from ..potentials import CELLS
from ..simd.lanes cimport FOUR, LOGS, N_LANES, ONE
from .lane_counts cimport lane_counts

# More numbers of long segments are left to others.
LARGE = 1_000_000

cdef const Cell[::1] NO_CELLS = np.zeros(0, CELLS)


cdef class Documents(Task):
    """D documents: first four of them in lanes together; those whose numbers leave the
    range of float64 once more, each alone, and then in logs. What is asked of them is
    for a subclass to say. Columns have their tokens, and cells, one after the other."""

    def __init__(self, automaton):
        cdef Py_ssize_t a
        self.automaton, self.four = automaton, LaneTables(automaton, FOUR)
        self.one, self.logs = LaneTables(automaton, ONE), LaneTables(automaton, LOGS)
        self.tables, self.finds_starts, self.keeps_counts = self.four, False, False
        self.charts, self.n_docs = [Chart() for _ in range(N_LANES)], 0
        for a in range(N_LANES):
            self.chart[a] = <PyObject*>self.charts[a]
        self.first_cell = self.cells = None
        self.columns = Chart()

    cdef bint read_columns(self, potentials):
        """Take `ManyPotentials`, whose scores `has_numbers` looks through. Returns
        whether all else is sound, and there are tokens; if not, each document has to
        be loaded alone."""
        cdef Py_ssize_t d
        if not read_together(self.columns, self.automaton, potentials):
            return False
        self.shared = self.columns
        self.first = np.array(potentials.borders, np.int64)
        self.n_docs = self.first.shape[0] - 1
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

    cdef bint has_numbers(self) noexcept nogil:
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
        return self.cells[self.first_cell[d] : self.first_cell[d + 1]]

    cdef void move(self, Chart chart, Py_ssize_t d) noexcept nogil:
        """Let a chart that shares the columns be that of a document; see `share`."""
        cdef Py_ssize_t start = self.first[d], end = self.first[d + 1]
        move_to(chart, self.shared, start, end, self.cells_of(d))

    cdef bint use(self, LaneTables tables):
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
        self.tables = tables
        if self.keeps_counts:
            self.counts = lane_counts(tables)
            self.counts.reserve_cells(room.n_cells)
        self.is_in_range = tables.reserve(
            self.charts[0], room, self.finds_starts, self.keeps_counts
        )
        return self.is_in_range

    def finish(self):
        """Solve each document alone that could not be solved beside others, and in logs
        where that is needed."""
        for tables in (self.one, self.logs):
            if not self.is_in_range and self.tables is not tables:
                if self.use(tables):
                    self.do()

    cdef void solve_all(self, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
        """Solve documents i, .., end - 1 of the order that are not solved yet."""
        while i < end:
            if self.outcome[self.order[i]] == UNSOLVED:
                if not self.solve(i, min(self.tables.n_lanes, end - i)):
                    self.is_in_range = False
            i += self.tables.n_lanes

    cdef bint solve(self, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
        """Solve documents i, .., i + n - 1 of the order together. Returns whether all
        numbers were in range."""
        return True

    cdef void put(self, Py_ssize_t lane, Py_ssize_t d) noexcept nogil:
        """Put a document into a lane, from the first lane on; -1: none."""
        if d < 0:
            self.tables.put(lane, None)
        elif self.shared is None:
            self.tables.put(lane, <Chart>self.chart[d])
        else:
            self.move(<Chart>self.chart[lane], d)
            self.tables.put(lane, <Chart>self.chart[lane])

    cdef bint sweep(self, Py_ssize_t lowest) noexcept nogil:
        """Both sweeps over the documents in lanes, back to boundary `lowest`. Returns
        whether they can be trusted."""
        self.tables.place_cells()
        self.tables.stop_at(lowest)
        return self.tables.longest == 0 or lanes.run(self.tables, self.counts)

    cdef Py_ssize_t n_numbers(self):
        """Returns how many numbers there is room for, without those of charts."""
        cdef Py_ssize_t n = self.four.n_numbers() + self.one.n_numbers()
        n += self.logs.n_numbers()
        return n if self.columns.sums is None else n + self.columns.sums.size

    cdef forget(self):
        """Let go of the documents."""
        self.shared, self.n_docs = None, 0
        self.first = self.first_cell = self.cells = None
        self.columns.forget()
        for chart in self.charts:
            (<Chart>chart).forget()
        for tables in (self.four, self.one, self.logs):
            (<LaneTables>tables).forget()
