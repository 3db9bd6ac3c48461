"""Entropy of the distribution over segmentations: H = log Z - E[score].

The gradient of log Z has the expected counts, so E[score] is their product with the
scores. Where that is nearly log Z, digits cancel; then the entropy is, by the chain
rule, that of each choice on the way from the left:

    H = sum over (u, p) of P(u, p) H(label | u, p)
        + sum over (u, q) of P(u, q) H(end | u, q)

Each conditional probability is a ratio of neighbours, so nothing cancels, and no number
is too small.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log1p, sqrt

from ..potentials import ROLES, check_document
from ..chart.chart cimport Chart
from ..chart.checks cimport check_sum
from ..sweeps.backward cimport Backward, swept
from ..sweeps.forward_backward cimport ForwardBackward

# Rounding changes log Z - E[score] by about 1e-16 sqrt(n) (|log Z| + sum |terms|), if
# the sweeps kept the range of scaled arithmetic. A difference of LEAST_SHARE times the
# same is right to a part of 1e-11.
LEAST_SHARE = 1e-5


def entropy(automaton, potentials, constraints=None):
    """Uncertainty about the segmentation: - sum_s P(s) log P(s).

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (float): In nats, from 0; -inf if no segmentation is possible.
    RAISES: As `log_partition`.
    """
    check_document(automaton, potentials)
    cdef ForwardBackward sweeps = ForwardBackward(
        automaton, potentials, constraints, counts=True
    )
    cdef Visits visits
    cdef double log_z, mean, size
    sweeps.do()
    if sweeps.is_in_range:
        log_z = sweeps.log_z
        check_sum(log_z)
        if log_z == -INFINITY:
            return -INFINITY
        counts = sweeps.expected.gradient(sweeps.chart, sweeps.tables, potentials)
        mean, size = expected_score(counts, potentials)
        size = (size + abs(log_z)) * sqrt(sweeps.chart.n_tokens + 100.0)
        if log_z - mean > LEAST_SHARE * size:
            return log_z - mean
    del sweeps
    visits = Visits(automaton, potentials, constraints)
    check_sum(visits.backward.total)
    if visits.backward.total == -INFINITY:
        return -INFINITY
    return visits.entropy()


def expected_score(counts, potentials):
    """Returns E[score] and the sum of its terms with their signs dropped, as floats."""
    mean = size = 0.0
    for name in (*ROLES, "length", "tail", "pattern", "cells", "entries"):
        count, score = getattr(counts, name), getattr(potentials, name)
        if name in ("cells", "entries"):
            if score is None:
                continue
            count, score = count["score"], score["score"]
        # A count of 0 may meet a score of -inf.
        terms = np.multiply(count, score, out=np.zeros(count.shape), where=count > 0.0)
        mean, size = mean + float(terms.sum()), size + float(np.abs(terms).sum())
    return mean, size


cdef class Visits:
    """The probability of each boundary and state."""

    cdef Backward backward
    cdef Chart chart                    # of it
    cdef double[:, ::1] visited         # [n + 1, P] between segments
    cdef double[:, ::1] within          # [n + 1, P] inside one, beyond its horizon
    cdef double[::1] begun              # [P] a segment begins at the row in work
    cdef double[::1] value              # the options of one choice, then their shares

    def __init__(self, automaton, potentials, constraints):
        self.backward = swept(automaton, potentials, constraints, maximum=False)
        self.chart = self.backward.chart
        shape = self.chart.n_tokens + 1, self.chart.n_states
        self.visited = np.zeros(shape)
        self.within = np.zeros(shape if self.chart.has_tail else (0, 0))
        self.begun = np.zeros(self.chart.n_states)
        self.value = np.empty(max(self.chart.n_labels, self.chart.cells.reach + 1))

    def entropy(self):
        """RETURNS (float): Of the whole document."""
        cdef double total = 0.0
        cdef Py_ssize_t u
        with nogil:
            self.visited[0, 0] = 1.0
            for u in range(self.chart.n_tokens):
                if self.chart.has_tail:
                    total += self._beyond(u)
                total += self._labels(u)
                total += self._ends(u)
            if self.chart.has_tail:
                total += self._beyond(self.chart.n_tokens)
        return total

    cdef double _labels(self, Py_ssize_t u) noexcept nogil:
        """Which label follows."""
        cdef Py_ssize_t p, q, y, n_labels = self.chart.n_labels
        cdef const double* closing = &self.backward.closing[u, 0]
        cdef double total = 0.0
        self.begun[:] = 0.0
        for p in range(self.chart.n_states):
            if self.visited[u, p] == 0.0:
                continue
            self.backward.follow(p)
            for y in range(n_labels):
                self.value[y], q = -INFINITY, self.backward.target[y]
                if q >= 0:
                    self.value[y] = self.backward.weight_of[y] + closing[q]
            total += self.visited[u, p] * choose(&self.value[0], n_labels)
            for y in range(n_labels):
                q = self.backward.target[y]
                if q >= 0:
                    self.begun[q] += self.visited[u, p] * self.value[y]
        return total

    cdef double _ends(self, Py_ssize_t u) noexcept nogil:
        """How long the segment is, up to the horizon."""
        cdef Py_ssize_t q, d, n
        cdef double total = 0.0
        for q in range(1, self.chart.n_states):
            if self.begun[q] == 0.0:
                continue
            n = self.backward.ends_from(u, q, self.value)
            total += self.begun[q] * choose(&self.value[0], n)
            for d in range(1, n + 1):
                if d <= self.chart.horizon(u, self.chart.layout.state_group[q]):
                    self.visited[u + d, q] += self.begun[q] * self.value[d - 1]
                else:
                    self.within[u + d, q] += self.begun[q] * self.value[d - 1]
        return total

    cdef double _beyond(self, Py_ssize_t j) noexcept nogil:
        """Whether a segment beyond its horizon ends at j or goes on."""
        cdef Py_ssize_t q, g
        cdef double total = 0.0, prob
        for q in range(1, self.chart.n_states):
            prob = self.within[j, q]
            if prob == 0.0:
                continue
            g = self.chart.layout.state_group[q]
            self.value[0] = self.chart.end[j - 1, g] + self.backward.best_from(j, q)
            self.value[1] = -INFINITY
            if j < self.chart.n_tokens:
                self.value[1] = self.chart.more[j, g] + self.chart.tail[g]
                self.value[1] += self.backward.rests[j + 1, q]
            total += prob * choose(&self.value[0], 2)
            self.visited[j, q] += prob * self.value[0]
            if j < self.chart.n_tokens:
                self.within[j + 1, q] += prob * self.value[1]
        return total


cdef double choose(double* value, Py_ssize_t n) noexcept nogil:
    """From log weights to probabilities, in place. RETURNS: the entropy of the choice.

    With e_i = exp(value[i] - top), of which one is 1:
        H = log sum_i e_i + sum_i (top - value[i]) e_i / sum_i e_i
    """
    cdef Py_ssize_t i, best = 0
    cdef double rest = 0.0, moment = 0.0, e, top
    for i in range(n):
        if value[i] > value[best]:
            best = i
    top = value[best]
    for i in range(n):
        e = exp(value[i] - top)
        if i != best:
            rest += e
        if e > 0.0:
            moment += (top - value[i]) * e
        value[i] = e
    for i in range(n):
        value[i] /= 1.0 + rest
    return log1p(rest) + moment / (1.0 + rest)
