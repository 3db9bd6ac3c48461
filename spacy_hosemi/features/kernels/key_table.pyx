"""Feature keys of tokens, and the dictionary from keys to rows.

A key is a 64-bit hash of (template, values); 0 means that the template is not active.
A row is the index of a known key in a weight matrix [R, L]; -1: the key is unknown.
"""

from numbers import Real

import numpy as np

from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_FromObject
from libc.stdint cimport int32_t, uint64_t

from ...core.simd cimport simd as kernels
from ...core.simd.simd cimport hash_text, mix, prefetch

cdef extern from "Python.h":
    bint is_ascii "PyUnicode_IS_ASCII"(object text)

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


def hash_items(by_token):
    """Hashes the features of a user's function for n tokens, a list of strings or pairs
    (string, number) each, or what `pycrfsuite.ItemSequence` takes; those that are "" or
    have the number 0 are left out.

    RETURNS (Tuple[int32 [n + 1], uint64 [K], Optional[float64 [K]], List[str], Any]):
        Features of token i are first[i] to first[i + 1] - 1; the hash of each, as spaCy
        has it of a string; its number, None: all are 1; its text. Last, None, or a
        tuple with what is no feature, of the token at which `first` ends.
    """
    cdef Py_ssize_t i, k, size, n = len(by_token)
    cdef const char* utf8
    cdef list texts = []
    cdef dict numbers = {}  # that are not 1, by feature
    first = np.zeros(n + 1, np.int32)
    cdef int32_t[::1] first_ = first
    fault = None
    for i in range(n):
        try:
            fault = _add_items(by_token[i], "", 0, texts, numbers)
        except MemoryError:
            raise
        except Exception:  # of numbers and containers of the user's own classes
            fault = (by_token[i],)
        if fault is not None:
            first = first[:i + 1]
            break
        first_[i + 1] = <int32_t>len(texts)
    values = np.empty(len(texts), np.uint64)
    cdef uint64_t[::1] values_ = values
    for k in range(len(texts)):
        utf8 = PyUnicode_AsUTF8AndSize(texts[k], &size)
        values_[k] = hash_text(utf8, size)
    strength = None
    if numbers:
        strength = np.ones(len(texts))
        strength[[*numbers]] = [*numbers.values()]
    return first, values, strength, texts, fault


cdef object _add_items(found, str prefix, int depth, list texts, dict numbers):
    """Adds features whose texts begin with a prefix; returns None, or a tuple with what
    is none. Sets are sorted: a sum depends on the order."""
    cdef str text, of_value
    if isinstance(found, dict):
        for key, value in (<dict>found).items():
            text, number = _text(key), 1.0
            if text is None or depth >= MOST_NESTED:
                return (found,)
            if isinstance(value, (str, bytes)):
                of_value = _text(value)
                if of_value is None:
                    return (found,)
                text = f"{text}:{of_value}"
            elif isinstance(value, (dict, list, tuple, set, frozenset)):
                text = f"{prefix}{text}:"
                fault = _add_items(value, text, depth + 1, texts, numbers)
                if fault is not None:
                    return fault
                continue
            elif value is False:
                continue
            elif value is not True:
                try:
                    number = float(value)
                except Exception:
                    return ({key: value},)
            _add(prefix, text, number, texts, numbers)
        return None
    if isinstance(found, (set, frozenset)):
        try:
            found = sorted(x.decode("utf8") if type(x) is bytes else x for x in found)
        except (TypeError, UnicodeError):
            return (found,)
    elif not isinstance(found, (list, tuple)):
        return (found,)
    for item in found:
        value, number = item, 1.0
        if depth == 0 and isinstance(item, (list, tuple)) and len(item) == 2:
            value, number = item
            if not isinstance(number, (float, Real)):  # Real alone is slow
                return (item,)
            try:
                number = float(number)
            except OverflowError:
                number = float("inf")  # which is refused as too large
        text = _text(value)
        if text is None:
            return (item,)
        _add(prefix, text, number, texts, numbers)
    return None


cdef str _text(text):
    """Returns a text that can be encoded, as a string; None if it is none."""
    cdef Py_ssize_t size
    if type(text) is str and is_ascii(text):
        return text
    try:
        text = text.decode("utf8") if isinstance(text, bytes) else text
        if isinstance(text, str):
            PyUnicode_AsUTF8AndSize(text, &size)
            return PyUnicode_FromObject(text)
    except UnicodeError:
        pass
    return None


cdef _add(str prefix, str text, number, list texts, dict numbers):
    text = prefix + text if prefix else text
    if text and number != 0.0:
        if number != 1.0:
            numbers[len(texts)] = number
        texts.append(text)


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
        cdef Py_ssize_t n_slots = <Py_ssize_t>self._mask + 1, size = max(16, n_slots)
        while size < 2 * len(self.keys):
            size *= 2
        if size > n_slots:
            # Key and row are adjacent: each access to a large table waits for memory.
            self._slots = np.zeros((size, 2), np.uint64)
            self._mask = size - 1
            # Most keys that are asked for are in no table: four bits for each slot say
            # so, and stay in the cache of the processor.
            self._filter = np.zeros(size // 16, np.uint64)
            self._shift = 63 - int(size).bit_length()
            n_old = 0
        cdef const uint64_t[::1] keys_ = self.keys
        cdef Py_ssize_t row
        cdef uint64_t slot
        with nogil:
            for row in range(n_old, keys_.shape[0]):
                slot = keys_[row] >> self._shift
                self._filter[slot >> 6] |= <uint64_t>1 << (slot & 63)
                slot = keys_[row] & self._mask
                while self._slots[slot, 0]:
                    slot = (slot + 1) & self._mask
                self._slots[slot, 0], self._slots[slot, 1] = keys_[row], row

    def copy(self):
        """Returns a table with the same rows, which may be extended."""
        cdef RowTable other = RowTable.__new__(RowTable)
        other.keys, other._mask = self.keys, self._mask
        other._slots, other._shift = np.array(self._slots), self._shift
        other._filter = np.array(self._filter)
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
        if not may_have(&self._filter[0], self._shift, key):
            return -1
        return kernels.find(&self._slots[0, 0], self._mask, key)
