"""The cells of one document, merged and listed in the order of the sweeps.

Cells of up to D tokens add to segments that are explicit without them. A longer cell
makes all segments from its start explicit, up to the longest cell there: see `Chart`.
The lists of a document lie in the memory of those of the last one.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

# Memory for more cells is not kept for other documents.
cdef Py_ssize_t LARGE = 100_000

cdef double[::1] _NO_SCORES = np.zeros(0)
cdef const int32_t[:, ::1] _NO_HORIZON = np.zeros((0, 0), np.int32)


cdef class CellLists:
    """The cells of n tokens, G groups and up to D tokens, listed for the sweeps."""

    def __cinit__(self):
        self.none = self.room = self.ends = self.long_room = None
        self.score_room = self.long_scores = None
        self.horizons = None
        self.has_lists = True

    cdef reserve(self, Py_ssize_t n, Py_ssize_t n_long):
        """Memory for up to n cells of `n_tokens` tokens or fewer, which make up to
        n_long segments explicit; see `n_long`."""
        cdef Py_ssize_t n_ends = self.n_tokens + 2
        cdef Py_ssize_t n_bins = max(n_ends, self.n_groups) + 1
        if self.none is None or self.none.shape[0] < n_ends:
            self.none, self.has_lists = np.zeros(n_ends, np.int32), True
        if not n:
            return
        if self.room is None or self.room.shape[1] < n + 1:
            self.room = np.empty((17, 2 * n + 1), np.int32)
            self.score_room = np.empty((3, 2 * n + 1))
        if self.ends is None or self.ends.shape[1] < n_bins:
            self.ends = np.empty((4, 2 * n_bins), np.int32)
            self.horizons = np.empty((2 * n_bins, self.n_groups), np.int32)
        if self.long_room is None or self.long_room.shape[1] < n_long:
            self.long_room = np.empty((4, 2 * n_long), np.int32)
            self.long_scores = np.empty((2, 2 * n_long))

    cdef Py_ssize_t n_long(
        self,
        const Cell[::1] cells,
        const int32_t[::1] given,
        const int32_t[::1] group,
        const double[::1] tail,
    ) noexcept nogil:
        """Returns how many long segments these cells make explicit, at most: up to each
        cell all of its start and group, and no more than there are in the document."""
        cdef Py_ssize_t k, i, g, size, total = 0, longest = self.n_lengths, last = 0
        cdef Py_ssize_t n = cells.shape[0] if given is None else given.shape[0]
        cdef Py_ssize_t n_open = 0
        for k in range(n):
            i = k if given is None else given[k]
            g = cells[i].column if given is None else group[k]
            size = cells[i].end - cells[i].start
            if size > self.n_lengths and tail[g] > -INFINITY:
                total += size - self.n_lengths
                longest, last = max(longest, size), max(last, cells[i].end)
        for g in range(tail.shape[0]):
            n_open += tail[g] > -INFINITY
        # Starts u < last; behind last - longest they have ever fewer of these segments.
        n, size = last - longest, longest - self.n_lengths
        return min(total, n_open * (n * size + size * (size + 1) // 2))

    cdef void set_none(self) noexcept nogil:
        """For a document without cells."""
        self.reach = self.n_lengths + 1
        if not self.has_lists:
            return
        cdef const int32_t[::1] none = self.none
        self.n_cells, self.has_lists = 0, False
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

    cdef forget(self):
        """Let go of the cells, and of memory for very many."""
        if self.has_lists:
            self.set_none()
        if self.room is not None and self.room.shape[1] > LARGE:
            self.room = self.score_room = None
        if self.long_room is not None and self.long_room.shape[1] > LARGE:
            self.long_room = self.long_scores = None
        if self.ends is not None and self.ends.shape[1] > LARGE:
            self.ends = self.horizons = None

    cdef void set(
        self,
        const Cell[::1] cells,              # [K]
        const int32_t[::1] given,           # [K'] which cell is read ..; None: each ..
        const int32_t[::1] group,           # [K'] .. by which group; .. by its column
        const double[::1] tail,             # [G]
    ) noexcept nogil:
        """Merge cells of the same segment, and list what they make explicit; the scores
        of long segments are those of their cells alone. There is memory for them."""
        cdef Py_ssize_t k, n = cells.shape[0] if given is None else given.shape[0]
        cdef int32_t[::1] read = self.room[0, :n], first = self.ends[0]
        cdef int32_t[:, ::1] key = self.room[2:5], place = self.room[5:8]
        for k in range(n):
            read[k] = <int32_t>k if given is None else given[k]
            key[0, k] = cells[read[k]].column if given is None else group[k]
            key[1, k], key[2, k] = cells[read[k]].start, cells[read[k]].end
        self._sort(n)
        self.n_cells = self._merge(cells, n)
        k = self._list_short(first)
        self.has_lists = True
        self.cell_given, self.cell_merged = read, self.room[1, :n]
        self.first_short = first
        self.short_slot, self.short_cell = self.room[8, :k], self.room[9, :k]
        self.short_score = self.score_room[1, :k]
        self._set_long(place, self.score_room[0], tail)

    cdef void _sort(self, Py_ssize_t n) noexcept nogil:
        """Sort cells by end, then start, then group; equal ones stay in their order."""
        cdef const int32_t[:, ::1] key = self.room[2:5]
        cdef int32_t[::1] order = self.room[8], other = self.room[9]
        cdef Py_ssize_t k
        cdef bint is_sorted = True
        for k in range(n):
            order[k] = other[k] = <int32_t>k
            if k and is_sorted:
                is_sorted = key[2, k] > key[2, k - 1] or (
                    key[2, k] == key[2, k - 1] and (
                        key[1, k] > key[1, k - 1] or (
                            key[1, k] == key[1, k - 1] and key[0, k] >= key[0, k - 1]
                        )
                    )
                )
        if is_sorted:  # as cells of predictions are
            return
        _sort_by(self.room[2], self.n_groups, order, n, self.ends[3], other)
        _sort_by(self.room[3], self.n_tokens + 1, other, n, self.ends[3], order)
        _sort_by(self.room[4], self.n_tokens + 1, order, n, self.ends[3], other)

    cdef Py_ssize_t _merge(self, const Cell[::1] cells, Py_ssize_t n) noexcept nogil:
        """Add the scores of cells that are the same. RETURNS: How many are left."""
        cdef int32_t[:, ::1] key = self.room[2:5], place = self.room[5:8]
        cdef const int32_t[::1] read = self.room[0], order = self.room[9]
        cdef int32_t[::1] merged = self.room[1]
        cdef double[::1] score = self.score_room[0]
        cdef Py_ssize_t i, k, m = -1
        for i in range(n):
            k = order[i]
            if m < 0 or (
                key[0, k] != place[2, m]
                or key[1, k] != place[0, m]
                or key[2, k] != place[1, m]
            ):
                m += 1
                score[m] = 0.0
                place[0, m], place[1, m], place[2, m] = key[1, k], key[2, k], key[0, k]
            merged[k] = <int32_t>m
            score[m] += cells[read[k]].score
        return m + 1

    cdef Py_ssize_t _list_short(self, int32_t[::1] first) noexcept nogil:
        """RETURNS: The number of cells that are short."""
        cdef const int32_t[:, ::1] place = self.room[5:8]
        cdef int32_t[::1] slot = self.room[8], cell = self.room[9]
        cdef double[:, ::1] score = self.score_room
        cdef Py_ssize_t i, size, n_lengths = self.n_lengths, n = 0
        first[: self.n_tokens + 2] = 0
        for i in range(self.n_cells):
            size = place[1, i] - place[0, i]
            if size <= n_lengths:
                slot[n] = <int32_t>((place[2, i] + 1) * n_lengths - size)
                cell[n] = <int32_t>i
                score[1, n] = score[0, i]
                first[place[1, i] + 1] += 1
                n += 1
        _sum_up(first, self.n_tokens + 2)
        return n

    cdef void _set_long(
        self,
        const int32_t[:, ::1] cells,        # [3, K] start, end, group; merged
        const double[::1] score,            # [K]
        const double[::1] tail,             # [G]
    ) noexcept nogil:
        """All segments from the starts of long cells, up to the longest of them."""
        cdef Py_ssize_t i, t, p, u, j, g, n_places = 0, total = 0
        cdef Py_ssize_t n_lengths = self.n_lengths, n = self.n_cells
        cdef Py_ssize_t n_ends = self.n_tokens + 2
        cdef int32_t[::1] first = self.ends[1], ahead = self.ends[3]
        cdef int32_t[:, ::1] place_of = self.horizons[: self.n_tokens], long_
        cdef int32_t[::1] start = self.room[10], group = self.room[11]
        cdef int32_t[::1] horizon = self.room[12], begin = self.room[13], at
        cdef double[:, ::1] scores
        cdef bint is_one
        first[:n_ends] = 0
        place_of[:, :] = 0
        begin[0] = 0
        # A cell longer than D counts only where longer segments are possible at all
        for i in range(n):
            u, j, g = cells[0, i], cells[1, i], cells[2, i]
            if j - u <= n_lengths or tail[g] == -INFINITY:
                continue
            if not place_of[u, g]:
                start[n_places], group[n_places] = <int32_t>u, <int32_t>g
                horizon[n_places] = 0
                n_places += 1
                place_of[u, g] = <int32_t>n_places
            p = place_of[u, g] - 1
            horizon[p] = max(horizon[p], <int32_t>(j - u))
        for p in range(n_places):
            for j in range(start[p] + n_lengths + 1, start[p] + horizon[p] + 1):
                first[j + 1] += 1
            total += horizon[p] - n_lengths
            begin[p + 1] = <int32_t>total
        _sum_up(first, n_ends)
        long_, scores = self.long_room, self.long_scores
        at = long_[3]
        ahead[:n_ends] = first[:n_ends]
        for p in range(n_places):
            for i in range(begin[p], begin[p + 1]):
                j = start[p] + n_lengths + 1 + i - begin[p]
                t = ahead[j]
                at[i] = <int32_t>t
                ahead[j] += 1
                long_[0, t], long_[1, t], long_[2, t] = start[p], group[p], -1
                scores[0, t] = scores[1, t] = 0.0
        for i in range(n):
            u, j, g = cells[0, i], cells[1, i], cells[2, i]
            is_one = j - u > n_lengths and tail[g] > -INFINITY
            if is_one:
                t = at[begin[place_of[u, g] - 1] + j - u - n_lengths - 1]
                long_[2, t] = <int32_t>i
                scores[0, t] = scores[1, t] = score[i]
        for p in range(n_places):
            place_of[start[p], group[p]] = horizon[p]
        self.first_long = first
        self.long_start, self.long_group = long_[0, :total], long_[1, :total]
        self.long_cell = long_[2, :total]
        self.long_extra, self.long_score = scores[0, :total], scores[1, :total]
        self.late_horizon = place_of if n_places else _NO_HORIZON
        self.place_start, self.place_group = start[:n_places], group[:n_places]
        self.place_first, self.place_long = begin[: n_places + 1], at[:total]
        self._set_late(horizon[:n_places])

    cdef void _set_late(self, const int32_t[::1] horizon) noexcept nogil:
        """Segments that enter the running sum behind the last cell of their start."""
        cdef Py_ssize_t p, j, n_places = horizon.shape[0], n_late = 0
        cdef Py_ssize_t n_ends = self.n_tokens + 2
        cdef int32_t[::1] first = self.ends[2], ahead = self.ends[3]
        cdef int32_t[:, ::1] late = self.room[14:17]
        cdef double[::1] score = self.score_room[2]
        self.reach = self.n_lengths + 1
        first[:n_ends] = 0
        for p in range(n_places):
            self.reach = max(self.reach, horizon[p] + 1)
            j = self.place_start[p] + horizon[p] + 1
            if j <= self.n_tokens:
                first[j + 1] += 1
                n_late += 1
        _sum_up(first, n_ends)
        ahead[:n_ends] = first[:n_ends]
        for p in range(n_places):
            j = self.place_start[p] + horizon[p] + 1
            late[2, p] = -1
            if j <= self.n_tokens:
                late[0, ahead[j]] = self.place_start[p]
                late[1, ahead[j]] = self.place_group[p]
                late[2, p] = ahead[j]
                score[ahead[j]] = 0.0
                ahead[j] += 1
        self.first_late = first
        self.late_start, self.late_group = late[0, :n_late], late[1, :n_late]
        self.place_late = late[2, :n_places]
        self.late_score = score[:n_late]

    cdef Py_ssize_t merged_of(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil:
        """RETURNS: Which merged cell a segment has; -1: none."""
        cdef Py_ssize_t i, slot = (g + 1) * self.n_lengths - (j - u)
        if j - u <= self.n_lengths:
            for i in range(self.first_short[j], self.first_short[j + 1]):
                if self.short_slot[i] == slot:
                    return self.short_cell[i]
            return -1
        for i in range(self.first_long[j], self.first_long[j + 1]):
            if self.long_start[i] == u and self.long_group[i] == g:
                return self.long_cell[i]
        return -1

    cdef void add_counts(
        self, const double[::1] counts, Cell[::1] cells
    ) noexcept nogil:
        """Add the counts of merged cells to the scores of those as given. Cells that
        constraints added stand behind them."""
        cdef Py_ssize_t i
        for i in range(self.cell_given.shape[0]):
            if self.cell_given[i] < cells.shape[0]:
                cells[self.cell_given[i]].score += counts[self.cell_merged[i]]


cdef void _sort_by(
    const int32_t[::1] key,             # [K] of each cell
    Py_ssize_t n_keys,
    const int32_t[::1] order,           # [>= n] cells
    Py_ssize_t n,
    int32_t[::1] bins,                  # work space [> n_keys]
    int32_t[::1] sorted_,               # [>= n] the same cells; equal ones in order
) noexcept nogil:
    cdef Py_ssize_t i, k
    bins[: n_keys + 1] = 0
    for i in range(n):
        bins[key[order[i]] + 1] += 1
    _sum_up(bins, n_keys + 1)
    for i in range(n):
        k = order[i]
        sorted_[bins[key[k]]] = <int32_t>k
        bins[key[k]] += 1


cdef void _sum_up(int32_t[::1] sizes, Py_ssize_t n) noexcept nogil:
    """From [0, 0, size 0, size 1, ..] or the like to where each one begins."""
    cdef Py_ssize_t k
    for k in range(1, n):
        sizes[k] += sizes[k - 1]
