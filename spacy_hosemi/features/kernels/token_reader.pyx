"""What a decoder reads of the tokens of documents first."""

import numpy as np

from libc.stdint cimport uint64_t

# The columns that `split_tokens` takes.
cdef enum:
    ORTH, SPACY, ENT_IOB, SENT_START, IDX, N_COLUMNS


def split_tokens(const uint64_t[:, ::1] tokens, list borders, list last):
    """Attributes of tokens by column, and what limits the segmentations of documents.

    tokens (uint64 [n, 5]): ORTH, SPACY, ENT_IOB, SENT_START and IDX of each token.
    borders (List[int] [D + 1]): The first token of each document, and n.
    last (List[int] [D]): The length of the last token of each document.
    RETURNS (Tuple[uint64 [3, n], List[bool], List[bool]]): ORTH, SPACY and the length;
        whether a document has entities, blocked or missing tokens; whether it has
        sentence starts. Its first token always begins a sentence.
    RAISES (ValueError): Arrays that do not fit.
    """
    cdef Py_ssize_t n = tokens.shape[0], start = 0, end, i
    cdef list has_ents = [], has_sents = []
    cdef bint is_given, is_begun
    cdef bint fits = tokens.shape[1] == N_COLUMNS and len(borders) == len(last) + 1
    if not fits or borders[len(last)] != n:
        raise ValueError(f"{n} tokens, borders {borders}")
    # One array: a view of an array takes longer than the tokens of a short text.
    split = np.empty((3, n), np.uint64)
    cdef uint64_t[:, ::1] split_ = split
    for end, length in zip(borders[1:], last):
        is_given = is_begun = False
        for i in range(start, end):
            split_[0, i], split_[1, i] = tokens[i, ORTH], tokens[i, SPACY]
            split_[2, i] = <uint64_t>length
            if i + 1 < end:
                split_[2, i] = tokens[i + 1, IDX] - tokens[i, IDX] - tokens[i, SPACY]
            is_given = is_given or tokens[i, ENT_IOB] != 0
            is_begun = is_begun or (i > start and tokens[i, SENT_START] != 0)
        has_ents.append(is_given)
        has_sents.append(is_begun)
        start = end
    return split, has_ents, has_sents
