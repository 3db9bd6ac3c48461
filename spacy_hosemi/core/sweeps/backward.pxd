from libc.stdint cimport int32_t

from ..chart.dp_tables cimport Tables

cdef class Completions(Tables):
    cdef readonly double total
    cdef readonly bint maximum
    cdef bint keep_beta
    cdef double[:, ::1] rests           # [n + 2, P] T of every boundary
    cdef double[:, ::1] betas           # [n + 1, P], or no rows
    # work space
    cdef double[::1] from_start         # scores of the segments from one token
    cdef int32_t[::1] target            # [L] what `follow` finds
    cdef double[::1] weight_of          # [L]
    cdef int32_t[::1] next_target       # [L]
    cdef double[::1] next_weight        # [L]
    cdef int32_t[:, ::1] path           # [n, 4] start, end, label, state of segments

    cdef _start(
        self, automaton, potentials, constraints, bint maximum, bint keep_beta
    )
    cdef _prepare(self)
    cdef list _best_path(self, Py_ssize_t n, bint with_states)
    cdef bint _has_room(self) noexcept nogil
    cdef _make_room(self)
    cdef void _sweep(self) noexcept nogil
    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t q) noexcept nogil
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
