from libc.stdint cimport int32_t, uint64_t

cdef extern from *:
    """
    #include "simd.h"

    /* Without branches: four keys at a time, which may take the place of the seeds. */
    HOSEMI_KERNEL void hosemi_mix_all(
        const uint64_t *restrict values, const int32_t *restrict places, ptrdiff_t n,
        const uint64_t *seeds, uint64_t *keys
    ) {
    #if defined(__GNUC__) && !defined(__clang__)
        #pragma GCC ivdep
    #endif
        for (ptrdiff_t t = 0; t < n; t++) {
            const uint64_t value = values[places[t]], h = hosemi_mix(seeds[t], value);
            keys[t] = ((seeds[t] != 0) & (value != 0)) ? h : 0;
        }
    }

    /* Writes where the weights of the rows of keys begin, which are fetched, and leaves
       room for first[r + 1] - first[r] others before those of each role. */
    HOSEMI_INLINE void hosemi_find_weights(
        const uint64_t *restrict slots, uint64_t mask, const uint64_t *restrict keys,
        const int32_t *restrict ends, const int32_t *restrict first, ptrdiff_t n_roles,
        const float *weights, ptrdiff_t width, const float **restrict found,
        int32_t *restrict bounds
    ) {
        ptrdiff_t n = 0, k = 0;
        for (ptrdiff_t r = 0; r < n_roles; r++) {
            if (first) n += first[r + 1] - first[r];
            for (const ptrdiff_t end = ends[r]; k < end; k++) {
                const int32_t row = hosemi_find(slots, mask, keys[k]);
                if (row < 0) continue;
                const float *const x = weights + row * width;
                HOSEMI_PREFETCH(x);
                HOSEMI_PREFETCH(x + width - 1);
                for (ptrdiff_t m = 32; m < width; m += 16) HOSEMI_PREFETCH(x + m);
                found[n++] = x;
            }
            bounds[r] = (int32_t)n;
        }
    }
    """
    # keys[t] = mix(seeds[t], values[places[t]]); 0 where one of them is 0
    void mix_all "hosemi_mix_all"(
        const uint64_t* values, const int32_t* places, Py_ssize_t n,
        const uint64_t* seeds, uint64_t* keys
    ) nogil
    void find_weights "hosemi_find_weights"(
        const uint64_t* slots, uint64_t mask, const uint64_t* keys, const int32_t* ends,
        const int32_t* first, Py_ssize_t n_roles, const float* weights,
        Py_ssize_t width, const float** found, int32_t* bounds
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
