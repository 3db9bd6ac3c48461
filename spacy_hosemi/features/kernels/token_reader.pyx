"""What a decoder reads of the tokens of documents first."""

import numpy as np

from libc.stdint cimport uint64_t

# The columns that `split_tokens` takes.
cdef enum:
    ORTH, SPACY, ENT_IOB, SENT_START, IS_SPACE, LENGTH, N_COLUMNS


def split_tokens(const uint64_t[:, ::1] tokens, list borders):
    """Attributes of tokens by column, and what limits the segmentations of documents.

    tokens (uint64 [n, 6]): ORTH, SPACY, ENT_IOB, SENT_START, IS_SPACE and LENGTH of
        each token.
    borders (List[int] [D + 1]): The first token of each document, and n.
    RETURNS (Tuple[uint64 [3, n], List[bool], List[bool]]): ORTH, SPACY and LENGTH;
        whether a document has entities, blocked or missing tokens; whether it has
        sentence starts or whitespace. Its first token always begins a sentence.
    RAISES (ValueError): Arrays that do not fit.
    """
    cdef Py_ssize_t n = tokens.shape[0], start = 0, end, i
    cdef list has_ents = [], has_limits = []
    cdef bint is_given, is_limited
    if tokens.shape[1] != N_COLUMNS or borders[len(borders) - 1] != n:
        raise ValueError(f"{n} tokens, borders {borders}")
    # One array: a view of an array takes longer than the tokens of a short text.
    split = np.empty((3, n), np.uint64)
    cdef uint64_t[:, ::1] split_ = split
    for end in borders[1:]:
        is_given = is_limited = False
        for i in range(start, end):
            split_[0, i], split_[1, i] = tokens[i, ORTH], tokens[i, SPACY]
            split_[2, i] = tokens[i, LENGTH]
            is_given = is_given or tokens[i, ENT_IOB] != 0
            is_limited = is_limited or tokens[i, IS_SPACE] != 0
            is_limited = is_limited or (i > start and tokens[i, SENT_START] != 0)
        has_ents.append(is_given)
        has_limits.append(is_limited)
        start = end
    return split, has_ents, has_limits
