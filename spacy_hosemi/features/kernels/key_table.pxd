from libc.stdint cimport int32_t, uint64_t

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
