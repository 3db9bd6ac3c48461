/* The inner loops of the sweep that sums: one document, or four of them side by side.

   For each number of a document there are `lanes` of them in one piece, 1 or 4. Each lane
   goes through the same operations in the same order, so that it has the same bits,
   whatever the others are. The kernels are written once, for a number of lanes that is
   constant where they are inlined. `kind` says which one is meant: of one document in
   logs, too, where log-add stands for + and + for *; probabilities are linear there as
   well. Group g has the states first[g] .. first[g + 1].

   A row of weights has [G D] of explicit segments, by group from D tokens to 1, then [G]
   each of those that run on, that enter, and that end after they ran on.  */

#ifndef HOSEMI_LANES_H
#define HOSEMI_LANES_H

#include "simd.h"

#define HOSEMI_ONE 0
#define HOSEMI_FOUR 1
#define HOSEMI_LOGS 2

/* What is inlined into kernels with comparisons: see HOSEMI_COMPARING. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOSEMI_COMPARED __attribute__((optimize("no-trapping-math"))) HOSEMI_INLINE
#else
#define HOSEMI_COMPARED HOSEMI_INLINE
#endif

/* A loop over lanes must not be unrolled: it becomes one instruction. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOSEMI_ROLLED _Pragma("GCC unroll 1")
#else
#define HOSEMI_ROLLED
#endif
#define HOSEMI_EACH_LANE HOSEMI_ROLLED for (int a = 0; a < lanes; a++)

#define HOSEMI_BY_KIND(kernel, ...)                                  \
    do {                                                             \
        if (kind == HOSEMI_FOUR) kernel(4, 0, __VA_ARGS__);          \
        else if (kind == HOSEMI_ONE) kernel(1, 0, __VA_ARGS__);      \
        else kernel(1, 1, __VA_ARGS__);                              \
    } while (0)

/* The same where most documents have D = 1, the last argument. */
#define HOSEMI_BY_KIND_AND_LENGTH(kernel, n_lengths, ...)                              \
    do {                                                                               \
        if (kind == HOSEMI_FOUR && n_lengths == 1) kernel(4, 0, __VA_ARGS__, 1);       \
        else if (kind == HOSEMI_ONE && n_lengths == 1) kernel(1, 0, __VA_ARGS__, 1);   \
        else if (kind == HOSEMI_FOUR) kernel(4, 0, __VA_ARGS__, n_lengths);            \
        else if (kind == HOSEMI_ONE) kernel(1, 0, __VA_ARGS__, n_lengths);             \
        else kernel(1, 1, __VA_ARGS__, n_lengths);                                     \
    } while (0)

/* log(e^x + e^y); -inf is the neutral element. */
HOSEMI_INLINE double hosemi_log_add(double x, double y) {
    const double high = x > y ? x : y, low = x > y ? y : x;
    return low > -INFINITY ? high + log1p(exp(low - high)) : high;
}

HOSEMI_INLINE double hosemi_plus(int logs, double x, double y) {
    return logs ? hosemi_log_add(x, y) : x + y;
}

HOSEMI_INLINE double hosemi_times(int logs, double x, double y) {
    return logs ? x + y : x * y;
}

/* A product that is a probability. */
HOSEMI_INLINE double hosemi_joint(int logs, double x, double y) {
    return logs ? exp(x + y) : x * y;
}

/* total[b] += x[b] weight[b] for four sums, or all of them with one x */
HOSEMI_INLINE void hosemi_add_terms(
    const int lanes, const int logs, const int is_shared, const double *x,
    const double *weight, double *total
) {
    if (lanes == 1)
        HOSEMI_ROLLED for (int b = 0; b < 4; b++) {
            const double term = hosemi_times(logs, x[is_shared ? 0 : b], weight[b]);
            total[b] = hosemi_plus(logs, total[b], term);
        }
    else
        for (int b = 0; b < 4; b++) {
            double *sum = total + b * lanes;
            const double *y = is_shared ? x : x + b * lanes;
            for (int a = 0; a < lanes; a++)
                sum[a] = hosemi_plus(logs, sum[a], hosemi_times(logs, y[a], weight[b]));
        }
}

/* slot[output[4 i + b]] = sum_k slot[input[k, b]] weight[k, b], fan[i] terms k each, or
   -fan[i] whose inputs are the same for all b */
HOSEMI_INLINE void hosemi_sum_of(
    const int lanes, const int logs, const int32_t *fan, const int32_t *output,
    const int32_t *input, const double *weight, ptrdiff_t n_quads, double *slot
) {
    const double nothing = logs ? -INFINITY : 0.0;
    for (ptrdiff_t i = 0; i < n_quads; i++, output += 4) {
        double total[16], x[16];  /* [4][lanes] */
        for (int b = 0; b < 4 * lanes; b++) total[b] = nothing;
        for (int32_t k = fan[i]; k > 0; k--, input += 4, weight += 4) {
            for (int b = 0; b < 4; b++)
                for (int a = 0; a < lanes; a++)
                    x[b * lanes + a] = slot[lanes * (ptrdiff_t)input[b] + a];
            hosemi_add_terms(lanes, logs, 0, x, weight, total);
        }
        for (int32_t k = fan[i]; k < 0; k++, input++, weight += 4) {
            for (int a = 0; a < lanes; a++) x[a] = slot[lanes * (ptrdiff_t)*input + a];
            hosemi_add_terms(lanes, logs, 1, x, weight, total);
        }
        for (int b = 0; b < 4; b++) {
            double *y = slot + lanes * (ptrdiff_t)output[b];
            for (int a = 0; a < lanes; a++) y[a] = total[b * lanes + a];
        }
    }
}

HOSEMI_KERNEL void hosemi_lane_sum(
    ptrdiff_t kind, const int32_t *fan, const int32_t *output, const int32_t *input,
    const double *weight, ptrdiff_t n_quads, double *slot
) {
    HOSEMI_BY_KIND(hosemi_sum_of, fan, output, input, weight, n_quads, slot);
}

/* Scores of the segments of one lane that end at boundary j, or run on over it: the n
   explicit ones that there are, others -inf; those of a further token; those that enter,
   if any does; of the end. `first` and `more` are the rows of token j - 1. */
HOSEMI_INLINE void hosemi_scores_of(
    const int lanes, const int logs, ptrdiff_t n_groups, ptrdiff_t n, int enters,
    const double *first, const double *more, const double *end, const double *length,
    const double *tail, double *restrict score, ptrdiff_t n_lengths
) {
    double *restrict keep = score + lanes * n_groups * n_lengths;
    double *restrict enter = keep + lanes * n_groups, *restrict at_end = enter + lanes * n_groups;
    (void)logs;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        const double *of_length = length + lanes * n_lengths * g;
        const double *begun = first + g, *on = more + g;
        double *x = score + lanes * n_lengths * g, further = more[g];
        ptrdiff_t i = n_lengths - 1;
        x[lanes * i] = begun[0] + end[g] + of_length[lanes * i];
        if (n_lengths > 1) {
            for (i--; i >= n_lengths - n; i--) {
                begun -= n_groups;
                on -= n_groups;
                x[lanes * i] = begun[0] + further + end[g] + of_length[lanes * i];
                further += on[0];
            }
            for (; i >= 0; i--) x[lanes * i] = -INFINITY;
        }
        keep[lanes * g] = more[g] + tail[lanes * g];
        enter[lanes * g] = -INFINITY;
        if (enters)
            enter[lanes * g] =
                begun[-n_groups] + further + of_length[0] + tail[lanes * g];
        at_end[lanes * g] = end[g];
    }
}

HOSEMI_KERNEL void hosemi_lane_scores(
    ptrdiff_t kind, ptrdiff_t n_groups, ptrdiff_t n_lengths, ptrdiff_t n, int enters,
    const double *first, const double *more, const double *end, const double *length,
    const double *tail, double *score
) {
    HOSEMI_BY_KIND_AND_LENGTH(
        hosemi_scores_of, n_lengths, n_groups, n, enters, first, more, end, length, tail,
        score
    );
}

/* From scores to exponents, in place: the scales of their starts are added to explicit
   segments, `scale` to those that run on, enter_scale to those that enter. Of D - low
   starts there are rows of opened_scale and opened_top. group_top becomes a bound on what
   explicit segments bring, running_top on what stays, best[a] on all. */
HOSEMI_COMPARED void hosemi_keys_of(
    const int lanes, const int logs, ptrdiff_t n_groups, ptrdiff_t low,
    const double *restrict opened_scale, const double *restrict scale,
    const double *restrict enter_scale, const double *restrict opened_top,
    const double *restrict enter_top, double *restrict running_top, double *restrict x,
    double *restrict group_top, double *restrict best, ptrdiff_t n_lengths
) {
    const ptrdiff_t n = lanes * n_groups;
    double *restrict keep = x + n * n_lengths, *restrict enter = keep + n;
    const double *restrict at_end = enter + n;
    double most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    (void)logs;
    if (n_lengths > 1)
        for (ptrdiff_t g = 0; g < n_groups; g++) {
            double top[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
            for (ptrdiff_t i = low; i < n_lengths; i++)
                HOSEMI_EACH_LANE {
                    double *key = x + lanes * (g * n_lengths + i) + a;
                    *key += opened_scale[lanes * (i - low) + a];
                    const double bound = *key + opened_top[n * (i - low) + lanes * g + a];
                    top[a] = bound > top[a] ? bound : top[a];
                }
            for (int a = 0; a < lanes; a++) group_top[lanes * g + a] = top[a];
        }
    for (ptrdiff_t g = 0; g < n_groups; g++)
        HOSEMI_EACH_LANE {
            const ptrdiff_t i = lanes * g + a;
            const double kept = keep[i] + scale[a], entered = enter[i] + enter_scale[a];
            double here;
            if (n_lengths == 1) {
                x[i] += opened_scale[a];
                here = x[i] + opened_top[i];
                group_top[i] = here;
            } else
                here = group_top[i];
            keep[i] = running_top[i] > -INFINITY ? kept : -INFINITY;
            enter[i] = enter_top[i] > -INFINITY ? entered : -INFINITY;
            const double stays = keep[i] + running_top[i];
            const double comes = enter[i] + enter_top[i];
            const double bound = stays > comes ? stays : comes;
            const double ends = bound + (at_end[i] > 0.0 ? at_end[i] : 0.0);
            const double larger = here > ends ? here : ends;
            running_top[i] = bound;
            if (lanes == 4) most[a] = larger > most[a] ? larger : most[a];
        }
    /* Of one lane each of four maxima looks at every fourth group. */
    for (ptrdiff_t g = 0; lanes == 1 && g < n_groups; g += 4)
        for (int v = 0; v < 4 && g + v < n_groups; v++) {
            const double end = at_end[g + v] > 0.0 ? at_end[g + v] : 0.0;
            const double ends = running_top[g + v] + end;
            const double larger = group_top[g + v] > ends ? group_top[g + v] : ends;
            most[v] = larger > most[v] ? larger : most[v];
        }
    for (int v = lanes; v < 4; v++) most[0] = most[v] > most[0] ? most[v] : most[0];
    for (int a = 0; a < lanes; a++) best[a] = most[a];
}

HOSEMI_COMPARING void hosemi_lane_keys(
    ptrdiff_t kind, ptrdiff_t n_groups, ptrdiff_t n_lengths, ptrdiff_t low,
    const double *opened_scale, const double *scale, const double *enter_scale,
    const double *opened_top, const double *enter_top, double *running_top, double *x,
    double *group_top, double *best
) {
    if (kind != HOSEMI_LOGS)
        HOSEMI_BY_KIND_AND_LENGTH(
            hosemi_keys_of, n_lengths, n_groups, low, opened_scale, scale, enter_scale,
            opened_top, enter_top, running_top, x, group_top, best
        );
}

/* Whether e^x is neither a normal number nor 0. */
#define HOSEMI_IS_OUT(x) \
    (((x) > HOSEMI_HIGHEST) | (((x) < HOSEMI_LOWEST) & ((x) > -INFINITY)))

/* From exponents to those relative to `scale`: -inf where an explicit segment is
   negligible beside the largest of its group. Returns whether e^x can be taken of all. */
HOSEMI_COMPARED int hosemi_settle_of(
    const int lanes, ptrdiff_t n_groups, ptrdiff_t low, double gap,
    const double *restrict scale, const double *restrict opened_top,
    const double *restrict group_top, double *restrict x, ptrdiff_t n_lengths
) {
    const ptrdiff_t n = lanes * n_groups;
    double bad[4] = {0};  /* 1 where e^x is out: to count is slow in four lanes */
    for (ptrdiff_t g = 0; g < n_groups; g++)
        for (ptrdiff_t i = n_lengths == 1 ? 0 : low; i < n_lengths; i++)
            HOSEMI_EACH_LANE {
                double *key = x + lanes * (g * n_lengths + i) + a;
                const double y = *key - scale[a];
                const double top =
                    *key + opened_top[n * (n_lengths == 1 ? 0 : i - low) + lanes * g + a];
                const double cut = group_top[lanes * g + a] - 70.0 - gap;
                const double z = top > cut ? y : -INFINITY;
                bad[a] = HOSEMI_IS_OUT(z) ? 1.0 : bad[a];
                *key = z;
            }
    x += n * n_lengths;
    for (int role = 0; role < 3; role++, x += n)
        for (ptrdiff_t g = 0; g < n_groups; g++)
            HOSEMI_EACH_LANE {
                const double z = x[lanes * g + a] - (role < 2 ? scale[a] : 0.0);
                bad[a] = HOSEMI_IS_OUT(z) ? 1.0 : bad[a];
                x[lanes * g + a] = z;
            }
    return bad[0] + bad[1] + bad[2] + bad[3] == 0.0;
}

HOSEMI_COMPARING int hosemi_lane_settle(
    ptrdiff_t kind, ptrdiff_t n_groups, ptrdiff_t n_lengths, ptrdiff_t low, double gap,
    const double *scale, const double *opened_top, const double *group_top, double *x
) {
#define HOSEMI_SETTLE(lanes, n)                                                     \
    hosemi_settle_of(lanes, n_groups, low, gap, scale, opened_top, group_top, x, n)
    if (kind == HOSEMI_FOUR)
        return n_lengths == 1 ? HOSEMI_SETTLE(4, 1) : HOSEMI_SETTLE(4, n_lengths);
    return n_lengths == 1 ? HOSEMI_SETTLE(1, 1) : HOSEMI_SETTLE(1, n_lengths);
}

/* largest[a] of the entries x[n][lanes], none of them negative. */
HOSEMI_COMPARED void hosemi_lane_largest_of(
    const int lanes, const double *x, ptrdiff_t n, double *largest
) {
    double best[4] = {0.0, 0.0, 0.0, 0.0};
    ptrdiff_t i = 0;
    if (lanes == 4) {
        for (; i < n; i++)
            HOSEMI_EACH_LANE {
                const double value = x[4 * i + a];
                best[a] = value > best[a] ? value : best[a];
            }
        for (int a = 0; a < 4; a++) largest[a] = best[a];
        return;
    }
    for (; i + 4 <= n; i += 4)
        for (int a = 0; a < 4; a++) best[a] = x[i + a] > best[a] ? x[i + a] : best[a];
    for (; i < n; i++) best[0] = x[i] > best[0] ? x[i] : best[0];
    for (int a = 1; a < 4; a++) best[0] = best[a] > best[0] ? best[a] : best[0];
    largest[0] = best[0];
}

/* A copy of x where what is less than its share of the largest entry of its group is 0;
   top[g] bounds the log of that entry, -inf if all are 0. */
HOSEMI_COMPARED void hosemi_bound_of(
    const int lanes, const int logs, const int32_t *restrict first, ptrdiff_t n_groups,
    double share, const double *restrict x, double *restrict y, double *restrict top
) {
    (void)logs;
    for (ptrdiff_t g = 0; g < n_groups; g++, top += lanes) {
        double largest[4], least[4];
        hosemi_lane_largest_of(lanes, x + lanes * first[g], first[g + 1] - first[g], largest);
        for (int a = 0; a < lanes; a++) least[a] = largest[a] * share;
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            HOSEMI_EACH_LANE {
                const double value = x[lanes * q + a];
                y[lanes * q + a] = value >= least[a] ? value : 0.0;
            }
        for (int a = 0; a < lanes; a++) top[a] = hosemi_top(largest[a]);
    }
}

HOSEMI_COMPARING void hosemi_lane_bound(
    ptrdiff_t kind, const int32_t *first, ptrdiff_t n_groups, double share,
    const double *x, double *y, double *top
) {
    if (kind != HOSEMI_LOGS)
        HOSEMI_BY_KIND(hosemi_bound_of, first, n_groups, share, x, y, top);
}

/* running[q] = keep[g] running[q] + enter[g] entering[q], as lane_bound leaves it;
   alpha[q] = sum_i here[g, i] opened[i][q] + at_end[g] running[q] for the rows of
   D - low starts. */
HOSEMI_COMPARED void hosemi_arrive_of(
    const int lanes, const int logs, const int32_t *restrict first, ptrdiff_t n_groups,
    ptrdiff_t low, double share, const double *restrict here,
    const double *restrict opened, ptrdiff_t stride, const double *restrict entering,
    double *restrict running, double *restrict running_top, double *restrict alpha,
    ptrdiff_t n_lengths
) {
    const double *restrict keep = here + lanes * n_groups * n_lengths;
    const double *restrict enter = keep + lanes * n_groups;
    const double *restrict at_end = enter + lanes * n_groups;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        double largest[4] = {0}, least[4];
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            HOSEMI_EACH_LANE {
                const ptrdiff_t i = lanes * q + a, j = lanes * g + a;
                const double value = hosemi_plus(
                    logs, hosemi_times(logs, keep[j], running[i]),
                    hosemi_times(logs, enter[j], entering[i])
                );
                if (!logs) largest[a] = value > largest[a] ? value : largest[a];
                running[i] = value;
            }
        for (int a = 0; a < lanes; a++) least[a] = logs ? -INFINITY : largest[a] * share;
        if (n_lengths > 1)
            for (ptrdiff_t i = low; i < n_lengths; i++)
                for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
                    HOSEMI_EACH_LANE {
                        const double term = hosemi_times(
                            logs, here[lanes * (g * n_lengths + i) + a],
                            opened[(i - low) * stride + lanes * q + a]
                        );
                        alpha[lanes * q + a] = i == low
                            ? term : hosemi_plus(logs, alpha[lanes * q + a], term);
                    }
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            HOSEMI_EACH_LANE {
                const ptrdiff_t i = lanes * q + a, j = lanes * g + a;
                const double value = running[i] >= least[a] ? running[i] : 0.0;
                const double before =
                    n_lengths > 1 ? alpha[i] : hosemi_times(logs, here[j], opened[i]);
                if (!logs) running[i] = value;
                alpha[i] = hosemi_plus(
                    logs, before, hosemi_times(logs, at_end[j], logs ? running[i] : value)
                );
            }
        if (!logs)
            for (int a = 0; a < lanes; a++)
                running_top[lanes * g + a] = hosemi_top(largest[a]);
    }
}

HOSEMI_COMPARING void hosemi_lane_arrive(
    ptrdiff_t kind, const int32_t *first, ptrdiff_t n_groups, ptrdiff_t n_lengths,
    ptrdiff_t low, double share, const double *weight, const double *opened,
    ptrdiff_t stride, const double *entering, double *running, double *running_top,
    double *alpha
) {
    HOSEMI_BY_KIND_AND_LENGTH(
        hosemi_arrive_of, n_lengths, first, n_groups, low, share, weight, opened, stride,
        entering, running, running_top, alpha
    );
}

/* B of boundary j - 1, and T[j], from beta[j] and the n rows of beta and of weights from j
   on, which lie beta_step and `step` apart:

     closing[q] = enter[j + D, g] T[j + D, q] + sum_d here[j - 1 + d, g, d] beta[j - 1 + d, q]
     rest[q]    = at_end[j, g] beta[j, q] + keep[j + 1, g] T[j + 1, q]

   `rest` has T[j + D] before, `after` has T[j + 1]; where D = 1 both are the same. With
   `opened`, what the states of each group have together of segments that start at the
   token, [G, lanes], and with `alpha` and `running` of those that end at j, and of those
   that go on over the token, having started before, [3 G, lanes]:

     sum_q opened[q] closing[q]   sum_q alpha[q] beta[q]   sum_q running[q] rest[q]  */
HOSEMI_INLINE void hosemi_leave_of(
    const int lanes, const int logs, const int counting, const int32_t *restrict first,
    ptrdiff_t n_groups, ptrdiff_t n, const double *restrict weight, ptrdiff_t step,
    const double *restrict beta, ptrdiff_t beta_step, const double *after, double *rest,
    double *restrict closing, const double *restrict opened,
    const double *restrict alpha, const double *restrict running,
    double *restrict counts, ptrdiff_t n_lengths
) {
    const ptrdiff_t at_keep = lanes * n_groups * n_lengths, size = lanes * n_groups;
    const double *restrict keep = weight + step + at_keep;
    const double *restrict enter = weight + n_lengths * step + at_keep + size;
    const double *restrict at_end = weight + at_keep + 2 * size;
    for (ptrdiff_t g = 0; g < n_groups; g++) {
        double start[4] = {0}, end[4] = {0}, on[4] = {0};
        const double *restrict here = weight + lanes * (g + 1) * n_lengths;
        if (n_lengths > 1) {
            for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
                HOSEMI_EACH_LANE closing[lanes * q + a] =
                    hosemi_times(logs, enter[lanes * g + a], rest[lanes * q + a]);
            for (ptrdiff_t d = n; d > 0; d--)
                for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
                    HOSEMI_EACH_LANE closing[lanes * q + a] = hosemi_plus(
                        logs, closing[lanes * q + a],
                        hosemi_times(
                            logs, here[(d - 1) * step - lanes * d + a],
                            beta[(d - 1) * beta_step + lanes * q + a]
                        )
                    );
        }
        for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
            HOSEMI_EACH_LANE {
                const ptrdiff_t i = lanes * q + a, j = lanes * g + a;
                const double next = n_lengths > 1 ? after[i] : rest[i];
                const double closed = n_lengths > 1 ? closing[i] : hosemi_plus(
                    logs, hosemi_times(logs, enter[j], rest[i]),
                    hosemi_times(logs, here[a - lanes], beta[i])
                );
                const double left = hosemi_plus(
                    logs, hosemi_times(logs, at_end[j], beta[i]),
                    hosemi_times(logs, keep[j], next)
                );
                closing[i] = closed;
                rest[i] = left;
                if (counting) start[a] += hosemi_joint(logs, opened[i], closed);
                if (counting == 2) {
                    end[a] += hosemi_joint(logs, alpha[i], beta[i]);
                    on[a] += hosemi_joint(logs, running[i], left);
                }
            }
        if (counting) HOSEMI_EACH_LANE counts[lanes * g + a] = start[a];
        if (counting == 2)
            HOSEMI_EACH_LANE {
                counts[size + lanes * g + a] = end[a];
                counts[2 * size + lanes * g + a] = on[a];
            }
    }
}

#define HOSEMI_LEAVE(lanes, logs, ...) hosemi_leave_of(lanes, logs, 0, __VA_ARGS__)
#define HOSEMI_LEAVE_STARTS(lanes, logs, ...) hosemi_leave_of(lanes, logs, 1, __VA_ARGS__)
#define HOSEMI_LEAVE_COUNTING(lanes, logs, ...) hosemi_leave_of(lanes, logs, 2, __VA_ARGS__)

HOSEMI_KERNEL void hosemi_lane_leave(
    ptrdiff_t kind, const int32_t *first, ptrdiff_t n_groups, ptrdiff_t n_lengths,
    ptrdiff_t n, const double *weight, ptrdiff_t step, const double *beta,
    ptrdiff_t beta_step, const double *after, double *rest, double *closing,
    const double *opened, const double *alpha, const double *running, double *counts
) {
    if (counts == NULL)
        HOSEMI_BY_KIND_AND_LENGTH(
            HOSEMI_LEAVE, n_lengths, first, n_groups, n, weight, step, beta, beta_step,
            after, rest, closing, NULL, NULL, NULL, NULL
        );
    else if (alpha == NULL)
        HOSEMI_BY_KIND_AND_LENGTH(
            HOSEMI_LEAVE_STARTS, n_lengths, first, n_groups, n, weight, step, beta,
            beta_step, after, rest, closing, opened, NULL, NULL, counts
        );
    else
        HOSEMI_BY_KIND_AND_LENGTH(
            HOSEMI_LEAVE_COUNTING, n_lengths, first, n_groups, n, weight, step, beta,
            beta_step, after, rest, closing, opened, alpha, running, counts
        );
}

/* count[k] += x[node[k]] y[target[k]], in logs times weight[k], which else may be NULL */
HOSEMI_INLINE void hosemi_count_arcs_of(
    const int lanes, const int logs, const int32_t *restrict node,
    const int32_t *restrict target, ptrdiff_t n_arcs, const double *restrict x,
    const double *restrict y, const double *restrict weight, double *restrict count
) {
    if (weight == NULL)
        for (ptrdiff_t k = 0; k < n_arcs; k++, count += lanes) {
            const double *restrict from = x + lanes * (ptrdiff_t)node[k];
            const double *restrict to = y + lanes * (ptrdiff_t)target[k];
            HOSEMI_EACH_LANE count[a] += from[a] * to[a];
        }
    else
        for (ptrdiff_t k = 0; k < n_arcs; k++, count += lanes) {
            const double *restrict from = x + lanes * (ptrdiff_t)node[k];
            const double *restrict to = y + lanes * (ptrdiff_t)target[k];
            HOSEMI_EACH_LANE count[a] +=
                hosemi_joint(logs, hosemi_times(logs, from[a], weight[k]), to[a]);
        }
}

HOSEMI_KERNEL void hosemi_lane_count_arcs(
    ptrdiff_t kind, const int32_t *node, const int32_t *target, ptrdiff_t n_arcs,
    const double *x, const double *y, const double *weight, double *count
) {
    HOSEMI_BY_KIND(hosemi_count_arcs_of, node, target, n_arcs, x, y, weight, count);
}

/* prob[g, i] = w[g, i] sum_q rows[i][q] in[q] for n of `step` numbers of each group;
   without w all of it is 1, or its log. */
HOSEMI_INLINE void hosemi_pair_of(
    const int lanes, const int logs, const int32_t *restrict first, ptrdiff_t n_groups,
    const double *w, ptrdiff_t step, const double *restrict in, ptrdiff_t n,
    const double *restrict rows, ptrdiff_t stride, double *restrict prob
) {
    for (ptrdiff_t g = 0; g < n_groups; g++)
        for (ptrdiff_t i = 0; i < n; i++) {
            const ptrdiff_t at = lanes * (g * step + i);
            const double *row = rows + i * stride;
            double sum[4] = {0};
            for (ptrdiff_t q = first[g]; q < first[g + 1]; q++)
                HOSEMI_EACH_LANE {
                    const double x = row[lanes * q + a];
                    const double y = logs && w != NULL ? x + w[at + a] : x;
                    sum[a] += hosemi_joint(logs, y, in[lanes * q + a]);
                }
            HOSEMI_EACH_LANE prob[at + a] =
                logs || w == NULL ? sum[a] : w[at + a] * sum[a];
        }
}

HOSEMI_KERNEL void hosemi_lane_pair(
    ptrdiff_t kind, const int32_t *first, ptrdiff_t n_groups, const double *w,
    ptrdiff_t step, const double *in, ptrdiff_t n, const double *rows, ptrdiff_t stride,
    double *prob
) {
    HOSEMI_BY_KIND(
        hosemi_pair_of, first, n_groups, w, step, in, n, rows, stride, prob
    );
}

/* y[q] += weight x[q] for n states of one lane, which lie x_step and y_step apart */
HOSEMI_KERNEL void hosemi_lane_add(
    int logs, ptrdiff_t n, double weight, const double *restrict x, ptrdiff_t x_step,
    double *restrict y, ptrdiff_t y_step
) {
    if (logs)
        for (ptrdiff_t q = 0; q < n; q++)
            y[q * y_step] = hosemi_log_add(y[q * y_step], weight + x[q * x_step]);
    else if (x_step == 1 && y_step == 1)
        for (ptrdiff_t q = 0; q < n; q++) y[q] += weight * x[q];
    else
        for (ptrdiff_t q = 0; q < n; q++) y[q * y_step] += weight * x[q * x_step];
}

/* weight sum_q x[q] y[q], a probability, for n states that lie `step` apart */
HOSEMI_KERNEL double hosemi_lane_product(
    int logs, ptrdiff_t n, double weight, const double *x, const double *y, ptrdiff_t step
) {
    double total = 0.0;
    for (ptrdiff_t i = 0; i < n * step; i += step)
        total += logs ? exp(x[i] + weight + y[i]) : x[i] * y[i];
    return logs ? total : weight * total;
}

#endif
