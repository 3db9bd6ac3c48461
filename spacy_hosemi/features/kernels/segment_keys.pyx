"""Keys of templates that read a whole segment: 64-bit hashes of (template, values)."""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint64_t

from ...core.simd.simd cimport mix

# What an atom reads: the value of one token, counted from the start of the segment
# (AT), of all tokens in order (ALL), of each run of equal values once (RUNS), or a
# value of the segment itself (OF_SEGMENT).
AT, ALL, RUNS, OF_SEGMENT = range(4)
cdef enum:
    _AT, _ALL, _RUNS, _OF_SEGMENT

# Results of `balance`.
NEITHER, BALANCED, OPEN_BRACKETS, OPEN_QUOTES, OPEN_BOTH = 0, 10, 11, 12, 13

# Stands for an absent value within a sequence.
cdef uint64_t _GAP = 3


def segment_keys(
    const uint64_t[:, ::1] values,      # IN  [n, A] attribute values; 0: absent
    const int32_t[::1] start,           # IN  [K] segments, half-open
    const int32_t[::1] end,             # IN  [K]
    const uint64_t[:, ::1] of_segment,  # IN  [K, S] values of the segments; 0: absent
    const uint64_t[::1] seeds,          # IN  [T] one for each template
    const int32_t[::1] first_atom,      # IN  [T + 1] atoms of template t
    const uint8_t[::1] kinds,           # IN  [atoms] AT, ALL, RUNS, OF_SEGMENT
    const int32_t[::1] columns,         # IN  [atoms] of values, or of of_segment
    const int32_t[::1] offsets,         # IN  [atoms] AT: which token; < 0 from the end
):
    """Returns the keys of all templates for all segments, uint64 [K, T]; 0 where the
    segment has no such token or the value is absent. A sequence is absent if all of its
    values are."""
    keys = np.zeros((start.shape[0], seeds.shape[0]), np.uint64)
    cdef uint64_t[:, ::1] keys_ = keys
    cdef Py_ssize_t k, t, a, at
    cdef uint64_t value, h
    with nogil:
        for k in range(start.shape[0]):
            for t in range(seeds.shape[0]):
                h = seeds[t]
                for a in range(first_atom[t], first_atom[t + 1]):
                    if kinds[a] == _OF_SEGMENT:
                        value = of_segment[k, columns[a]]
                    elif kinds[a] == _AT:
                        at = (start[k] if offsets[a] >= 0 else end[k]) + offsets[a]
                        value = 0
                        if start[k] <= at < end[k]:
                            value = values[at, columns[a]]
                    else:
                        value = _sequence(
                            values, columns[a], start[k], end[k], kinds[a] == _RUNS
                        )
                    if value == 0:
                        h = 0
                        break
                    h = mix(h, value)
                keys_[k, t] = h
    return keys


def match_keys(
    const int32_t[::1] lists,           # IN  [K] the list of each match
    const int32_t[::1] first,           # IN  [K] where segments of it begin: from the
    const int32_t[::1] start,           # IN  [K] first to the start ..
    const int32_t[::1] end,             # IN  [K] .. and end: from the end to the last
    const int32_t[::1] last,            # IN  [K]
    const uint64_t[::1] value,          # IN  [K]
    const uint64_t[::1] seeds,          # IN  [T] of templates that read the value alone
    const int32_t[::1] of_lists,        # IN  [T] the list that each reads
):
    """Returns for the M segments that are a match of a template's list, in the order of
    the matches: start, end, key, template, value."""
    cdef Py_ssize_t k, t, n = 0
    cdef int32_t i, j
    for k in range(lists.shape[0]):
        n += (start[k] - first[k] + 1) * (last[k] - end[k] + 1)
    n *= seeds.shape[0]
    places, keys = np.empty((3, n), np.int32), np.empty((2, n), np.uint64)
    cdef int32_t[:, ::1] places_ = places
    cdef uint64_t[:, ::1] keys_ = keys
    n = 0
    with nogil:
        for k in range(lists.shape[0]):
            for i in range(first[k], start[k] + 1):
                for j in range(end[k], last[k] + 1):
                    for t in range(seeds.shape[0]):
                        if of_lists[t] == lists[k]:
                            places_[0, n], places_[1, n] = i, j
                            places_[2, n] = <int32_t>t
                            keys_[0, n], keys_[1, n] = mix(seeds[t], value[k]), value[k]
                            n += 1
    return places[0, :n], places[1, :n], keys[0, :n], places[2, :n], keys[1, :n]


cdef uint64_t _sequence(
    const uint64_t[:, ::1] values,
    Py_ssize_t column,
    Py_ssize_t start,
    Py_ssize_t end,
    bint runs,                          # read each run of equal values once
) noexcept nogil:
    cdef uint64_t h = 0, last = 0
    cdef bint is_absent = True
    for i in range(start, end):
        if runs and i > start and values[i, column] == last:
            continue
        last = values[i, column]
        is_absent &= last == 0
        h = mix(h, last if last else _GAP)
    return 0 if is_absent else h


def balance(
    const int32_t[::1] start,           # IN  [K] segments, half-open
    const int32_t[::1] end,             # IN  [K]
    const int32_t[::1] change,          # IN  [n] brackets opened less those closed
    const int32_t[::1] depth,           # IN  [n] the least change within it, <= 0
    const int32_t[::1] quotes,          # IN  [n] quotation marks
    const int32_t[::1] has_marks,       # IN  [n] any brackets or quotation marks
):
    """Says whether brackets close and quotation marks pair up within segments, uint64
    [K]: NEITHER if there are none; BALANCED; or what is open."""
    values = np.zeros(start.shape[0], np.uint64)
    cdef uint64_t[::1] values_ = values
    cdef Py_ssize_t k, i
    cdef int32_t open_, n_quotes
    cdef bint has_any, below
    with nogil:
        for k in range(start.shape[0]):
            open_, n_quotes, has_any, below = 0, 0, False, False
            for i in range(start[k], end[k]):
                below |= open_ + depth[i] < 0
                open_ += change[i]
                n_quotes += quotes[i]
                has_any |= has_marks[i]
            below |= open_ != 0
            if has_any:
                values_[k] = 10 + below + 2 * (n_quotes % 2)
    return values
