"""All entries of lists that occur in a sequence of words.

A node of a trie of words is identified by a 64-bit hash of the words that lead to it.
So a trie is two arrays, built by sorting and read by hashing. (The probability that two
of a million nodes have the same hash is 1 in 40 million.)
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from ...core.simd.simd cimport mix, prefetch
from .key_table cimport RowTable

# Values of `source`: the node is no entry; or an entry not only of one document.
NO_ENTRY, SHARED = 0, 1

# The first node of this many words ahead is fetched from memory.
cdef Py_ssize_t AHEAD = 8

_NO_ENTRIES, _NO_SOURCES = np.zeros((3, 0), np.int32), np.zeros(0, np.uint64)


class Trie:
    """Has entries as sequences of words, which are 64-bit numbers. Nothing changes a
    trie.

    keys (uint64 [N]): The nodes, sorted.
    source (uint8 or uint64 [N]): NO_ENTRY; SHARED; or the only document that the entry
        was found in.
    """

    def __init__(self, keys, source):
        self.keys, self.source = (np.asarray(x).view() for x in (keys, source))
        for array in (self.keys, self.source):
            array.setflags(write=False)
        if not (
            self.keys.shape == self.source.shape == (self.keys.size,)
            and self.keys.dtype == np.uint64
            and self.source.dtype in (np.uint8, np.uint64)
        ):
            raise ValueError(f"{self.source.shape} sources, {self.keys.shape} nodes")

    def __len__(self):
        """Returns the number of distinct entries."""
        return int(np.count_nonzero(self.source))

    @staticmethod
    def build(const uint64_t[::1] words, const int64_t[::1] first, sources=None):
        """Compiles entries: words first[e]:first[e + 1] belong to entry e, which is
        none without words; sources (Optional[uint64 [E]]): the document that each was
        found in. Duplicates are one entry."""
        ways = np.empty(words.shape[0], np.uint64)
        _hash_ways(words, first, ways)
        first_ = np.asarray(first)
        full = np.flatnonzero(np.diff(first_))
        ends = ways[first_[full + 1] - 1]
        ways.sort()
        is_new = np.ones(len(ways), bool)
        is_new[1:] = ways[1:] != ways[:-1]
        keys = ways[is_new]  # np.unique takes four times as long
        order = np.argsort(ends)  # sorted keys are found faster
        full, rows = full[order], np.searchsorted(keys, ends[order])
        if sources is None:
            source = np.zeros(len(keys), np.uint8)
            source[rows] = SHARED
            return Trie(keys, source)
        by_entry = np.asarray(sources, np.uint64)[full]
        source = np.zeros(len(keys), np.uint64)
        source[rows] = by_entry
        source[rows[source[rows] != by_entry]] = SHARED  # of several documents
        return Trie(keys, source)


cdef class EntryFinder:
    """Finds the entries of several lists at once: a word that begins no entry is looked
    up once for all of them. Any number of threads may use it. numbers (int32): Of the
    lists; None: 0, 1, .."""

    cdef RowTable _nodes                # those of all lists, each once
    cdef const int32_t[::1] _first      # [N + 1] those that end there: _first[n] ..
    cdef object _list, _source          # [E] .. the list and the source of each

    def __init__(self, tries, numbers=None):
        numbers = range(len(tries)) if numbers is None else numbers
        keys = np.concatenate([np.zeros(0, np.uint64), *(x.keys for x in tries)])
        order = np.argsort(keys, kind="stable")  # fast where parts are sorted
        keys = keys[order]
        is_new = np.ones(len(keys), bool)
        is_new[1:] = keys[1:] != keys[:-1]
        self._nodes = RowTable(keys[is_new])
        sources = [np.asarray(x.source, np.uint64) for x in tries]
        source = np.concatenate([_NO_SOURCES, *sources])[order]
        lists = np.repeat(numbers, [len(x.keys) for x in tries])[order]
        is_entry = source != NO_ENTRY
        node = (np.cumsum(is_new) - 1)[is_entry]
        self._source, self._list = source[is_entry], lists[is_entry].astype(np.int32)
        sizes = np.bincount(node, minlength=np.count_nonzero(is_new))
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)

    def find(
        self,
        const uint64_t[::1] words,          # IN  [W]
        const uint8_t[::1] begins,          # IN  [W] whether an entry may begin here ..
        const uint8_t[::1] ends,            # IN  [W] .. and end with this word
        const int32_t[::1] docs,            # IN  [D + 1] first word of each, and W
    ):
        """Returns all entries in the words of documents, overlapping ones too: list,
        start and end in words, half-open, all int32 [K], and source, uint64 [K]; by
        list, start and length."""
        cdef Py_ssize_t n, room = 256
        cdef int32_t[:, ::1] places_
        while True:
            places = np.empty((3, room), np.int32)
            places_ = places
            with nogil:
                n = self._find(words, begins, ends, docs, places_)
            if n <= room:
                break
            room = n
        if not n:
            return (*_NO_ENTRIES, _NO_SOURCES)
        entry, start, end = places[:, :n]
        lists = self._list.take(entry)
        order = lists.argsort(kind="stable")
        columns = lists.take(order), start.take(order), end.take(order)
        return *columns, self._source.take(entry.take(order))

    cdef Py_ssize_t _find(
        self,
        const uint64_t[::1] words,          # IN  as `find` takes them
        const uint8_t[::1] begins,
        const uint8_t[::1] ends,
        const int32_t[::1] docs,
        int32_t[:, ::1] places,             # OUT [3, room] entry, start and end
    ) noexcept nogil:
        """Returns how many entries there are; those without room are not written."""
        cdef const uint64_t* slots = &self._nodes._slots[0, 0]
        cdef Py_ssize_t d, i, j, k, n = 0, n_words = words.shape[0]
        cdef uint64_t way
        cdef int32_t node
        for d in range(docs.shape[0] - 1):
            for i in range(docs[d], docs[d + 1]):
                if i + AHEAD < n_words:
                    way = mix(0, words[i + AHEAD])
                    prefetch(slots + 2 * (way & self._nodes._mask))
                if not begins[i]:
                    continue
                way = 0
                for j in range(i, docs[d + 1]):
                    way = mix(way, words[j])
                    node = self._nodes.row(way)
                    if node < 0:
                        break
                    for k in range(self._first[node], self._first[node + 1]):
                        if not ends[j]:
                            break
                        if n < places.shape[1]:
                            places[0, n] = <int32_t>k
                            places[1, n], places[2, n] = <int32_t>i, <int32_t>(j + 1)
                        n += 1
        return n


def locate(
    const int32_t[::1] lists,           # IN  [K] matches by words
    const int32_t[::1] start,
    const int32_t[::1] end,
    const int32_t[::1] first,           # IN  [W] the tokens in which words begin ..
    const int32_t[::1] last,            # IN  [W] .. and end
    const int32_t[::1] before,          # IN  [n + 1] from `count_wordless`
    const int32_t[::1] after,           # IN  [n + 1]
):
    """Returns the arrays of `Matches`, int32 [6, K]."""
    places = np.empty((6, lists.shape[0]), np.int32)
    cdef int32_t[:, ::1] places_ = places
    cdef Py_ssize_t k
    cdef int32_t i, j
    for k in range(lists.shape[0]):
        i, j = first[start[k]], last[end[k] - 1] + 1
        places_[0, k], places_[1, k], places_[2, k] = lists[k], i, j
        places_[3, k] = end[k] - start[k]
        places_[4, k], places_[5, k] = i - before[i], j + after[j]
    return places


def count_wordless(
    const int32_t[::1] first,           # IN  [W] the token in which each word begins
    const int32_t[::1] last,            # IN  [W] the token in which it ends
    const int32_t[::1] docs,            # IN  [D + 1] first token of each, and n
    int most,
):
    """Counts tokens without a word before and after each border of tokens, int32 [n +
    1] each: at most `most`; 0 at borders of documents."""
    cdef Py_ssize_t d, k, i, n_tokens = docs[docs.shape[0] - 1]
    counts = np.zeros((2, n_tokens + 1), np.int32)
    cdef int32_t[:, ::1] counts_ = counts
    cdef uint8_t[::1] has_word = np.zeros(n_tokens, np.uint8)
    with nogil:
        for k in range(first.shape[0]):
            for i in range(first[k], last[k] + 1):
                has_word[i] = True
        for d in range(docs.shape[0] - 1):
            counts_[0, docs[d]] = 0  # tokens before it belong to another document
            for i in range(docs[d], docs[d + 1]):
                if not has_word[i]:
                    counts_[0, i + 1] = min(counts_[0, i] + 1, most)
        for d in range(docs.shape[0] - 2, -1, -1):
            counts_[1, docs[d + 1]] = 0
            for i in range(docs[d + 1] - 1, docs[d] - 1, -1):
                if not has_word[i]:
                    counts_[1, i] = min(counts_[1, i + 1] + 1, most)
    return counts[0], counts[1]


def columns_of_matches(
    const int32_t[::1] lists,           # IN  [K]
    const int32_t[::1] start,           # IN  [K] tokens
    const int32_t[::1] end,             # IN  [K]
    const uint64_t[::1] value,          # IN  [K] 1 to 255; the larger one counts
    Py_ssize_t n_tokens,
    Py_ssize_t n_lists,
):
    """Returns matches as attributes of tokens, uint8 [n, 3 lists]: for each list the
    largest value of a match that begins at the token, that covers it and that ends with
    it; 0: none does."""
    columns = np.zeros((n_tokens, 3 * n_lists), np.uint8)
    cdef uint8_t[:, ::1] columns_ = columns
    cdef Py_ssize_t k, i, c
    cdef uint8_t size
    with nogil:
        for k in range(lists.shape[0]):
            c, size = 3 * lists[k], <uint8_t>value[k]
            columns_[start[k], c] = max(columns_[start[k], c], size)
            for i in range(start[k], end[k]):
                columns_[i, c + 1] = max(columns_[i, c + 1], size)
            i = end[k] - 1
            columns_[i, c + 2] = max(columns_[i, c + 2], size)
    return columns


def _hash_ways(
    const uint64_t[::1] words,      # IN  [T]
    const int64_t[::1] first,       # IN  [E + 1]
    uint64_t[::1] ways,             # OUT [T] hashes of words with those before them
):
    cdef Py_ssize_t e, t
    cdef uint64_t way
    with nogil:
        for e in range(first.shape[0] - 1):
            way = 0
            for t in range(first[e], first[e + 1]):
                way = mix(way, words[t])
                ways[t] = way
