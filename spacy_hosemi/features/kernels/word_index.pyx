"""Dictionary that numbers words in the order in which they are added."""

import numpy as np

from libc.stdint cimport int32_t, uint64_t


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
