from libc.stdint cimport int32_t, uint64_t


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
    double top_of "hosemi_top"(double largest)
