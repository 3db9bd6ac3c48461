"""Reads the tokens of many texts from those of their pieces between spaces.

Those of printable ASCII, which most are, are scanned: their tokens are runs of letters,
runs of digits and single characters.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR
from libc.stdint cimport int32_t, uint8_t, uint64_t

from ..core.simd.simd cimport hash_text

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    uint8_t* PyUnicode_1BYTE_DATA(object text)

# The code of all characters beyond ASCII.
cdef enum:
    OTHER = 128

# Kinds of characters: one that only the tokenizer cuts; a space; a token; and runs.
cdef enum:
    CONTROL, SPACE, SINGLE, LETTER, DIGIT

# Words for which there is room at first, a power of 2, and the most that are kept.
cdef enum:
    N_FIRST = 256
    N_MOST = 200_000


cdef class SeenWords:
    """Knows the numbers in a vocabulary of words of ASCII that were seen before. The
    strings may forget a word only after this object."""

    cdef object add
    cdef uint8_t[::1] kinds             # [OTHER + 1] of characters
    # Hash and number of a word side by side; a word with the hash 0 has no place.
    cdef uint64_t[:, ::1] slots
    cdef uint64_t mask
    cdef Py_ssize_t n

    def __init__(self, strings, bint split_digits):
        self.add = strings.add
        kinds = np.full(OTHER + 1, SINGLE, np.uint8)
        kinds[:32] = kinds[127:] = CONTROL
        kinds[32] = SPACE
        kinds[[*range(65, 91), *range(97, 123)]] = LETTER
        kinds[48:58] = DIGIT if split_digits else LETTER
        self.kinds = kinds
        self._clear(N_FIRST)

    cdef _clear(self, Py_ssize_t size):
        self.slots, self.n = np.zeros((size, 2), np.uint64), 0
        self.mask = size - 1

    cdef uint64_t number(
        self, str text, const uint8_t* x, Py_ssize_t start, Py_ssize_t end
    ) except? 0:
        """Returns the number of a word of ASCII in a text of codes x."""
        cdef uint64_t key = hash_text(<const char*>x + start, end - start)
        cdef uint64_t at = self._place(key)
        if self.slots[at, 0] == key and key:
            return self.slots[at, 1]
        # Not the hash itself: a few words have numbers of spaCy's own.
        cdef uint64_t number = self.add(text[start:end])
        if not key:
            return number
        if 2 * self.n > <Py_ssize_t>self.mask:
            self._grow()
            at = self._place(key)
        self.slots[at, 0], self.slots[at, 1] = key, number
        self.n += 1
        return number

    cdef inline uint64_t _place(self, uint64_t key) noexcept:
        cdef uint64_t at = key & self.mask
        while self.slots[at, 0] and self.slots[at, 0] != key:
            at = (at + 1) & self.mask
        return at

    cdef _grow(self):
        """Makes room for twice as many words, or forgets all."""
        cdef uint64_t[:, ::1] old = self.slots
        cdef Py_ssize_t k
        cdef uint64_t at
        if self.n >= N_MOST:
            self._clear(N_FIRST)
            return
        self._clear(2 * old.shape[0])
        for k in range(old.shape[0]):
            if old[k, 0]:
                at = self._place(old[k, 0])
                self.slots[at, 0], self.slots[at, 1] = old[k, 0], old[k, 1]
                self.n += 1


cdef class Tokens:
    """Has tokens of texts as they are read; room: the most there are."""

    cdef object array
    cdef uint64_t[:, ::1] rows          # see `read_texts`
    cdef Py_ssize_t n

    def __init__(self, Py_ssize_t room):
        self.rows = self.array = np.empty((3, room), np.uint64)
        self.n = 0

    cdef inline void add(
        self, uint64_t orth, Py_ssize_t start, Py_ssize_t end
    ) noexcept:
        cdef int32_t* place = <int32_t*>&self.rows[2, self.n]
        self.rows[0, self.n], self.rows[1, self.n] = orth, 0
        place[0], place[1] = <int32_t>start, <int32_t>end
        self.n += 1

    cdef bint read(self, str text, tokenizer, SeenWords words) except -1:
        """Adds the tokens of a text of pieces with one space between them, and none or
        one at the end; returns whether it is one."""
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text), first = self.n, i = 0, j, end
        cdef const uint8_t* x = PyUnicode_1BYTE_DATA(text)
        cdef bytes codes
        cdef str piece
        cdef uint8_t kind
        cdef bint is_plain
        cdef tuple tokens, orths, lengths
        if not PyUnicode_IS_ASCII(text):
            codes = _codes(text)
            x = <const uint8_t*>PyBytes_AS_STRING(codes)
        while i < n:
            end, is_plain = i, words is not None
            while end < n and x[end] != c" ":
                is_plain = is_plain and words.kinds[x[end]] > SPACE
                end += 1
            if is_plain and i < end:
                while i < end:
                    j, kind = i, words.kinds[x[i]]
                    i += 1
                    while kind > SINGLE and i < end and words.kinds[x[i]] == kind:
                        i += 1
                    self.add(words.number(text, x, j, i), j, i)
            else:
                piece = text[i:end]
                tokens = tokenizer.cache.get(piece) or _cut(tokenizer, piece)
                if tokens is None:
                    self.n = first
                    return False
                orths, lengths = tokens[0], tokens[2]
                for j in range(len(orths)):
                    self.add(orths[j], i, i + <Py_ssize_t>lengths[j])
                    i += lengths[j]
            if end < n:
                self.rows[1, self.n - 1] = 1
            i = end + 1
        return n > 0


cdef bytes _codes(str text):
    """Returns the characters of a text as bytes; OTHER for those beyond ASCII."""
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text), i
    cdef bytes codes = PyBytes_FromStringAndSize(NULL, n)
    cdef char* out = PyBytes_AS_STRING(codes)
    for i in range(n):
        out[i] = <char>min(<int>PyUnicode_READ_CHAR(text, i), <int>OTHER)
    return codes


def read_texts(list texts, tokenizer):
    """Reads texts of pieces with one space between them, and none or one at the end, as
    most texts are. Returns their tokens, and the numbers of the other texts, which have
    none; so have all texts with new words in a memory zone that the tokenizer does not
    know:

        tokens (uint64 [3, n])  the number of each in the vocabulary; 1 if a space
                                follows, else 0; two int32: its start and end in its
                                text
        first (List[int])       the first token of each text, and n
    """
    cdef Py_ssize_t room = 0, k
    cdef str text
    cdef list first = [0], others = []
    cdef SeenWords words = tokenizer.seen_words
    for text in texts:
        room += len(text)
    cdef Tokens tokens = Tokens(room)
    for k, text in enumerate(texts):
        if not tokens.read(text, tokenizer, words):
            others.append(k)
        first.append(tokens.n)
    return tokens.array[:, :tokens.n], first, others


cdef tuple _cut(tokenizer, str piece):
    """Returns the tokens of a piece; None if it cannot be read so."""
    try:
        return tokenizer.cut(piece)
    except Exception:  # such as half a surrogate pair
        return None
