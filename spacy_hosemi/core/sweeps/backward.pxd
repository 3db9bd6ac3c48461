from libc.stdint cimport int32_t

from ..chart.chart cimport Chart
from ..chart.load cimport Room
from ..chart.layout cimport Sums
from .viterbi_bounds cimport ArcTable, Bounds

cdef class Backward:
    cdef Chart chart
    cdef Bounds bounds
    cdef ArcTable arcs                  # of the chart; None: they are looked up
    cdef bint is_bounded                # only groups that the bounds leave were swept
    cdef double total
    cdef bint maximum, keep_beta
    cdef Sums arcs_out                  # of the layout, or of a `SuffixChain`
    cdef double[::1] out_weight         # of its terms
    cdef object _pool                   # owns all that follow
    cdef double[:, ::1] closing         # [n + 1, P] B: what follows if one begins there
    cdef double[:, ::1] rests           # [n + 2, P] T of every boundary
    cdef double[:, ::1] betas           # [n + 1, P], or no rows
    cdef double[::1] beta               # [P] what follows a boundary
    cdef double[::1] back_node          # [N + P + 2] B, beta, suffix sums
    # work space
    cdef double[::1] from_start         # scores of the segments from one token
    cdef int32_t[::1] target            # [L] what `follow` finds
    cdef double[::1] weight_of          # [L]
    cdef int32_t[::1] next_target       # [L]
    cdef double[::1] next_weight        # [L]
    cdef int32_t[:, ::1] path           # [n, 4] start, end, label, state of segments

    cdef load(self, automaton, potentials, constraints, bint defer=*)
    cdef take_shared(self, Chart shared, Room room)
    cdef _use_weights(self)
    cdef bint _has_room(self) noexcept nogil
    cdef _make_room(self)
    cdef void sweep(self) noexcept nogil
    cdef void follow(self, Py_ssize_t state) noexcept nogil
    cdef bint is_known(self, Py_ssize_t i, Py_ssize_t q) noexcept nogil
    cdef Py_ssize_t walk(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil
    cdef Py_ssize_t best_after(
        self, Py_ssize_t u, Py_ssize_t q, double* best
    ) noexcept nogil
    cdef void _compare(
        self,
        Py_ssize_t u,
        Py_ssize_t q,
        Py_ssize_t y,
        const double* closing,
        double* best,
        Py_ssize_t* found,
    ) noexcept nogil
    cdef Py_ssize_t label_of(self, Py_ssize_t state) noexcept nogil
    cdef Py_ssize_t _end(self, Py_ssize_t u, Py_ssize_t q) noexcept nogil
    cdef Py_ssize_t running_end(
        self, Py_ssize_t j, Py_ssize_t g, Py_ssize_t q
    ) noexcept nogil
    cdef double best_from(self, Py_ssize_t j, Py_ssize_t q) noexcept nogil
    cdef Py_ssize_t ends_from(
        self, Py_ssize_t u, Py_ssize_t q, double[::1] value
    ) noexcept nogil


cdef Backward swept(automaton, potentials, constraints, bint maximum)
