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
    """Keys of all templates for all segments.

    RETURNS (uint64 [K, T]): Keys; 0 where the segment has no such token or the value is
        absent. A sequence is absent if all of its values are.
    """
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
    """Whether brackets close and quotation marks pair up within segments.

    RETURNS (uint64 [K]): NEITHER: the segment has none; BALANCED; or what is open:
        OPEN_BRACKETS, OPEN_QUOTES, OPEN_BOTH.
    """
    found = np.zeros(start.shape[0], np.uint64)
    cdef uint64_t[::1] found_ = found
    cdef Py_ssize_t k, i
    cdef int32_t open_, n_quotes
    cdef bint some, below
    with nogil:
        for k in range(start.shape[0]):
            open_, n_quotes, some, below = 0, 0, False, False
            for i in range(start[k], end[k]):
                below |= open_ + depth[i] < 0
                open_ += change[i]
                n_quotes += quotes[i]
                some |= has_marks[i]
            below |= open_ != 0
            if some:
                found_[k] = 10 + below + 2 * (n_quotes % 2)
    return found
