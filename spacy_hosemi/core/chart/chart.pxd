from libc.stdint cimport int32_t

from .observed_arcs cimport ObservedArcs
from .cells cimport CellLists
from .layout cimport EdgeWeights, Layout


cdef class Chart:
    cdef readonly object automaton
    cdef Layout layout
    cdef CellLists cells
    cdef readonly Py_ssize_t n_tokens
    cdef Py_ssize_t n_groups, n_lengths, n_labels, n_states, n_nodes
    cdef const double[::1] pattern_weight       # [M]
    cdef EdgeWeights edge_weights
    cdef double[::1] edge_weight                # [E] theirs
    cdef ObservedArcs observed_arcs         # None: weights are the same at all tokens
    # the document as it was given
    cdef bint is_deferred               # whether `finish_loading` is still to come
    cdef const double[:, ::1] inside            # [n, L] or [n, C]
    cdef const double[:, ::1] start             # [n, L] or [n, C]
    cdef const double[:, ::1] given_end         # [n, L] or [n, C]
    cdef const double[:, ::1] length            # [L, D]
    cdef const double[::1] given_tail           # [L]
    # the document, by group
    cdef double[:, ::1] sums                    # [n or more, G] memory for `first`
    cdef double[:, ::1] first                   # [n or more, G] inside + start
    cdef const double[:, ::1] more              # [n, G] inside, -inf after a boundary
    cdef const double[:, ::1] end               # [n, G]
    cdef double[::1] length_backwards           # [G D] of D tokens, .., of 1
    cdef double[::1] tail                       # [G]
    cdef bint has_tail
    cdef bint are_tokens                        # no segment has more than one token
    cdef object cells_as_given
    # what `segments_ending_at` finds
    cdef double[::1] score                      # [G D] slot: group * D + D - length
    cdef double[::1] enter_score                # [G] start j - D - 1

    cdef forget(self)
    cdef cell_gradient(self, const double[::1] counts)
    cdef void segments_ending_at(self, Py_ssize_t j) noexcept nogil
    cdef void segments_of(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef void add_cells(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t horizon(self, Py_ssize_t u, Py_ssize_t g) noexcept nogil
    cdef Py_ssize_t segments_starting_at(
        self, Py_ssize_t u, Py_ssize_t g, double[::1] score
    ) noexcept nogil
    cdef void follow(
        self, Py_ssize_t state, int32_t[::1] target, double[::1] weight
    ) noexcept nogil
    cdef Py_ssize_t edge_of(self, Py_ssize_t state, Py_ssize_t y) noexcept nogil
    cdef Py_ssize_t state_behind(
        self, Py_ssize_t edge, Py_ssize_t state, Py_ssize_t y
    ) noexcept nogil
    cdef double path_score(self, segments)
    cdef Py_ssize_t add_step(
        self, Py_ssize_t state, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double* total
    ) noexcept nogil
    cdef double score_at_start(self, Py_ssize_t u, Py_ssize_t edge) noexcept nogil
    cdef bint has_suffix(self, Py_ssize_t edge, Py_ssize_t suffix) noexcept nogil
    cdef double length_score(self, Py_ssize_t g, Py_ssize_t d) noexcept nogil
    cdef double segment_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil
    cdef double running_score(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g
    ) noexcept nogil
    cdef double cells_of(self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef double final_weight(self, Py_ssize_t q) noexcept nogil
