from libc.stdint cimport int32_t, uint64_t

cdef class RowTable:
    cdef readonly object keys
    cdef uint64_t[:, ::1] _slots    # key and row; 0: free
    cdef uint64_t _mask

    cdef int32_t row(self, uint64_t key) noexcept nogil
