/* Kernels of entropy: beside each number x of a forward sweep stands m, the sum of its
   terms with each one times its log.  */

#ifndef HOSEMI_MOMENTS_H
#define HOSEMI_MOMENTS_H

#include "simd.h"

/* out[i] = w[i] log w[i] for w[i] = e^(score[i] + scale[i] - top), or 0. */
HOSEMI_COMPARING void hosemi_moments(
    const double *w, const double *score, const double *scale, double top, ptrdiff_t n,
    double *out
) {
    /* A loop of its own, as in hosemi_exp: 0 times -inf raises a flag. */
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = w[i] > 0.0 ? (score[i] + scale[i]) - top : 0.0;
    for (ptrdiff_t i = 0; i < n; i++) out[i] *= w[i];
}

/* out[i] = again[i] = m[i], or 0 where x[i] is; m[i] stands at slot[2 i + 1]. */
HOSEMI_COMPARING void hosemi_keep_moments(
    const double *restrict x, const double *restrict slot, ptrdiff_t n,
    double *restrict out, double *restrict again
) {
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = again[i] = x[i] > 0.0 ? slot[2 * i + 1] : 0.0;
}

/* out[q] = sum_i w[i] m[i][q] + moment[i] x[i][q] of one row or more; as in hosemi_pull. */
HOSEMI_KERNEL void hosemi_pull_moments(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict w,
    const double *restrict moment, ptrdiff_t step, const double *restrict x,
    const double *restrict m, ptrdiff_t stride, ptrdiff_t n, double *restrict out
) {
    for (ptrdiff_t g = 0; g < n_groups; g++, w += step, moment += step) {
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            out[q] = w[0] * m[q] + moment[0] * x[q];
        for (ptrdiff_t i = 1; i < n; i++) {
            const double *restrict mass = x + i * stride, *restrict own = m + i * stride;
            for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
                out[q] += w[i] * own[q] + moment[i] * mass[q];
        }
    }
}

/* out[q] += w[g] m[q] + moment[g] x[q] */
HOSEMI_KERNEL void hosemi_add_moments(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict w,
    const double *restrict moment, const double *restrict x, const double *restrict m,
    double *restrict out
) {
    for (ptrdiff_t g = 0; g < n_groups; g++)
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            out[q] += w[g] * m[q] + moment[g] * x[q];
}

/* What stands beside R[j], in place, where R[j] = x is above 0, and what that adds to
   out, beside alpha[j]. */
HOSEMI_COMPARING void hosemi_end_moments(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict w,
    const double *restrict moment, const double *restrict x, double *restrict m,
    double *restrict out
) {
    for (ptrdiff_t g = 0; g < n_groups; g++)
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) {
            const double own = x[q] > 0.0 ? m[q] : 0.0;
            m[q] = own;
            out[q] += w[g] * own + moment[g] * x[q];
        }
}

/* hosemi_sum, of weights and their moments, with slots (x, m) instead of x:

     x[output] = sum_k x[input] weight
     m[output] = sum_k m[input] weight + x[input] moment  */
HOSEMI_KERNEL void hosemi_sum_moments(
    const int32_t *fan, const int32_t *output, const int32_t *input,
    const double *weight, const double *moment, ptrdiff_t n_quads, double *slot
) {
    for (ptrdiff_t i = 0; i < n_quads; i++, output += 4) {
        double x[4] = {0}, m[4] = {0};
        for (int32_t k = fan[i]; k > 0; k--, input += 4, weight += 4, moment += 4) {
            const double *from[4];
            double of[4], own[4];
            for (int a = 0; a < 4; a++) from[a] = slot + 2 * (ptrdiff_t)input[a];
            for (int a = 0; a < 4; a++) of[a] = from[a][0], own[a] = from[a][1];
            for (int a = 0; a < 4; a++) {
                x[a] += of[a] * weight[a];
                m[a] += own[a] * weight[a] + of[a] * moment[a];
            }
        }
        for (int a = 0; a < 4; a++) {
            slot[2 * (ptrdiff_t)output[a]] = x[a];
            slot[2 * (ptrdiff_t)output[a] + 1] = m[a];
        }
    }
}

#endif
