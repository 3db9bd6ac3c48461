"""Sets of spans without overlaps: those that gain most, and those with the highest
expected F1.

With best[k] the gain of the best set among the first k spans, by their ends, where each
gains 2 p - ratio, and b(k) of them end where the next one begins, or before:

    best[k + 1] = max(best[k], 2 p - ratio + best[b(k)])

The expected F1 of a set S is 2 sum_S p / (|S| + E[spans]). Dinkelbach's method (1967)
finds its maximum: while the F1 grows, it is the next ratio. So a span that gains
nothing never gains anything later, and is left out from then on.
"""

from libc.stdlib cimport free, malloc, qsort

from ..chart.span_lists cimport SpanLists

# No two spans that are more probable overlap: sums of up to `LARGEST_SUM` are rounded
# by up to 1e-4, and so are probabilities.
cdef double LIKELY = 0.5 + 1e-4

# An F1 that is not higher by this much is the same.
cdef double LEAST_GAIN = 1e-12

# Leave out spans that are less probable. All of them together are worth less than a
# span in a million.
LEAST = 1e-7
cdef double _LEAST = LEAST

# Without an expected F1, first try to reach one of twice this number: then only spans
# of at least this probability can pay. Until it is reached, go down in these steps.
cdef double FIRST = 0.05, STEP = 0.25


cdef double first_least(double expected_f1) noexcept nogil:
    """Returns the least probability of spans to list first, see `BestSet.find`."""
    return FIRST if expected_f1 < 0.0 else max(0.5 * expected_f1, _LEAST)


cdef double next_least(double least, double ratio) noexcept nogil:
    """RETURNS: The least probability of spans to list after those of `least`, with
    which an F1 of `ratio` is reached; 0: no other span pays. More spans bring a higher
    ratio, so half of this one may be far too low."""
    if least <= _LEAST or ratio >= 2.0 * least * (1.0 - 1e-9):
        return 0.0
    return max(STEP * least, max(0.5 * ratio, _LEAST))


cdef int _compare(const void* a, const void* b) noexcept nogil:
    """By end, then start, then label."""
    cdef const Candidate* x = <const Candidate*>a
    cdef const Candidate* y = <const Candidate*>b
    if x.end != y.end:
        return -1 if x.end < y.end else 1
    if x.start != y.start:
        return -1 if x.start < y.start else 1
    return (x.label > y.label) - (x.label < y.label)


cdef void _copy(const Listed* span, Candidate* candidate) noexcept nogil:
    candidate.start, candidate.end = span.start, span.end
    candidate.label, candidate.prob = span.label, span.score


cdef class BestSet:
    """Finds the best set of some spans, and keeps its memory for others."""

    def __cinit__(self):
        self.memory = NULL
        self.room = self.n_candidates = self.n_chosen = 0
        self.is_complete = True

    def __dealloc__(self):
        free(self.memory)

    cdef void find(
        self,
        const Listed* spans,
        Py_ssize_t n,
        double n_expected,
        double expected_f1,
    ) noexcept nogil:
        """Choose, of n spans with probabilities as scores, the set that gains most at
        an `expected_f1` of 0 or above, else the one of highest F1."""
        cdef Py_ssize_t k, n_tried
        cdef double reached
        self.n_chosen, self.ratio = 0, max(expected_f1, 0.0)
        self.is_complete = n <= self.room or self._make_room(n)
        if n == 0 or not self.is_complete:
            return
        for k in range(n):
            _copy(&spans[k], &self.candidate[k])
        self.n_candidates = n
        qsort(self.candidate, n, sizeof(Candidate), _compare)
        if expected_f1 >= 0.0:
            n_tried = self._choose(expected_f1)
            self._take_tried(n_tried)
            return
        self._begin(spans, n)
        self.ratio = _f1(self.chosen, self.n_chosen, n_expected)
        while True:  # each time with fewer spans
            n_tried = self._choose(self.ratio)
            reached = _f1(self.tried, n_tried, n_expected)
            if not reached > self.ratio + LEAST_GAIN:
                return
            self._take_tried(n_tried)
            self.ratio = reached

    cdef void _take_tried(self, Py_ssize_t n_tried) noexcept nogil:
        self.chosen, self.tried = self.tried, self.chosen
        self.n_chosen = n_tried

    cdef void _begin(self, const Listed* spans, Py_ssize_t n) noexcept nogil:
        """Choose the likely spans; if there are none, the first of the most probable
        ones."""
        cdef Py_ssize_t k, top = 0
        for k in range(n):
            if self.candidate[k].prob > LIKELY:
                self.chosen[self.n_chosen] = self.candidate[k]
                self.n_chosen += 1
            if spans[k].score > spans[top].score:
                top = k
        if self.n_chosen == 0:
            _copy(&spans[top], &self.chosen[0])
            self.n_chosen = 1

    cdef Py_ssize_t _choose(self, double ratio) noexcept nogil:
        """Fill `tried` with the best set at this ratio, and drop candidates that gain
        nothing. RETURNS: How many spans it has."""
        cdef Py_ssize_t k, low, high, middle, n = 0, n_tried = 0
        cdef Candidate* candidate = self.candidate
        cdef double total
        for k in range(self.n_candidates):
            if 2.0 * candidate[k].prob - ratio > 0.0:
                candidate[n] = candidate[k]
                n += 1
        self.n_candidates = n
        self.best[0] = 0.0
        for k in range(n):
            low, high = 0, k
            while low < high:
                middle = (low + high) // 2
                if candidate[middle].end <= candidate[k].start:
                    low = middle + 1
                else:
                    high = middle
            total = 2.0 * candidate[k].prob - ratio + self.best[low]
            candidate[k].before = low if total > self.best[k] else -1
            self.best[k + 1] = max(total, self.best[k])
        k = n
        while k:
            k -= 1
            if candidate[k].before >= 0:
                self.tried[n_tried] = candidate[k]
                n_tried += 1
                k = candidate[k].before
        for k in range(n_tried // 2):
            self.tried[k], self.tried[n_tried - 1 - k] = (
                self.tried[n_tried - 1 - k], self.tried[k]
            )
        return n_tried

    cdef bint _make_room(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t room = 2 * n
        free(self.memory)
        self.memory = malloc(room * 3 * sizeof(Candidate) + (room + 1) * sizeof(double))
        self.room = room if self.memory else 0
        self.candidate = <Candidate*>self.memory
        self.chosen = self.candidate + self.room
        self.tried = self.chosen + self.room
        self.best = <double*>(self.tried + self.room)
        return self.room > 0

    cdef list segments(self):
        """RETURNS (List[Tuple[int, int, int]]): What is chosen, from left to right."""
        cdef Py_ssize_t k
        return [
            (self.chosen[k].start, self.chosen[k].end, self.chosen[k].label)
            for k in range(self.n_chosen)
        ]


cdef double _f1(const Candidate* span, Py_ssize_t n, double n_expected) noexcept nogil:
    """2 sum p / (n + E[spans])"""
    cdef Py_ssize_t k
    cdef double n_correct = 0.0
    for k in range(n):
        n_correct += span[k].prob
    return 2.0 * n_correct / (n + n_expected) if n + n_expected else 0.0


def best_set(spans, double n_expected, expected_f1):
    """Returns the best set of spans (start, end, label, probability) from left to
    right, and the F1 that is given or reached; above half of it a probability pays."""
    cdef SpanLists listed = SpanLists()
    cdef BestSet found = BestSet()
    for start, end, label, prob in spans:
        listed.add(0, start, end, label, prob)
    listed.check()
    found.find(
        listed.rows, listed.n, n_expected, -1.0 if expected_f1 is None else expected_f1
    )
    if not found.is_complete:
        raise MemoryError
    return found.segments(), found.ratio


def least_listed(expected_f1):
    """RETURNS (float): See `first_least`; expected_f1 as of `core.mbr`."""
    return first_least(-1.0 if expected_f1 is None else expected_f1)


def next_listed(double least, double ratio):
    """RETURNS (float): See `next_least`."""
    return next_least(least, ratio)
