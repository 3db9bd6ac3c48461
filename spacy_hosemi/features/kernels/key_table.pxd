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

    /* Returns how many of n keys are in a table, and writes where the weights of their
       rows begin, which are fetched. */
    HOSEMI_INLINE ptrdiff_t hosemi_find_weights(
        const uint64_t *slots, uint64_t mask, const uint64_t *keys, ptrdiff_t n,
        const float *weights, ptrdiff_t width, const float **found
    ) {
        ptrdiff_t n_found = 0;
        for (ptrdiff_t k = 0; k < n; k++) {
            const int32_t row = hosemi_find(slots, mask, keys[k]);
            if (row < 0) continue;
            const float *const x = weights + row * width;
            HOSEMI_PREFETCH(x);
            if (width > 16) HOSEMI_PREFETCH(x + 16);
            for (ptrdiff_t m = 32; m < width; m += 16) HOSEMI_PREFETCH(x + m);
            found[n_found++] = x;
        }
        return n_found;
    }
    """
    Py_ssize_t find_weights "hosemi_find_weights"(
        const uint64_t* slots,
        uint64_t mask,
        const uint64_t* keys,
        Py_ssize_t n,
        const float* weights,
        Py_ssize_t width,
        const float** found,
    ) nogil
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
