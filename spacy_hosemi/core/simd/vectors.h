/* Kernels of an optimizer: passes over long vectors, piece by piece, so that each number
   is fetched from memory once however many sums it goes into.  */

#ifndef HOSEMI_VECTORS_H
#define HOSEMI_VECTORS_H

#include "simd.h"

#define HOSEMI_PIECE 512

/* sum x[i] y[i], in eight sums side by side. */
HOSEMI_INLINE double hosemi_dot(const double *x, const double *y, ptrdiff_t n) {
    double sum[8] = {0};
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int a = 0; a < 8; a++) sum[a] += x[i + a] * y[i + a];
    for (; i < n; i++) sum[0] += x[i] * y[i];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3]))
        + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* d[i] = times g[i] + sum_j of_steps[j] steps[j, i] + of_changes[j] changes[j, i] for the
   k vectors `slots` of the history, which lie `stride` apart; trial[i] = x[i] + step d[i].
   Returns sum_i g[i] d[i]. */
HOSEMI_KERNEL double hosemi_direct(
    ptrdiff_t n, double times, const double *restrict g, const double *steps,
    const double *changes, ptrdiff_t stride, const int32_t *slots, ptrdiff_t k,
    const double *of_steps, const double *of_changes, const double *restrict x,
    double step, double *d, double *restrict trial
) {
    double total = 0.0, out[HOSEMI_PIECE];
    for (ptrdiff_t at = 0; at < n; at += HOSEMI_PIECE) {
        const ptrdiff_t m = n - at < HOSEMI_PIECE ? n - at : HOSEMI_PIECE;
        for (ptrdiff_t i = 0; i < m; i++) out[i] = times * g[at + i];
        for (ptrdiff_t j = 0; j < k; j++) {
            const double *restrict s = steps + slots[j] * stride + at;
            const double *restrict y = changes + slots[j] * stride + at;
            const double p = of_steps[j], q = of_changes[j];
            for (ptrdiff_t i = 0; i < m; i++)
                out[i] += p * s[i] + q * y[i];
        }
        for (ptrdiff_t i = 0; i < m; i++) {
            d[at + i] = out[i];
            trial[at + i] = x[at + i] + step * out[i];
        }
        total += hosemi_dot(g + at, out, m);
    }
    return total;
}

/* trial[i] = x[i] + step d[i] */
HOSEMI_KERNEL void hosemi_walk(
    ptrdiff_t n, const double *restrict x, double step, const double *restrict d,
    double *restrict trial
) {
    for (ptrdiff_t i = 0; i < n; i++) trial[i] = x[i] + step * d[i];
}

/* sum g[i] d[i] */
HOSEMI_KERNEL double hosemi_slope(ptrdiff_t n, const double *g, const double *d) {
    double total = 0.0;
    for (ptrdiff_t at = 0; at < n; at += HOSEMI_PIECE) {
        const ptrdiff_t m = n - at < HOSEMI_PIECE ? n - at : HOSEMI_PIECE;
        total += hosemi_dot(g + at, d + at, m);
    }
    return total;
}

/* changes[last][i] = g[i] - before[i] and steps[last][i] *= step for the last of k
   `slots`; adds to sums[j], for each of the slots j, the products with steps[j] and
   changes[j] of the new change, and then those of g: [4, k]. */
HOSEMI_KERNEL void hosemi_remember(
    ptrdiff_t n, const double *restrict g, const double *restrict before, double step,
    double *steps, double *changes, ptrdiff_t stride, const int32_t *slots, ptrdiff_t k,
    double *sums
) {
    double y[HOSEMI_PIECE];
    double *d = steps + slots[k - 1] * stride, *change = changes + slots[k - 1] * stride;
    for (ptrdiff_t at = 0; at < n; at += HOSEMI_PIECE) {
        const ptrdiff_t m = n - at < HOSEMI_PIECE ? n - at : HOSEMI_PIECE;
        for (ptrdiff_t i = 0; i < m; i++)
            change[at + i] = y[i] = g[at + i] - before[at + i];
        if (step != 1.0)
            for (ptrdiff_t i = 0; i < m; i++)
                d[at + i] *= step;
        for (ptrdiff_t j = 0; j < k; j++) {
            const double *s = steps + slots[j] * stride + at;
            const double *c = changes + slots[j] * stride + at;
            sums[j] += hosemi_dot(y, s, m);
            sums[k + j] += hosemi_dot(y, c, m);
            sums[2 * k + j] += hosemi_dot(g + at, s, m);
            sums[3 * k + j] += hosemi_dot(g + at, c, m);
        }
    }
}

/* g[i] += penalty[i] w[i]; returns half the sum of penalty[i] w[i]^2. */
HOSEMI_KERNEL double hosemi_add_penalty(
    ptrdiff_t n, const double *restrict penalty, const double *restrict w,
    double *restrict g
) {
    double sum[8] = {0};
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int a = 0; a < 8; a++) {
            const double slope = penalty[i + a] * w[i + a];
            g[i + a] += slope;
            sum[a] += slope * w[i + a];
        }
    for (; i < n; i++) {
        const double slope = penalty[i] * w[i];
        g[i] += slope;
        sum[0] += slope * w[i];
    }
    return 0.5 * (((sum[0] + sum[1]) + (sum[2] + sum[3]))
        + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

#endif
