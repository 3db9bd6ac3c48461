"""The numbers of a sweep over one document, or over up to four; see `lanes`."""

import numpy as np

from cpython.ref cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..chart.arc_weights cimport arc_weights_of, varying_arcs
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..chart.buffer_pool import BufferPool
from ..chart.layout cimport layout_of
from ..chart.load cimport Room, add_chart
from ..simd.lanes cimport FOUR, LOGS, N_LANES

# Numbers in the rows of a block. Where a document has more, its blocks are short, and
# made again on the way back.
BLOCK = 2_000_000


cdef class LaneTables:
    """Tables of documents of one automaton, with weights of patterns that are the same
    for all. `kind` is ONE, FOUR or LOGS."""

    def __init__(self, automaton, kind):
        cdef Py_ssize_t g, n
        self.automaton, self.layout = automaton, layout_of(automaton)
        self.kind, self.in_logs = kind, kind == LOGS
        self.n_lanes = N_LANES if kind == FOUR else 1
        self.n_groups, self.n_states = automaton.n_groups, automaton.n_states
        self.n_rows = self.n_block = 0
        self.n_most = 0
        for g in range(self.n_groups):
            n = self.layout.first_state[g + 1] - self.layout.first_state[g]
            self.n_most = max(self.n_most, n)
        self.cell_room = self.place_room = None

    cdef forget(self):
        """Let go of the weights."""
        self.weights = self.varying = None

    cdef Py_ssize_t n_numbers(self):
        """Returns how many numbers the tables have room for."""
        cdef Py_ssize_t n = 0 if self._pool is None else len(self._pool.array)
        return n if self.cell_room is None else n + self.cell_room.shape[0]

    cdef bint reserve(
        self,
        Chart chart,
        Room room,
        bint finds_starts,
        bint keeps_counts=False,
        bint goes_back=True,
    ):
        """Make ready for documents that are no larger than `room`, with the weights of
        the chart, which `put` takes. Returns whether the weights permit it."""
        self.longest, self.has_cells = room.n_tokens, False
        self.finds_starts, self.keeps_counts = finds_starts, keeps_counts
        self.goes_back = goes_back
        is_fit = self._set_weights(chart)
        if room.n_cells:
            self._reserve_cells(room)
        for lane in range(self.n_lanes):  # numbers, in lanes without documents, too
            self._set_lengths(chart, lane)
        return is_fit

    cdef bint hold(
        self, Chart chart, bint finds_starts, bint keeps_counts, bint goes_back
    ):
        """Take one document into tables of one lane. Returns whether its weights permit
        it."""
        cdef Room room = Room(0, 0, 0, 0, 0)
        add_chart(chart, &room)
        is_fit = self.reserve(chart, room, finds_starts, keeps_counts, goes_back)
        self.put(0, chart)
        self.place_cells()
        return is_fit

    cdef void put(self, Py_ssize_t lane, Chart chart) noexcept nogil:
        """Take a document, or none, into a lane: from the first lane on. The caller
        keeps the chart."""
        cdef Py_ssize_t n_tokens = 0 if chart is None else chart.n_tokens
        self.longest = n_tokens if lane == 0 else max(self.longest, n_tokens)
        self.lowest, self.n_tokens[lane] = 1, n_tokens
        self.chart[lane] = <PyObject*>chart
        if n_tokens:
            self.first[lane], self.more[lane] = &chart.first[0, 0], &chart.more[0, 0]
            self.end[lane] = &chart.end[0, 0]
            self._set_lengths(chart, lane)

    cdef void stop_at(self, Py_ssize_t lowest) noexcept nogil:
        """Let the backward sweep end at the first boundary whose beta is read."""
        self.lowest = max(1, min(lowest, self.longest))

    cdef bint _set_weights(self, Chart chart):
        """Weights of arcs, and tables that are long enough. Returns whether the weights
        can be used."""
        self.weights = arc_weights_of(chart, self.in_logs)
        self.varying = varying_arcs(chart, self.weights)
        if not self._has_room(chart.n_lengths):
            self.n_lengths = chart.n_lengths
            self._make_room()
        return self.weights.representable and (
            self.varying is None or self.varying.representable
        )

    cdef void _set_lengths(self, Chart chart, Py_ssize_t lane) noexcept nogil:
        cdef Py_ssize_t g, i
        for i in range(self.n_groups * self.n_lengths):
            self.length[i, lane] = chart.length_backwards[i]
        for g in range(self.n_groups):
            self.tail[g, lane] = chart.tail[g]

    cdef bint _has_room(self, Py_ssize_t n_lengths) noexcept nogil:
        """Whether the tables are long enough."""
        return (
            self.longest + 2 <= self.n_rows
            and n_lengths == self.n_lengths
            and (not self.goes_back or self.beta.shape[0] >= self.n_rows)
            and (not self.finds_starts or self.starts.shape[0] >= self.n_rows)
            and (not self.keeps_counts or self.nodes.shape[0] > self.n_block)
        )

    cdef _make_room(self):
        cdef Py_ssize_t n_rows = self.longest + 2, n_nodes = self.layout.n_nodes
        cdef Py_ssize_t n_groups = self.n_groups, n_states = self.n_states
        cdef Py_ssize_t n_lengths = self.n_lengths, n_slots = n_nodes + n_states + 2
        cdef Py_ssize_t n_weights = n_groups * (n_lengths + 3)
        cdef Py_ssize_t n_counted = n_nodes + n_states if self.keeps_counts else 0
        self.n_rows, self.n_block, n_saved = n_rows, max(self.longest, 1), 0
        if not self.goes_back:
            self.n_block = 1
        elif self.n_lanes == 1 and n_rows * (n_weights + n_counted) > BLOCK:
            self.n_block = <Py_ssize_t>(self.longest**0.5)
            n_saved = (self.longest - 1) // self.n_block + 1
        self.at_enter = n_groups * (n_lengths + 1)
        self.at_end = n_groups * (n_lengths + 2)
        # A table that nothing will read has no rows.
        n_betas = n_rows if self.goes_back else 0
        n_starts = n_rows if self.finds_starts else 0
        n_kept = self.n_block + 1 if self.keeps_counts else 0
        n_of_states = n_rows + n_betas + n_saved + n_kept + n_lengths + 1
        n_of_groups = n_rows + n_starts + 4
        n_of_lanes = 2 * n_rows + 2 * n_slots + n_groups * n_lengths
        shapes = (
            (n_of_states, n_states),
            (self.n_block + n_lengths + 1, n_weights),
            (n_of_groups, n_groups),
            (n_kept, n_nodes),
            (n_of_lanes, 1),
        )
        size = self.n_lanes * sum([rows * width for rows, width in shapes])
        self._pool = pool = BufferPool(size + N_LANES)
        # One operand is never in two lines of the cache.
        at, tables = -(pool.array.ctypes.data // 8) % N_LANES, []
        for rows, width in shapes:
            size = self.n_lanes * rows * width
            table = pool.array[at : at + size].reshape(rows, width, self.n_lanes)
            tables.append(table)
            at += size
        cdef double[:, :, ::1] of_states, of_groups, of_lanes
        cdef double[:, ::1] of_one
        of_states, self.weight, of_groups, self.nodes, of_lanes = tables
        of_one = of_lanes[:, 0]
        self.opened, of_states = of_states[:n_rows], of_states[n_rows:]
        self.beta, of_states = of_states[:n_betas], of_states[n_betas:]
        self.saved, of_states = of_states[:n_saved], of_states[n_saved:]
        self.runs, of_states = of_states[:n_kept], of_states[n_kept:]
        self.rest, self.running = of_states[:n_lengths], of_states[n_lengths]
        self.top, of_groups = of_groups[:n_rows], of_groups[n_rows:]
        self.starts, of_groups = of_groups[:n_starts], of_groups[n_starts:]
        self.running_top, self.group_top = of_groups[0], of_groups[1]
        self.tail, self.never = of_groups[2], of_groups[3]
        self.scale, of_one = of_one[:n_rows], of_one[n_rows:]
        self.opened_scale, of_one = of_one[:n_rows], of_one[n_rows:]
        self.node, of_one = of_one[:n_slots], of_one[n_slots:]
        self.back_node, self.length = of_one[:n_slots], of_one[n_slots:]
        self.never[:, :] = -INFINITY

    cdef _reserve_cells(self, Room room):
        cdef Py_ssize_t n_late = room.n_long_cells
        n = self.n_lanes * (room.n_long + n_late + (1 + n_late) * self.n_most)
        n_ints = self.n_lanes * (n_late + room.n_tokens + 2)
        if self.cell_room is None or self.cell_room.shape[0] <= n:
            self.cell_room = np.zeros(2 * n + 1)
            self.is_begun = np.zeros(self.n_groups, np.uint8)
        if self.place_room is None or self.place_room.shape[0] <= n_ints:
            self.place_room = np.zeros(2 * n_ints + 1, np.int32)

    cdef void place_cells(self) noexcept nogil:
        """Take the cells of all charts."""
        cdef Py_ssize_t a, n = 0, n_ints = 0
        self.has_cells = False
        for a in range(self.n_lanes):
            if self.n_tokens[a]:
                self.has_cells |= (<Chart>self.chart[a]).cells.n_cells > 0
        for a in range(self.n_lanes):
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
