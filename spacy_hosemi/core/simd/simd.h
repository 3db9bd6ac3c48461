/* The inner loops of the sweeps, in a form that compilers vectorise, and of the tables
   of features, to be inlined.

   No -ffast-math and no -march=native: each function is compiled for the base of the
   architecture and, where the loader can choose, for AVX2 as well. Both do the same
   operations in the same order (no fused multiply-add), so results do not depend on
   the processor. For short documents calls would cost as much as loops: a kernel goes
   through all groups of states g, first[g] .. first[g + 1]. Group g has n weights from
   w[g * step] on, one for each segment; `rows` is the row of the first segment's start,
   those of later starts follow at a distance of `stride`.  */

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

#ifdef _MSC_VER
#define restrict __restrict
#endif

#if defined(__GNUC__)
#define HOSEMI_INLINE __attribute__((always_inline, unused)) static inline
#else
#define HOSEMI_INLINE static inline
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

/* row[q] = w[g] + in[q] for all groups g, whose states q are first[g] .. first[g + 1] */
HOSEMI_KERNEL void hosemi_put(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict w,
    const double *restrict in, double *restrict row
) {
    for (ptrdiff_t g = 0; g < n_groups; g++)
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) row[q] = w[g] + in[q];
}

/* rows[i][q] = max(rows[i][q], w[g][i] + in[q]) for all groups g, whose states q are
   first[g] .. first[g + 1]; the weights of a group follow those before at `step`. */
HOSEMI_COMPARING void hosemi_push_max(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict w,
    ptrdiff_t step, const double *restrict in, ptrdiff_t n, double *restrict rows,
    ptrdiff_t stride
) {
    for (ptrdiff_t g = 0; g < n_groups; g++, w += step)
        for (ptrdiff_t i = 0; i < n; i++) {
            double *restrict row = rows + i * stride;
            const double weight = w[i];
            for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) {
                const double value = weight + in[q];
                row[q] = row[q] > value ? row[q] : value;
            }
        }
}

/* out[q] = max(end[g] + in[q], more[g] + tail[g] + after[q]) likewise; -inf where the
   tail is. Without `more` nothing goes on (`after` is read all the same). */
HOSEMI_COMPARING void hosemi_rest_max(
    const int32_t *restrict first, ptrdiff_t n_groups, const double *restrict end,
    const double *restrict more, const double *restrict tail, const double *restrict in,
    const double *restrict after, double *restrict out
) {
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        const double at_end = tail[g] > -INFINITY ? end[g] : -INFINITY;
        const double goes_on = more == NULL ? -INFINITY : more[g] + tail[g];
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++) {
            const double here = at_end + in[q], later = goes_on + after[q];
            out[q] = here > later ? here : later;
        }
    }
}

/* The best of each sum of a schedule; four sums side by side have fan[i] terms each, or
   -fan[i] whose inputs they share.

     slot[output[4 i + a]] = max_k slot[input[k, a]] + weight[k, a]  */
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
        for (int32_t k = fan[i]; k < 0; k++, input++, weight += 4) {
            const double x = slot[*input];
            for (int a = 0; a < 4; a++) {
                const double value = x + weight[a];
                best[a] = best[a] > value ? best[a] : value;
            }
        }
        for (int a = 0; a < 4; a++) slot[output[a]] = best[a];
    }
}

/* best[q] = max(best[q], weight[q] + next[target[q]]) */
HOSEMI_COMPARING void hosemi_leap_max(
    const double *restrict weight, const int32_t *restrict target,
    const double *restrict next, ptrdiff_t n, double *restrict best
) {
    ptrdiff_t q = 0;
    for (; q + 4 <= n; q += 4) {
        const double x[4] = {
            next[target[q]], next[target[q + 1]], next[target[q + 2]], next[target[q + 3]]
        };
        for (int a = 0; a < 4; a++) {
            const double value = x[a] + weight[q + a];
            best[q + a] = best[q + a] > value ? best[q + a] : value;
        }
    }
    for (; q < n; q++) {
        const double value = next[target[q]] + weight[q];
        best[q] = best[q] > value ? best[q] : value;
    }
}

/* out[g] = max(out[g], max_h x[h] + weight[h][g]) for n_rows h and `width` g */
HOSEMI_COMPARING void hosemi_relax_max(
    const double *restrict weight, const double *restrict x, ptrdiff_t n_rows,
    ptrdiff_t width, double *restrict out
) {
    ptrdiff_t h = 0;
    for (; h + 2 <= n_rows; h += 2, weight += 2 * width)
        for (ptrdiff_t g = 0; g < width; g++) {
            const double a = x[h] + weight[g], b = x[h + 1] + weight[width + g];
            const double best = a > b ? a : b;
            out[g] = out[g] > best ? out[g] : best;
        }
    for (; h < n_rows; h++, weight += width)
        for (ptrdiff_t g = 0; g < width; g++) {
            const double value = x[h] + weight[g];
            out[g] = out[g] > value ? out[g] : value;
        }
}

/* A bound on log x from above, for x > 0: less than log 2 too high. */
HOSEMI_INLINE double hosemi_log_bound(double x) {
    uint64_t bits;
    int exponent;
    memcpy(&bits, &x, sizeof bits);
    if (bits >> 52 == 0)  /* a subnormal number */
        exponent = frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
    else
        exponent = (int)(bits >> 52) - 1022 - ((bits << 12) == 0);
    return exponent * 0.6931471805599453;
}

HOSEMI_INLINE double hosemi_top(double largest) {
    return largest > 0.0 ? hosemi_log_bound(largest) : -INFINITY;
}

/* LARGEST_SUM, LOWEST and HIGHEST of core/potentials.py. */
#define HOSEMI_LARGEST_SUM 1e12
#define HOSEMI_IS_SCORE(x) (((x) <= 1e12) & (((x) >= -1e200) | ((x) == -INFINITY)))

/* How many of n numbers are no scores. A NaN raises the flag of an invalid operation. */
HOSEMI_COMPARING ptrdiff_t hosemi_count_bad(const double *x, ptrdiff_t n) {
    ptrdiff_t n_bad = 0;
    for (ptrdiff_t i = 0; i < n; i++) n_bad += !HOSEMI_IS_SCORE(x[i]);
    return n_bad;
}

/* scores[i] += sum_k weights[rows[k]] for k = first[i] .. first[i + 1], and the transpose.
   Rows lie anywhere in memory: those that are needed next are fetched meanwhile. A token
   whose scores are 0 has nothing to add, as most have in training by steps. */
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

/* The same where row r has weights in some columns, from first_pair[r] on; those with all
   of them in their order. */
HOSEMI_KERNEL void hosemi_gather_pairs(
    const int32_t *first, const int32_t *rows, ptrdiff_t n, const int32_t *first_pair,
    const int32_t *columns, const double *weights, double *scores, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width)
        for (ptrdiff_t k = first[i]; k < first[i + 1]; k++) {
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? k + HOSEMI_AHEAD : k;
            const ptrdiff_t begin = first_pair[rows[k]], end = first_pair[rows[k] + 1];
            const double *row = weights + begin;
            const double *of_next = weights + first_pair[rows[next]];
            for (ptrdiff_t y = 0; y < width; y += 8) HOSEMI_PREFETCH(of_next + y);
            if (end - begin == width)
                for (ptrdiff_t y = 0; y < width; y++) scores[y] += row[y];
            else
                for (ptrdiff_t a = begin; a < end; a++) scores[columns[a]] += weights[a];
        }
}

HOSEMI_KERNEL void hosemi_scatter(
    const int32_t *first, const int32_t *rows, ptrdiff_t n,
    const double *scores, double *weights, ptrdiff_t width
) {
    for (ptrdiff_t i = 0; i < n; i++, scores += width) {
        ptrdiff_t n_others = 0;
        for (ptrdiff_t y = 0; y < width; y++) n_others += scores[y] != 0.0;
        for (ptrdiff_t k = first[i]; n_others && k < first[i + 1]; k++) {
            double *row = weights + rows[k] * width;
            const ptrdiff_t next = k + HOSEMI_AHEAD < first[n] ? k + HOSEMI_AHEAD : k;
            for (ptrdiff_t y = 0; y < width; y += 8)
                HOSEMI_PREFETCH(weights + rows[next] * width + y);
            for (ptrdiff_t y = 0; y < width; y++) row[y] += scores[y];
        }
    }
}

/* The running hash of values: the finaliser of MurmurHash3, so every bit of h and value
   changes every bit of the result with probability near 1/2. */
static inline uint64_t hosemi_mix(uint64_t h, uint64_t value) {
    h ^= value + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    h ^= h >> 33;
    h *= 0xFF51AFD7ED558CCDu;
    h ^= h >> 33;
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 33);
}

/* The hash of n bytes, as spaCy has it of a text in UTF-8: MurmurHash64A (Appleby, public
   domain) with the seed 1. */
static inline uint64_t hosemi_hash_text(const char *text, ptrdiff_t n) {
    const uint64_t m = 0xC6A4A7935BD1E995u;
    uint64_t h = 1 ^ (uint64_t)n * m, piece;
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&piece, text + i, 8);
        piece *= m;
        piece ^= piece >> 47;
        h = (h ^ piece * m) * m;
    }
    if (i < n) {
        for (piece = 0; n > i; n--) piece = piece << 8 | (unsigned char)text[n - 1];
        h = (h ^ piece) * m;
    }
    h ^= h >> 47;
    h *= m;
    return h ^ (h >> 47);
}

/* The number of a key in a table of mask + 1 places for a key, 0 if free, and its number;
   -1 if it is not there. */
static inline int32_t hosemi_find(const uint64_t *slots, uint64_t mask, uint64_t key) {
    uint64_t at = key & mask;
    if (key == 0) return -1;
    while (slots[2 * at] != key) {
        if (slots[2 * at] == 0) return -1;
        at = (at + 1) & mask;
    }
    return (int32_t)slots[2 * at + 1];
}

#endif
