"""Spans of a document as attributes of its tokens, and as keys of its record."""

import numpy as np

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

# The columns that `describe` takes.
cdef enum:
    ENT_IOB, SENT_START, LENGTH, SPACY, N_COLUMNS

# Values of ENT_IOB.
cdef enum:
    INSIDE = 1, OUTSIDE, BEGIN


def describe(spans, dict numbers, const uint64_t[:, ::1] tokens):
    """What is written of the spans of a document.

    spans (Iterable[Tuple[int, int, str]]): Start, end, label; no two overlap.
    numbers (Dict[str, int]): The number of each label.
    tokens (uint64 [n, 4]): ENT_IOB, SENT_START, LENGTH and SPACY of each token.
    RETURNS (Tuple[uint64 [n, 2], List[str], int, bool, bool]): ENT_IOB and ENT_TYPE of
        each token; "start:end:label" of each span, in characters; how many characters
        there are; whether entities are set, and sentence starts, see
        `Doc.has_annotation`.
    RAISES (IndexError): A span is not within the document.
    """
    cdef Py_ssize_t n = tokens.shape[0], i, start, end, at = 0
    cdef uint64_t number
    cdef bint has_ents = n == 0, has_sents = n < 2
    cdef list keys = []
    columns = np.empty((n, 2), np.uint64)
    cdef uint64_t[:, ::1] columns_ = columns
    if tokens.shape[1] != N_COLUMNS:
        raise ValueError(f"{tokens.shape[1]} columns")
    # The first character of each token, and the one behind its last.
    cdef Py_ssize_t* places = <Py_ssize_t*>malloc((2 * n + 1) * sizeof(Py_ssize_t))
    if not places:
        raise MemoryError
    try:
        for i in range(n):
            columns_[i, 0], columns_[i, 1] = OUTSIDE, 0
            places[2 * i] = at
            places[2 * i + 1] = at = at + <Py_ssize_t>tokens[i, LENGTH]
            at += <Py_ssize_t>tokens[i, SPACY]
            has_ents = has_ents or tokens[i, ENT_IOB] != 0
            has_sents = has_sents or (i > 0 and tokens[i, SENT_START] != 0)
        for start, end, label in spans:
            if not 0 <= start < end <= n:
                raise IndexError(f"span {start} to {end} of {n} tokens")
            number = numbers[label]
            for i in range(start, end):
                columns_[i, 0], columns_[i, 1] = INSIDE, number
            columns_[start, 0] = BEGIN
            keys.append(f"{places[2 * start]}:{places[2 * end - 1]}:{label}")
    finally:
        free(places)
    return columns, keys, at, has_ents, has_sents
