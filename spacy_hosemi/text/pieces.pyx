"""Reads the tokens of many texts from those of their pieces between spaces.

Texts of printable ASCII, which most are, are scanned without looking at pieces: their
tokens are runs of letters, runs of digits and single characters.
"""

import numpy as np

from cpython.unicode cimport PyUnicode_GET_LENGTH
from libc.stdint cimport int32_t, uint8_t, uint64_t

from ..core.simd.simd cimport hash_text

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    uint8_t* PyUnicode_1BYTE_DATA(object text)

# Kinds of characters: control characters, which no piece has; a space; one that is a
# token; and runs.
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
    cdef uint8_t[::1] kinds             # [128] of characters
    # Hash and number of a word side by side; a word with the hash 0 has no place.
    cdef uint64_t[:, ::1] slots
    cdef uint64_t mask
    cdef Py_ssize_t n

    def __init__(self, strings, bint split_digits):
        self.add = strings.add
        kinds = np.full(128, SINGLE, np.uint8)
        kinds[:32] = kinds[127] = CONTROL
        kinds[32] = SPACE
        kinds[[*range(65, 91), *range(97, 123)]] = LETTER
        kinds[48:58] = DIGIT if split_digits else LETTER
        self.kinds = kinds
        self._clear(N_FIRST)

    cdef _clear(self, Py_ssize_t size):
        self.slots, self.n = np.zeros((size, 2), np.uint64), 0
        self.mask = size - 1

    cdef uint64_t number(self, str text, Py_ssize_t start, Py_ssize_t end) except? 0:
        """Returns the number of a word of a text of ASCII."""
        cdef const char* x = <const char*>PyUnicode_1BYTE_DATA(text)
        cdef uint64_t key = hash_text(x + start, end - start)
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

    cdef bint scan(self, str text, SeenWords words) except -1:
        """Adds the tokens of a text; returns whether it is one of printable ASCII, with
        single spaces between pieces, and none or one at the end."""
        cdef Py_ssize_t i = 0, start, n = PyUnicode_GET_LENGTH(text), first = self.n
        cdef const uint8_t* x
        cdef uint8_t kind
        if not n or not PyUnicode_IS_ASCII(text):
            return False
        x = PyUnicode_1BYTE_DATA(text)
        while i < n:
            start, kind = i, words.kinds[x[i]]
            i += 1
            if kind == SPACE and start and words.kinds[x[start - 1]] != SPACE:
                self.rows[1, self.n - 1] = 1
                continue
            if kind <= SPACE:
                self.n = first
                return False
            while kind > SINGLE and i < n and words.kinds[x[i]] == kind:
                i += 1
            self.add(words.number(text, start, i), start, i)
        return True

    cdef bint read(self, str text, tokenizer) except -1:
        """Adds the tokens of any text of pieces with one space between them, and none
        or one at the end; returns whether it is one."""
        cdef list pieces = text.split(" ")
        cdef Py_ssize_t last = len(pieces), first = self.n, at = 0, p, i
        cdef bint has_last = last > 1 and not pieces[last - 1]
        cdef dict cache = tokenizer.cache
        cdef tuple tokens, orths, lengths
        last -= has_last
        for p in range(last):
            tokens = cache.get(pieces[p])
            if tokens is None:
                tokens = _cut(tokenizer, pieces[p])
                if tokens is None:
                    self.n = first
                    return False
            orths, lengths = tokens[0], tokens[2]
            for i in range(len(orths)):
                self.add(orths[i], at, at + <Py_ssize_t>lengths[i])
                at += lengths[i]
            if p < last - 1 or has_last:
                self.rows[1, self.n - 1] = 1
            at += 1
        return True


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
        if words is None or not tokens.scan(text, words):
            if not tokens.read(text, tokenizer):
                others.append(k)
        first.append(tokens.n)
    return tokens.array[:, :tokens.n], first, others


cdef tuple _cut(tokenizer, str piece):
    """Returns the tokens of a piece; None if it cannot be read so."""
    try:
        return tokenizer.cut(piece)
    except Exception:  # such as half a surrogate pair
        return None
