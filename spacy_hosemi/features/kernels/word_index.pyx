"""Dictionary that numbers words in the order in which they are added, and memory for
what is known of them."""

import numpy as np

from cython cimport view
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset


def unwritten(Py_ssize_t n_bytes):
    """Returns memory, uint8 [n_bytes], that is taken from the system page by page, as
    it is written. For as much numpy asks for huge pages, for which the system may first
    move other memory: 5 us for each 2 kB written, where small pages take 1 us."""
    return np.asarray(view.array((n_bytes + 1,), 1, "B"))[:n_bytes]


def take_columns(
    const uint64_t[:, :] table,         # IN  [K, C] of each word
    const int32_t[::1] numbers,         # IN  [n] the word of each token
    uint64_t[:, ::1] values,            # OUT [n, C or more] the first C of each row
):
    """Sets values[i, c] = table[numbers[i], c]."""
    cdef Py_ssize_t i, c
    for i in range(numbers.shape[0]):
        for c in range(table.shape[1]):
            values[i, c] = table[numbers[i], c]


cdef class Numbering:
    """Numbers keys, uint64, 0, 1, 2, .. as they are added. Any number of threads may
    call `find` while one calls `add`: the GIL is held while a key is entered, and while
    larger arrays replace full ones."""

    cdef uint64_t[::1] _keys
    cdef int32_t[::1] _slots
    cdef uint64_t _mask
    cdef Py_ssize_t _n

    def __init__(self, keys=()):
        self._n = 0
        self._resize(8)
        self.add(np.asarray(keys, np.uint64))

    def __len__(self):
        return self._n

    def add(self, const uint64_t[::1] keys):
        """Numbers these keys; those that have a number keep it."""
        cdef Py_ssize_t k
        for k in range(keys.shape[0]):
            self._add(keys[k])

    cdef _add(self, uint64_t key):
        if self._find(key) >= 0:
            return
        if self._n == self._keys.shape[0]:
            self._resize(2 * self._n)
        self._keys[self._n] = key
        _enter(self._keys, self._slots, self._mask, self._n)
        self._n += 1

    def find(self, const uint64_t[::1] keys):
        """Returns the number of each key, int32 [K], -1 where it has none, and how many
        have none."""
        cdef Py_ssize_t k, n_unknown = 0
        numbers = np.empty(keys.shape[0], np.int32)
        cdef int32_t[::1] numbers_ = numbers
        for k in range(keys.shape[0]):
            numbers_[k] = self._find(keys[k])
            n_unknown += numbers_[k] < 0
        return numbers, n_unknown

    def unknown(self, const uint64_t[::1] keys):
        """Returns the keys that have no number, each once, in order."""
        cdef Py_ssize_t k, n = 0
        cdef uint64_t slot, mask = (2 << int(keys.shape[0]).bit_length()) - 1
        # Without a Numbering, whose arrays take longer than a few words.
        cdef int32_t* slots = <int32_t*>malloc((mask + 1) * sizeof(int32_t))
        unknown = np.empty(keys.shape[0], np.uint64)
        cdef uint64_t[::1] unknown_ = unknown
        if not slots:
            raise MemoryError
        memset(slots, -1, (mask + 1) * sizeof(int32_t))
        for k in range(keys.shape[0]):
            if self._find(keys[k]) >= 0:
                continue
            slot = keys[k] & mask
            while slots[slot] >= 0 and unknown_[slots[slot]] != keys[k]:
                slot = (slot + 1) & mask
            if slots[slot] < 0:
                slots[slot], unknown_[n] = <int32_t>n, keys[k]
                n += 1
        free(slots)
        return unknown[:n]

    cdef _resize(self, Py_ssize_t size):
        """Makes room for `size` keys, a power of 2."""
        cdef uint64_t[::1] keys = np.zeros(size, np.uint64)
        cdef int32_t[::1] slots = np.full(4 * size, -1, np.int32)
        cdef Py_ssize_t k
        for k in range(self._n):
            keys[k] = self._keys[k]
            _enter(keys, slots, 4 * size - 1, k)
        # Only now, and without Python code in between: other threads may be reading.
        self._keys, self._slots, self._mask = keys, slots, 4 * size - 1

    cdef int32_t _find(self, uint64_t key) noexcept nogil:
        cdef uint64_t slot = key & self._mask
        cdef int32_t number = self._slots[slot]
        while number >= 0 and self._keys[number] != key:
            slot = (slot + 1) & self._mask
            number = self._slots[slot]
        return number


cdef void _enter(
    const uint64_t[::1] keys,       # IN  [K]
    int32_t[::1] slots,             # OUT [mask + 1] the number of a key; -1: free
    uint64_t mask,
    Py_ssize_t number,              # of the key that is entered
) noexcept nogil:
    cdef uint64_t slot = keys[number] & mask
    while slots[slot] >= 0:
        slot = (slot + 1) & mask
    slots[slot] = <int32_t>number
