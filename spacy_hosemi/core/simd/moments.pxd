from libc.stdint cimport int32_t


cdef extern from "moments.h" nogil:
    void moments "hosemi_moments"(
        const double* w,
        const double* score,
        const double* scale,
        double top,
        Py_ssize_t n,
        double* out,
    )
    void keep_moments "hosemi_keep_moments"(
        const double* x, const double* slot, Py_ssize_t n, double* out, double* again
    )
    void pull_moments "hosemi_pull_moments"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        const double* moment,
        Py_ssize_t step,
        const double* x,
        const double* m,
        Py_ssize_t stride,
        Py_ssize_t n,
        double* out,
    )
    void add_moments "hosemi_add_moments"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        const double* moment,
        const double* x,
        const double* m,
        double* out,
    )
    void end_moments "hosemi_end_moments"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        const double* moment,
        const double* x,
        double* m,
        double* out,
    )
    void sum_moments "hosemi_sum_moments"(
        const int32_t* fan,
        const int32_t* output,
        const int32_t* input,
        const double* weight,
        const double* moment,
        Py_ssize_t n_quads,
        double* slot,
    )
