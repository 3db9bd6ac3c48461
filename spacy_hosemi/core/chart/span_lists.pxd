from libc.stdint cimport int32_t


cdef struct Listed:
    int32_t doc                         # or lane
    int32_t start, end, label
    double score                        # or probability


cdef class SpanLists:
    cdef double p
    cdef bint has_scores                # of segments, not probabilities
    cdef Listed* rows                   # [room], of which there are n
    cdef Py_ssize_t n, room
    cdef bint is_complete               # False: there was no memory for more
    cdef Py_ssize_t limit               # only the best so many are kept; 0: all
    cdef double least                   # the least score that is one of them
    cdef bint is_cut                    # whether any were left out

    cdef void clear(self) noexcept nogil
    cdef check(self)
    cdef bint _grow(self) noexcept nogil
    cdef void cut(self) noexcept nogil
    cdef void add(
        self, Py_ssize_t k, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double score
    ) noexcept nogil
    cdef list spans(self, Py_ssize_t first, Py_ssize_t after)
    cdef tuple sorted(self, sizes, n_labels)
