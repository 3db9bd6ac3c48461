from libc.stdint cimport int32_t


cdef enum:
    N_LANES = 4  # at most


cdef extern from "lanes.h" nogil:
    const int ONE "HOSEMI_ONE"          # kinds: one document,
    const int FOUR "HOSEMI_FOUR"        # four of them side by side,
    const int LOGS "HOSEMI_LOGS"        # one in logs
    double log_add "hosemi_log_add"(double x, double y)
    void lane_sum "hosemi_lane_sum"(
        Py_ssize_t kind,
        const int32_t* fan,
        const int32_t* output,
        const int32_t* input,
        const double* weight,
        Py_ssize_t n_quads,
        double* slot,
    )
    void lane_scores "hosemi_lane_scores"(
        Py_ssize_t kind,
        Py_ssize_t n_groups,
        Py_ssize_t n_lengths,
        Py_ssize_t n,
        bint enters,
        const double* first,
        const double* more,
        const double* end,
        const double* length,
        const double* tail,
        double* score,
    )
    void lane_keys "hosemi_lane_keys"(
        Py_ssize_t kind,
        Py_ssize_t n_groups,
        Py_ssize_t n_lengths,
        Py_ssize_t low,
        const double* opened_scale,
        const double* scale,
        const double* enter_scale,
        const double* opened_top,
        const double* enter_top,
        double* running_top,
        double* x,
        double* group_top,
        double* best,
    )
    bint lane_settle "hosemi_lane_settle"(
        Py_ssize_t kind,
        Py_ssize_t n_groups,
        Py_ssize_t n_lengths,
        Py_ssize_t low,
        double gap,
        const double* scale,
        const double* opened_top,
        const double* group_top,
        double* x,
    )
    void lane_bound "hosemi_lane_bound"(
        Py_ssize_t kind,
        const int32_t* first,
        Py_ssize_t n_groups,
        double share,
        const double* x,
        double* y,
        double* top,
    )
    void lane_arrive "hosemi_lane_arrive"(
        Py_ssize_t kind,
        const int32_t* first,
        Py_ssize_t n_groups,
        Py_ssize_t n_lengths,
        Py_ssize_t low,
        double share,
        const double* weight,
        const double* opened,
        Py_ssize_t stride,
        const double* entering,
        double* running,
        double* running_top,
        double* alpha,
    )
    void lane_leave "hosemi_lane_leave"(
        Py_ssize_t kind,
        const int32_t* first,
        Py_ssize_t n_groups,
        Py_ssize_t n_lengths,
        Py_ssize_t n,
        const double* weight,
        Py_ssize_t step,
        const double* beta,
        Py_ssize_t beta_step,
        const double* after,
        double* rest,
        double* closing,
        const double* opened,
        const double* alpha,
        const double* running,
        double* counts,
    )
    void lane_count_arcs "hosemi_lane_count_arcs"(
        Py_ssize_t kind,
        const int32_t* node,
        const int32_t* target,
        Py_ssize_t n_arcs,
        const double* x,
        const double* y,
        const double* weight,
        double* count,
    )
    void lane_pair "hosemi_lane_pair"(
        Py_ssize_t kind,
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        Py_ssize_t step,
        const double* in_,
        Py_ssize_t n,
        const double* rows,
        Py_ssize_t stride,
        double* prob,
    )
    void lane_add "hosemi_lane_add"(
        bint logs,
        Py_ssize_t n,
        double weight,
        const double* x,
        Py_ssize_t x_step,
        double* y,
        Py_ssize_t y_step,
    )
    double lane_product "hosemi_lane_product"(
        bint logs,
        Py_ssize_t n,
        double weight,
        const double* x,
        const double* y,
        Py_ssize_t step,
    )
