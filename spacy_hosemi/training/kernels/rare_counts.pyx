"""Counts of features that are too rare for weights, in a table of fixed size.

A stream of documents with new words never ends to bring features that occur once. So
the table forgets: those that were not met for the longest time, when others need their
place.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t

# 2^16 sets of eight features, 4 MB: a feature is forgotten when it has not come again
# while about half a million others were new. A set is as large as a line of the cache.
N_SETS = 2**16
cdef enum:
    WAYS = 8
    MOST = 0xFFFF  # counts are no higher


def empty_table(Py_ssize_t n_sets=N_SETS):
    """Returns a table for `count_rare`, uint64 [n_sets, 8]; n_sets is a power of 2, at
    most 2^32."""
    return np.zeros((n_sets, WAYS), np.uint64)


def count_rare(
    uint64_t[:, ::1] table,             # INOUT [n_sets, 8] the latest come first
    const uint64_t[::1] keys,           # IN  [K] distinct
    const int64_t[::1] in_tokens,       # IN  [K] in how many tokens each is, from 1 on
    const int64_t[::1] in_docs,         # IN  [K] in how many new documents, likewise
    int64_t least_tokens,               # IN  at most 65,535
    int64_t least_docs,                 # IN  likewise
):
    """Counts features; those that have become frequent leave the table. Returns whether
    each has the least counts, bool [K], and the number of documents with it since the
    table has known it, int64 [K].

    An entry is 32 bits of the key, 16 bits for tokens, and 16 for documents; the lowest
    bits of the key are the number of its set.
    """
    is_frequent, n_docs = np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    cdef uint8_t[::1] is_frequent_ = is_frequent.view(np.uint8)
    cdef int64_t[::1] n_docs_ = n_docs
    cdef Py_ssize_t k, i, at
    cdef int64_t tokens, docs
    cdef uint64_t mask = table.shape[0] - 1, entry
    cdef uint64_t* ways
    with nogil:
        for k in range(keys.shape[0]):
            ways = &table[keys[k] & mask, 0]
            at = 0
            while at < WAYS and ways[at] and ways[at] >> 32 != keys[k] >> 32:
                at += 1
            entry = ways[at] if at < WAYS else 0
            tokens = in_tokens[k] + <int64_t>(entry >> 16 & MOST)
            docs = in_docs[k] + <int64_t>(entry & MOST)
            n_docs_[k] = docs
            if tokens >= least_tokens and docs >= least_docs:
                is_frequent_[k] = True
                if entry:
                    for i in range(at, WAYS - 1):
                        ways[i] = ways[i + 1]
                    ways[WAYS - 1] = 0
                continue
            entry = keys[k] >> 32 << 32
            entry |= <uint64_t>min(tokens, MOST) << 16 | <uint64_t>min(docs, MOST)
            for i in range(min(at, WAYS - 1), 0, -1):
                ways[i] = ways[i - 1]
            ways[0] = entry
    return is_frequent, n_docs
