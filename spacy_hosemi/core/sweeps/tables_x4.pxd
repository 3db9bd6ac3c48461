from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from ..chart.arc_weights cimport ArcWeights
from ..chart.cells cimport CellLists
from ..chart.chart cimport Chart
from ..chart.layout cimport Layout
from ..chart.load cimport Room
from ..simd.simd cimport N_LANES


cdef class TablesX4:
    cdef object automaton
    cdef Layout layout
    cdef list charts                    # of documents, by lane
    cdef ArcWeights weights             # the same for all
    cdef Py_ssize_t n_groups, n_states, n_rows
    # by lane; NULL and 0 where there is no document, or it has to wait
    cdef PyObject* chart[N_LANES]
    cdef const double* first[N_LANES]
    cdef const double* more[N_LANES]
    cdef const double* end[N_LANES]
    cdef Py_ssize_t n_tokens[N_LANES]
    cdef double z_rest[N_LANES]         # as of DPTables
    cdef Py_ssize_t longest, lowest     # boundaries: the last one, the first with beta
    cdef bint finds_starts              # whether `starts` are found
    cdef double share
    cdef double[::1] room               # all that follow
    # Row j + 1 is that of boundary j: before a start there is always one
    cdef double[:, :, ::1] opened       # [n + 2, P, lanes] A
    cdef double[:, :, ::1] beta         # [n + 2, P, lanes], row j
    cdef double[:, :, ::1] weight       # [n + 2, 4 G, lanes] here, keep, enter, at_end
    cdef double[:, :, ::1] top          # [n + 2, G, lanes] bounds on A
    cdef double[:, :, ::1] starts       # [n + 2, G, lanes] how probable starts at u are
    cdef double[:, ::1] scale           # [n + 2, lanes] of alpha and R
    cdef double[:, ::1] opened_scale    # [n + 2, lanes]
    # One row
    cdef double[:, ::1] node            # [N + P + 2, lanes] as of DPTables
    cdef double[:, ::1] back_node       # [N + P + 2, lanes]
    cdef double[:, ::1] running         # [P, lanes] R
    cdef double[:, ::1] rest            # [P, lanes] T
    cdef double[:, ::1] running_top     # [G, lanes]
    cdef double[:, ::1] length          # [G, lanes]
    cdef double[:, ::1] tail            # [G, lanes]
    cdef double[:, ::1] never           # [G, lanes] -inf
    # Long cells; NULL where there are none
    cdef bint has_cells                 # whether a document has cells
    cdef double* long_weight[N_LANES]   # as of DPTables
    cdef double* late_weight[N_LANES]
    cdef double[::1] cell_room          # all of them
    cdef double[:, ::1] cell_top        # [G, lanes] of one row
    cdef unsigned char[::1] is_begun    # [G] whether alpha is being made anew
    # what late segments add to B, for the states of their group, and one more row
    cdef double* late_closing[N_LANES]  # [late + 1, n_most]
    cdef Py_ssize_t n_most              # states of the largest group
    cdef const int32_t* first_place[N_LANES]  # [n + 1] places of long cells, by start
    cdef const int32_t* placed[N_LANES]
    cdef int32_t[::1] place_room        # all of them

    # What expected counts are made of, see `counts_x4`; row j is that of boundary j
    cdef bint keeps_counts              # whether the forward sweep keeps it
    cdef double[:, :, ::1] nodes        # [n + 1, N, lanes] alpha and suffix sums
    cdef double[:, :, ::1] runs         # [n + 1, P, lanes] R

    cdef Chart load(self, Py_ssize_t lane, potentials, constraints)
    cdef forget(self)
    cdef Py_ssize_t n_numbers(self)
    cdef bint set_up(
        self, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t lowest, bint finds_starts
    )
    cdef bint reserve(self, Chart chart, Py_ssize_t longest, bint keeps_counts)
    cdef take_shared(self, Chart shared, Room room)
    cdef void place(
        self,
        Py_ssize_t lane,
        const double* first,
        const double* more,
        const double* end,
        Py_ssize_t n_tokens,
    ) noexcept nogil
    cdef void _set_lengths(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef _make_room(self)
    cdef _make_room_for_cells(self)
    cdef _reserve_cells(self, Py_ssize_t n, Py_ssize_t n_ints)
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
