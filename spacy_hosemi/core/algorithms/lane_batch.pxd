from ..chart.chart cimport Chart
from ..chart.span_lists cimport SpanLists
from ..parallel.tasks cimport Task
from ..simd.lanes cimport N_LANES
from ..sweeps.lane_tables cimport LaneTables
from .best_sets cimport BestSet, Candidate


cdef class LaneBatch(Task):
    cdef list charts                    # of the documents
    cdef LaneTables one                 # a document alone is solved in these
    cdef LaneTables four
    cdef LaneTables tables              # those in use, for documents from ..
    cdef Py_ssize_t begin               # .. this one on
    cdef list numbers                   # of each document
    cdef SpanLists asked                # segments by lane, and how probable they are
    cdef bint are_paths                 # whether those of a lane are a path
    cdef bint answers                   # whether numbers of it are found
    cdef bint decides                   # whether the path is to be found ..
    cdef double expected_f1             # .. at this F1; below 0: at its own
    cdef SpanLists probable             # spans of a lane
    cdef BestSet best_set               # of these
    cdef SpanLists listing              # of what is probable; None: nothing
    cdef bint trusted                   # the sweeps that were run
    # by lane
    cdef Py_ssize_t number[N_LANES]
    cdef Py_ssize_t first_asked[N_LANES]
    cdef Py_ssize_t after_asked[N_LANES]
    cdef double path_score[N_LANES]
    cdef bint has_none[N_LANES]         # whether no span is probable

    cdef ask_for_segments(self)
    cdef ask_for_paths(self)
    cdef ask_for_decisions(self, expected_f1, bint answers=*)
    cdef ask_for_list(self, SpanLists listing)
    cdef LaneTables use(self, Py_ssize_t begin, Py_ssize_t end)
    cdef Py_ssize_t size(self)
    cdef bint add(self, k, potentials, constraints, segments)
    cdef write_down(self, list found, list log_z)
    cdef object _found(self, Py_ssize_t lane)
    cdef bint set_up(self, Py_ssize_t alone)
    cdef void _read(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef void answer(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef void _add_asked(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef double _list(
        self, Chart chart, Py_ssize_t lane, double p, SpanLists listing
    ) noexcept nogil
    cdef void _decide(self, Chart chart, Py_ssize_t lane) noexcept nogil
    cdef bint _fill(self, Chart chart, Py_ssize_t lane, bint by_token) noexcept nogil
    cdef void _add_outside(
        self, Py_ssize_t lane, Py_ssize_t start, Py_ssize_t end, bint by_token
    ) noexcept nogil
