from libc.stdint cimport int32_t


cdef struct Cell:
    # a record of CELLS
    int32_t start
    int32_t end
    int32_t column
    double score


cdef class CellLists:
    cdef Py_ssize_t n_tokens, n_groups, n_lengths
    # cells (start, end, group), duplicates merged
    cdef readonly Py_ssize_t n_cells
    cdef const int32_t[::1] cell_given          # [K'] which given cell ..
    cdef const int32_t[::1] cell_merged         # [K'] .. counts in which merged one
    # cells of up to D tokens, by end: slot[first_short[j]:first_short[j + 1]]
    cdef const int32_t[::1] first_short         # [n + 2]
    cdef const int32_t[::1] short_slot          # group * D + D - length
    cdef const int32_t[::1] short_cell
    cdef const double[::1] short_score
    # explicit segments of more than D tokens, by end
    cdef const int32_t[::1] first_long          # [n + 2]
    cdef const int32_t[::1] long_start
    cdef const int32_t[::1] long_group
    cdef const int32_t[::1] long_cell           # merged cell, or -1
    cdef double[::1] long_score
    cdef const double[::1] long_extra           # the part of the cell
    # segments that enter the running sum later than others, by position
    cdef const int32_t[::1] first_late          # [n + 2]
    cdef const int32_t[::1] late_start
    cdef const int32_t[::1] late_group
    cdef double[::1] late_score
    cdef const int32_t[:, ::1] late_horizon     # [n, G] of their starts, others 0;
    #                                             or no rows
    cdef Py_ssize_t reach                       # tokens of the longest explicit one + 1
    # starts of long cells: their long segments are
    # place_long[place_first[p]:place_first[p + 1]], of D + 1, D + 2, .. tokens
    cdef const int32_t[::1] place_first
    cdef const int32_t[::1] place_long
    cdef const int32_t[::1] place_start
    cdef const int32_t[::1] place_group
    cdef const int32_t[::1] place_late          # or -1
    cdef const int32_t[::1] none                # [n + 2 or more] zeros
    # memory
    cdef bint has_lists                         # whether lists are not those of no cell
    cdef int32_t[:, ::1] room                   # [17, K' + 1 or more]
    cdef double[:, ::1] score_room              # [3, K' + 1 or more]
    cdef int32_t[:, ::1] ends                   # [4, n + 3 or more]
    cdef int32_t[:, ::1] horizons               # [n or more, G]
    cdef int32_t[:, ::1] long_room              # [4, long segments or more]
    cdef double[:, ::1] long_scores             # [2, long segments or more]

    cdef reserve(self, Py_ssize_t n, Py_ssize_t n_long)
    cdef Py_ssize_t n_long(
        self,
        const Cell[::1] cells,
        const int32_t[::1] given,
        const int32_t[::1] group,
        const double[::1] tail,
    ) noexcept nogil
    cdef void set_none(self) noexcept nogil
    cdef forget(self)
    cdef void set(
        self,
        const Cell[::1] cells,
        const int32_t[::1] given,
        const int32_t[::1] group,
        const double[::1] tail,
    ) noexcept nogil
    cdef void _sort(self, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _merge(self, const Cell[::1] cells, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _list_short(self, int32_t[::1] first) noexcept nogil
    cdef void _set_long(
        self,
        const int32_t[:, ::1] cells,
        const double[::1] score,
        const double[::1] tail,
    ) noexcept nogil
    cdef void _set_late(self, const int32_t[::1] horizon) noexcept nogil
    cdef Py_ssize_t merged_of(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil
    cdef void add_counts(self, const double[::1] counts, Cell[::1] cells) noexcept nogil
