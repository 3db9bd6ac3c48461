"""Reads the tokens of many texts from those of their pieces between spaces."""

import numpy as np

from libc.stdint cimport int32_t, uint64_t


def read_texts(list texts, tokenizer):
    """Tokens of texts that are pieces with one space between them, and none or one at
    the end; see `FieldTokenizer.read_pieces`.

    texts (List[str]): Any texts.
    tokenizer (FieldTokenizer): Has a `cache` of pieces, and cuts others.
    RETURNS (Tuple): What has all tokens of all these texts:

        orths, spaces (uint64 [n])  the number of each in the vocabulary; 1 if a space
                                    follows, else 0
        starts, ends (int32 [n])    its characters in its text
        borders (List[int] [D + 1]) the first token of each text, and n
        others (List[int])          the texts that are others, or fail; they have no
                                    tokens here
    """
    cdef Py_ssize_t room = 0, k, n = 0, first, last, p, i, at
    cdef str text, piece
    cdef list pieces, borders = [0], others = []
    cdef dict cache = tokenizer.cache
    cdef tuple found, orths_of, lengths
    cdef bint is_read, has_last
    for text in texts:
        room += len(text)
    orths, spaces = np.empty(room, np.uint64), np.zeros(room, np.uint64)
    starts, ends = np.empty(room, np.int32), np.empty(room, np.int32)
    cdef uint64_t[::1] orths_ = orths, spaces_ = spaces
    cdef int32_t[::1] starts_ = starts, ends_ = ends
    for k, text in enumerate(texts):
        pieces = text.split(" ")
        last, first, at, is_read = len(pieces), n, 0, True
        has_last = last > 1 and not pieces[last - 1]
        last -= has_last
        for p in range(last):
            piece = pieces[p]
            found = cache.get(piece)
            if found is None:
                found = _cut(tokenizer, piece)
                if found is None:
                    is_read = False
                    break
            orths_of, lengths = found[0], found[2]
            for i in range(len(orths_of)):
                orths_[n] = orths_of[i]
                starts_[n] = <int32_t>at
                at += lengths[i]
                ends_[n] = <int32_t>at
                n += 1
            if p < last - 1 or has_last:
                spaces_[n - 1] = 1
            at += 1
        if not is_read:
            spaces[first:n] = 0
            n = first
            others.append(k)
        borders.append(n)
    return orths[:n], spaces[:n], starts[:n], ends[:n], borders, others


cdef tuple _cut(tokenizer, str piece):
    """The tokens of a piece; None if it cannot be read so."""
    try:
        return tokenizer.cut(piece)
    except Exception:  # such as half a surrogate pair
        return None
