from libc.stdint cimport int32_t


cdef extern from "vectors.h" nogil:
    double direct "hosemi_direct"(
        Py_ssize_t n,
        double times,
        const double* g,
        const double* steps,
        const double* changes,
        Py_ssize_t stride,
        const int32_t* slots,
        Py_ssize_t k,
        const double* of_steps,
        const double* of_changes,
        const double* x,
        double step,
        double* d,
        double* trial,
    )
    void walk "hosemi_walk"(
        Py_ssize_t n, const double* x, double step, const double* d, double* trial
    )
    double slope "hosemi_slope"(Py_ssize_t n, const double* g, const double* d)
    void remember "hosemi_remember"(
        Py_ssize_t n,
        const double* g,
        const double* before,
        double step,
        double* steps,
        double* changes,
        Py_ssize_t stride,
        const int32_t* slots,
        Py_ssize_t k,
        double* sums,
    )
    double add_penalty "hosemi_add_penalty"(
        Py_ssize_t n, const double* penalty, const double* w, double* g
    )
