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
