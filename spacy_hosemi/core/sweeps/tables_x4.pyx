"""Tables of up to four documents side by side, see `scaled_x4`."""

import numpy as np

from cpython.ref cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..chart.arc_weights cimport arc_weights_of
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..chart.layout cimport layout_of
from ..chart.load cimport Room, load_document, share
from ..simd.simd cimport N_LANES


cdef class TablesX4:
    """Tables of up to four documents of an automaton, with weights of patterns that are
    the same for all."""

    def __init__(self, automaton):
        self.automaton, self.layout = automaton, layout_of(automaton)
        self.n_groups, self.n_states = automaton.n_groups, automaton.n_states
        self.charts = [Chart() for _ in range(N_LANES)]
        self.n_rows = 0
        self.room = np.zeros(0)
        self.n_most = np.diff(automaton.first_state).max()
        self.cell_room, self.place_room = np.zeros(1), np.zeros(1, np.int32)
        self.cell_top = np.zeros((self.n_groups, N_LANES))
        self.is_begun = np.zeros(self.n_groups, np.uint8)
        self.nodes = np.zeros((0, self.layout.n_nodes, N_LANES))
        self.runs = np.zeros((0, self.n_states, N_LANES))
        self.keeps_counts = False

    cdef Chart load(self, Py_ssize_t lane, potentials, constraints):
        """Returns the chart of a document; None if pattern weights differ from
        others'."""
        cdef Chart chart = self.charts[lane]
        load_document(chart, self.automaton, potentials, constraints, defer=True)
        if lane == 0:
            self.weights = arc_weights_of(chart, in_logs=False)
        elif chart.edge_weights is not self.weights.edge_weights:
            return None
        return chart

    cdef forget(self):
        """Let go of the documents."""
        for chart in self.charts:
            (<Chart>chart).forget()
        self.weights = None

    cdef Py_ssize_t n_numbers(self):
        """RETURNS: How many numbers the tables have room for."""
        return self.room.shape[0] + self.cell_room.shape[0]

    cdef bint set_up(
        self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t lowest, bint finds_starts
    ):
        """Make lanes begin .. end - 1 ready to be run, `lowest` being the first
        boundary whose beta is read. Returns whether the weights permit it."""
        cdef Py_ssize_t a
        cdef Chart chart
        self.longest, self.keeps_counts = 0, False
        for a in range(N_LANES):
            self.n_tokens[a] = 0
            if begin <= a < end:
                chart = self.charts[a]
                self.n_tokens[a] = chart.n_tokens
                self.longest = max(self.longest, chart.n_tokens)
        self._make_room()
        self._make_room_for_cells()
        self.lowest, self.finds_starts = min(lowest, self.longest), finds_starts
        for a in range(N_LANES):
            if not self.n_tokens[a]:
                continue
            chart = self.charts[a]
            self.chart[a] = <PyObject*>chart
            self.first[a] = &chart.first[0, 0]
            self.more[a], self.end[a] = &chart.more[0, 0], &chart.end[0, 0]
            self._set_lengths(chart, a)
        self.place_cells()
        return self.weights.representable

    cdef bint reserve(self, Chart chart, Py_ssize_t longest, bint keeps_counts):
        """Make ready for documents of up to `longest` tokens, of the chart's weights,
        which `place` takes. Returns whether the weights permit it."""
        cdef Py_ssize_t a
        self.weights = arc_weights_of(chart, in_logs=False)
        self.longest, self.lowest, self.has_cells = longest, 0, False
        self.keeps_counts, self.finds_starts = keeps_counts, False
        self._make_room()
        if keeps_counts and self.runs.shape[0] < self.n_rows:
            n_nodes = self.layout.n_nodes
            self.nodes = np.zeros((self.n_rows, n_nodes, N_LANES))
            self.runs = np.zeros((self.n_rows, self.n_states, N_LANES))
        for a in range(N_LANES):
            self.chart[a] = <PyObject*>chart
            self._set_lengths(chart, a)
        return self.weights.representable

    cdef take_shared(self, Chart shared, Room room):
        """Give each lane a chart that is ready for documents with cells; see there. The
        documents are placed with `place`, then `place_cells`."""
        cdef Py_ssize_t a, n_late = room.n_long_cells
        for a in range(N_LANES):
            share(self.charts[a], shared, room)
            self.chart[a] = <PyObject*>self.charts[a]
        self._reserve_cells(
            N_LANES * (room.n_long + n_late + (1 + n_late) * self.n_most),
            N_LANES * (n_late + room.n_tokens + 2),
        )

    cdef void place(
        self,
        Py_ssize_t lane,
        const double* first,
        const double* more,
        const double* end,
        Py_ssize_t n_tokens,
    ) noexcept nogil:
        """Take a document, or none of 0 tokens. Lanes are placed from the first on."""
        self.longest = n_tokens if lane == 0 else max(self.longest, n_tokens)
        self.first[lane], self.more[lane], self.end[lane] = first, more, end
        self.n_tokens[lane] = n_tokens

    cdef void _set_lengths(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t g
        for g in range(self.n_groups):
            self.length[g, lane] = chart.length_backwards[g]
            self.tail[g, lane] = chart.tail[g]

    cdef _make_room(self):
        """Tables that are long enough."""
        cdef Py_ssize_t n_rows = self.longest + 2
        cdef Py_ssize_t n_slots = self.layout.n_nodes + self.n_states + 2
        if n_rows <= self.n_rows:
            return
        self.n_rows = n_rows
        shapes = [
            *[(n_rows, self.n_states)] * 2,
            *((n_rows, n * self.n_groups) for n in (4, 1, 1)),
            *[(n_rows,)] * 2,
            *((n,) for n in (n_slots, n_slots, self.n_states, self.n_states)),
            *[(self.n_groups,)] * 4,
        ]
        sizes = [N_LANES * int(np.prod(shape)) for shape in shapes]
        room = np.zeros(sum(sizes) + N_LANES)
        # One operand is never in two lines of the cache.
        room = room[-(room.ctypes.data // 8) % N_LANES :]
        self.room = room
        borders = np.cumsum([0, *sizes])
        (
            self.opened,
            self.beta,
            self.weight,
            self.top,
            self.starts,
            self.scale,
            self.opened_scale,
            self.node,
            self.back_node,
            self.running,
            self.rest,
            self.running_top,
            self.length,
            self.tail,
            self.never,
        ) = (
            room[i:j].reshape(*shape, N_LANES)
            for i, j, shape in zip(borders, borders[1:], shapes)
        )
        self.never[:, :] = -INFINITY

    cdef _make_room_for_cells(self):
        """The same for what documents with cells need."""
        cdef Py_ssize_t a, n = 0, n_ints = 0
        cdef CellLists cells
        for a in range(N_LANES):
            if self.n_tokens[a]:
                cells = (<Chart>self.charts[a]).cells
                n += cells.long_start.shape[0] + self.n_most
                n += cells.late_start.shape[0] * (1 + self.n_most)
                n_ints += cells.place_start.shape[0] + self.n_tokens[a] + 2
        self._reserve_cells(n, n_ints)

    cdef _reserve_cells(self, Py_ssize_t n, Py_ssize_t n_ints):
        if self.cell_room.shape[0] <= n:
            self.cell_room = np.zeros(2 * n + 1)
        if self.place_room.shape[0] <= n_ints:
            self.place_room = np.zeros(2 * n_ints + 1, np.int32)

    cdef void place_cells(self) noexcept nogil:
        """Take the cells of all four charts."""
        cdef Py_ssize_t a, n = 0, n_ints = 0
        self.has_cells = False
        for a in range(N_LANES):
            if self.n_tokens[a]:
                self.has_cells |= (<Chart>self.chart[a]).cells.n_cells > 0
        for a in range(N_LANES):
            if self.n_tokens[a] and self.has_cells:
                n += self._place_cells(
                    a,
                    (<Chart>self.chart[a]).cells,
                    &self.cell_room[n],
                    &self.place_room[n_ints],
                    &n_ints,
                )

    cdef Py_ssize_t _place_cells(
        self,
        Py_ssize_t lane,
        CellLists cells,
        double* room,
        int32_t* places,
        Py_ssize_t* n_ints,
    ) noexcept nogil:
        """RETURNS: How many numbers the lane takes of the room."""
        cdef Py_ssize_t n_long = cells.long_start.shape[0]
        cdef Py_ssize_t n_late = cells.late_start.shape[0]
        self.long_weight[lane] = room
        self.late_weight[lane] = room + n_long
        self.late_closing[lane] = room + n_long + n_late
        n_ints[0] += self._list_places(lane, cells.place_start, places)
        return n_long + n_late + (1 + n_late) * self.n_most

    cdef Py_ssize_t _list_places(
        self, Py_ssize_t lane, const int32_t[::1] start, int32_t* room
    ) noexcept nogil:
        """List places of a lane's long cells by start; returns how many numbers they
        need."""
        cdef Py_ssize_t p, u, n = self.n_tokens[lane], n_places = start.shape[0]
        cdef int32_t* place = room + n + 2
        self.first_place[lane], self.placed[lane] = room, place
        for u in range(n + 2):
            room[u] = 0
        for p in range(n_places):
            room[start[p] + 2] += 1
        for u in range(2, n + 2):
            room[u] += room[u - 1]
        for p in range(n_places):
            place[room[start[p] + 1]] = <int32_t>p
            room[start[p] + 1] += 1
        return n + 2 + n_places
