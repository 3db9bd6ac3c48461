/* Kernels of training: expected counts of four documents side by side, in lanes as in
   simd.h, and derivatives by the weights of some features.  */

#ifndef HOSEMI_COUNTS_H
#define HOSEMI_COUNTS_H

#include "simd.h"

/* hosemi_lane_leave; and for each group what its states have together of segments that
   start at the token, end at it, and go on over it, having started before:

     starts[g] = sum_q opened[q] closing[q]
     ends[g]   = sum_q (here[g] opened[q] + at_end[g] running[q]) beta[q]
     goes[g]   = sum_q running[q] rest[q]

   `starts` has these one behind the other, [3 G, lanes]. */
HOSEMI_KERNEL void hosemi_lane_leave_counting(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict here,
    const double *restrict next, const double *restrict beta,
    const double *restrict opened, const double *restrict running,
    double *restrict rest, double *restrict closing, double *restrict starts
) {
    const double *restrict at_end = here + 12 * n_groups;
    const double *restrict keep = next + 4 * n_groups;
    const double *restrict enter = keep + 4 * n_groups;
    double *restrict ends = starts + 4 * n_groups, *restrict goes = ends + 4 * n_groups;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        double start[4] = {0}, end[4] = {0}, on[4] = {0};
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            HOSEMI_EACH_LANE {
                const ptrdiff_t i = 4 * q + a, j = 4 * g + a;
                const double before = opened[i], over = running[i];
                const double closed = enter[j] * rest[i] + here[j] * beta[i];
                const double left = at_end[j] * beta[i] + keep[j] * rest[i];
                closing[i] = closed;
                rest[i] = left;
                start[a] += before * closed;
                end[a] += (here[j] * before + at_end[j] * over) * beta[i];
                on[a] += over * left;
            }
        HOSEMI_EACH_LANE starts[4 * g + a] = start[a];
        HOSEMI_EACH_LANE ends[4 * g + a] = end[a];
        HOSEMI_EACH_LANE goes[4 * g + a] = on[a];
    }
}

/* count[k] += x[node[k]] y[target[k]], lane by lane. */
HOSEMI_KERNEL void hosemi_lane_count_arcs(
    const int32_t *restrict node, const int32_t *restrict target, ptrdiff_t n_arcs,
    const double *restrict x, const double *restrict y, double *restrict count
) {
    for (ptrdiff_t k = 0; k < n_arcs; k++, count += 4) {
        const double *restrict from = x + 4 * (ptrdiff_t)node[k];
        const double *restrict to = y + 4 * (ptrdiff_t)target[k];
        HOSEMI_EACH_LANE count[a] += from[a] * to[a];
    }
}

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
