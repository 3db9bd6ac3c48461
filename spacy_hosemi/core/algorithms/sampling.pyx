"""Exact samples: a backward sweep that sums, then random walks from the left.

At each step the probabilities of all continuations are known up to a common factor:

    P(label y | u, p)     ~ exp(weight of the patterns) B[u, q(p, y)]
    P(end j | u, q)       ~ exp(segment(u, j)) beta[j, q], or exp(enter) T
    P(go on | running, j) ~ exp(more[j] + tail) T[j + 1, q], beside exp(end) beta[j, q]
"""

import numpy as np

from libc.math cimport INFINITY, exp

from ...errors import Errors
from ..arguments import MOST_SEGMENTS, check_whole
from ..potentials import check_document
from ..chart.chart cimport Chart
from ..chart.checks cimport check_sum
from ..sweeps.backward cimport Backward, swept


def sample(automaton, potentials, n_samples, seed=0, constraints=None):
    """Segmentations drawn independently, each with its probability.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    n_samples (int): How many.
    seed (int): The same seed gives the same samples.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (List[List[Tuple[int, int, int]]]): (start, end, label index) of each
        segment.
    RAISES (ValueError): HS026 n_samples, which times n is at most 10,000,000, and seed;
        HS027 nothing is possible; and as `log_partition`.
    """
    check_document(automaton, potentials)
    seed = check_whole("seed", seed, 0, 2**64 - 1)
    cdef Backward backward = swept(automaton, potentials, constraints, maximum=False)
    cdef Chart chart = backward.chart
    highest = MOST_SEGMENTS // max(chart.n_tokens, 1)
    n_samples = check_whole("n_samples", n_samples, 0, highest)
    check_sum(backward.total)
    if backward.total == -INFINITY and n_samples:
        raise ValueError(Errors.HS027)
    rng = np.random.default_rng(seed)
    n_most = max(chart.n_labels, chart.cells.reach + 1)
    cdef double[::1] value = np.empty(n_most)
    return [_draw(backward, chart, rng, value) for _ in range(n_samples)]


cdef list _draw(Backward backward, Chart chart, rng, double[::1] value):
    cdef Py_ssize_t u = 0, state = 0, y, k, n
    cdef double[::1] random = rng.random(3 * chart.n_tokens)
    cdef Py_ssize_t n_used = 0
    segments = []
    while u < chart.n_tokens:
        with nogil:
            backward.follow(state)
            for y in range(chart.n_labels):
                value[y] = -INFINITY
                if backward.target[y] >= 0:
                    value[y] = backward.weight_of[y]
                    value[y] += backward.closing[u, backward.target[y]]
            y = _choose(value, chart.n_labels, random[n_used])
            state = backward.target[y]
            n = backward.ends_from(u, state, value)
            k = u + 1 + _choose(value, n, random[n_used + 1])
            n_used += 2
            if k > u + chart.horizon(u, chart.layout.state_group[state]):
                while _goes_on(backward, chart, k, state, random[n_used]):
                    k += 1
                    n_used += 1
                n_used += 1
        segments.append((u, k, y))
        u = k
    return segments


cdef bint _goes_on(
    Backward backward, Chart chart, Py_ssize_t j, Py_ssize_t q, double random
) noexcept nogil:
    """Whether a running segment that may end at j goes on."""
    cdef Py_ssize_t g = chart.layout.state_group[q]
    cdef double more
    if j == chart.n_tokens:
        return False
    more = chart.more[j, g] + chart.tail[g] + backward.rests[j + 1, q]
    return random < exp(more - backward.rests[j, q])


cdef Py_ssize_t _choose(
    const double[::1] value, Py_ssize_t n, double random
) noexcept nogil:
    """An index with probability ~ exp(value[i])."""
    cdef Py_ssize_t i, last = 0
    cdef double top = -INFINITY, total = 0.0, passed = 0.0
    for i in range(n):
        top = max(top, value[i])
    for i in range(n):
        total += exp(value[i] - top)
    for i in range(n):
        if value[i] > -INFINITY:
            last = i
            passed += exp(value[i] - top)
            if random * total < passed:
                return i
    return last
