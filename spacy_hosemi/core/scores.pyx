"""Scores of tokens from weights that stand still.

    score[r, i] = sum of kept[word of token i + offset] over the blocks of role r
                + weights of the other templates of role r

A block holds the scores that all templates of one role and offset give, which read one
attribute of a word: they are the same wherever the word stands, and are summed once.
"""

import numpy as np

from libc.stdint cimport int32_t, uint64_t

from .kernels cimport prefetch
from .rows cimport RowTable, mix


cdef class Numbering:
    """Dictionary that numbers keys 0, 1, 2, .. as they are added.

    keys (uint64 [K]): In this order; distinct.
    """

    cdef uint64_t[::1] _keys
    cdef int32_t[::1] _slots
    cdef uint64_t _mask
    cdef Py_ssize_t _n

    def __init__(self, keys=()):
        self._n = 0
        self._keys = np.zeros(8, np.uint64)
        self._hash_all()
        self.add(np.asarray(keys, np.uint64))

    def __len__(self):
        return self._n

    def add(self, const uint64_t[::1] keys):
        """Number these keys; those that have a number keep it."""
        cdef Py_ssize_t k
        for k in range(keys.shape[0]):
            if self._find(keys[k]) >= 0:
                continue
            if self._n == self._keys.shape[0]:
                self._keys = np.concatenate([self._keys, np.zeros_like(self._keys)])
                self._hash_all()
            self._keys[self._n] = keys[k]
            self._enter(self._n)
            self._n += 1

    def find(self, const uint64_t[::1] keys):
        """RETURNS (Tuple[int32 [K], int]): The number of each key, -1 where it has
            none, and how many have none."""
        cdef Py_ssize_t k, n_unknown = 0
        numbers = np.empty(keys.shape[0], np.int32)
        cdef int32_t[::1] numbers_ = numbers
        for k in range(keys.shape[0]):
            numbers_[k] = self._find(keys[k])
            n_unknown += numbers_[k] < 0
        return numbers, n_unknown

    cdef _hash_all(self):
        cdef Py_ssize_t k
        self._slots = np.full(4 * self._keys.shape[0], -1, np.int32)
        self._mask = self._slots.shape[0] - 1
        for k in range(self._n):
            self._enter(k)

    cdef void _enter(self, Py_ssize_t number) noexcept nogil:
        cdef uint64_t slot = self._keys[number] & self._mask
        while self._slots[slot] >= 0:
            slot = (slot + 1) & self._mask
        self._slots[slot] = <int32_t>number

    cdef int32_t _find(self, uint64_t key) noexcept nogil:
        cdef uint64_t slot = key & self._mask
        cdef int32_t number = self._slots[slot]
        while number >= 0 and self._keys[number] != key:
            slot = (slot + 1) & self._mask
            number = self._slots[slot]
        return number


cdef class BlockScores:
    """Where the scores that are kept of a word belong.

    borders (float64 [2, B, L]): Of each block, before and behind the document.
    roles (int32 [B]): Of each block.
    offsets (int32 [B]): How far from the token it reads.
    """

    # Views are made once: for short documents that is what counts.
    cdef const double[:, :, ::1] _borders
    cdef const int32_t[::1] _roles, _offsets
    cdef Py_ssize_t _reach

    def __init__(self, borders, roles, offsets):
        self._borders, self._roles, self._offsets = borders, roles, offsets
        self._reach = np.abs(offsets).max(initial=0)

    def add(
        self,
        const int32_t[::1] words,           # IN  [n]
        const double[:, :, ::1] kept,       # IN  [K, B, L] of each word
        double[:, :, ::1] scores,           # OUT [roles, n, L] added to
    ):
        """scores[r, i] += kept[word of token i + offset] over the blocks of role r."""
        cdef Py_ssize_t at, b, i, n = words.shape[0], n_labels = scores.shape[2]
        cdef const double* source
        with nogil:
            # By the word that is read, whose scores are in one piece, not by the token.
            for at in range(-self._reach, n + self._reach):
                for b in range(self._roles.shape[0]):
                    i = at - self._offsets[b]
                    if i < 0 or i >= n:
                        continue
                    if 0 <= at < n:
                        source = &kept[words[at], b, 0]
                    else:
                        source = &self._borders[at >= n, b, 0]
                    _add(source, &scores[self._roles[b], i, 0], n_labels)


cdef class TemplateScores:
    """Templates and weights that stand still.

    seeds, first_atom, columns, offsets: As for `template_keys`, of T templates.
    roles (int32 [T]): Of each template.
    table (RowTable): Rows of keys.
    first_weight (int32 [R + 1]): Or [0]: each row has L weights.
    labels (int32 [N]): Of each weight; or [0].
    weights (float64 [N]): Row by row.
    """

    cdef const uint64_t[::1] _seeds
    cdef const int32_t[::1] _first_atom, _columns, _offsets, _roles
    cdef RowTable _table
    cdef const int32_t[::1] _first_weight, _labels
    cdef const double[::1] _weights

    def __init__(
        self,
        seeds,
        first_atom,
        columns,
        offsets,
        roles,
        table,
        first_weight,
        labels,
        weights,
    ):
        self._seeds, self._first_atom = seeds, first_atom
        self._columns, self._offsets, self._roles = columns, offsets, roles
        self._table = table
        self._first_weight, self._labels = first_weight, labels
        self._weights = weights

    def add(
        self,
        const uint64_t[:, ::1] values,      # IN  [n, A] as for `template_keys`
        double[:, :, ::1] scores,           # OUT [roles, n, L] added to
    ):
        """What `template_keys`, `RowTable.rows` and `gather` do, in one pass.

        scores[r, i] += sum of the weights of the rows of the templates of role r at i
        """
        cdef Py_ssize_t i, t, n = values.shape[0], n_templates = self._seeds.shape[0]
        cdef Py_ssize_t n_labels = scores.shape[2]
        cdef bint is_dense = self._first_weight.shape[0] == 0
        cdef int32_t row, first
        cdef double* target
        if n == 0 or n_templates == 0 or self._weights.shape[0] == 0:
            return
        cdef int32_t[:, ::1] rows = np.empty((n, n_templates), np.int32)
        cdef uint64_t[:, ::1] keys = np.empty((n, n_templates), np.uint64)
        with nogil:
            # What is read is fetched from memory while others are at work: the place of
            # the keys two tokens ahead, the weights one token ahead.
            for i in range(n + 2):
                for t in range(n_templates if i < n else 0):
                    keys[i, t] = self._key(values, i, t)
                    self._table.fetch(keys[i, t])
                for t in range(n_templates if 0 < i <= n else 0):
                    row = rows[i - 1, t] = self._table.row(keys[i - 1, t])
                    if row >= 0 and is_dense:
                        _fetch(&self._weights[row * n_labels], n_labels)
                    elif row >= 0:
                        first = self._first_weight[row]
                        if first < self._first_weight[row + 1]:
                            _fetch(&self._weights[first], 1)
                for t in range(n_templates if i > 1 else 0):
                    row, target = rows[i - 2, t], &scores[self._roles[t], i - 2, 0]
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
        self, const uint64_t[:, ::1] values, Py_ssize_t i, Py_ssize_t t
    ) noexcept nogil:
        """The key of template t at token i, as `template_keys` has it."""
        cdef Py_ssize_t k, at
        cdef uint64_t value, h = self._seeds[t]
        for k in range(self._first_atom[t], self._first_atom[t + 1]):
            at = i + self._offsets[k]
            value = 1
            if at >= 0:
                value = 2 if at >= values.shape[0] else values[at, self._columns[k]]
            if value == 0:
                return 0
            h = mix(h, value)
        return h


cdef inline void _fetch(const double* x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(0, n, 8):
        prefetch(x + k)


cdef inline void _add(const double* x, double* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        y[k] += x[k]


cdef inline void _add_some(
    const double* x, const int32_t* place, Py_ssize_t a, Py_ssize_t b, double* y
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(a, b):
        y[place[k]] += x[k]
