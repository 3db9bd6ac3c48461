from libc.stdint cimport int32_t


cdef extern from "counts.h" nogil:
    void scatter_rows "hosemi_scatter_rows"(
        const int32_t* first,
        const int32_t* rows,
        Py_ssize_t n,
        const double* scores,
        Py_ssize_t begin,
        Py_ssize_t end,
        double* weights,
        Py_ssize_t width,
    )
    void scatter_pairs "hosemi_scatter_pairs"(
        const int32_t* first,
        const int32_t* rows,
        Py_ssize_t n,
        const double* scores,
        const int32_t* first_pair,
        const int32_t* columns,
        Py_ssize_t begin,
        Py_ssize_t end,
        double* weights,
        Py_ssize_t width,
    )
