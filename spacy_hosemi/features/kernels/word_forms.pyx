"""Forms of words: what templates read of their characters, such as a short shape.

A form is a function of one text. Its value is its hash, as spaCy has it of a string; 0
where a text has none, so that no template that reads it is active. Each takes time
linear in the length of the text: what two neighbouring parts of a pattern match is
disjoint, so one pass over the text finds whether it matches.

What letters, digits, capitals and whitespace are, Python says: `str.isalpha`, `\\w`.
"""

import numpy as np

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen

from ...core.simd.simd cimport hash_text

cdef extern from *:
    """
    /* Most characters are ASCII, and Python's functions are calls for these, too. */
    #define HOSEMI_IS(c, first, n, PYTHON) ((c) < 128 ? (c) - (first) < (n) : PYTHON(c))
    #define HOSEMI_IS_DECIMAL(c) HOSEMI_IS(c, 48u, 10u, Py_UNICODE_ISDECIMAL)
    #define HOSEMI_IS_DIGIT(c) HOSEMI_IS(c, 48u, 10u, Py_UNICODE_ISDIGIT)
    #define HOSEMI_IS_LOWER(c) HOSEMI_IS(c, 97u, 26u, Py_UNICODE_ISLOWER)
    #define HOSEMI_IS_UPPER(c) HOSEMI_IS(c, 65u, 26u, Py_UNICODE_ISUPPER)
    #define HOSEMI_IS_LETTER(c) \
        ((c) < 128 ? ((c) | 32u) - 97u < 26u : Py_UNICODE_ISALPHA(c))
    """
    bint is_ascii "PyUnicode_IS_ASCII"(object text)
    bint is_alnum "Py_UNICODE_ISALNUM"(Py_UCS4 c) nogil
    bint is_decimal "HOSEMI_IS_DECIMAL"(Py_UCS4 c) nogil
    bint is_digit "HOSEMI_IS_DIGIT"(Py_UCS4 c) nogil
    bint is_letter "HOSEMI_IS_LETTER"(Py_UCS4 c) nogil
    bint is_lower "HOSEMI_IS_LOWER"(Py_UCS4 c) nogil
    bint is_space "Py_UNICODE_ISSPACE"(Py_UCS4 c) nogil
    bint is_title "Py_UNICODE_ISTITLE"(Py_UCS4 c) nogil
    bint is_upper "HOSEMI_IS_UPPER"(Py_UCS4 c) nogil

# BIAS        "1".
# LENGTH      The number of characters.
# SHORT_SHAPE The shape with each run of one kind of character as one, at most 12:
#             "McDonald's," -> "XxXx'x,".
# NUMBER      The kind of number, with or without punctuation around it: "year",
#             "range", "ordinal", the number of digits (up to 5, with "+" if there are
#             letters), "initial", "roman".
# PUNCTUATION That around the word: "Vol.," -> "_.,"; at most 6 characters.
# MARKS       Brackets and quotation marks, without apostrophes between letters.
# CASE        Of the letters: "upper", "title", "lower", "mixed".
# CORE        The text, of a word in lower case, without punctuation around it.
# PREFIX1 ..  The first characters, of a longer text.
# SUFFIX1 ..  The last characters, of a longer text.
FORMS = (
    *"BIAS LENGTH SHORT_SHAPE NUMBER PUNCTUATION MARKS CASE CORE".split(),
    *(f"{kind}{size}" for kind in ("PREFIX", "SUFFIX") for size in range(1, 5)),
)

cdef enum:  # in the order of FORMS, but for the longer suffixes
    BIAS, LENGTH, SHORT_SHAPE, NUMBER, PUNCTUATION, MARKS, CASE, CORE
    PREFIX1, PREFIX2, PREFIX3, PREFIX4, SUFFIX1

# The most characters of SHORT_SHAPE and PUNCTUATION.
cdef enum:
    N_SHAPE = 12
    N_PUNCTUATION = 6

# A character takes at most 4 bytes; a form has no more characters than its text, but
# for a few that name a kind.
cdef enum:
    N_BYTES = 4
    N_MORE = 64


def read_texts(strings, const uint64_t[::1] words):
    """Returns the texts of K words, and the indices of those that are not of printable
    characters of ASCII alone, without spaces."""
    cdef Py_ssize_t k
    cdef str text
    cdef Py_UCS4 c
    cdef bint is_plain
    cdef list texts = [], others = []
    for k in range(words.shape[0]):
        text = strings[words[k]]
        is_plain = is_ascii(text) and len(text) > 0
        if is_plain:
            for c in text:
                is_plain &= u" " < c < u"\x7f"
        if not is_plain:
            others.append(k)
        texts.append(text)
    return texts, others


# What forms of words are forms of: the word; the word in lower case; what the
# vocabulary has as that.
cdef enum:
    WORD, LOWERED, LOWER


cdef class FormReader:
    """Completes what a vocabulary has of words by the forms of the words.

    forms, origins (int32 [F]): Indices in FORMS, and what each is a form of: 0 the
        word, 1 the word in lower case, 2 what the vocabulary has as that.
    n_strings, n_flags (int): Attributes that stand before the forms in a row.
    lower (int): Which attribute is that lower case; -1: no form needs it.
    n_names (int): Strings with smaller numbers than that have one of spaCy's own.
    flag (int): The value of a flag that is true.
    """

    cdef const int32_t[::1] _forms, _origins
    cdef Py_ssize_t _n_strings, _n_flags, _lower
    cdef uint64_t _n_names, _flag

    def __init__(self, forms, origins, n_strings, n_flags, lower, n_names, flag):
        self._forms, self._origins = forms, origins
        self._n_strings, self._n_flags, self._lower = n_strings, n_flags, lower
        self._n_names, self._flag = n_names, flag

    def read(
        self,
        strings,
        const uint64_t[::1] words,          # IN  [K]
        list texts,                         # IN  [K]
        const uint64_t[:, ::1] rows,        # IN  [K, ..] strings, flags, and others
        uint64_t[:, :] values,              # OUT [K, strings + flags + F or more]
    ):
        """Writes attributes of K words; returns whether a string has a number of
        spaCy's own."""
        cdef Py_ssize_t k, a, f, n, first = self._n_strings + self._n_flags
        cdef bint has_own = False
        cdef Spellings spellings = Spellings([])
        cdef int32_t origin, last
        cdef uint64_t lower
        cdef bint is_plain
        cdef str text
        for k in range(words.shape[0]):
            for a in range(self._n_strings):
                values[k, a] = rows[k, a]
                has_own |= values[k, a] < self._n_names
            for a in range(self._n_strings, first):
                values[k, a] = self._flag if rows[k, a] else 0
            last = -1
            for f in range(self._forms.shape[0]):
                origin = self._origins[f]
                if origin != last:
                    text, last = texts[k], origin
                    is_plain = is_ascii(text)
                    if origin == LOWERED and not is_plain:
                        text = text.lower()
                    spellings._take(text, origin != WORD and is_plain)
                    if origin == LOWER:
                        lower = spellings._hash() if is_plain else words[k]
                        if rows[k, self._lower] != lower:
                            spellings._take(strings[rows[k, self._lower]])
                n = spellings._read(self._forms[f])
                values[k, first + f] = hash_text(spellings._form, n) if n else 0
        return has_own


cdef class Spellings:
    """Reads the forms of K texts."""

    cdef list _texts
    # Work space for one text at a time
    cdef Py_UCS4* _points
    cdef char* _form
    cdef Py_ssize_t _n, _room

    def __cinit__(self, list texts):
        self._texts = texts
        self._points, self._form, self._room = NULL, NULL, 0

    def __dealloc__(self):
        free(self._points)
        free(self._form)

    cdef int _take(self, str text, bint in_lower=False) except -1:
        """Reads this text from now on; `in_lower`, of ASCII: in lower case."""
        cdef Py_ssize_t i = 0
        cdef Py_UCS4 c
        self._n = len(text)
        if self._n >= self._room:
            free(self._points)
            free(self._form)
            self._room = max(2 * self._n, N_MORE)
            self._points = <Py_UCS4*>malloc(self._room * sizeof(Py_UCS4))
            self._form = <char*>malloc(N_BYTES * self._room + N_MORE)
            if not self._points or not self._form:
                self._room = 0
                raise MemoryError
        for c in text:
            self._points[i] = c
            if in_lower and u"A" <= c <= u"Z":
                self._points[i] = <Py_UCS4>(<uint32_t>c + 32)
            i += 1
        return 0

    cdef uint64_t _hash(self) noexcept nogil:
        """Returns the hash of the text."""
        cdef char* end = _write(self._points, self._n, self._form)
        return hash_text(self._form, <Py_ssize_t>end - <Py_ssize_t>self._form)

    def texts(self, int form):
        """Returns a form of each text, None where it has none."""
        cdef Py_ssize_t n
        forms = []
        for text in self._texts:
            self._take(text)
            n = self._read(form)
            forms.append(self._form[:n].decode("utf-8") if n else None)
        return forms

    def marks(self):
        """Counts brackets and quotation marks, as `balance` reads them, int32 [4, K]:
        brackets opened less those closed; the least such difference within the text, at
        most 0; quotation marks; whether there are any. (Which quotation marks open and
        which close depends on the language.)"""
        counts = np.zeros((4, len(self._texts)), np.int32)
        cdef int32_t[:, ::1] counts_ = counts
        cdef Py_ssize_t k, i
        cdef const Py_UCS4* x
        for k, text in enumerate(self._texts):
            self._take(text)
            x = self._points
            for i in range(self._n):
                if not _is_mark(x, self._n, i):
                    continue
                if _opens(x[i]):
                    counts_[0, k] += 1
                elif _closes(x[i]):
                    counts_[0, k] -= 1
                else:
                    counts_[2, k] += 1
                counts_[1, k] = min(counts_[1, k], counts_[0, k])
                counts_[3, k] = 1
        return counts

    cdef Py_ssize_t _read(self, int form) noexcept nogil:
        """Writes a form of the text; returns its number of bytes."""
        cdef const Py_UCS4* x = self._points
        cdef Py_ssize_t n = self._n, size
        cdef char* start = self._form
        cdef char* out = start
        if form == BIAS:
            out = _say(out, b"1")
        elif form == LENGTH:
            out += snprintf(out, N_MORE, "%zd", n)
        elif form == SHORT_SHAPE:
            out = _short_shape(x, n, out)
        elif form == NUMBER:
            out = _number(x, n, out)
        elif form == PUNCTUATION:
            out = _punctuation(x, n, out)
        elif form == MARKS:
            out = _marks(x, n, out)
        elif form == CASE:
            out = _case(x, n, out)
        elif form == CORE:
            out = _core(x, n, out)
        elif form < SUFFIX1:
            size = form - PREFIX1 + 1
            out = _write(x, size if size < n else 0, out)
        else:
            size = form - SUFFIX1 + 1
            out = _write(x + n - size, size, out) if size < n else out
        # The checked build cannot subtract pointers.
        return <Py_ssize_t>out - <Py_ssize_t>start


# --- what is written: each function returns where the next character goes ------------

cdef inline char* _put(uint32_t c, char* out) noexcept nogil:
    """Writes a character in UTF-8."""
    if c < 0x80:
        out[0] = <char>c
        return out + 1
    if c < 0x800:
        out[0] = <char>(0xC0 | c >> 6)
        out[1] = <char>(0x80 | c & 0x3F)
        return out + 2
    if c < 0x10000:
        out[0] = <char>(0xE0 | c >> 12)
        out[1] = <char>(0x80 | c >> 6 & 0x3F)
        out[2] = <char>(0x80 | c & 0x3F)
        return out + 3
    out[0] = <char>(0xF0 | c >> 18)
    out[1] = <char>(0x80 | c >> 12 & 0x3F)
    out[2] = <char>(0x80 | c >> 6 & 0x3F)
    out[3] = <char>(0x80 | c & 0x3F)
    return out + 4


cdef inline char* _write(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out = _put(x[i], out)
    return out


cdef inline char* _say(char* out, const char* text) noexcept nogil:
    memcpy(out, text, strlen(text))
    return out + strlen(text)


# --- forms --------------------------------------------------------------------------

cdef char* _short_shape(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t i, n_runs = 0
    cdef Py_UCS4 kind, last = 0
    for i in range(n):
        kind = x[i]
        if is_upper(kind):
            kind = u"X"
        elif is_letter(kind):
            kind = u"x"
        elif is_digit(kind):
            kind = u"d"
        if n_runs and kind == last:
            continue
        if n_runs == N_SHAPE:
            break
        out = _put(kind, out)
        last = kind
        n_runs += 1
    return out


cdef char* _number(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t start, end, i, size, n_digits = 0
    cdef bint has_letters = False
    _without_punctuation(x, n, &start, &end)
    size = end - start
    if _is_year(x + start, size):
        return _say(out, b"year")
    if _is_range(x + start, size):
        return _say(out, b"range")
    i = _decimals(x + start, size, 0)
    if i and (
        i == size and end < n and x[end] == u"."
        or i + 2 == size and _is_ordinal_ending(x[end - 2], x[end - 1])
    ):
        return _say(out, b"ordinal")
    for i in range(n):
        n_digits += is_digit(x[i])
        has_letters |= is_letter(x[i])
    if n_digits:
        out = _put(c"0" + <uint32_t>min(n_digits, 5), out)
        return _say(out, b"+") if has_letters else out
    if _is_initial(x, n):
        return _say(out, b"initial")
    return _say(out, b"roman") if _is_roman(x + start, size) else out


cdef char* _punctuation(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t start, end, before
    _without_punctuation(x, n, &start, &end)
    if start == 0 and end == n:
        return out
    before = min(start, N_PUNCTUATION)
    out = _write(x, before, out)
    if before < N_PUNCTUATION:
        out = _write(x + end, min(n - end, N_PUNCTUATION - before - 1), _put(u"_", out))
    return out


cdef char* _marks(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if _is_mark(x, n, i):
            out = _put(x[i], out)
    return out


cdef char* _case(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t i, n_letters = 0, n_upper = 0
    cdef bint is_first_upper = False, has_other = False
    for i in range(n):
        if not is_letter(x[i]):
            continue
        if is_upper(x[i]):
            is_first_upper |= n_letters == 0
            n_upper += 1
        has_other |= is_lower(x[i]) or is_title(x[i])
        n_letters += 1
    if n_letters == 0:
        return out
    # Letters without case, such as Chinese ones, may stand between capitals.
    if n_upper and n_letters > 1 and not has_other:
        return _say(out, b"upper")
    if is_first_upper and n_upper == 1:
        return _say(out, b"title")
    if n_upper:
        return _say(out, b"mixed")
    return _say(out, b"lower")


cdef char* _core(const Py_UCS4* x, Py_ssize_t n, char* out) noexcept nogil:
    cdef Py_ssize_t start = 0, end = n
    while start < end and _is_around(x[start]):
        start += 1
    while start < end and _is_around(x[end - 1]):
        end -= 1
    return out if start == 0 and end == n else _write(x + start, end - start, out)


# --- parts of words -----------------------------------------------------------------

cdef inline bint _is_word(Py_UCS4 c) noexcept nogil:
    return is_alnum(c) or c == u"_"


cdef inline bint _is_mark(const Py_UCS4* x, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    """Says whether character i is a bracket or a quotation mark; no apostrophe between
    letters is one."""
    if x[i] in u"'’`" and 0 < i < n - 1:
        return not (_is_word(x[i - 1]) and _is_word(x[i + 1]))
    return _opens(x[i]) or _closes(x[i]) or x[i] in u"\"'`“”„‘’‚«»"


cdef inline bint _opens(Py_UCS4 c) noexcept nogil:
    return c in u"([{<"


cdef inline bint _closes(Py_UCS4 c) noexcept nogil:
    return c in u")]}>"


cdef inline bint _is_around(Py_UCS4 c) noexcept nogil:
    """Whether a character is none of the core of a word at its ends."""
    return c in u".,;:()[]{}\"'“”‘’«»"


cdef void _without_punctuation(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t* start, Py_ssize_t* end
) noexcept nogil:
    """Start and end of the word without punctuation; n and n if it has no word."""
    cdef Py_ssize_t i = 0, j = n
    while i < n and not _is_word(x[i]):
        i += 1
    while j > i and not _is_word(x[j - 1]):
        j -= 1
    start[0], end[0] = i, j


cdef inline Py_ssize_t _decimals(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t i
) noexcept nogil:
    """Where the decimals from character i on end."""
    while i < n and is_decimal(x[i]):
        i += 1
    return i


cdef inline bint _is_year(const Py_UCS4* x, Py_ssize_t n) noexcept nogil:
    """(1[5-9]\\d\\d|20\\d\\d)[a-z]?"""
    if n < 4 or n > 5 or (n == 5 and not u"a" <= x[4] <= u"z"):
        return False
    if not (is_decimal(x[2]) and is_decimal(x[3])):
        return False
    return (x[0] == u"1" and u"5" <= x[1] <= u"9") or (x[0] == u"2" and x[1] == u"0")


cdef bint _is_range(const Py_UCS4* x, Py_ssize_t n) noexcept nogil:
    """[a-zA-Z]?\\d+[a-z]?\\s*[-–—/]+\\s*[a-zA-Z]?\\d+"""
    cdef Py_ssize_t i = _prefixed_decimals(x, n, 0), dashes
    if i and i < n and u"a" <= x[i] <= u"z":
        i += 1
    dashes = i = _spaces(x, n, i)
    while i < n and x[i] in u"-–—/":
        i += 1
    if not dashes or i == dashes:
        return False
    return _prefixed_decimals(x, n, _spaces(x, n, i)) == n


cdef Py_ssize_t _prefixed_decimals(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t start
) noexcept nogil:
    """Where [a-zA-Z]?\\d+ from `start` on ends; 0 if it does not match."""
    cdef Py_ssize_t end
    if start < n and (u"a" <= x[start] <= u"z" or u"A" <= x[start] <= u"Z"):
        start += 1
    end = _decimals(x, n, start)
    return end if end > start else 0


cdef inline Py_ssize_t _spaces(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t i
) noexcept nogil:
    """Where the whitespace from character i on ends."""
    while i < n and is_space(x[i]):
        i += 1
    return i


cdef inline bint _is_ordinal_ending(Py_UCS4 a, Py_UCS4 b) noexcept nogil:
    """st|nd|rd|th, in any case; a long s is one of its cases."""
    if a in u"tT":
        return b in u"hH"
    return b in u"tT" if a in u"sSſ" else a in u"nNrR" and b in u"dD"


cdef bint _is_initial(const Py_UCS4* x, Py_ssize_t n) noexcept nogil:
    """([A-Z]\\.?[-,]?)+,?"""
    cdef Py_ssize_t i = 0
    while i < n and u"A" <= x[i] <= u"Z":
        i += 1
        i += i < n and x[i] == u"."
        i += i < n and x[i] in u"-,"
    if i and i < n and x[i] == u",":
        i += 1
    return i and i == n


cdef bint _is_roman(const Py_UCS4* x, Py_ssize_t n) noexcept nogil:
    """m{0,3}(c[md]|d?c{0,3})(x[cl]|l?x{0,3})(i[xv]|v?i{0,3}), in any case; not ''."""
    cdef Py_ssize_t i = _ones(x, n, 0, u"m")
    i = _roman_digit(x, n, i, u"c", u"d", u"m")
    i = _roman_digit(x, n, i, u"x", u"l", u"c")
    i = _roman_digit(x, n, i, u"i", u"v", u"x")
    return n and i == n


cdef Py_ssize_t _roman_digit(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t i, Py_UCS4 one, Py_UCS4 five, Py_UCS4 ten
) noexcept nogil:
    """Where a numeral from 0 to 9, with these letters, ends."""
    if i + 1 < n and _is_either(x[i], one) and (
        _is_either(x[i + 1], five) or _is_either(x[i + 1], ten)
    ):
        return i + 2
    if i < n and _is_either(x[i], five):
        i += 1
    return _ones(x, n, i, one)


cdef Py_ssize_t _ones(
    const Py_UCS4* x, Py_ssize_t n, Py_ssize_t i, Py_UCS4 letter
) noexcept nogil:
    """Where a letter that follows at most three times from character i on ends."""
    cdef Py_ssize_t end = min(n, i + 3)
    while i < end and _is_either(x[i], letter):
        i += 1
    return i


cdef inline bint _is_either(Py_UCS4 c, Py_UCS4 letter) noexcept nogil:
    """Whether a character is this lower-case letter, or a case of it."""
    if letter == u"i" and (c == u"İ" or c == u"ı"):
        return True
    return c == letter or c == <uint32_t>letter - 32
