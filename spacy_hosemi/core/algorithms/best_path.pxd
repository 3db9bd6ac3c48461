from ..chart.layout cimport Layout
from ..parallel.tasks cimport Task
from ..sweeps.backward cimport Backward
from ..sweeps.nonnegative cimport SuffixChain
from ..sweeps.observed.token_sweep cimport TokenSweep
from ..sweeps.viterbi_bounds cimport ArcTable


cdef class BestPath(Task):
    cdef Backward backward
    cdef SuffixChain chain                  # owns `arcs_out`; None: the automaton does
    cdef ArcTable arc_table             # None: do without bounds
    cdef TokenSweep token_sweep         # its arrays, if there was need of them
    cdef bint by_tokens                 # whether that sweep solves the document
    cdef Py_ssize_t n_segments          # of the best segmentation

    cdef set_method(self, potentials, method)
    cdef bint _may_pay(self)
    cdef void count(self) noexcept nogil
    cdef list _segments(self)
    cdef Py_ssize_t _size(self)
    cdef _forget(self)
    cdef void _sweep(self, Backward backward) noexcept nogil


cdef BestPath spare_path(Layout layout)
cdef give_back(BestPath best)
