/* Kernels of training: derivatives by the weights of some features.  */

#ifndef HOSEMI_COUNTS_H
#define HOSEMI_COUNTS_H

#include "simd.h"

/* hosemi_scatter to the rows begin .. end - 1. */
HOSEMI_KERNEL void hosemi_scatter_rows(
    const int32_t *first, const int32_t *rows, ptrdiff_t n, const double *scores,
    ptrdiff_t begin, ptrdiff_t end, double *weights, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width)
        for (ptrdiff_t k = first[i]; k < first[i + 1]; k++) {
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? rows[k + HOSEMI_AHEAD] : 0;
            if (next >= begin && next < end)
                for (ptrdiff_t y = 0; y < width; y += 8)
                    HOSEMI_PREFETCH(weights + next * width + y);
            if (rows[k] < begin || rows[k] >= end) continue;
            double *row = weights + rows[k] * width;
            for (ptrdiff_t y = 0; y < width; y++) row[y] += scores[y];
        }
}

/* The same where row r has weights in some columns, as in hosemi_gather_pairs. */
HOSEMI_KERNEL void hosemi_scatter_pairs(
    const int32_t *first, const int32_t *rows, ptrdiff_t n, const double *scores,
    const int32_t *first_pair, const int32_t *columns, ptrdiff_t begin, ptrdiff_t end,
    double *weights, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width)
        for (ptrdiff_t k = first[i]; k < first[i + 1]; k++) {
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? rows[k + HOSEMI_AHEAD] : 0;
            if (next >= begin && next < end)
                for (ptrdiff_t y = 0; y < width; y += 8)
                    HOSEMI_PREFETCH(weights + first_pair[next] + y);
            if (rows[k] < begin || rows[k] >= end) continue;
            const ptrdiff_t from = first_pair[rows[k]], to = first_pair[rows[k] + 1];
            double *row = weights + from;
            if (to - from == width)
                for (ptrdiff_t y = 0; y < width; y++) row[y] += scores[y];
            else
                for (ptrdiff_t a = from; a < to; a++) weights[a] += scores[columns[a]];
        }
}

#endif
