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
"""

import numpy as np

from libc.math cimport floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from ...core.simd.simd cimport mix
from .key_table cimport RowTable

cdef enum:
    JACCARD
    COSINE
    EDIT

MEASURES = ("jaccard", "cosine", "edit")

# The n of the n-grams: an edit changes this many elements of a window.
GRAM = 3

# Tolerance for rounding in bounds; similarities are compared exactly.
_EPSILON = 1e-9


cdef class BagIndex:
    """Bags, and the bags that each element points to. Any number of threads may `find`.

    elements (uint64 [T]): The elements of concatenated bags.
    first (int64 [E + 1]): Elements first[e]:first[e + 1] belong to bag e.
    measure (str): "jaccard", "cosine" or "edit".
    threshold (float): The least similarity; above 0, for "edit" above 1 - 1 / GRAM.
    """

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
        """Memory of the arrays, in bytes."""
        arrays = *self._bags, *self._postings, *self._bounds, self._table.keys
        return sum(array.nbytes for array in arrays)

    def _limits(self, sizes):
        """For each bag the least overlap, and the least and largest size of windows."""
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
    ):
        """All pairs of a window of words and a bag that it resembles.

        RETURNS (Tuple[int32 [K], int32 [K], int32 [K], float64 [K]]): Start and end in
            words, half-open, the bag, and the similarity (for "edit" 1.0).
        """
        rows = self._table.find(_mixed(elements))
        hits, shortest, longest = self._bounds
        bags, first_hit, place = _find_hits(rows, *self._postings, hits)
        word = np.searchsorted(begin, np.arange(elements.shape[0]), "right") - 1
        left = np.zeros(self._postings[0].shape[0], np.int32)
        capacity, n_found = 1024, 1025
        while n_found > capacity:
            capacity = max(capacity, n_found)
            spans = np.empty((3, capacity), np.int32)
            similarity = np.empty(capacity)
            n_found = _find_windows(
                rows, word.astype(np.int32), begin, end, begins, ends,
                bags, first_hit, place, hits, shortest, longest, *self._bags,
                self._measure, self._threshold, left, spans, similarity,
            )
        return *(spans[:, :n_found].copy()), similarity[:n_found]


def _mixed(const uint64_t[::1] elements):
    """RETURNS (uint64 [M]): Hashes of the elements, which vary in all bits."""
    mixed = np.empty(elements.shape[0], np.uint64)
    cdef uint64_t[::1] mixed_ = mixed
    cdef Py_ssize_t m
    with nogil:
        for m in range(elements.shape[0]):
            mixed_[m] = mix(0, elements[m])
    return mixed


def _find_hits(
    const int32_t[::1] rows,        # IN  [M] elements of the sequence; -1: in no bag
    const int64_t[::1] first,       # IN  [U + 1]
    const int32_t[::1] posting,     # IN  [P] element u points to first[u]:first[u + 1]
    const int32_t[::1] hits,        # IN  [E] how often elements must point to a bag
):
    """Bags that enough elements point to, and the places of these elements.

    RETURNS (Tuple[int32 [B], int64 [B + 1], int32]): The bags, and the places of the
        elements that point to each, ascending.
    """
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
    int32_t[::1] left,              # work [U + 1] zeros
    int32_t[:, ::1] spans,          # OUT [3, capacity] start, end, bag
    double[::1] similarity,         # OUT [capacity]
):
    """RETURNS (int): The number of windows; beyond the capacity none is written."""
    cdef Py_ssize_t n_found = 0, n_words = begin.shape[0]
    cdef Py_ssize_t b, e, h, t, k, w, at, size, overlap, before
    cdef double found
    with nogil:
        for b in range(bags.shape[0]):
            e = bags[b]
            for t in range(first[e], first[e + 1]):
                left[elements[t]] += 1
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
                while k >= 0 and begin[k] > before:
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
                                overlap += left[rows[at]] > 0
                                left[rows[at]] -= 1
                            at += 1
                        if not ends[w] or at - begin[k] < shortest[e]:
                            continue
                        found = _similarity(
                            measure, threshold, overlap, size, at - begin[k]
                        )
                        if found >= threshold:
                            if n_found < similarity.shape[0]:
                                spans[0, n_found] = k
                                spans[1, n_found] = w + 1
                                spans[2, n_found] = e
                                similarity[n_found] = found
                            n_found += 1
                    while at > begin[k]:
                        at -= 1
                        if rows[at] >= 0:
                            left[rows[at]] += 1
                    k -= 1
                before = place[h]
            for t in range(first[e], first[e + 1]):
                left[elements[t]] -= 1
    return n_found


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
