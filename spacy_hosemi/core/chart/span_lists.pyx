"""Lists of segments that tasks fill without the GIL."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free, qsort, realloc


cdef int _compare(const void* a, const void* b) noexcept nogil:
    """Best first; of equal ones those that end, begin or stand first."""
    cdef const Listed* x = <const Listed*>a
    cdef const Listed* y = <const Listed*>b
    if x.score != y.score:
        return -1 if x.score > y.score else 1
    if x.end != y.end:
        return -1 if x.end < y.end else 1
    if x.start != y.start:
        return -1 if x.start < y.start else 1
    return (x.label > y.label) - (x.label < y.label)


cdef class SpanLists:
    """Segments with scores or probabilities, found by a task or given to it; p as in
    `probable_segments`; at most `limit` are listed, the best ones; 0: all."""

    def __cinit__(self, p=0.0, limit=0, has_scores=False):
        self.p, self.limit, self.has_scores = p, limit, has_scores
        self.rows, self.room = NULL, 0
        self.clear()
        if not self._grow():
            raise MemoryError

    def __dealloc__(self):
        free(self.rows)

    cdef void clear(self) noexcept nogil:
        self.n, self.is_complete = 0, True
        self.least, self.is_cut = -INFINITY, False

    cdef check(self):
        if not self.is_complete:
            raise MemoryError

    cdef bint _grow(self) noexcept nogil:
        cdef Py_ssize_t room = 2 * self.room + 64
        rows = <Listed*>realloc(self.rows, room * sizeof(Listed))
        if rows == NULL:
            return False
        self.rows, self.room = rows, room
        return True

    cdef void add(
        self, Py_ssize_t k, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double score
    ) noexcept nogil:
        """One that is not forbidden; it may be there already."""
        cdef Listed* row
        if score == -INFINITY:
            return
        if score < self.least:
            self.is_cut = True
            return
        if self.n == self.room and not self._grow():
            self.is_complete = False
            return
        row = &self.rows[self.n]
        row.doc, row.start, row.end = <int32_t>k, <int32_t>u, <int32_t>j
        row.label, row.score = <int32_t>y, score
        self.n += 1
        if self.limit and self.n == 2 * self.limit:
            self.cut()

    cdef void cut(self) noexcept nogil:
        """Leave out what is beyond the limit."""
        if self.limit and self.n > self.limit:
            qsort(self.rows, self.n, sizeof(Listed), _compare)
            self.n, self.is_cut = self.limit, True
            self.least = self.rows[self.n - 1].score

    cdef list spans(self, Py_ssize_t first, Py_ssize_t after):
        """Returns start, end, label and score of those from first on, before after."""
        cdef Py_ssize_t k
        cdef Listed row
        found = []
        for k in range(first, after):
            row = self.rows[k]
            found.append((row.start, row.end, row.label, row.score))
        return found

    cdef tuple sorted(self, sizes, n_labels):
        """Each once, see `probable_segments`."""
        cdef Listed[::1] listed = <Listed[: self.room]>self.rows
        rows = np.asarray(listed)[: self.n]
        first = np.concatenate([[0], np.cumsum(sizes)])
        longest = np.max(sizes, initial=0)
        names = "doc", "start", "end", "label"
        doc, start, end, label = (rows[name].astype(np.int64) for name in names)
        key = (first[doc] + end) * (longest + 1) + longest - (end - start)
        _, at = np.unique(key * n_labels + label, return_index=True)
        begin = np.searchsorted(doc[at], np.arange(len(sizes) + 1))
        segments = np.column_stack([start, end, label]).astype(np.int32)
        return begin.astype(np.int32), segments[at], rows["score"][at]
