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
from ..potentials import check_document, check_sum
from ..sweeps.backward cimport Completions


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
    cdef Completions completions = Completions(
        automaton, potentials, constraints, maximum=False, keep_beta=True
    )
    highest = MOST_SEGMENTS // max(completions.n_tokens, 1)
    n_samples = check_whole("n_samples", n_samples, 0, highest)
    check_sum(completions.total)
    if completions.total == -INFINITY and n_samples:
        raise ValueError(Errors.HS027)
    rng = np.random.default_rng(seed)
    n_most = max(completions.n_labels, completions.cells.reach + 1)
    cdef double[::1] value = np.empty(n_most)
    return [_draw(completions, rng, value) for _ in range(n_samples)]


cdef list _draw(Completions completions, rng, double[::1] value):
    cdef Py_ssize_t u = 0, state = 0, y, k, n
    cdef double[::1] random = rng.random(3 * completions.n_tokens)
    cdef Py_ssize_t n_used = 0
    segments = []
    while u < completions.n_tokens:
        with nogil:
            completions.follow(state, completions.target, completions.weight_of)
            for y in range(completions.n_labels):
                value[y] = -INFINITY
                if completions.target[y] >= 0:
                    value[y] = completions.weight_of[y]
                    value[y] += completions.closing[u, completions.target[y]]
            y = _choose(value, completions.n_labels, random[n_used])
            state = completions.target[y]
            n = completions.ends_from(u, state, value)
            k = u + 1 + _choose(value, n, random[n_used + 1])
            n_used += 2
            if k > u + completions.horizon(u, completions.layout.state_group[state]):
                while _goes_on(completions, k, state, random[n_used]):
                    k += 1
                    n_used += 1
                n_used += 1
        segments.append((u, k, y))
        u = k
    return segments


cdef bint _goes_on(
    Completions completions, Py_ssize_t j, Py_ssize_t q, double random
) noexcept nogil:
    """Whether a running segment that may end at j goes on."""
    cdef Py_ssize_t g = completions.layout.state_group[q]
    cdef double more
    if j == completions.n_tokens:
        return False
    more = completions.more[j, g] + completions.tail[g] + completions.rests[j + 1, q]
    return random < exp(more - completions.rests[j, q])


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
