from libc.stdint cimport int32_t

from .nonnegative cimport Ladder
from .tables cimport Tables

cdef list best_segments(automaton, list potentials, list constraints, method)


cdef class Leaps:
    cdef double[::1] pattern            # [M] for which the others were made
    cdef double[:, ::1] weight          # [L, P]
    cdef int32_t[:, ::1] target         # [L, P]
    cdef double[::1] most               # [L] the largest weight


cdef class Completions(Tables):
    cdef readonly double total
    cdef readonly bint maximum
    cdef bint keep_beta
    cdef bint all_arcs                  # do without `leaps`
    cdef double[:, ::1] rests           # [n + 2, P] T of every boundary
    cdef double[:, ::1] betas           # [n + 1, P], or no rows
    # work space
    cdef double[::1] from_start         # scores of the segments from one token
    cdef int32_t[::1] target            # [L] what `follow` finds
    cdef double[::1] weight_of          # [L]
    cdef int32_t[::1] next_target       # [L]
    cdef double[::1] next_weight        # [L]
    cdef int32_t[:, ::1] path           # [n, 4] start, end, label, state of segments
    cdef double[::1] top                # [G]
    cdef double[::1] bound              # [L]
    cdef Leaps leaps                    # None: there would be too many
    cdef Py_ssize_t pause               # rows without leaps after they were of no use
    cdef Py_ssize_t n_paused            # of these are still to come
    cdef Ladder ladder                  # owns `arcs_out`; None: the automaton does
    cdef Py_ssize_t n_best              # segments of the best segmentation
    cdef Completions next               # what is solved with it

    cdef _start(
        self, automaton, potentials, constraints, bint maximum, bint keep_beta
    )
    cdef Py_ssize_t _size(self)
    cdef _forget(self)
    cdef _prepare(self)
    cdef void _solve_all(self) noexcept nogil
    cdef list _best_path(self, Py_ssize_t n, bint with_states)
    cdef bint _has_room(self) noexcept nogil
    cdef _make_room(self)
    cdef _set_ladder(self, potentials, method)
    cdef _set_leaps(self)
    cdef bint _were_met(self)
    cdef Leaps _make_leaps(self)
    cdef void _sweep(self) noexcept nogil
    cdef void _close(self, Py_ssize_t j) noexcept nogil
    cdef void _bound_labels(self, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t _walk(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil
    cdef Py_ssize_t _label(self, Py_ssize_t u) noexcept nogil
    cdef Py_ssize_t _end(self, Py_ssize_t u, Py_ssize_t q) noexcept nogil
    cdef Py_ssize_t running_end(
        self, Py_ssize_t j, Py_ssize_t g, Py_ssize_t q
    ) noexcept nogil
    cdef double best_from(self, Py_ssize_t j, Py_ssize_t q) noexcept nogil
    cdef Py_ssize_t ends_from(
        self, Py_ssize_t u, Py_ssize_t q, double[::1] value
    ) noexcept nogil
