from libc.stdint cimport int32_t

from ..sweeps.viterbi_bounds cimport Bounds, Leaps
from ..sweeps.backward cimport Completions
from ..sweeps.observed.token_sweep cimport TokenSweep
from ..sweeps.nonnegative cimport Ladder

cdef bint has_sparse_columns(automaton, potentials)


cdef class Best(Completions):
    cdef Ladder ladder                  # owns `arcs_out`; None: the automaton does
    cdef Leaps leaps                    # None: do without bounds
    cdef Bounds bounds
    cdef TokenSweep token_sweep         # its arrays, if there was need of them
    cdef bint by_tokens                 # whether that sweep solves the document
    cdef bint is_bounded                # only what the bounds leave is known
    cdef Py_ssize_t n_segments          # of the best segmentation
    cdef Best next                      # what is solved with it

    cdef _set_method(self, potentials, method)
    cdef bint _may_pay(self)
    cdef _count(self)
    cdef Py_ssize_t _size(self)
    cdef void _solve_all(self) noexcept nogil
    cdef void _sweep_left(self) noexcept nogil
    cdef void _clear_left(self) noexcept nogil
    cdef void _close_left(self, Py_ssize_t j) noexcept nogil
    cdef void _rest_left(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef void _push_left(self, Py_ssize_t j, Py_ssize_t g) noexcept nogil
    cdef void _push_long(self, Py_ssize_t j) noexcept nogil
    cdef void _push(
        self, Py_ssize_t u, Py_ssize_t g, double score, const double* after
    ) noexcept nogil
