"""The cells of one document, merged and listed in the order of the sweeps.

Cells of up to D tokens add to segments that are explicit without them. A longer cell
makes all segments from its start explicit, up to the longest cell there: see `Chart`.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t


cdef double[::1] _NO_SCORES = np.zeros(0)
cdef const int32_t[:, ::1] _NO_HORIZON = np.zeros((0, 0), np.int32)


cdef class CellLists:
    """The cells of n tokens, G groups and up to D tokens, listed for the sweeps."""

    def __cinit__(self):
        self.none = None

    cdef set_none(self):
        """For a document without cells."""
        if self.none is None or self.none.shape[0] < self.n_tokens + 2:
            self.none = np.zeros(self.n_tokens + 2, np.int32)
        cdef const int32_t[::1] none = self.none
        self.n_cells = 0
        self.cell_given = self.cell_merged = none[:0]
        self.first_short = self.first_long = self.first_late = none
        self.short_slot = self.short_cell = none[:0]
        self.long_start = self.long_group = self.long_cell = none[:0]
        self.late_start = self.late_group = none[:0]
        self.place_start = self.place_group = self.place_late = none[:0]
        self.place_first, self.place_long = none[:1], none[:0]
        self.short_score = self.long_score = _NO_SCORES
        self.long_extra = self.late_score = _NO_SCORES
        self.late_horizon = _NO_HORIZON
        self.reach = self.n_lengths + 1

    cdef set(
        self,
        const Cell[::1] cells,              # [K]
        const int32_t[::1] given,           # [K'] which cell is read ..
        const int32_t[::1] group,           # [K'] .. by which group
        const double[::1] tail,             # [G]
    ):
        """Merge cells of the same segment, and list what they make explicit; the scores
        of long segments are those of their cells alone."""
        cdef Py_ssize_t i, k, m = -1, n_short = 0, n = given.shape[0]
        cdef Py_ssize_t n_lengths = self.n_lengths, n_after = self.n_tokens + 1
        cdef int64_t last = -1
        cdef int64_t[::1] key = np.empty(n, np.int64)
        for i in range(n):  # by end, then start, then group
            k = given[i]
            key[i] = <int64_t>cells[k].end * n_after + cells[k].start
            key[i] = key[i] * self.n_groups + group[i]
        cdef const int64_t[::1] order = np.asarray(key).argsort(kind="stable")
        cdef int32_t[:, ::1] room = np.empty((6, n), np.int32)
        cdef int32_t[:, ::1] place = room[:3]  # start, end, group
        cdef int32_t[::1] merged = room[3], slot = room[4], cell = room[5]
        cdef int32_t[::1] first = np.zeros(n_after + 1, np.int32)
        cdef double[:, ::1] scores = np.empty((2, n))
        cdef double[::1] score = scores[0], short_score = scores[1]
        with nogil:
            for i in range(n):
                k = order[i]
                if key[k] != last:
                    last = key[k]
                    m += 1
                    score[m] = 0.0
                    place[0, m] = cells[given[k]].start
                    place[1, m] = cells[given[k]].end
                    place[2, m] = group[k]
                merged[k] = <int32_t>m
                score[m] += cells[given[k]].score
            for i in range(m + 1):
                k = place[1, i] - place[0, i]
                if k <= n_lengths:
                    slot[n_short] = <int32_t>((place[2, i] + 1) * n_lengths - k)
                    cell[n_short] = <int32_t>i
                    short_score[n_short] = score[i]
                    first[place[1, i] + 1] += 1
                    n_short += 1
            _sum_up(first)
        self.n_cells = m + 1
        self.cell_given, self.cell_merged = given, merged
        self.first_short = first
        self.short_slot, self.short_cell = slot[:n_short], cell[:n_short]
        self.short_score = short_score[:n_short]
        self._set_long(place, score, tail)

    cdef _set_long(
        self,
        const int32_t[:, ::1] cells,        # [3, K] start, end, group; merged
        const double[::1] score,            # [K]
        const double[::1] tail,             # [G]
    ):
        """All segments from the starts of long cells, up to the longest of them."""
        cdef Py_ssize_t i, t, p, u, j, g, n_places = 0, total = 0
        cdef Py_ssize_t n_lengths = self.n_lengths, n = self.n_cells
        cdef int32_t[::1] first = np.zeros(self.n_tokens + 2, np.int32)
        cdef int32_t[:, ::1] place_of = np.zeros((self.n_groups, self.n_tokens), "i4")
        cdef int32_t[:, ::1] places = np.zeros((4, n + 1), np.int32)
        cdef int32_t[::1] start = places[0], group = places[1], horizon = places[2]
        cdef int32_t[::1] begin = places[3]
        cdef bint is_one
        with nogil:
            # A cell longer than D counts only where longer segments are possible at all
            for i in range(n):
                u, j, g = cells[0, i], cells[1, i], cells[2, i]
                if j - u <= n_lengths or tail[g] == -INFINITY:
                    continue
                if not place_of[g, u]:
                    start[n_places], group[n_places] = <int32_t>u, <int32_t>g
                    n_places += 1
                    place_of[g, u] = <int32_t>n_places
                p = place_of[g, u] - 1
                horizon[p] = max(horizon[p], <int32_t>(j - u))
            for p in range(n_places):
                for j in range(start[p] + n_lengths + 1, start[p] + horizon[p] + 1):
                    first[j + 1] += 1
                total += horizon[p] - n_lengths
                begin[p + 1] = <int32_t>total
            _sum_up(first)
        cdef int32_t[:, ::1] long_ = np.empty((4, total), np.int32)
        cdef int32_t[::1] at = long_[3]
        cdef int32_t[::1] ahead = np.array(first)
        cdef double[:, ::1] scores = np.zeros((2, total))
        with nogil:
            for p in range(n_places):
                for i in range(begin[p], begin[p + 1]):
                    j = start[p] + n_lengths + 1 + i - begin[p]
                    at[i] = ahead[j]
                    ahead[j] += 1
                    long_[0, at[i]], long_[1, at[i]] = start[p], group[p]
                    long_[2, at[i]] = -1
            for i in range(n):
                u, j, g = cells[0, i], cells[1, i], cells[2, i]
                is_one = j - u > n_lengths and tail[g] > -INFINITY
                if is_one:
                    t = at[begin[place_of[g, u] - 1] + j - u - n_lengths - 1]
                    long_[2, t] = <int32_t>i
                    scores[0, t] = scores[1, t] = score[i]
            for p in range(n_places):
                place_of[group[p], start[p]] = horizon[p]
        self.first_long = first
        self.long_start, self.long_group = long_[0], long_[1]
        self.long_cell = long_[2]
        self.long_extra, self.long_score = scores[0], scores[1]
        self.late_horizon = place_of if n_places else _NO_HORIZON
        self.place_start, self.place_group = start[:n_places], group[:n_places]
        self.place_first, self.place_long = begin[: n_places + 1], at
        self._set_late(horizon[:n_places])

    cdef _set_late(self, const int32_t[::1] horizon):
        """Segments that enter the running sum behind the last cell of their start."""
        cdef Py_ssize_t p, j, n_places = horizon.shape[0], n_late = 0
        cdef int32_t[::1] first = np.zeros(self.n_tokens + 2, np.int32)
        cdef int32_t[:, ::1] room = np.empty((3, n_places), np.int32)
        self.reach = self.n_lengths + 1
        for p in range(n_places):
            self.reach = max(self.reach, horizon[p] + 1)
            j = self.place_start[p] + horizon[p] + 1
            if j <= self.n_tokens:
                first[j + 1] += 1
                n_late += 1
        _sum_up(first)
        cdef int32_t[::1] ahead = np.array(first)
        for p in range(n_places):
            j = self.place_start[p] + horizon[p] + 1
            room[2, p] = -1
            if j <= self.n_tokens:
                room[0, ahead[j]] = self.place_start[p]
                room[1, ahead[j]] = self.place_group[p]
                room[2, p] = ahead[j]
                ahead[j] += 1
        self.first_late = first
        self.late_start, self.late_group = room[0, :n_late], room[1, :n_late]
        self.place_late = room[2]
        self.late_score = np.zeros(n_late)

    cdef void add_counts(
        self, const double[::1] counts, Cell[::1] cells
    ) noexcept nogil:
        """Add the counts of merged cells to the scores of those as given. Cells that
        constraints added stand behind them."""
        cdef Py_ssize_t i
        for i in range(self.cell_given.shape[0]):
            if self.cell_given[i] < cells.shape[0]:
                cells[self.cell_given[i]].score += counts[self.cell_merged[i]]


cdef void _sum_up(int32_t[::1] sizes) noexcept nogil:
    """From [0, 0, size 0, size 1, ..] or the like to where each one begins."""
    cdef Py_ssize_t k
    for k in range(1, sizes.shape[0]):
        sizes[k] += sizes[k - 1]
