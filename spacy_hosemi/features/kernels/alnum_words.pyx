"""The words of texts as lists compare them: runs of letters and digits, in lower case.

A Chinese or Japanese character is a word alone. Any other word goes on in the next text
if nothing is between: "Don't" is "don" and "t", also where it is "Do" and "n't".
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from ...core.simd.simd cimport hash_text

# A row has the hashes of that many words, behind their number and these flags: more
# words; begins with a character of a word that may have begun before; ends with one.
cdef enum:
    MOST = 3
N_OF_ROW = 1 + MOST
cdef uint64_t COUNT = 2**32 - 1, MANY = 2**32, BEGINS = 2**33, ENDS = 2**34

cdef extern from "Python.h" nogil:
    bint is_alnum "Py_UNICODE_ISALNUM"(Py_UCS4 c)


def find_words(
    list texts,
    const uint8_t[::1] has_space,       # IN  [n] whether words end with the text
    bint with_words=False,
):
    """Finds the words of n texts that follow each other, in linear time: returns the
    hash of each, uint64 [W], the texts in which it begins and ends, int32 [W], and the
    words, if they are asked for. The lower case is that of the part of a word in each
    text."""
    cdef Py_ssize_t most = 0, k
    cdef str text
    for text in texts:
        most += len(text)
    cdef _Words words = _Words(most, with_words)
    for k, text in enumerate(texts):
        words.read(text, k)
        if has_space[k]:
            words.close()
    words.close()
    return *map(np.copy, words.arrays()), words.words


def word_ends(const uint64_t[::1] spaces, const int32_t[::1] first):
    """Returns whether words end with a token, for a space or the end of its document:
    uint8 [n], from SPACY of each and the first token of each document, and n."""
    is_end = np.empty(spaces.shape[0], np.uint8)
    cdef uint8_t[::1] is_end_ = is_end
    cdef Py_ssize_t i
    for i in range(spaces.shape[0]):
        is_end_[i] = spaces[i] != 0
    for i in range(1, first.shape[0]):
        if first[i] > first[i - 1]:
            is_end_[first[i] - 1] = True
    return is_end


def word_rows(list texts, uint64_t[:, ::1] rows):
    """Writes what `words_of_tokens` has to know of texts to rows [K, 1 + MOST]: how
    many words each has, with flags; and their hashes, if there are no more than
    MOST."""
    cdef const uint64_t[::1] values
    cdef const int32_t[::1] piece
    cdef Py_ssize_t k, w
    cdef str text
    values, piece = find_words(texts, np.ones(len(texts), np.uint8))[:2]
    rows[:] = 0
    for w in range(values.shape[0]):
        k = piece[w]
        if rows[k, 0] < MOST:
            rows[k, 1 + rows[k, 0]] = values[w]
        rows[k, 0] += 1
    for k, text in enumerate(texts):
        if rows[k, 0] > MOST:
            rows[k, 0] |= MANY
        if rows[k, 0]:
            rows[k, 0] |= BEGINS if _goes_on(text[0]) else 0
            rows[k, 0] |= ENDS if _goes_on(text[len(text) - 1]) else 0


def words_of_tokens(
    strings,
    const uint64_t[::1] orths,          # IN  [n] the text of each token
    const uint8_t[::1] has_space,       # IN  [n] whether words end with the token
    const int32_t[::1] numbers,         # IN  [n] the row of each
    const uint64_t[:, ::1] rows,        # IN  [K, 1 + MOST] from `word_rows`
):
    """Makes `find_words` of the texts of tokens, where only words that cross borders of
    tokens, and tokens of more than MOST words, are read anew."""
    cdef Py_ssize_t most = 0, k, w, n = orths.shape[0]
    cdef uint64_t row
    cdef bint goes_on = False, is_first
    for k in range(n):
        most += rows[numbers[k], 0] & COUNT
    cdef _Words words = _Words(most, False)
    for k in range(n):
        row, is_first = rows[numbers[k], 0], not goes_on
        goes_on = k + 1 < n and not has_space[k] and row & ENDS
        goes_on = goes_on and rows[numbers[k + 1], 0] & BEGINS
        if is_first and not goes_on and not row & MANY:
            for w in range(<Py_ssize_t>(row & COUNT)):
                words.values[words.n_words] = rows[numbers[k], 1 + w]
                words.places[0, words.n_words] = <int32_t>k
                words.places[1, words.n_words] = <int32_t>k
                words.n_words += 1
            continue
        words.read(strings[orths[k]], k)
        if not goes_on:
            words.close()
    return *words.arrays(), words.words


cdef class _Words:
    """Gathers words; the last one may be open."""

    cdef list words
    cdef object of_words, of_places     # the arrays of the next two
    cdef bint with_words
    cdef Py_ssize_t n_words, size, room  # of closed words; bytes of the open one
    cdef uint64_t[::1] values
    cdef int32_t[:, ::1] places         # [2, most] the texts of their first and last
    cdef char* open                     # [room] in UTF-8

    def __cinit__(self, Py_ssize_t most, bint with_words):
        self.words, self.with_words = [], with_words
        self.n_words = self.size = self.room = 0
        self.values = self.of_words = np.empty(most, np.uint64)
        self.places = self.of_places = np.empty((2, most), np.int32)
        self.open = NULL

    def __dealloc__(self):
        free(self.open)

    cdef arrays(self):
        """Returns the closed words as `find_words` does."""
        first, last = self.of_places[:, :self.n_words]
        return self.of_words[:self.n_words], first, last

    cdef read(self, str text, int32_t k):
        """Goes on with text k."""
        cdef Py_ssize_t i = 0, j, n = len(text)
        cdef bint is_ascii
        while i < n:
            if _is_cjk(text[i]):
                self.close()
                self.add(text, i, i + 1, False, k)
                self.close()
                i += 1
                continue
            j, is_ascii = i, True
            while j < n and _goes_on(text[j]):
                is_ascii &= text[j] < 128
                j += 1
            if i < j:
                self.add(text, i, j, is_ascii, k)
            if j < n:
                self.close()
            # A CJK character at j is read next.
            i = j if j < n and _is_cjk(text[j]) else j + 1

    cdef add(self, str text, Py_ssize_t i, Py_ssize_t j, bint is_ascii, int32_t k):
        """Adds text[i:j] of text k to the open word, or begins one."""
        cdef bytes piece = b""
        cdef Py_ssize_t end, at
        cdef uint32_t c
        cdef char* larger
        if not is_ascii:
            piece = text[i:j].lower().encode()
        end = self.size + (j - i if is_ascii else len(piece))
        if end > self.room:
            larger = <char*>realloc(self.open, 2 * end)
            if not larger:
                raise MemoryError
            self.open, self.room = larger, 2 * end
        if not is_ascii:
            memcpy(&self.open[self.size], <const char*>piece, len(piece))
        else:
            for at in range(i, j):
                c = <Py_UCS4>text[at]
                self.open[self.size + at - i] = <char>(c + 32 if 65 <= c <= 90 else c)
        if not self.size:
            self.places[0, self.n_words] = k
        self.places[1, self.n_words] = k
        self.size = end

    cdef close(self):
        """Ends the open word, if there is one."""
        if not self.size:
            return
        self.values[self.n_words] = hash_text(self.open, self.size)
        if self.with_words:
            self.words.append(self.open[:self.size].decode("utf-8"))
        self.n_words += 1
        self.size = 0


cdef inline bint _goes_on(Py_UCS4 c) noexcept nogil:
    """Says whether a word goes on with a character."""
    if c < 128:
        return u"a" <= c <= u"z" or u"A" <= c <= u"Z" or u"0" <= c <= u"9"
    return is_alnum(c) and not _is_cjk(c)


cdef inline bint _is_cjk(Py_UCS4 c) noexcept nogil:
    """Says whether a character is Chinese or Japanese, and so a word."""
    if c < 0x3041 or c > 0x9fff:
        return False
    return (
        c <= 0x3096 or 0x30a1 <= c <= 0x30fa or 0x30fc <= c <= 0x30ff or c >= 0x3400
    )
