/* The inner loops of the sweeps, in a form that compilers vectorise.

   No -ffast-math and no -march=native: each function is compiled for the base of the
   architecture and, where the loader can choose, for AVX2 as well. Both do the same
   operations in the same order (no fused multiply-add), so results do not depend on
   the processor. `rows` point to the first state of a group in the row of the first
   segment's start; the rows of later starts follow at a distance of `stride`.  */

#ifndef HOSEMI_KERNELS_H
#define HOSEMI_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define HOSEMI_KERNEL __attribute__((target_clones("avx2", "default"), unused)) static
#elif defined(__GNUC__)
#define HOSEMI_KERNEL __attribute__((unused)) static
#else
#define HOSEMI_KERNEL static
#endif

/* A comparison may raise a floating-point flag, so GCC does not vectorise a loop with one
   unless it is told that nobody looks: true of these functions, whose arithmetic raises
   none. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOSEMI_COMPARING __attribute__((optimize("no-trapping-math"))) HOSEMI_KERNEL
#else
#define HOSEMI_COMPARING HOSEMI_KERNEL
#endif

/* Begin to read what will be needed soon. */
#if defined(__GNUC__)
#define HOSEMI_PREFETCH(x) __builtin_prefetch(x)
#else
#define HOSEMI_PREFETCH(x) ((void)(x))
#endif

#define HOSEMI_CHUNK 64
#define HOSEMI_AHEAD 8  /* how many rows ahead of their use memory is fetched */
#define HOSEMI_LOWEST (-708.0)  /* e^x is a normal number from here on */
#define HOSEMI_HIGHEST 700.0

/* x[i] = e^x[i], to an error of 1e-15; 0 below HOSEMI_LOWEST. Not for x > 709.

     e^x = 2^k e^r,  k = round(x / ln 2),  |r| <= ln 2 / 2

   e^r by the polynomial of degree 11 that meets it at the Chebyshev nodes of the
   interval (error 2e-17), its terms paired so that they need not wait for each other.  */
HOSEMI_COMPARING void hosemi_exp(double *x, ptrdiff_t n) {
    /* Adding this to a small number leaves its nearest integer in the low bits. */
    const double magic = 6755399441055744.0;
    const double C2 = 0.5000000000000019, C3 = 0.1666666666666668;
    const double C4 = 0.04166666666648807, C5 = 0.0083333333333196;
    const double C6 = 0.0013888888952321818, C7 = 0.0001984126989005253;
    const double C8 = 2.480148547478971e-05, C9 = 2.755724091278181e-06;
    const double C10 = 2.763264242854867e-07, C11 = 2.5110039751031143e-08;
    double shifted[HOSEMI_CHUNK], power[HOSEMI_CHUNK];
    uint64_t bits[HOSEMI_CHUNK];
    for (ptrdiff_t at = 0; at < n; at += HOSEMI_CHUNK) {
        double *y = x + at;
        const ptrdiff_t m = n - at < HOSEMI_CHUNK ? n - at : HOSEMI_CHUNK;
        /* A loop of its own: GCC would move the choice behind the arithmetic, and that
           of -inf raises a flag. */
        for (ptrdiff_t i = 0; i < m; i++)
            power[i] = y[i] > HOSEMI_LOWEST ? y[i] : HOSEMI_LOWEST;
        for (ptrdiff_t i = 0; i < m; i++) {
            const double z = power[i] + 1e-70;  /* r^4 must not underflow */
            const double t = z * 1.4426950408889634 + magic;
            const double k = t - magic;
            const double r = (z - k * 0.69314718036912382) - k * 1.9082149292705877e-10;
            const double r2 = r * r, r4 = r2 * r2;
            const double low = (1.0 + r) + r2 * (C2 + C3 * r);
            const double middle = (C4 + C5 * r) + r2 * (C6 + C7 * r);
            const double high = (C8 + C9 * r) + r2 * (C10 + C11 * r);
            shifted[i] = t;
            power[i] = low + r4 * (middle + r4 * high);
        }
        memcpy(bits, shifted, sizeof bits[0] * (size_t)m);
        for (ptrdiff_t i = 0; i < m; i++) bits[i] = (bits[i] + 1023) << 52;
        memcpy(shifted, bits, sizeof bits[0] * (size_t)m);
        for (ptrdiff_t i = 0; i < m; i++)
            y[i] = y[i] >= HOSEMI_LOWEST ? power[i] * shifted[i] : 0.0;
    }
}

/* x[i] = score[i] + scale[i]; returns the largest x[i] + top[i]. */
HOSEMI_COMPARING double hosemi_shift(
    const double *score, const double *scale, const double *top, ptrdiff_t n, double *x
) {
    double best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int a = 0; a < 4; a++) {
            x[i + a] = score[i + a] + scale[i + a];
            const double key = x[i + a] + top[i + a];
            best[a] = key > best[a] ? key : best[a];
        }
    for (; i < n; i++) {
        x[i] = score[i] + scale[i];
        best[0] = x[i] + top[i] > best[0] ? x[i] + top[i] : best[0];
    }
    for (int a = 1; a < 4; a++) best[0] = best[a] > best[0] ? best[a] : best[0];
    return best[0];
}

/* x[i] -= scale, or -inf where x[i] + top[i] <= cut. Returns whether e^x can be taken of
   what is left. */
HOSEMI_COMPARING int hosemi_settle(
    double *x, const double *top, ptrdiff_t n, double cut, double scale
) {
    int n_bad = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double y = x[i] - scale;
        const int keep = x[i] + top[i] > cut;
        n_bad += keep & ((y < HOSEMI_LOWEST) | (y > HOSEMI_HIGHEST));
        x[i] = keep ? y : -INFINITY;
    }
    return n_bad == 0;
}

/* out[q] += sum_i w[i] rows[i][q] */
HOSEMI_KERNEL void hosemi_pull(
    const double *w, const double *rows, ptrdiff_t stride, ptrdiff_t n,
    double *out, ptrdiff_t width
) {
    ptrdiff_t q = 0;
    for (; q + 8 <= width; q += 8) {
        double sum[8] = {0};
        for (ptrdiff_t i = 0; i < n; i++)
            for (int a = 0; a < 8; a++) sum[a] += w[i] * rows[i * stride + q + a];
        for (int a = 0; a < 8; a++) out[q + a] += sum[a];
    }
    for (; q + 4 <= width; q += 4) {
        double sum[4] = {0};
        for (ptrdiff_t i = 0; i < n; i++)
            for (int a = 0; a < 4; a++) sum[a] += w[i] * rows[i * stride + q + a];
        for (int a = 0; a < 4; a++) out[q + a] += sum[a];
    }
    for (; q + 2 <= width; q += 2) {
        double sum[2] = {0};
        for (ptrdiff_t i = 0; i < n; i++)
            for (int a = 0; a < 2; a++) sum[a] += w[i] * rows[i * stride + q + a];
        for (int a = 0; a < 2; a++) out[q + a] += sum[a];
    }
    for (; q < width; q++) {
        double even = 0.0, odd = 0.0;
        ptrdiff_t i = 0;
        for (; i + 2 <= n; i += 2) {
            even += w[i] * rows[i * stride + q];
            odd += w[i + 1] * rows[(i + 1) * stride + q];
        }
        if (i < n) even += w[i] * rows[i * stride + q];
        out[q] += even + odd;
    }
}

/* rows[i][q] += w[i] in[q]: the transpose of hosemi_pull */
HOSEMI_KERNEL void hosemi_push(
    const double *w, const double *in, ptrdiff_t width, ptrdiff_t n,
    double *rows, ptrdiff_t stride
) {
    if (width == 1) {
        for (ptrdiff_t i = 0; i < n; i++) rows[i * stride] += w[i] * in[0];
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double *row = rows + i * stride;
        const double weight = w[i];
        for (ptrdiff_t q = 0; q < width; q++) row[q] += weight * in[q];
    }
}

/* prob[i] = w[i] sum_q rows[i][q] in[q] */
HOSEMI_KERNEL void hosemi_pair(
    const double *w, const double *in, ptrdiff_t width, ptrdiff_t n,
    const double *rows, ptrdiff_t stride, double *prob
) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *row = rows + i * stride;
        double sum[4] = {0};
        ptrdiff_t q = 0;
        for (; q + 4 <= width; q += 4)
            for (int a = 0; a < 4; a++) sum[a] += row[q + a] * in[q + a];
        for (; q < width; q++) sum[0] += row[q] * in[q];
        prob[i] = w[i] * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

/* rows[i][q] = max(rows[i][q], w[g][i] + in[q]) for all groups g, whose states q are
   first[g] .. first[g + 1]; the weights of a group follow those before at `step`. */
HOSEMI_COMPARING void hosemi_push_max(
    const int32_t *first, ptrdiff_t n_groups, const double *w, ptrdiff_t step,
    const double *in, ptrdiff_t n, double *rows, ptrdiff_t stride
) {
    for (ptrdiff_t g = 0; g < n_groups; g++, w += step)
        for (ptrdiff_t i = 0; i < n; i++) {
            double *row = rows + i * stride;
            const double weight = w[i];
            for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) {
                const double value = weight + in[q];
                row[q] = row[q] > value ? row[q] : value;
            }
        }
}

/* out[q] = max(end[g] + in[q], more[g] + tail[g] + after[q]) likewise; -inf where the
   tail is. Without `more` nothing goes on. */
HOSEMI_COMPARING void hosemi_rest_max(
    const int32_t *first, ptrdiff_t n_groups, const double *end, const double *more,
    const double *tail, const double *in, const double *after, double *out
) {
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        const double at_end = tail[g] > -INFINITY ? end[g] : -INFINITY;
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) out[q] = at_end + in[q];
        if (more == NULL || !(tail[g] > -INFINITY)) continue;
        const double weight = more[g] + tail[g];
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) {
            const double value = weight + after[q];
            out[q] = out[q] > value ? out[q] : value;
        }
    }
}

/* The sums of a schedule: four side by side, which have fan[i] terms each.

     slot[output[4 i + a]] = sum_k slot[input[k, a]] weight[k, a]  */
HOSEMI_KERNEL void hosemi_sum(
    const int32_t *fan, const int32_t *output, const int32_t *input,
    const double *weight, ptrdiff_t n_quads, double *slot
) {
    for (ptrdiff_t i = 0; i < n_quads; i++, output += 4) {
        double total[4] = {0};
        for (int32_t k = fan[i]; k > 0; k--, input += 4, weight += 4) {
            const double x[4] = {
                slot[input[0]], slot[input[1]], slot[input[2]], slot[input[3]]
            };
            for (int a = 0; a < 4; a++) total[a] += x[a] * weight[a];
        }
        for (int a = 0; a < 4; a++) slot[output[a]] = total[a];
    }
}

/* The same with max for + and + for *. */
HOSEMI_COMPARING void hosemi_max(
    const int32_t *fan, const int32_t *output, const int32_t *input,
    const double *weight, ptrdiff_t n_quads, double *slot
) {
    for (ptrdiff_t i = 0; i < n_quads; i++, output += 4) {
        double best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (int32_t k = fan[i]; k > 0; k--, input += 4, weight += 4) {
            const double x[4] = {
                slot[input[0]], slot[input[1]], slot[input[2]], slot[input[3]]
            };
            for (int a = 0; a < 4; a++) {
                const double value = x[a] + weight[a];
                best[a] = best[a] > value ? best[a] : value;
            }
        }
        for (int a = 0; a < 4; a++) slot[output[a]] = best[a];
    }
}

/* The largest of n numbers, none of them negative. */
HOSEMI_COMPARING double hosemi_largest(const double *x, ptrdiff_t n) {
    double best[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int a = 0; a < 4; a++) best[a] = x[i + a] > best[a] ? x[i + a] : best[a];
    for (; i < n; i++) best[0] = x[i] > best[0] ? x[i] : best[0];
    for (int a = 1; a < 4; a++) best[0] = best[a] > best[0] ? best[a] : best[0];
    return best[0];
}

/* How many of n numbers are NaN or +inf. A NaN raises the flag of an invalid operation. */
HOSEMI_COMPARING ptrdiff_t hosemi_count_bad(const double *x, ptrdiff_t n) {
    ptrdiff_t n_bad = 0;
    for (ptrdiff_t i = 0; i < n; i++) n_bad += !(x[i] < INFINITY);
    return n_bad;
}

/* x[i] = 0 where x[i] < least */
HOSEMI_COMPARING void hosemi_flush(double *x, ptrdiff_t n, double least) {
    for (ptrdiff_t i = 0; i < n; i++) x[i] = x[i] >= least ? x[i] : 0.0;
}

/* scores[i] += sum_k weights[rows[k]] for k = first[i] .. first[i + 1], and the transpose.
   Rows lie anywhere in memory: those that are needed next are fetched meanwhile. */
HOSEMI_KERNEL void hosemi_gather(
    const int32_t *first, const int32_t *rows, ptrdiff_t n,
    const double *weights, double *scores, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width)
        for (ptrdiff_t k = first[i]; k < first[i + 1]; k++) {
            const double *row = weights + rows[k] * width;
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? k + HOSEMI_AHEAD : k;
            for (ptrdiff_t y = 0; y < width; y += 8)
                HOSEMI_PREFETCH(weights + rows[next] * width + y);
            for (ptrdiff_t y = 0; y < width; y++) scores[y] += row[y];
        }
}

HOSEMI_KERNEL void hosemi_scatter(
    const int32_t *first, const int32_t *rows, ptrdiff_t n,
    const double *scores, double *weights, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width)
        for (ptrdiff_t k = first[i]; k < first[i + 1]; k++) {
            double *row = weights + rows[k] * width;
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? k + HOSEMI_AHEAD : k;
            for (ptrdiff_t y = 0; y < width; y += 8)
                HOSEMI_PREFETCH(weights + rows[next] * width + y);
            for (ptrdiff_t y = 0; y < width; y++) row[y] += scores[y];
        }
}

/* A bound on log x from above, for x > 0: less than log 2 too high. */
static inline double hosemi_log_bound(double x) {
    int exponent;
    if (frexp(x, &exponent) == 0.5) exponent--;
    return exponent * 0.6931471805599453;
}

#endif
