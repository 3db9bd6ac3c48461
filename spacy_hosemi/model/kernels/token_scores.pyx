"""Scores of tokens for prediction, with the scores of each word computed once.

    score[r, i] = sum of of_words[word of token i + offset] over the blocks of role r
                  and their offsets
                + weights of the other templates of role r

A block is the sum over all templates of one role and offset that read attributes of
words alone. It is computed once for each word.

Weights and scores of words are in single precision, as in saved models, because reading
them from memory takes most of the time. Sums are in double precision.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from ...core.simd cimport simd as kernels
from ...core.parallel.tasks cimport Task
from ...core.simd.simd cimport mix, prefetch
from ...features.kernels.key_table cimport RowTable

cdef extern from *:
    """
    #include "simd.h"
    HOSEMI_KERNEL void hosemi_add_singles(
        const float *restrict x, double *restrict y, ptrdiff_t n
    ) {
        for (ptrdiff_t k = 0; k < n; k++) y[k] += x[k];
    }
    """
    # y[k] += x[k]
    void _add "hosemi_add_singles"(const float* x, double* y, Py_ssize_t n) nogil

cdef enum:
    N_AHEAD = 4  # size of a ring buffer for three tokens: a power of 2
    N_VALUES = 128  # more than any value of an attribute that reads a list


cdef class BlockScores:
    """Where the scores of words are added.

    borders (float32 [2, B, L]): Of each block, before and after the document.
    roles, offsets, blocks (int32 [P]): The block blocks[p] of the word at this offset
        is added in this role. A block of a bag is added at several offsets.
    """

    # Memory views are made once: that takes most of the time of a short document.
    cdef const float[:, :, ::1] _borders
    cdef const int32_t[::1] _roles, _offsets, _blocks
    cdef Py_ssize_t _reach

    def __init__(self, borders, roles, offsets, blocks):
        self._borders, self._roles, self._offsets = borders, roles, offsets
        self._blocks = blocks
        self._reach = np.abs(offsets).max(initial=0)

    cdef void add(
        self,
        const int32_t[::1] words,           # IN  [n]
        const int32_t[::1] first,           # IN  [D + 1] of each document, and n
        const float[:, :, :] of_words,      # IN  [K, B, L] of each word
        double[:, :, :] scores,             # OUT [roles, n, L] added to
    ) noexcept nogil:
        """Adds the scores of words: see the head of this module."""
        cdef Py_ssize_t d, at, p, b, i, start, end, n_labels = scores.shape[2]
        cdef const float* source
        for d in range(first.shape[0] - 1):
            start, end = first[d], first[d + 1]
            # Word by word, because the scores of a word are adjacent in memory.
            for at in range(start - self._reach, end + self._reach):
                for p in range(self._roles.shape[0]):
                    i = at - self._offsets[p]
                    if i < start or i >= end:
                        continue
                    b = self._blocks[p]
                    if start <= at < end:
                        source = &of_words[words[at], b, 0]
                    else:
                        source = &self._borders[at >= end, b, 0]
                    _add(source, &scores[self._roles[p], i, 0], n_labels)


cdef class TemplateScores:
    """T templates and the weights of their features."""

    # As for `template_keys`.
    cdef const uint64_t[::1] _seeds
    cdef const int32_t[::1] _first_atom, _columns, _offsets
    cdef const int32_t[::1] _roles              # [T]
    cdef uint64_t[:, ::1] _slots                # of the table of rows
    cdef uint64_t _mask
    cdef const int32_t[::1] _first_weight       # [R + 1], or [0]: each row has L
    cdef const int32_t[::1] _labels             # [N] of each weight, or [0]
    cdef const float[::1] _weights              # [N] row by row

    def __init__(
        self,
        seeds,
        first_atom,
        columns,
        offsets,
        roles,
        RowTable table,
        first_weight,
        labels,
        weights,
    ):
        self._seeds, self._first_atom = seeds, first_atom
        self._columns, self._offsets, self._roles = columns, offsets, roles
        self._slots, self._mask = table._slots, table._mask
        self._first_weight, self._labels = first_weight, labels
        self._weights = weights

    cdef void add(
        self,
        const uint64_t[:, ::1] values,      # IN  [n, A] as for `template_keys`
        const int32_t[::1] first,           # IN  [D + 1] of each document, and n
        uint64_t* keys,                     # work space [N_AHEAD, T]
        int32_t* rows,                      # work space [N_AHEAD, T]
        double[:, :, :] scores,             # OUT [roles, n, L] added to
    ) noexcept nogil:
        """Does what `template_keys`, `RowTable.rows` and `gather` do, in one pass.

        scores[r, i] += sum of the weights of the rows of the templates of role r at i
        """
        cdef Py_ssize_t i, k, t, n = values.shape[0], n_templates = self._seeds.shape[0]
        cdef Py_ssize_t d = 0, start = 0, end = 0
        cdef Py_ssize_t n_labels = scores.shape[2]
        cdef bint is_dense = self._first_weight.shape[0] == 0
        cdef const uint64_t* slots = &self._slots[0, 0]
        cdef int32_t row, at
        cdef double* target
        if n == 0 or n_templates == 0 or self._weights.shape[0] == 0:
            return
        # Memory is fetched while other tokens are computed: the slots of keys two
        # tokens ahead, weights one token ahead.
        for i in range(n + 2):
            while i < n and i >= end:
                start, end = first[d], first[d + 1]
                d += 1
            k = i % N_AHEAD * n_templates
            for t in range(n_templates if i < n else 0):
                keys[k + t] = self._key(values, start, end, i, t)
                prefetch(slots + 2 * (keys[k + t] & self._mask))
            k = (i + N_AHEAD - 1) % N_AHEAD * n_templates
            for t in range(n_templates if 0 < i <= n else 0):
                row = kernels.find(slots, self._mask, keys[k + t])
                rows[k + t] = row
                if row >= 0 and is_dense:
                    _fetch(&self._weights[row * n_labels], n_labels)
                elif row >= 0:
                    at = self._first_weight[row]
                    if at < self._first_weight[row + 1]:
                        _fetch(&self._weights[at], 1)
            k = (i + N_AHEAD - 2) % N_AHEAD * n_templates
            for t in range(n_templates if i > 1 else 0):
                row, target = rows[k + t], &scores[self._roles[t], i - 2, 0]
                if row >= 0 and is_dense:
                    _add(&self._weights[row * n_labels], target, n_labels)
                elif row >= 0:
                    _add_some(
                        &self._weights[0],
                        &self._labels[0],
                        self._first_weight[row],
                        self._first_weight[row + 1],
                        target,
                    )

    cdef inline uint64_t _key(
        self,
        const uint64_t[:, ::1] values,
        Py_ssize_t start,
        Py_ssize_t end,
        Py_ssize_t i,
        Py_ssize_t t,
    ) noexcept nogil:
        """Returns the key of template t at token i of the document from start to end,
        as `template_keys` does."""
        cdef Py_ssize_t k, at
        cdef uint64_t value, h = self._seeds[t]
        for k in range(self._first_atom[t], self._first_atom[t + 1]):
            at = i + self._offsets[k]
            value = 1
            if at >= start:
                value = 2 if at >= end else values[at, self._columns[k]]
            if value == 0:
                return 0
            h = mix(h, value)
        return h


cdef class ListScores:
    """T templates, each of which reads one attribute that reads a list, of a column of
    the values [T], and the weights of their features."""

    cdef Py_ssize_t _n_columns
    cdef const int32_t[::1] _first      # [columns + 1] templates by column
    cdef const int32_t[::1] _offsets, _roles
    cdef int32_t[:, ::1] _rows          # [T, N_VALUES] of each value; -1: none
    cdef double[:, :, :, ::1] _borders  # [2, reach, roles, L] at tokens near a border
    cdef const int32_t[::1] _first_weight, _labels
    cdef const float[::1] _weights

    def __init__(
        self,
        columns,
        seeds,
        offsets,
        roles,
        RowTable table,
        first_weight,
        labels,
        weights,
        n_roles,
        n_labels,
    ):
        cdef Py_ssize_t t, side, at
        order = np.argsort(columns, kind="stable")
        self._n_columns = 1 + np.max(columns, initial=-1)
        columns = columns[order]
        self._first = np.searchsorted(columns, np.arange(self._n_columns + 1)).astype(
            np.int32
        )
        self._offsets, self._roles = offsets[order], roles[order]
        self._first_weight, self._labels = first_weight, labels
        self._weights = weights
        cdef const uint64_t[::1] seeds_ = seeds[order]
        self._rows = np.full((len(order), N_VALUES), -1, np.int32)
        for t in range(len(order)):
            for at in range(1, N_VALUES):
                self._rows[t, at] = table.row(mix(seeds_[t], at))
        reach = np.abs(offsets).max(initial=0)
        self._borders = np.zeros((2, reach, n_roles, n_labels))
        # Before a document the value is 1, behind it 2.
        for t in range(len(order)):
            side = self._offsets[t] > 0
            for at in range(abs(self._offsets[t])):
                self._add(
                    self._rows[t, 1 + side],
                    &self._borders[side, at, self._roles[t], 0],
                    n_labels,
                )

    cdef void add(
        self,
        const uint8_t[:, ::1] values,       # IN  [n, columns]; 0: absent
        const int32_t[::1] first,           # IN  [D + 1] of each document, and n
        double[:, :, :] scores,             # OUT [roles, n, L] added to
    ) noexcept nogil:
        """Adds the weights of the values at each token, and of borders."""
        cdef Py_ssize_t d, i, c, t, at, start, end, n_labels = scores.shape[2]
        cdef const uint8_t* value
        if self._weights.shape[0] == 0:
            return
        for d in range(first.shape[0] - 1):
            start, end = first[d], first[d + 1]
            for i in range(min(self._borders.shape[1], end - start)):
                self._add_border(0, i, start + i, scores)
                self._add_border(1, i, end - 1 - i, scores)
            for i in range(start, end):
                value = &values[i, 0]
                for c in range(self._n_columns):
                    if not value[c]:
                        continue
                    for t in range(self._first[c], self._first[c + 1]):
                        at = i - self._offsets[t]
                        if start <= at < end:
                            self._add(
                                self._rows[t, value[c]],
                                &scores[self._roles[t], at, 0],
                                n_labels,
                            )

    cdef void _add_border(
        self, Py_ssize_t side, Py_ssize_t k, Py_ssize_t i, double[:, :, :] scores
    ) noexcept nogil:
        """Adds what token i reads beyond the border, from which it is the k-th."""
        cdef Py_ssize_t r, y
        for r in range(scores.shape[0]):
            for y in range(scores.shape[2]):
                scores[r, i, y] += self._borders[side, k, r, y]

    cdef inline void _add(
        self, Py_ssize_t row, double* target, Py_ssize_t n_labels
    ) noexcept nogil:
        """Adds the weights of a row."""
        if row < 0:
            return
        if self._first_weight.shape[0] == 0:
            _add(&self._weights[row * n_labels], target, n_labels)
        elif self._first_weight[row] < self._first_weight[row + 1]:
            _add_some(
                &self._weights[0],
                &self._labels[0],
                self._first_weight[row],
                self._first_weight[row + 1],
                target,
            )


cdef class TokenScoring(Task):
    """Adds to the scores of the tokens of documents, n tokens together. Blocks,
    templates or lists may be left out; the scores of labels are adjacent."""

    cdef BlockScores blocks
    cdef const int32_t[::1] words           # [n] the word of each token
    cdef const float[:, :, :] of_words      # [K, B, L] scores of each word
    cdef TemplateScores templates
    cdef const uint64_t[:, ::1] values      # [n, A] see `template_keys`
    cdef uint64_t* keys                     # work space of the templates
    cdef int32_t* rows
    cdef ListScores lists
    cdef const uint8_t[:, ::1] on_lists     # [n, columns]
    cdef const int32_t[::1] first           # [D + 1] of each document, and n
    cdef double[:, :, :] scores             # [roles, n, L]

    def __cinit__(self, *args, **kwargs):
        self.keys = NULL
        self.rows = NULL

    def __init__(
        self,
        first,
        scores,
        *,
        BlockScores blocks=None,
        words=None,
        of_words=None,
        TemplateScores templates=None,
        values=None,
        ListScores lists=None,
        on_lists=None,
    ):
        cdef size_t size
        self.first, self.scores = first, scores
        self.blocks, self.words, self.of_words = blocks, words, of_words
        self.templates, self.values = templates, values
        self.lists, self.on_lists = lists, on_lists
        if templates is not None and templates._seeds.shape[0]:
            size = N_AHEAD * templates._seeds.shape[0]
            self.keys = <uint64_t*>malloc(size * sizeof(uint64_t))
            self.rows = <int32_t*>malloc(size * sizeof(int32_t))
            if not self.keys or not self.rows:
                raise MemoryError

    def __dealloc__(self):
        free(self.keys)
        free(self.rows)

    cdef void run(self) noexcept nogil:
        if self.blocks is not None:
            self.blocks.add(self.words, self.first, self.of_words, self.scores)
        if self.templates is not None:
            self.templates.add(
                self.values, self.first, self.keys, self.rows, self.scores
            )
        if self.lists is not None:
            self.lists.add(self.on_lists, self.first, self.scores)


cdef inline void _fetch(const float* x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(0, n, 16):
        prefetch(x + k)


cdef inline void _add_some(
    const float* x, const int32_t* place, Py_ssize_t a, Py_ssize_t b, double* y
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(a, b):
        y[place[k]] += x[k]
