"""Scores of tokens for prediction, with the scores of each word computed once.

    score[r, i] = sum of of_words[word of token i + offset] over the blocks of role r
                  and their offsets
                + weights of the other templates of role r

A block is the sum over all templates of one role and offset that read attributes of
words alone. It is computed once for each word.

Weights and scores of words are in single precision, as in saved models, because reading
them from memory takes most of the time. Sums are in double precision.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ...core.simd cimport simd as kernels
from ...core.parallel.tasks cimport Task
from ...core.simd.simd cimport mix, prefetch
from ...features.kernels.key_table cimport RowTable, find_weights, may_have, mix_all

cdef extern from *:
    """
    #include "simd.h"

    #if defined(__GNUC__)
    /* An array of sums would be kept in memory. */
    typedef double hosemi_four __attribute__((vector_size(32)));
    typedef float hosemi_four_single __attribute__((vector_size(16)));
    #define HOSEMI_SIX(DO) DO(a, 0) DO(b, 4) DO(c, 8) DO(d, 12) DO(e, 16) DO(f, 20)
    #define HOSEMI_GET(s, q) \
        if (q < width) s = (hosemi_four){x[q], x[q + 1], x[q + 2], x[q + 3]};
    #define HOSEMI_ADD(s, q) \
        if (q < width) s += (hosemi_four){x[q], x[q + 1], x[q + 2], x[q + 3]};
    #define HOSEMI_PUT(s, q)                                                     \
        if (q < width && singles) {                                              \
            const hosemi_four_single z =                                         \
                __builtin_convertvector(s, hosemi_four_single);                  \
            memcpy(singles + i + q, &z, sizeof z);                               \
        } else if (q < width) memcpy(sums + i + q, &s, sizeof s);
    #endif

    /* Writes the sums of the columns i .. i + width - 1 of rows. */
    HOSEMI_INLINE void hosemi_sum_columns(
        const float *const *rows, ptrdiff_t n_rows, ptrdiff_t i, const int width,
        double *sums, float *singles
    ) {
    #if defined(__GNUC__)
        if (width > 1 && n_rows > 0) {
            const float *x = rows[0] + i;
            hosemi_four a, b, c, d, e, f;
            HOSEMI_SIX(HOSEMI_GET)
            for (ptrdiff_t k = 1; k < n_rows; k++) {
                x = rows[k] + i;
                HOSEMI_SIX(HOSEMI_ADD)
            }
            HOSEMI_SIX(HOSEMI_PUT)
            return;
        }
    #endif
        for (ptrdiff_t m = i; m < i + width; m++) {
            double sum = 0.0;
            for (ptrdiff_t k = 0; k < n_rows; k++) sum += rows[k][m];
            if (singles) singles[m] = (float)sum;
            else sums[m] = sum;
        }
    }

    #define HOSEMI_SUM(at, width)                                               \
        {                                                                       \
            hosemi_sum_columns(rows + k, ends[b] - k, at, width, sums, singles);\
            i += width;                                                         \
        }

    HOSEMI_KERNEL void hosemi_sum_rows(
        const float *const *rows, const int32_t *ends, ptrdiff_t n_blocks, ptrdiff_t n,
        double *sums, ptrdiff_t step, float *singles
    ) {
        for (ptrdiff_t b = 0, k = 0; b < n_blocks; k = ends[b++]) {
            for (ptrdiff_t i = 0; i < n;) {
                if (i + 24 <= n) HOSEMI_SUM(i, 24)
                else if (i + 16 <= n) HOSEMI_SUM(i, 16)
                else if (n >= 8) HOSEMI_SUM(i + 8 <= n ? i : n - 8, 8)
                else if (n >= 4) HOSEMI_SUM(i + 4 <= n ? i : n - 4, 4)
                else HOSEMI_SUM(i, 1)
            }
            if (singles) singles += n;
            else sums += step;
        }
    }
    """
    # Of each block, from 0 on, the sums of n columns of its rows, which go up to its
    # end, from the left. They are `step` apart or, if singles are asked for, n.
    void _sum_rows "hosemi_sum_rows"(
        const float* const* rows, const int32_t* ends, Py_ssize_t n_blocks,
        Py_ssize_t n, double* sums, Py_ssize_t step, float* singles
    ) nogil

cdef enum:
    N_AHEAD = 4  # size of a ring buffer for three tokens: a power of 2
    N_VALUES = 128  # more than any value of an attribute that reads a list


cdef struct Space:          # for one thread that sums scores of tokens
    uint64_t* keys          # [N_AHEAD, T] by token: those that may be known
    int32_t* rows           # [N_AHEAD, T] those that are
    int32_t* ends           # [N_AHEAD, roles] where those of each role end
    const float** summed    # [N_AHEAD, P + T] of blocks and, of L weights each, rows
    int32_t* bounds         # [N_AHEAD, roles] where these end
    int32_t* places         # [atoms] of a value, seen from those of the token
    uint64_t* values        # [atoms] of one token near a border, ..
    int32_t* numbers        # [atoms] .. where they stand in order: 0, 1, ..
    uint64_t* every         # [T] keys of one token, known or not, as atoms are sorted
    double* sums            # [roles, L] of a word
    Py_ssize_t n_summed     # P + T


cdef class BlockScores:
    """Where the scores of words are added.

    borders (float32 [2, B, L]): Of each block, before and after the document.
    roles, offsets, blocks (int32 [P]): The block blocks[p] of the word at this offset
        is added in this role. A block of a bag is added at several offsets.
    """

    # Memory views are made once: that takes most of the time of a short document.
    cdef const float[:, :, ::1] _borders
    cdef const int32_t[::1] _first, _offsets, _blocks   # [roles + 1] and [P] by role
    cdef Py_ssize_t _reach

    def __init__(self, borders, roles, offsets, blocks, n_roles):
        # Word by word in each role.
        order = np.lexsort((offsets, roles))
        self._borders, self._first = borders, _by_role(roles[order], n_roles)
        self._offsets, self._blocks = offsets[order], blocks[order]
        self._reach = np.abs(offsets).max(initial=0)

    cdef void list_rows(
        self,
        Py_ssize_t i,
        Py_ssize_t start,                   # of its document
        Py_ssize_t end,
        const int32_t[::1] words,           # IN  [n]
        const float[:, :, :] of_words,      # IN  [K, B, L] of each word
        Space* space,
    ) noexcept nogil:
        """Lists the scores of words that are added at token i, before its rows."""
        cdef Py_ssize_t r, p, at, n_roles = self._first.shape[0] - 1
        cdef bint is_inside = i - start >= self._reach and end - i > self._reach
        cdef const int32_t* bounds = space.bounds + i % N_AHEAD * n_roles
        cdef const float** summed = space.summed + i % N_AHEAD * space.n_summed
        cdef const float** x = summed
        for r in range(n_roles):
            for p in range(self._first[r], self._first[r + 1]):
                at = i + self._offsets[p]
                if is_inside or start <= at < end:
                    x[0] = &of_words[words[at], self._blocks[p], 0]
                else:
                    x[0] = &self._borders[at >= end, self._blocks[p], 0]
                prefetch(x[0])
                prefetch(x[0] + self._borders.shape[2] - 1)
                x += 1
            x = summed + bounds[r]


cdef class TemplateScores:
    """T templates and the weights of their features."""

    # Templates with many atoms come first: first atoms of all, then second ones, ..
    cdef const uint64_t[::1] _seeds
    cdef const int32_t[::1] _columns, _offsets  # [atoms] as for `template_keys`
    cdef const int32_t[::1] _sizes              # how many first, second .. atoms
    cdef const int32_t[::1] _order              # [T] where those of each role are
    cdef const int32_t[::1] _first              # [roles + 1] .. the first of these
    cdef Py_ssize_t _reach
    cdef RowTable _table
    cdef const int32_t[::1] _first_weight       # [R + 1], or [0]: each row has L
    cdef const int32_t[::1] _labels             # [N] of each weight, or [0]
    cdef const float[::1] _weights              # [N] row by row

    def __init__(
        self, seeds, first_atom, columns, offsets, roles, n_roles, RowTable table,
        first_weight, labels, weights
    ):
        sizes, by_role = np.diff(first_atom), np.argsort(roles, kind="stable")
        order = np.argsort(-sizes, kind="stable")
        rounds = range(sizes.max(initial=0))
        atoms = [first_atom[order[sizes[order] > k]] + k for k in rounds]
        at = np.concatenate([np.zeros(0, np.intp), *atoms])
        self._columns, self._offsets = columns[at], offsets[at]
        self._seeds, self._first = seeds[order], _by_role(roles[by_role], n_roles)
        self._sizes = np.array([*map(len, atoms)], np.int32)
        self._order = np.argsort(order)[by_role].astype(np.int32)
        self._reach = np.abs(offsets).max(initial=0)
        self._table = table
        self._first_weight, self._labels = first_weight, labels
        self._weights = weights

    def of_words(
        self,
        const uint64_t[:, ::1] values,      # IN  [K, A] as for `template_keys`
        float[:, :, :] scores,              # OUT [K, B, L] each word in one piece
        const double[:, :, ::1] more=None,  # IN  [K, M, L] for some blocks
        const int32_t[::1] blocks=None,     # IN  [M] which these are
    ):
        """Computes the scores of the blocks of words, which are the roles here; `more`
        is added. Templates read the word itself alone."""
        cdef Py_ssize_t i, k, y, n = values.shape[0], n_labels = scores.shape[2]
        cdef Py_ssize_t n_sums = scores.shape[1] * n_labels
        cdef Space space = _make_space(self, None, scores.shape[1], n_labels)
        cdef bint has_any = self._begin(values.shape[1], &space)
        cdef bint is_single = more is None and self._first_weight.shape[0] == 0
        cdef float* of_word
        with nogil:
            for i in range(n + 2 if n_sums else 0):
                if has_any and i < n:
                    self._list_keys(&values[i, 0], i, i, i + 1, &space)
                if has_any and 0 < i <= n:
                    self._find_rows(i - 1, n_labels, None, &space)
                if i < 2:
                    continue
                of_word = &scores[i - 2, 0, 0]
                self._sum(
                    i - 2, n_labels, &space, space.sums, n_labels,
                    of_word if is_single else NULL,
                )
                if is_single:
                    continue
                for k in range(0 if blocks is None else blocks.shape[0]):
                    for y in range(n_labels):
                        space.sums[blocks[k] * n_labels + y] += more[i - 2, k, y]
                for k in range(n_sums):
                    of_word[k] = <float>space.sums[k]
        free(space.keys)

    cdef bint _begin(self, Py_ssize_t n_columns, Space* space) noexcept nogil:
        """Notes where values of rows of a width stand; returns whether there is
        anything to add."""
        cdef Py_ssize_t k
        for k in range(self._columns.shape[0]):
            space.places[k] = <int32_t>(
                self._offsets[k] * n_columns + self._columns[k]
            )
            space.numbers[k] = <int32_t>k
        return self._seeds.shape[0] > 0 and self._weights.shape[0] > 0

    cdef void _list_keys(
        self,
        const uint64_t* values,             # IN  [A] of token i; others stand around it
        Py_ssize_t i,
        Py_ssize_t start,                   # of its document
        Py_ssize_t end,
        Space* space,
    ) noexcept nogil:
        """Lists the keys of templates at a token that may be known."""
        cdef Py_ssize_t r, k, at, part = i % N_AHEAD, n = 0
        cdef uint64_t* keys = space.keys + part * self._seeds.shape[0]
        cdef int32_t* ends = space.ends + part * (self._first.shape[0] - 1)
        cdef const uint64_t* seeds = &self._seeds[0]
        cdef const int32_t* places = space.places
        cdef const uint64_t* slots = &self._table._slots[0, 0]
        cdef const uint64_t* filter = &self._table._filter[0]
        cdef uint64_t h, mask = self._table._mask
        cdef int shift = self._table._shift
        if i - start < self._reach or end - i <= self._reach:
            for k in range(self._columns.shape[0]):
                at = i + self._offsets[k]
                space.values[k] = 1
                if at >= start:
                    space.values[k] = 2 if at >= end else values[places[k]]
            values, places = space.values, space.numbers
        for k in range(self._sizes.shape[0]):
            mix_all(values, places, self._sizes[k], seeds, space.every)
            places += self._sizes[k]
            seeds = space.every
        for r in range(self._first.shape[0] - 1):
            for k in range(self._first[r], self._first[r + 1]):
                h = space.every[self._order[k]]
                keys[n] = h
                n += may_have(filter, shift, h)
            ends[r] = <int32_t>n
        for k in range(n):
            prefetch(slots + 2 * (keys[k] & mask))

    cdef void _find_rows(
        self, Py_ssize_t i, Py_ssize_t n_labels, BlockScores blocks, Space* space
    ) noexcept nogil:
        """Finds the rows of those keys of token i that are known, and leaves room for
        the scores of words before those of each role."""
        cdef Py_ssize_t r, end, k = 0, part = i % N_AHEAD, n = 0
        cdef Py_ssize_t n_roles = self._first.shape[0] - 1
        cdef const uint64_t* keys = space.keys + part * self._seeds.shape[0]
        cdef int32_t* rows = space.rows + part * self._seeds.shape[0]
        cdef int32_t* ends = space.ends + part * n_roles
        cdef const uint64_t* slots = &self._table._slots[0, 0]
        cdef uint64_t mask = self._table._mask
        cdef const float* weights = &self._weights[0]
        cdef const int32_t* first = NULL
        if blocks is not None:
            first = &blocks._first[0]
        if self._first_weight.shape[0] == 0:
            find_weights(
                slots, mask, keys, ends, first, n_roles, weights, n_labels,
                space.summed + part * space.n_summed, space.bounds + part * n_roles,
            )
            return
        for r in range(n_roles):
            end = ends[r]
            for k in range(k, end):
                rows[n] = kernels.find(slots, mask, keys[k])
                if rows[n] >= 0:
                    prefetch(weights + self._first_weight[rows[n]])
                    n += 1
            k = end
            ends[r] = <int32_t>n

    cdef void _sum(
        self,
        Py_ssize_t i,
        Py_ssize_t n_labels,
        Space* space,
        double* scores,                     # OUT [roles, L], `step` apart ..
        Py_ssize_t step,
        float* singles,                     # OUT [roles, L] .. or, if not NULL, these
    ) noexcept nogil:
        """Sums what is listed for token i."""
        cdef Py_ssize_t r, k = 0, n_roles = self._first.shape[0] - 1
        cdef const int32_t* rows = space.rows + i % N_AHEAD * self._seeds.shape[0]
        cdef const int32_t* ends = space.ends + i % N_AHEAD * n_roles
        _sum_rows(
            space.summed + i % N_AHEAD * space.n_summed,
            space.bounds + i % N_AHEAD * n_roles,
            n_roles, n_labels, scores, step, singles,
        )
        for r in range(n_roles if self._first_weight.shape[0] else 0):
            for k in range(k, ends[r]):
                _add_some(
                    &self._weights[0],
                    &self._labels[0],
                    self._first_weight[rows[k]],
                    self._first_weight[rows[k] + 1],
                    scores + r * step,
                )
            k = ends[r]


cdef _by_role(roles, n_roles):
    """Returns where those of each role begin, of sorted roles."""
    return np.searchsorted(roles, np.arange(n_roles + 1)).astype(np.int32)


cdef Space _make_space(
    TemplateScores templates,
    BlockScores blocks,
    Py_ssize_t n_roles,
    Py_ssize_t n_labels,
) except *:
    """Makes room for these, where nothing is listed but blocks; `free` its keys."""
    cdef Space space
    cdef size_t n_templates = templates._seeds.shape[0]
    cdef size_t n_atoms = templates._columns.shape[0], n_sums = n_roles * n_labels
    cdef size_t n_keys = N_AHEAD * n_templates, n_ends = N_AHEAD * n_roles
    cdef Py_ssize_t part, r
    space.n_summed = n_templates
    if blocks is not None:
        space.n_summed += blocks._offsets.shape[0]
    cdef size_t n_found = N_AHEAD * space.n_summed
    cdef size_t n_eights = n_keys + n_atoms + n_templates + n_sums + n_found + 1
    cdef size_t n_fours = n_keys + 2 * (n_ends + n_atoms)
    space.keys = <uint64_t*>malloc(8 * n_eights + 4 * n_fours)
    if not space.keys:
        raise MemoryError
    space.values = space.keys + n_keys
    space.every = space.values + n_atoms
    space.sums = <double*>(space.every + n_templates)
    space.summed = <const float**>(space.sums + n_sums)
    space.rows = <int32_t*>(space.summed + n_found)
    space.ends = space.rows + n_keys
    space.bounds = space.ends + n_ends
    space.places = space.bounds + n_ends
    space.numbers = space.places + n_atoms
    memset(space.ends, 0, 2 * n_ends * sizeof(int32_t))
    for part in range(N_AHEAD if blocks is not None else 0):
        for r in range(n_roles):
            space.bounds[part * n_roles + r] = blocks._first[r + 1]
    return space


cdef class ListScores:
    """T templates, each of which reads one attribute that reads a list, of a column of
    the values [T], and the weights of their features."""

    cdef Py_ssize_t _n_columns
    cdef const int32_t[::1] _first      # [columns + 1] templates by column
    cdef const int32_t[::1] _offsets, _roles
    cdef int32_t[:, ::1] _rows          # [T, N_VALUES] of each value; -1: none
    cdef double[:, :, :, ::1] _borders  # [2, reach, roles, L] at tokens near a border
    cdef const int32_t[::1] _first_weight, _labels
    cdef const float[::1] _weights

    def __init__(
        self, columns, seeds, offsets, roles, RowTable table, first_weight, labels,
        weights, n_roles, n_labels
    ):
        cdef Py_ssize_t t, side, at
        order = np.argsort(columns, kind="stable")
        self._n_columns = 1 + np.max(columns, initial=-1)
        columns = columns[order]
        self._first = np.searchsorted(columns, np.arange(self._n_columns + 1)).astype(
            np.int32
        )
        self._offsets, self._roles = offsets[order], roles[order]
        self._first_weight, self._labels = first_weight, labels
        self._weights = weights
        cdef const uint64_t[::1] seeds_ = seeds[order]
        self._rows = np.full((len(order), N_VALUES), -1, np.int32)
        for t in range(len(order)):
            for at in range(1, N_VALUES):
                self._rows[t, at] = table.row(mix(seeds_[t], at))
        reach = np.abs(offsets).max(initial=0)
        self._borders = np.zeros((2, reach, n_roles, n_labels))
        # Before a document the value is 1, behind it 2.
        for t in range(len(order)):
            side = self._offsets[t] > 0
            for at in range(abs(self._offsets[t])):
                self._add(
                    self._rows[t, 1 + side],
                    &self._borders[side, at, self._roles[t], 0],
                    n_labels,
                )

    cdef void add(
        self,
        const uint8_t[:, ::1] values,       # IN  [n, columns]; 0, or None: absent
        const int32_t[::1] first,           # IN  [D + 1] of each document, and n
        double[:, :, :] scores,             # OUT [roles, n, L] added to
    ) noexcept nogil:
        """Adds the weights of the values at each token, and of borders."""
        cdef Py_ssize_t d, i, c, t, at, start, end, n_labels = scores.shape[2]
        cdef const uint8_t* value
        if self._weights.shape[0] == 0:
            return
        for d in range(first.shape[0] - 1):
            start, end = first[d], first[d + 1]
            for i in range(min(self._borders.shape[1], end - start)):
                self._add_border(0, i, start + i, scores)
                self._add_border(1, i, end - 1 - i, scores)
            for i in range(start, start if values is None else end):
                value = &values[i, 0]
                for c in range(self._n_columns):
                    if not value[c]:
                        continue
                    for t in range(self._first[c], self._first[c + 1]):
                        at = i - self._offsets[t]
                        if start <= at < end:
                            self._add(
                                self._rows[t, value[c]],
                                &scores[self._roles[t], at, 0],
                                n_labels,
                            )

    cdef void _add_border(
        self, Py_ssize_t side, Py_ssize_t k, Py_ssize_t i, double[:, :, :] scores
    ) noexcept nogil:
        """Adds what token i reads beyond the border, from which it is the k-th."""
        cdef Py_ssize_t r, y
        for r in range(scores.shape[0]):
            for y in range(scores.shape[2]):
                scores[r, i, y] += self._borders[side, k, r, y]

    cdef inline void _add(
        self, Py_ssize_t row, double* target, Py_ssize_t n_labels
    ) noexcept nogil:
        """Adds the weights of a row."""
        if row < 0:
            return
        cdef Py_ssize_t y
        cdef const float* weights
        if self._first_weight.shape[0] == 0:
            weights = &self._weights[row * n_labels]
            for y in range(n_labels):
                target[y] += weights[y]
        elif self._first_weight[row] < self._first_weight[row + 1]:
            _add_some(
                &self._weights[0],
                &self._labels[0],
                self._first_weight[row],
                self._first_weight[row + 1],
                target,
            )


cdef class TokenScoring(Task):
    """Computes the scores of the tokens of documents, n tokens together: of blocks, of
    templates and, if there are any, of lists. The scores of labels are adjacent."""

    cdef BlockScores blocks
    cdef const int32_t[::1] words           # [n] the word of each token
    cdef const float[:, :, :] of_words      # [K, B, L] scores of each word
    cdef TemplateScores templates
    cdef const uint64_t[:, ::1] values      # [n, A] see `template_keys`
    cdef Space space                        # without keys until it is made
    cdef ListScores lists
    cdef const uint8_t[:, ::1] on_lists     # [n, columns], or None
    cdef const int32_t[::1] first           # [D + 1] of each document, and n
    cdef double[:, :, :] scores             # OUT [roles, n, L]

    def __init__(
        self, first, scores, BlockScores blocks, words, of_words,
        TemplateScores templates, values, ListScores lists=None, on_lists=None
    ):
        self.first, self.scores = first, scores
        self.blocks, self.words, self.of_words = blocks, words, of_words
        self.templates, self.values = templates, values
        self.lists, self.on_lists = lists, on_lists
        self.space = _make_space(templates, blocks, len(scores), 0)

    def __dealloc__(self):
        free(self.space.keys)

    cdef void run(self) noexcept nogil:
        """Does what `template_keys`, `RowTable.rows` and `gather` do, in one pass."""
        cdef Py_ssize_t i, d = 0, start = 0, end = 0, last_start, last_end
        cdef Py_ssize_t n = self.scores.shape[1], n_labels = self.scores.shape[2]
        cdef Py_ssize_t step = self.scores.strides[0] // <Py_ssize_t>sizeof(double)
        cdef Space* space = &self.space
        cdef bint has_any = self.templates._begin(self.values.shape[1], space)
        # Memory is fetched while other tokens are computed: the slots of keys two
        # tokens ahead, weights one token ahead.
        for i in range(n + 2 if n else 0):
            last_start, last_end = start, end
            while i < n and i >= end:
                start, end = self.first[d], self.first[d + 1]
                d += 1
            if has_any and i < n:
                self.templates._list_keys(&self.values[i, 0], i, start, end, space)
            if has_any and 0 < i <= n:
                self.templates._find_rows(i - 1, n_labels, self.blocks, space)
            if 0 < i <= n:
                self.blocks.list_rows(
                    i - 1, last_start, last_end, self.words, self.of_words, space
                )
            if i > 1:
                self.templates._sum(
                    i - 2, n_labels, space, &self.scores[0, i - 2, 0], step, NULL
                )
        if self.lists is not None:
            self.lists.add(self.on_lists, self.first, self.scores)


cdef inline void _add_some(
    const float* x, const int32_t* place, Py_ssize_t a, Py_ssize_t b, double* y
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(a, b):
        y[place[k]] += x[k]
