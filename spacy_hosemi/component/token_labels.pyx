"""Spans of a document as attributes of its tokens, and as keys of its record."""

import numpy as np

from cpython.unicode cimport PyUnicode_Concat
from libc.stdint cimport uint64_t

# The most digits of a number.
cdef enum:
    N_DIGITS = 20

# Values of ENT_IOB.
cdef enum:
    INSIDE = 1, OUTSIDE, BEGIN


def describe(
    const uint64_t[:, ::1] tokens,
    list first,
    list n_spans,
    list spans,
    names,
    dict numbers,
    list scores,
):
    """Returns ENT_IOB and ENT_TYPE of each token (uint64 [n, 2]); of each document its
    number of characters, and for the key of each span, "start:end:label" in characters,
    its score. Raises IndexError if a span is not within its document.

    tokens: ORTH, SPACY and the length of each token of all documents. first: the first
    token of each document, and n. n_spans, spans: see `Predictions`; no two overlap.
    names and numbers in the vocabulary are those of labels, by their index. scores: of
    each span, or none.
    """
    cdef Py_ssize_t n = tokens.shape[1], d, i, k = 0, i_first, i_end, at, start, end
    cdef uint64_t number
    cdef dict by_key
    cdef list span, all_by_key = [], n_characters = []
    # One array: the first character of each token and the one behind its last follow.
    columns = np.empty((2 * n, 2), np.uint64)
    cdef uint64_t[:, ::1] columns_ = columns, places = columns_[n:]
    for d in range(len(n_spans)):
        at, i_first, i_end, by_key = 0, first[d], first[d + 1], {}
        for i in range(i_first, i_end):
            columns_[i, 0], columns_[i, 1] = OUTSIDE, 0
            places[i, 0] = at
            places[i, 1] = at = at + <Py_ssize_t>tokens[2, i]
            at += <Py_ssize_t>tokens[1, i]
        for span in spans[k : k + <Py_ssize_t>n_spans[d]]:
            start, end = i_first + <Py_ssize_t>span[0], i_first + <Py_ssize_t>span[1]
            if not i_first <= start < end <= i_end:
                place = f"{span[0]} to {span[1]}"
                raise IndexError(f"span {place} of {i_end - i_first} tokens")
            name, number = names[span[2]], numbers[span[2]]
            for i in range(start, end):
                columns_[i, 0], columns_[i, 1] = INSIDE, number
            columns_[start, 0] = BEGIN
            key = _key(places[start, 0], places[end - 1, 1], name)
            by_key[key] = scores[k] if scores else None
            k += 1
        all_by_key.append(by_key)
        n_characters.append(at)
    return columns, n_characters, all_by_key


cdef _key(Py_ssize_t start, Py_ssize_t end, label):
    """Returns the key of a span in a record, see `records`. A format string takes five
    times as long."""
    cdef char[2 * N_DIGITS + 2] text
    cdef Py_ssize_t at = 2 * N_DIGITS + 2, number, k
    for k in range(2):
        number = start if k else end
        at -= 1
        text[at] = c":"
        while True:
            at -= 1
            text[at] = <char>(c"0" + number % 10)
            number //= 10
            if not number:
                break
    # A label may be of a subclass of str; the key is none.
    first = (&text[at])[: 2 * N_DIGITS + 2 - at].decode("ascii")
    return PyUnicode_Concat(first, label)
