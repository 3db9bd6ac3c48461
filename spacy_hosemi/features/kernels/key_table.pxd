from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    #include "simd.h"

    /* Without branches, so that keys are computed four at a time. */
    HOSEMI_KERNEL void hosemi_mix_all(
        const uint64_t *values, ptrdiff_t n, const uint64_t *seeds, uint64_t *keys
    ) {
        for (ptrdiff_t t = 0; t < n; t++) {
            const uint64_t h = hosemi_mix(seeds[t], values[t]);
            keys[t] = (seeds[t] != 0) & (values[t] != 0) ? h : 0;
        }
    }
    """
    # keys[t] = mix(seeds[t], values[t]); 0 where one of them is 0
    void mix_all "hosemi_mix_all"(
        const uint64_t* values, Py_ssize_t n, const uint64_t* seeds, uint64_t* keys
    ) nogil

cdef class RowTable:
    cdef readonly object keys
    cdef uint64_t[:, ::1] _slots    # key and row; 0: free
    cdef uint64_t _mask
    cdef uint64_t[::1] _filter      # one bit for each key, at its first bits
    cdef int _shift                 # of a key: these bits

    cdef int32_t row(self, uint64_t key) noexcept nogil


cdef inline bint may_have(
    const uint64_t* filter, int shift, uint64_t key
) noexcept nogil:
    """Says whether a key may be in a table; of most that are not it says so."""
    cdef uint64_t bit = key >> shift
    return filter[bit >> 6] >> (bit & 63) & 1
