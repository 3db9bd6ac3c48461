from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from ..chart.arc_weights cimport ArcWeights, VaryingArcs
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..chart.layout cimport Layout
from ..chart.load cimport Room
from ..simd.lanes cimport N_LANES


cdef class LaneTables:
    cdef object automaton
    cdef Layout layout
    cdef int kind                       # of the kernels, see there
    cdef bint in_logs
    cdef Py_ssize_t n_lanes             # 1 or 4
    cdef ArcWeights weights             # the same for all
    cdef VaryingArcs varying            # None: they are the same at all boundaries
    cdef Py_ssize_t n_groups, n_states, n_lengths, n_rows
    # by lane; without tokens only the chart is there, and without a document None
    cdef PyObject* chart[N_LANES]
    cdef const double* first[N_LANES]
    cdef const double* more[N_LANES]
    cdef const double* end[N_LANES]
    cdef Py_ssize_t n_tokens[N_LANES]
    cdef double z_rest[N_LANES]         # log Z without the scale of the last row
    cdef Py_ssize_t longest, lowest     # boundaries: the last one, the first with beta
    cdef bint goes_back                 # whether there is a backward sweep
    cdef bint finds_starts              # whether `starts` are found
    cdef bint keeps_counts              # whether rows are kept for counts
    cdef double share                   # of the largest of a group is negligible
    cdef object _pool                   # owns all that follow
    # Row j + 1 is that of boundary j: before a start there is always one
    cdef double[:, :, ::1] opened       # [n + 2, P, lanes] A
    cdef double[:, :, ::1] beta         # [n + 2, P, lanes], row j; or no rows
    cdef double[:, :, ::1] top          # [n + 2, G, lanes] bounds on A
    cdef double[:, :, ::1] starts       # [n + 2, G, lanes] how probable starts at u are
    cdef double[:, ::1] scale           # [n + 2, lanes] of alpha and R
    cdef double[:, ::1] opened_scale    # [n + 2, lanes]
    # Rows of one block of boundaries, base .. base + n_block: row j - base
    cdef Py_ssize_t base, n_block
    cdef double[:, :, ::1] weight       # [n_block + D + 1, W, lanes] see lanes.h
    cdef Py_ssize_t at_enter, at_end    # in a row of it
    cdef double[:, :, ::1] saved        # [blocks, P, lanes] R at the base of each block
    cdef double[:, :, ::1] nodes        # [n_block + 1, N, lanes] alpha and suffix sums
    cdef double[:, :, ::1] runs         # [n_block + 1, P, lanes] R
    # One row
    cdef double[:, ::1] node            # [N + P + 2, lanes] alpha, suffix sums and A
    cdef double[:, ::1] back_node       # [N + P + 2, lanes] B, beta and suffix sums
    cdef double[:, ::1] running         # [P, lanes] R
    cdef double[:, :, ::1] rest         # [D, P, lanes] T, row j % D
    cdef double[:, ::1] running_top     # [G, lanes]
    cdef double[:, ::1] group_top       # [G, lanes] bounds on what ends explicitly
    cdef double[:, ::1] length          # [G D, lanes]
    cdef double[:, ::1] tail            # [G, lanes]
    cdef double[:, ::1] never           # [G, lanes] -inf
    # Long cells; NULL where there are none
    cdef bint has_cells                 # whether a document has cells
    cdef double* long_weight[N_LANES]   # [number of long segments]
    cdef double* late_weight[N_LANES]   # [number of late segments]
    cdef double[::1] cell_room          # all of them; None: there never were any
    cdef unsigned char[::1] is_begun    # [G] whether alpha is being made anew
    # what late segments add to B, for the states of their group, and one more row
    cdef double* late_closing[N_LANES]  # [late + 1, n_most]
    cdef Py_ssize_t n_most              # states of the largest group
    cdef const int32_t* first_place[N_LANES]  # [n + 1] places of long cells, by start
    cdef const int32_t* placed[N_LANES]
    cdef int32_t[::1] place_room        # all of them

    cdef bint reserve(
        self,
        Chart chart,
        Room room,
        bint finds_starts,
        bint keeps_counts=*,
        bint goes_back=*,
    )
    cdef bint hold(
        self, Chart chart, bint finds_starts, bint keeps_counts, bint goes_back
    )
    cdef void put(self, Py_ssize_t lane, Chart chart) noexcept nogil
    cdef void stop_at(self, Py_ssize_t lowest) noexcept nogil
    cdef forget(self)
    cdef Py_ssize_t n_numbers(self)
    cdef bint _set_weights(self, Chart chart)
    cdef void _set_lengths(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef _make_room(self)
    cdef bint _has_room(self, Py_ssize_t n_lengths) noexcept nogil
    cdef _reserve_cells(self, Room room)
    cdef void place_cells(self) noexcept nogil
    cdef Py_ssize_t _place_cells(
        self,
        Py_ssize_t lane,
        CellLists cells,
        double* room,
        int32_t* places,
        Py_ssize_t* n_ints,
    ) noexcept nogil
    cdef Py_ssize_t _list_places(
        self, Py_ssize_t lane, const int32_t[::1] start, int32_t* room
    ) noexcept nogil
