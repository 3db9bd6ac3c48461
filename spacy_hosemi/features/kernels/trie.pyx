"""All entries of lists that occur in a sequence of words.

A trie keeps 48 bits of a hash of the words of each entry: other words are taken for one
of a million entries with a probability of 4e-9. Of the beginnings of longer entries it
keeps 22 bits, by which a search stops; chance hits there only cost another look-up.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from ...core.simd.simd cimport mix, prefetch
from .key_table cimport RowTable, may_have

# The value of `source` of an entry that is not only of one document.
SHARED = 1

# The first bits of hashes are kept: of entries, and of what longer entries begin with.
cdef enum:
    KEY_BITS = 48
    PREFIX_BITS = 22
_KEY_SHIFT, _PREFIX_SHIFT = np.uint64(64 - KEY_BITS), np.uint64(64 - PREFIX_BITS)

# The first node of this many words ahead is fetched from memory.
cdef Py_ssize_t AHEAD = 8

_NO_ENTRIES, _NO_SOURCES = np.zeros((3, 0), np.int32), np.zeros(0, np.uint64)


class Trie:
    """Has entries as sequences of words, which are 64-bit numbers. Nothing changes a
    trie.

    keys (uint64 [N]): KEY_BITS of the hash of each entry, sorted.
    source (uint8 or uint64 [N]): SHARED; or the only document that has the entry.
    prefixes (uint32 [P]): PREFIX_BITS of what longer entries begin with, sorted.
    """

    def __init__(self, keys, source, prefixes):
        arrays = (np.asarray(x).view() for x in (keys, source, prefixes))
        self.keys, self.source, self.prefixes = arrays
        for array in (self.keys, self.source, self.prefixes):
            array.setflags(write=False)
        if not (
            self.keys.shape == self.source.shape == (self.keys.size,)
            and self.source.dtype in (np.uint8, np.uint64)
            and self.prefixes.shape == (self.prefixes.size,)
            and self.keys.dtype == np.uint64 and self.prefixes.dtype == np.uint32
            and not self.prefixes.max(initial=0) >> PREFIX_BITS
        ):
            raise ValueError(f"{self.source.shape} sources, {self.keys.shape} entries")

    def __len__(self):
        """Returns the number of distinct entries."""
        return len(self.keys)

    @staticmethod
    def of_nodes(nodes, source):
        """Returns the trie of an older model: whole hashes of entries and of what they
        begin with, sorted; those that are no entries have the source 0."""
        is_entry = Trie(nodes, source, np.zeros(0, np.uint32)).source != 0
        keys, at = np.unique(nodes[is_entry] >> _KEY_SHIFT, return_index=True)
        prefixes = np.unique(nodes >> _PREFIX_SHIFT).astype(np.uint32)
        return Trie(keys, source[is_entry][at], prefixes)

    @staticmethod
    def build(const uint64_t[::1] words, const int64_t[::1] first, sources=None):
        """Compiles entries: words first[e]:first[e + 1] belong to entry e, which is
        none without words; sources (Optional[uint64 [E]]): the document that each was
        found in. Duplicates are one entry."""
        ways = np.empty(words.shape[0], np.uint64)
        _hash_ways(words, first, ways)
        first_ = np.asarray(first)
        full = np.flatnonzero(np.diff(first_))
        last = first_[full + 1] - 1
        prefixes = np.unique(np.delete(ways, last) >> _PREFIX_SHIFT).astype(np.uint32)
        keys, rows = np.unique(ways[last] >> _KEY_SHIFT, return_inverse=True)
        if sources is None:
            return Trie(keys, np.full(len(keys), SHARED, np.uint8), prefixes)
        by_entry = np.asarray(sources, np.uint64)[full]
        source = np.zeros(len(keys), np.uint64)
        source[rows] = by_entry
        source[rows[source[rows] != by_entry]] = SHARED  # of several documents
        return Trie(keys, source, prefixes)


cdef inline uint64_t _key_of(uint64_t way) noexcept nogil:
    """Returns the key of a hash; all 64 bits vary, since tables look at both ends."""
    return way >> 16 << 16 | way >> 48


cdef class EntryFinder:
    """Finds the entries of several lists at once: a word that begins no entry is looked
    up once for all of them. Any number of threads may use it. numbers (int32): Of the
    lists; None: 0, 1, .."""

    cdef RowTable _nodes                # entries of all lists, each once
    cdef const int32_t[::1] _first      # [N + 1] the lists that have them: _first[n] ..
    cdef object _list, _source          # [E] .. the list and the source of each
    cdef const uint64_t[::1] _prefixes  # a bit for each that there may be ..
    cdef int _shift                     # .. of these bits of a hash

    def __init__(self, tries, numbers=None):
        numbers = range(len(tries)) if numbers is None else numbers
        keys = np.concatenate([np.zeros(0, np.uint64), *(x.keys for x in tries)])
        order = np.argsort(keys, kind="stable")  # fast where parts are sorted
        keys = keys[order]
        is_new = np.ones(len(keys), bool)
        is_new[1:] = keys[1:] != keys[:-1]
        distinct = keys[is_new]  # in the table as `_key_of` has them
        self._nodes = RowTable(distinct << _KEY_SHIFT | distinct >> np.uint64(32))
        sources = [np.asarray(x.source, np.uint64) for x in tries]
        self._source = np.concatenate([_NO_SOURCES, *sources])[order]
        lists = np.repeat(numbers, [len(x) for x in tries])
        self._list = lists[order].astype(np.int32)
        self._first = np.append(np.flatnonzero(is_new), len(keys)).astype(np.int32)
        n_prefixes = sum(len(x.prefixes) for x in tries)
        n_bits = min(PREFIX_BITS, max(6, int(16 * n_prefixes).bit_length()))
        is_there = np.zeros(1 << n_bits, np.uint8)
        for trie in tries:
            is_there[trie.prefixes >> np.uint32(PREFIX_BITS - n_bits)] = True
        bits = np.packbits(is_there, bitorder="little").view("<u8")
        self._prefixes, self._shift = bits.astype(np.uint64), 64 - n_bits

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
        cdef const uint64_t* slots = &self._nodes._slots[0, 0]
        cdef Py_ssize_t d, i, j, k, n = 257, room = 256, n_words = words.shape[0]
        cdef int32_t[:, ::1] places_
        cdef uint64_t way
        cdef int32_t node
        while n > room:
            room, n = n, 0
            places = np.empty((3, room), np.int32)
            places_ = places
            with nogil:
                for d in range(docs.shape[0] - 1):
                    for i in range(docs[d], docs[d + 1]):
                        if i + AHEAD < n_words:
                            way = _key_of(mix(0, words[i + AHEAD]))
                            prefetch(slots + 2 * (way & self._nodes._mask))
                        if not begins[i]:
                            continue
                        way = 0
                        for j in range(i, docs[d + 1]):
                            way = mix(way, words[j])
                            node = self._nodes.row(_key_of(way)) if ends[j] else -1
                            k = self._first[node] if node >= 0 else 0
                            while node >= 0 and k < self._first[node + 1]:
                                if n < room:
                                    places_[0, n] = <int32_t>k
                                    places_[1, n] = <int32_t>i
                                    places_[2, n] = <int32_t>(j + 1)
                                n, k = n + 1, k + 1
                            if not may_have(&self._prefixes[0], self._shift, way):
                                break
        if not n:
            return (*_NO_ENTRIES, _NO_SOURCES)
        entry, start, end = places[:, :n]
        lists = self._list.take(entry)
        order = lists.argsort(kind="stable")
        columns = lists.take(order), start.take(order), end.take(order)
        return *columns, self._source.take(entry.take(order))


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
