cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from ...chart.chart cimport Chart
from .events cimport Firings


cdef struct History:
    # a node, as in `Histories`
    int32_t suffix, parent, label, pair_at, depth
    bint is_inner
    int32_t stop                    # where its segment ends
    # the last boundary, of all documents, behind which it begins, where it is told
    # apart, and before which it stands in `here`
    int64_t is_begun, is_at, is_here
    double fired                    # when it is complete: read at the start ..
    double always                   # .. and of its pattern, everywhere
    double begun                    # B: a segment begins
    double beta                     # what follows it
    double fired_inside             # read at each token ..
    double fired_end                # .. and at the last one
    double gain, gain_inside, gain_end  # the same, of all suffixes
    double rest                     # T: what follows in and after its segment
    double more                     # the same, of segments that go on
    double at_end                   # weight of the pattern with $
    # the last document in which it is told apart itself or is a suffix of such, and is
    # a pair that segments read to their end
    int64_t marked_inner, marked_read


@cython.final
cdef class SegmentFirings(Firings):
    cdef const double[::1] tail             # [L]
    cdef Py_ssize_t n_read                  # pairs that segments read to their end
    cdef double[::1] opens                  # [L] a segment of a label
    cdef double[::1] goes_on                # [L]
    cdef uint8_t[::1] bytes                 # room for nodes
    cdef History* nodes                     # [K]
    cdef double[::1] beta                   # [L + 1] what follows a label, or ^
    # of what is listed: labels, then histories that are begun at a token
    cdef double[::1] listed_score           # B
    cdef int32_t[::1] listed_stop           # where the segment ends

    cdef void _mark_inner(self, Py_ssize_t node) noexcept nogil
    cdef inline int64_t _at(self, Py_ssize_t j) noexcept nogil
    cdef inline void _put(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _tell_apart(self, Py_ssize_t k, Py_ssize_t j) noexcept nogil
    cdef inline void _list(
        self, Py_ssize_t k, double score, int32_t stop
    ) noexcept nogil
    cdef void _end(self) noexcept nogil
    cdef void _fire(self, Py_ssize_t i) noexcept nogil
    cdef void _fire_ends(self, Py_ssize_t j) noexcept nogil
    cdef void _begin(self, Chart chart, Py_ssize_t i) noexcept nogil
    cdef void _begin_longer(
        self, Chart chart, Py_ssize_t i, const double* pair
    ) noexcept nogil
    cdef inline bint _begin_inner(
        self, History* one, const History* other, double end, Py_ssize_t j
    ) noexcept nogil
    cdef void _close(self, Py_ssize_t i, const double* pair) noexcept nogil
    cdef inline Py_ssize_t _first_of(self, Py_ssize_t i) noexcept nogil
    cdef void _fall(self, Py_ssize_t j) noexcept nogil
