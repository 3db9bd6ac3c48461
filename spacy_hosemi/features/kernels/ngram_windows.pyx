"""Bags of elements, and the windows of a sequence of elements that resemble them.

A bag is a multiset of 64-bit numbers: words, or n-grams of characters. A window of size
m that has o elements in common with a bag of size s resembles it by

    jaccard    o / (s + m - o)
    cosine     o / sqrt(s m)
    edit       whether two texts of lengths s and m, whose 3-grams these are, can be
               (1 - threshold) max(s, m) edits apart or less: each edit changes three
               of max(s, m) 3-grams at most, so o >= max(s, m) - 3 edits

All windows with at least the threshold are found, exactly. Such a window has at least
`least` elements in common with the bag, and so at least `hits` of any s - least + hits
elements of the bag. Only its rarest elements, this many, point to the bag (prefix
filter: Bayardo, Ma and Srikant 2007; with more than one hit: Wang, Li and Feng 2012).
hits = least / 2 took the least time on names: with 1 hit many bags are compared in
vain, with `least` hits frequent elements point to all bags.

A list and a text of the same few words again and again have no rare elements, and as
many pairs as bags times windows. So that they cost no more than other texts of their
length, no more is done than `most` steps; what is left then is not compared, which a
warning says.
"""

import warnings

import numpy as np

from libc.math cimport floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from ...core.simd.simd cimport mix
from .key_table cimport RowTable
from ...errors import Warnings

cdef enum:
    JACCARD
    COSINE
    EDIT

MEASURES = ("jaccard", "cosine", "edit")

# The n of the n-grams: an edit changes this many elements of a window.
GRAM = 3

# Steps for each element of a sequence, and for any sequence: with the lowest thresholds
# that make sense, texts take 10,000 for each. A step takes 5 to 20 ns.
STEPS_EACH, STEPS = 20_000, 10_000_000

# How often elements may point to bags, for each and for any sequence: 4 bytes a time.
HITS_EACH, HITS = 5_000, 10_000_000

# Pairs for each element where all pairs are asked for, and for any sequence.
PAIRS_EACH, PAIRS = 100, 100_000

# Tolerance for rounding in bounds; similarities are compared exactly.
_EPSILON = 1e-9


cdef class BagIndex:
    """Has bags, and the bags that each element points to; any number of threads may
    `find`. Elements first[e]:first[e + 1], uint64, belong to bag e; measure: one of
    MEASURES; threshold: above 0, for "edit" above 1 - 1 / GRAM."""

    cdef RowTable _table
    cdef int _measure
    cdef double _threshold
    cdef object _bags, _postings, _bounds

    def __init__(self, elements, first, measure, double threshold):
        self._measure = MEASURES.index(measure)
        self._threshold = threshold
        keys, inverse, counts = np.unique(
            _mixed(elements), return_inverse=True, return_counts=True
        )
        rarest = np.argsort(counts, kind="stable")
        rank = np.empty(len(keys), np.uint64)
        rank[rarest] = np.arange(len(keys), dtype=np.uint64)
        self._table = RowTable(keys[rarest])
        # Pairs of 32-bit numbers are sorted as 64-bit numbers: ten times faster.
        sizes = np.diff(first)
        owner = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
        pairs = np.sort(owner << np.uint64(32) | rank[inverse.reshape(-1)])
        ranks = pairs.astype(np.uint32)
        self._bags = np.asarray(first, np.int64), ranks.view(np.int32)
        least, shortest, longest = self._limits(sizes)
        hits = (least + 1) // 2
        self._bounds = hits.astype(np.int32), shortest, longest
        place = np.arange(len(ranks)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        points = place < np.repeat(sizes - least + hits, sizes)
        by_element = ranks[points].astype(np.uint64) << np.uint64(32)
        pairs = np.sort(by_element | owner[points])
        of_element = np.searchsorted(pairs >> np.uint64(32), np.arange(len(keys) + 1))
        self._postings = of_element.astype(np.int64), pairs.astype(np.uint32).view("i4")

    @property
    def nbytes(self):
        """Returns the memory of the arrays, in bytes."""
        arrays = *self._bags, *self._postings, *self._bounds, self._table.keys
        return sum(array.nbytes for array in arrays)

    def _limits(self, sizes):
        """Returns for each bag the least overlap, and the least and largest size of
        windows."""
        t = self._threshold
        ratio = t * t if self._measure == COSINE else t
        share = 1 - GRAM * (1 - t) if self._measure == EDIT else ratio
        least = np.ceil(share * sizes - _EPSILON)
        shortest = np.ceil(ratio * sizes - _EPSILON)
        longest = np.floor(np.minimum(sizes / ratio + _EPSILON, 2.0**31 - 1))
        least = np.minimum(np.maximum(least, 1), sizes).astype(np.int64)
        return least, shortest.astype(np.int32), longest.astype(np.int32)

    def find(
        self,
        const uint64_t[::1] elements,      # IN  [M]
        const int32_t[::1] begin,       # IN  [W] first element of a window from word w
        const int32_t[::1] end,         # IN  [W] after the last element of one to w
        const uint8_t[::1] begins,      # IN  [W] whether a window may begin with word w
        const uint8_t[::1] ends,        # IN  [W] .. and end with it
        bint only_best=False,
    ):
        """Returns windows of words and the bag that each resembles: start and end in
        words, half-open, bag, all int32 [K], and similarity (for "edit" 1.0).
        only_best: of each window the most similar bag, of equals the first; else all,
        up to 100 for each element and 100,000. Warns HSW102 if not all are compared."""
        most = STEPS + STEPS_EACH * elements.shape[0]
        rows = self._table.find(_mixed(elements))
        pointing = _within(
            rows, self._postings[0], HITS + HITS_EACH * elements.shape[0]
        )
        hits, shortest, longest = self._bounds
        bags, first_hit, place = _find_hits(pointing, *self._postings, hits)
        word = np.searchsorted(begin, np.arange(elements.shape[0]), "right") - 1
        n_most = PAIRS + PAIRS_EACH * elements.shape[0]
        n_words, capacity, n_found = begin.shape[0], 128, 1025
        while n_found > capacity:
            capacity = 8 * capacity
            if not only_best:
                capacity = min(capacity, n_most)
            places = np.zeros((3, 1 if only_best else capacity), np.int32)
            best = np.zeros(capacity if only_best else 0, np.int32)
            rows_of_best = np.zeros((2, n_words if only_best else 0), np.int32)
            similarity = np.empty(capacity)
            unmatched = np.zeros(self._postings[0].shape[0], np.int32)
            n_steps = np.zeros(1, np.int64)
            n_found = _find_windows(
                rows, word.astype(np.int32), begin, end, begins, ends,
                bags, first_hit, place, hits, shortest, longest, *self._bags,
                self._measure, self._threshold, only_best, most, n_most,
                unmatched, places, similarity, best, rows_of_best, n_steps,
            )
            if capacity == n_most and n_found > capacity:
                n_found = capacity
        if n_steps[0] > most or pointing is not rows:
            warnings.warn(Warnings.HSW102.format(n=len(hits), most=STEPS_EACH))
        if not only_best:
            return *(places[:, :n_found].copy()), similarity[:n_found]
        at, size = rows_of_best
        start = np.repeat(np.arange(n_words, dtype=np.int32), size)
        after = np.arange(len(start)) - np.repeat(np.cumsum(size) - size, size)
        slot = np.repeat(at, size) + after
        is_there = best[slot] > 0
        start, slot = start[is_there], slot[is_there]
        end_ = start + after[is_there].astype(np.int32) + np.int32(1)
        return start, end_, best[slot] - np.int32(1), similarity[slot]


def _mixed(const uint64_t[::1] elements):
    """Returns hashes of the elements, uint64 [M], which vary in all bits."""
    mixed = np.empty(elements.shape[0], np.uint64)
    cdef uint64_t[::1] mixed_ = mixed
    cdef Py_ssize_t m
    with nogil:
        for m in range(elements.shape[0]):
            mixed_[m] = mix(0, elements[m])
    return mixed


def _within(rows, first, most):
    """Returns the elements of a sequence, int32 [M]; -1 where those that point to fewer
    bags, and equal ones before, already point to the most that there may be."""
    n_bags = np.where(rows >= 0, first[rows + 1] - first[rows], 0)
    if n_bags.sum() <= most:
        return rows
    order = np.argsort(n_bags, kind="stable")
    pointing = rows.copy()
    pointing[order[np.cumsum(n_bags[order]) > most]] = -1
    return pointing


def _find_hits(
    const int32_t[::1] rows,        # IN  [M] elements of the sequence; -1: in no bag
    const int64_t[::1] first,       # IN  [U + 1]
    const int32_t[::1] posting,     # IN  [P] element u points to first[u]:first[u + 1]
    const int32_t[::1] hits,        # IN  [E] how often elements must point to a bag
):
    """Lists the B bags that enough elements point to, where the positions of the
    elements that point to bag b are place[first_hit[b]:first_hit[b + 1]], ascending."""
    cdef Py_ssize_t n_bags = hits.shape[0], n_total = 0, n = 0, m, k, b
    for m in range(rows.shape[0]):
        if rows[m] >= 0:
            n_total += first[rows[m] + 1] - first[rows[m]]
    count = np.zeros(n_bags, np.int32)
    bags = np.empty(min(n_bags, n_total), np.int32)
    cdef int32_t[::1] count_ = count, bags_ = bags
    with nogil:
        for m in range(rows.shape[0]):
            if rows[m] < 0:
                continue
            for k in range(first[rows[m]], first[rows[m] + 1]):
                b = posting[k]
                count_[b] += 1
                if count_[b] == hits[b]:
                    bags_[n] = b
                    n += 1
    bags = bags[:n]
    first_hit = np.zeros(n + 1, np.int64)
    np.cumsum(count[bags], out=first_hit[1:])
    place = np.empty(first_hit[n], np.int32)
    # `slot` is the index of the next place of a bag; -1: too few elements point to it.
    slot = np.full(n_bags, -1, np.int64)
    slot[bags] = first_hit[:n]
    cdef int64_t[::1] slot_ = slot
    cdef int32_t[::1] place_ = place
    with nogil:
        for m in range(rows.shape[0] if n else 0):
            if rows[m] < 0:
                continue
            for k in range(first[rows[m]], first[rows[m] + 1]):
                b = posting[k]
                if slot_[b] >= 0:
                    place_[slot_[b]] = m
                    slot_[b] += 1
    return bags, first_hit, place


def _find_windows(
    const int32_t[::1] rows,        # IN  [M]
    const int32_t[::1] word,        # IN  [M] the last word that begins at m or before
    const int32_t[::1] begin,       # IN  [W]
    const int32_t[::1] end,         # IN  [W]
    const uint8_t[::1] begins,      # IN  [W]
    const uint8_t[::1] ends,        # IN  [W]
    const int32_t[::1] bags,        # IN  [B]
    const int64_t[::1] first_hit,   # IN  [B + 1]
    const int32_t[::1] place,       # IN  [H]
    const int32_t[::1] hits,        # IN  [E]
    const int32_t[::1] shortest,    # IN  [E]
    const int32_t[::1] longest,     # IN  [E]
    const int64_t[::1] first,       # IN  [E + 1]
    const int32_t[::1] elements,       # IN  [T]
    int measure,
    double threshold,
    bint only_best,
    int64_t most,                   # steps
    Py_ssize_t n_most,              # pairs
    int32_t[::1] unmatched,         # work [U + 1] zeros
    int32_t[:, ::1] spans,          # OUT [3, capacity] start, end, bag of each pair
    double[::1] similarity,         # OUT [capacity] of each pair, or each slot
    int32_t[::1] best,              # OUT [capacity] zeros: the bag + 1 of each slot
    int32_t[:, ::1] rows_of_best,   # OUT [2, W] zeros: the first slot of the windows
                                    # that begin with a word, and how many there are
    int64_t[::1] steps,             # OUT [1] that were done; above `most`: not all
):
    """Returns the number of pairs, or of slots; beyond the capacity none is written,
    and slots are not counted to the end."""
    cdef Py_ssize_t n_found = 0, n_words = begin.shape[0]
    cdef Py_ssize_t b, e, h, t, k, w, at, size, overlap, before, slot
    cdef Py_ssize_t capacity = similarity.shape[0]
    cdef int64_t n_steps = 0
    cdef double score
    with nogil:
        for b in range(bags.shape[0]):
            e = bags[b]
            if n_steps > most:
                break
            n_steps += first[e + 1] - first[e]
            for t in range(first[e], first[e + 1]):
                unmatched[elements[t]] += 1
            size = first[e + 1] - first[e]
            before = -1
            for h in range(first_hit[b], first_hit[b + 1] - hits[e] + 1):
                # Windows whose first hit is this one: each window is compared once.
                if (
                    place[h] == before
                    or place[h + hits[e] - 1] - place[h] >= longest[e]
                ):
                    before = place[h]
                    continue
                k = word[place[h]]
                while k >= 0 and begin[k] > before and n_steps <= most:
                    n_steps += 1
                    if begin[k] <= place[h] - longest[e]:
                        break
                    if not begins[k]:
                        k -= 1
                        continue
                    at, overlap = begin[k], 0
                    for w in range(k, n_words):
                        if end[w] - begin[k] > longest[e]:
                            break
                        while at < end[w]:
                            if rows[at] >= 0:
                                overlap += unmatched[rows[at]] > 0
                                unmatched[rows[at]] -= 1
                            at += 1
                        n_steps += 1
                        if not ends[w] or at - begin[k] < shortest[e]:
                            continue
                        score = _similarity(
                            measure, threshold, overlap, size, at - begin[k]
                        )
                        if not score >= threshold:
                            continue
                        if not only_best:
                            if n_found == n_most:
                                n_steps = most + 1
                            if n_found < capacity:
                                spans[0, n_found], spans[1, n_found] = k, w + 1
                                spans[2, n_found], similarity[n_found] = e, score
                            n_found += 1
                            continue
                        if w - k >= rows_of_best[1, k]:
                            n_found = _enlarge(
                                rows_of_best, best, similarity, k, w - k, n_found
                            )
                            if n_found > capacity:
                                with gil:
                                    return n_found
                        slot = rows_of_best[0, k] + w - k
                        if not best[slot] or similarity[slot] < score or (
                            similarity[slot] == score and best[slot] > e + 1
                        ):
                            best[slot], similarity[slot] = e + 1, score
                    while at > begin[k]:
                        at -= 1
                        if rows[at] >= 0:
                            unmatched[rows[at]] += 1
                    k -= 1
                before = place[h]
            for t in range(first[e], first[e + 1]):
                unmatched[elements[t]] -= 1
    steps[0] = n_steps
    return n_found


cdef Py_ssize_t _enlarge(
    int32_t[:, ::1] rows_of_best,
    int32_t[::1] best,
    double[::1] similarity,
    Py_ssize_t k,
    Py_ssize_t length,
    Py_ssize_t n_slots,
) noexcept nogil:
    """Makes room for longer windows from a word; returns the number of slots, or more
    than there are."""
    cdef Py_ssize_t i, old = rows_of_best[0, k], size = 2 * length + 2
    if n_slots + size > best.shape[0]:
        return best.shape[0] + 1
    for i in range(rows_of_best[1, k]):
        best[n_slots + i], similarity[n_slots + i] = best[old + i], similarity[old + i]
    rows_of_best[0, k], rows_of_best[1, k] = n_slots, size
    return n_slots + size


cdef double _similarity(
    int measure,
    double threshold,
    Py_ssize_t overlap,
    Py_ssize_t size,
    Py_ssize_t window,
) noexcept nogil:
    cdef double larger = max(size, window)
    if measure == JACCARD:
        return <double>overlap / (size + window - overlap)
    if measure == COSINE:
        return overlap / sqrt(<double>size * window)
    return overlap >= larger - 3 * floor((1 - threshold) * larger + 1e-9)
