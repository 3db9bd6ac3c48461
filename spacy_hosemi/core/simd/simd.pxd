from libc.stdint cimport int32_t, uint64_t


cdef enum:
    N_LANES = 4  # as HOSEMI_EACH_LANE has it


cdef extern from "simd.h" nogil:
    const double HOSEMI_LOWEST
    const double HOSEMI_HIGHEST
    void prefetch "HOSEMI_PREFETCH"(const void* x)
    uint64_t mix "hosemi_mix"(uint64_t h, uint64_t value)
    uint64_t hash_text "hosemi_hash_text"(const char* text, Py_ssize_t n)
    int32_t find "hosemi_find"(const uint64_t* slots, uint64_t mask, uint64_t key)
    void gather "hosemi_gather"(
        const int32_t* first,
        const int32_t* rows,
        Py_ssize_t n,
        const double* weights,
        double* scores,
        Py_ssize_t width,
    )
    void gather_pairs "hosemi_gather_pairs"(
        const int32_t* first,
        const int32_t* rows,
        Py_ssize_t n,
        const int32_t* first_pair,
        const int32_t* columns,
        const double* weights,
        double* scores,
        Py_ssize_t width,
    )
    void scatter "hosemi_scatter"(
        const int32_t* first,
        const int32_t* rows,
        Py_ssize_t n,
        const double* scores,
        double* weights,
        Py_ssize_t width,
    )
    void exp_all "hosemi_exp"(double* x, Py_ssize_t n)
    double shift "hosemi_shift"(
        const double* score,
        const double* scale,
        const double* top,
        Py_ssize_t n,
        double* x,
    )
    bint settle "hosemi_settle"(
        double* x, const double* top, Py_ssize_t n, double cut, double scale
    )
    void pull "hosemi_pull"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        Py_ssize_t step,
        const double* rows,
        Py_ssize_t stride,
        Py_ssize_t n,
        double* out,
    )
    void push "hosemi_push"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        Py_ssize_t step,
        const double* in_,
        Py_ssize_t n,
        double* rows,
        Py_ssize_t stride,
    )
    void rest "hosemi_rest"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* end,
        const double* keep,
        const double* in_,
        const double* after,
        double* out,
    )
    void pair "hosemi_pair"(
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
    void put "hosemi_put"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        const double* in_,
        double* row,
    )
    void push_max "hosemi_push_max"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* w,
        Py_ssize_t step,
        const double* in_,
        Py_ssize_t n,
        double* rows,
        Py_ssize_t stride,
    )
    void rest_max "hosemi_rest_max"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* end,
        const double* more,
        const double* tail,
        const double* in_,
        const double* after,
        double* out,
    )
    void sum_quads "hosemi_sum"(
        const int32_t* fan,
        const int32_t* output,
        const int32_t* input,
        const double* weight,
        Py_ssize_t n_quads,
        double* slot,
    )
    void max_quads "hosemi_max"(
        const int32_t* fan,
        const int32_t* output,
        const int32_t* input,
        const double* weight,
        Py_ssize_t n_quads,
        double* slot,
    )
    void leap_max "hosemi_leap_max"(
        const double* weight,
        const int32_t* target,
        const double* next_,
        Py_ssize_t n,
        double* best,
    )
    void relax_max "hosemi_relax_max"(
        const double* weight,
        const double* x,
        Py_ssize_t n_rows,
        Py_ssize_t width,
        double* out,
    )
    double LARGEST_SUM "HOSEMI_LARGEST_SUM"
    bint is_score "HOSEMI_IS_SCORE"(double x)
    Py_ssize_t count_bad "hosemi_count_bad"(const double* x, Py_ssize_t n)
    void bound "hosemi_bound"(
        const int32_t* first,
        Py_ssize_t n_groups,
        double share,
        double* x,
        double* top,
    )
    double top_of "hosemi_top"(double largest)
    void lane_sum "hosemi_lane_sum"(
        const int32_t* fan,
        const int32_t* output,
        const int32_t* input,
        const double* weight,
        Py_ssize_t n_quads,
        double* slot,
    )
    void interleave "hosemi_interleave"(
        const double* rows,
        Py_ssize_t stride,
        Py_ssize_t n_rows,
        Py_ssize_t n,
        double* out,
    )
    void lane_count "hosemi_lane_count"(
        const int32_t* node,
        const int32_t* target,
        Py_ssize_t n_arcs,
        const double* x,
        const double* y,
        const double* more,
        double* count,
    )
    void lane_scores "hosemi_lane_scores"(
        Py_ssize_t n_groups,
        const double* before,
        const double* first,
        const double* more,
        const double* end,
        const double* length,
        const double* tail,
        double* score,
    )
    void lane_keys "hosemi_lane_keys"(
        Py_ssize_t n_groups,
        const double* opened_scale,
        const double* scale,
        const double* enter_scale,
        const double* opened_top,
        const double* enter_top,
        double* running_top,
        double* x,
        double* best,
    )
    bint lane_settle "hosemi_lane_settle"(
        Py_ssize_t n_groups,
        double gap,
        const double* scale,
        const double* opened_top,
        double* x,
    )
    void lane_bound "hosemi_lane_bound"(
        const int32_t* first,
        Py_ssize_t n_groups,
        double share,
        const double* x,
        double* y,
        double* top,
    )
    void lane_arrive "hosemi_lane_arrive"(
        const int32_t* first,
        Py_ssize_t n_groups,
        double share,
        const double* here,
        const double* opened,
        const double* entering,
        double* running,
        double* running_top,
        double* alpha,
    )
    void lane_leave "hosemi_lane_leave"(
        const int32_t* first,
        Py_ssize_t n_groups,
        const double* here,
        const double* next_,
        const double* beta,
        double* rest,
        double* closing,
    )
