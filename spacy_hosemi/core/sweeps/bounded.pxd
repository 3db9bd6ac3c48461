from .backward cimport Backward
from .viterbi_bounds cimport ArcTable

cdef void sweep_bounded(Backward backward, ArcTable arcs) noexcept nogil
