from libc.stdint cimport int32_t


cdef extern from "counts.h" nogil:
    void lane_leave_counting "hosemi_lane_leave_counting"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* here,
        const double* next,
        const double* beta,
        const double* opened,
        const double* running,
        double* rest,
        double* closing,
        double* starts,
    )
    void lane_count_arcs "hosemi_lane_count_arcs"(
        const int32_t* node,
        const int32_t* target,
        Py_ssize_t n_arcs,
        const double* x,
        const double* y,
        double* count,
    )
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
