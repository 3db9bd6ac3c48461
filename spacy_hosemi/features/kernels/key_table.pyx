"""Feature keys of tokens, and the dictionary from keys to rows.

A key is a 64-bit hash of (template, values); 0 means that the template is not active.
A row is the index of a known key in a weight matrix [R, L]; -1: the key is unknown.
"""

from numbers import Real

import numpy as np

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from ...core.simd cimport simd as kernels
from ...core.simd.simd cimport hash_text, mix, prefetch

# Dicts within dicts of a user's features: more are taken for a cycle.
cdef enum:
    MOST_NESTED = 50


def template_keys(
    const uint64_t[:, ::1] values,      # IN  [n, A] attribute values; 0: absent
    const uint64_t[::1] seeds,          # IN  [T] one for each template
    const int32_t[::1] first_atom,      # IN  [T + 1] atoms of template t
    const int32_t[::1] columns,         # IN  [atoms] which attribute
    const int32_t[::1] offsets,         # IN  [atoms] read how far from the token
    const int32_t[::1] first=None,      # IN  [D + 1] of each document, and n; None: one
):
    """Returns the keys of all templates at all tokens of concatenated documents, uint64
    [n, T]; 0 where an attribute is absent. Before a document every attribute has the
    value 1, after it the value 2."""
    keys = np.zeros((values.shape[0], seeds.shape[0]), np.uint64)
    cdef uint64_t[:, ::1] keys_ = keys
    cdef Py_ssize_t i, t, k, at, n = values.shape[0], d = 0, start = 0, end = n
    cdef uint64_t value, h
    if first is not None:
        end = 0
    with nogil:
        for i in range(n):
            while i >= end:
                start, end = first[d], first[d + 1]
                d += 1
            for t in range(seeds.shape[0]):
                h = seeds[t]
                for k in range(first_atom[t], first_atom[t + 1]):
                    at = i + offsets[k]
                    value = 1
                    if at >= start:
                        value = 2 if at >= end else values[at, columns[k]]
                    if value == 0:
                        h = 0
                        break
                    h = mix(h, value)
                keys_[i, t] = h
    return keys


cdef struct Items:                      # of a document
    Py_ssize_t n, room                  # features, and how many there is room for
    uint64_t* values
    double* strength
    char* name                          # of the feature that is being read
    Py_ssize_t name_room
    bint has_strength                   # whether some number is not 1


def hash_items(by_token, list texts=None):
    """Hashes the features of a user's function for n tokens, a list of strings or pairs
    (string, number) each, or what `pycrfsuite.ItemSequence` takes; those that are "" or
    have the number 0 are left out.

    texts (Optional[List[str]]): The readable features are appended.
    RETURNS (Tuple[int32 [n + 1], uint64 [K], Optional[float64 [K]], Any]): Features of
        token i are first[i] to first[i + 1] - 1; the hash of each, as spaCy has it of a
        string; its number, None: all are 1. Last, None, or a tuple with what is no
        feature, of the token at which `first` ends.
    """
    cdef Items items
    cdef Py_ssize_t i, n = len(by_token)
    items.n = items.room = items.name_room = 0
    items.values, items.strength, items.name = NULL, NULL, NULL
    items.has_strength = False
    first = np.zeros(n + 1, np.int32)
    cdef int32_t[::1] first_ = first
    fault = None
    try:
        for i in range(n):
            fault = _add_items(&items, by_token[i], 0, 0, texts)
            if fault is not None:
                first = first[:i + 1]
                break
            first_[i + 1] = <int32_t>items.n
        values, strength = np.empty(items.n, np.uint64), None
        _copy(values.view(np.uint8), <const char*>items.values)
        if items.has_strength:
            strength = np.empty(items.n)
            _copy(strength.view(np.uint8), <const char*>items.strength)
    finally:
        free(items.values)
        free(items.strength)
        free(items.name)
    return first, values, strength, fault


cdef int _copy(unsigned char[::1] to, const char* source) except -1:
    if to.shape[0]:
        memcpy(&to[0], source, to.shape[0])
    return 0


cdef object _add_items(
    Items* items, object found, Py_ssize_t n, int depth, list texts
):
    """Adds features whose names begin with the first n bytes of the name; returns None,
    or a tuple with what is none. Sets are sorted: a sum depends on the order."""
    cdef Py_ssize_t size
    cdef double strength
    if isinstance(found, dict):
        for key, value in (<dict>found).items():
            size = _write(items, key, n)
            if size < 0 or depth >= MOST_NESTED:
                return (found,)
            if value is True:
                _add(items, size, 1.0, texts)
            elif value is False:
                continue
            elif isinstance(value, (str, bytes)):
                size = _write(items, value, _write(items, ":", size))
                if size < 0:
                    return (found,)
                _add(items, size, 1.0, texts)
            elif isinstance(value, (dict, list, tuple, set, frozenset)):
                size = _write(items, ":", size)
                fault = _add_items(items, value, size, depth + 1, texts)
                if fault is not None:
                    return fault
            else:
                try:
                    strength = float(value)
                except (TypeError, ValueError, OverflowError):
                    return ({key: value},)
                _add(items, size, strength, texts)
        return None
    if isinstance(found, (set, frozenset)):
        try:
            found = sorted(x.decode("utf8") if type(x) is bytes else x for x in found)
        except (TypeError, UnicodeError):
            return (found,)
    elif not isinstance(found, (list, tuple)):
        return (found,)
    for item in found:
        strength = 1.0
        text = item
        if depth == 0 and isinstance(item, (list, tuple)) and len(item) == 2:
            text, value = item
            if not isinstance(value, Real):
                return (item,)
            strength = float(value)
        size = _write(items, text, n)
        if size < 0:
            return (item,)
        _add(items, size, strength, texts)
    return None


cdef Py_ssize_t _write(Items* items, object text, Py_ssize_t n) except -2:
    """Writes a text behind the first n bytes of the name; returns their number, -1 if
    it is no text, or n is -1."""
    cdef Py_ssize_t size = 0
    cdef const char* utf8
    try:
        if isinstance(text, bytes):
            text = text.decode("utf8")
        if n < 0 or not isinstance(text, str):
            return -1
        utf8 = PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeError:
        return -1
    if n + size > items.name_room:
        items.name_room = 2 * (n + size)
        items.name = <char*>_room(items.name, items.name_room)
    memcpy(items.name + n, utf8, size)
    return n + size


cdef int _add(Items* items, Py_ssize_t size, double strength, list texts) except -1:
    """Adds the feature with a name of so many bytes, unless it is "" or 0."""
    if size == 0 or strength == 0.0:
        return 0
    if items.n == items.room:
        items.room = 2 * items.room + 256
        items.values = <uint64_t*>_room(items.values, 8 * items.room)
        items.strength = <double*>_room(items.strength, 8 * items.room)
    items.values[items.n] = hash_text(items.name, size)
    items.strength[items.n] = strength
    items.has_strength |= strength != 1.0
    items.n += 1
    if texts is not None:
        texts.append(items.name[:size].decode("utf8"))
    return 0


cdef void* _room(void* old, Py_ssize_t size) except NULL:
    cdef void* new = realloc(old, size)
    if not new:
        raise MemoryError
    return new


cdef class RowTable:
    """Finds the row of a key, by open addressing. Any number of threads may read a
    table that nobody extends: `copy` it to extend it. keys (uint64 [R], read-only):
    distinct keys, none of them 0; the position of a key is its row."""

    def __init__(self, keys):
        self.keys = np.zeros(0, np.uint64)
        self._mask = 0
        self.extend(keys)

    def extend(self, keys):
        """Adds keys that are not in the table, uint64 [K], whose rows come last. A
        table that is half full is built anew."""
        cdef Py_ssize_t n_old = len(self.keys)
        self.keys = np.concatenate([self.keys, np.asarray(keys, np.uint64)])
        self.keys.setflags(write=False)
        cdef Py_ssize_t size = max(16, self._mask + 1)
        while size < 2 * len(self.keys):
            size *= 2
        if size > self._mask + 1:
            # Key and row are adjacent: each access to a large table waits for memory.
            self._slots = np.zeros((size, 2), np.uint64)
            self._mask = size - 1
            n_old = 0
        cdef const uint64_t[::1] keys_ = self.keys
        cdef Py_ssize_t row
        cdef uint64_t slot
        with nogil:
            for row in range(n_old, keys_.shape[0]):
                slot = keys_[row] & self._mask
                while self._slots[slot, 0]:
                    slot = (slot + 1) & self._mask
                self._slots[slot, 0], self._slots[slot, 1] = keys_[row], row

    def copy(self):
        """Returns a table with the same rows, which may be extended."""
        cdef RowTable other = RowTable.__new__(RowTable)
        other.keys, other._mask = self.keys, self._mask
        other._slots = np.array(self._slots)
        return other

    def __len__(self):
        return len(self.keys)

    def __reduce__(self):
        return RowTable, (self.keys,)

    def rows(self, const uint64_t[:, ::1] keys):
        """Returns the rows of all keys [n, T] that are known, token by token: those of
        token i are rows[first[i]:first[i + 1]]. Key 0 is never known."""
        cdef Py_ssize_t n = keys.shape[0], i, t, k = 0
        cdef int32_t row
        cdef const uint64_t* slots = &self._slots[0, 0]
        first = np.zeros(n + 1, np.int32)
        rows = np.empty(n * keys.shape[1], np.int32)
        cdef int32_t[::1] first_ = first, rows_ = rows
        with nogil:
            for i in range(n):
                for t in range(keys.shape[1] if i + 2 < n else 0):
                    prefetch(slots + 2 * (keys[i + 2, t] & self._mask))
                for t in range(keys.shape[1]):
                    row = self.row(keys[i, t])
                    if row >= 0:
                        rows_[k] = row
                        k += 1
                first_[i + 1] = <int32_t>k
        return first, rows[:k].copy()

    def known(self, const int32_t[::1] first, const uint64_t[::1] keys, strength):
        """Returns what is known of keys [K], those of token i being first[i] to
        first[i + 1] - 1: the same first, int32 [n + 1], rows and strength, float64 or
        None; as `rows` has them."""
        cdef Py_ssize_t i, j, k = 0
        cdef int32_t row
        cdef bint has_strength = strength is not None
        cdef double[::1] from_, to_
        new_first = np.zeros(first.shape[0], np.int32)
        rows = np.empty(keys.shape[0], np.int32)
        cdef int32_t[::1] first_ = new_first, rows_ = rows
        if has_strength:
            from_, strength = strength, np.empty(keys.shape[0])
            to_ = strength
        for i in range(first.shape[0] - 1):
            for j in range(first[i], first[i + 1]):
                row = self.row(keys[j])
                if row >= 0:
                    rows_[k] = row
                    if has_strength:
                        to_[k] = from_[j]
                    k += 1
            first_[i + 1] = <int32_t>k
        return new_first, rows[:k], strength[:k] if has_strength else None

    def find(self, const uint64_t[::1] keys):
        """Returns the row of each key, int32 [K], -1 where it is not known."""
        cdef Py_ssize_t k
        rows = np.empty(keys.shape[0], np.int32)
        cdef int32_t[::1] rows_ = rows
        with nogil:
            for k in range(keys.shape[0]):
                rows_[k] = self.row(keys[k])
        return rows

    cdef int32_t row(self, uint64_t key) noexcept nogil:
        return kernels.find(&self._slots[0, 0], self._mask, key)
