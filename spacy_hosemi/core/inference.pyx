"""Partition function and marginals.

    P(segment u, j, y) = exp(segment) sum_{q of label y} A[u, q] beta[j, q] / Z
    P(arc e at u)      = mass[e] exp(weight[e]) B[u, q(e)] / Z

Every derivative of log Z is such a probability, or a sum of them. Sums of probabilities
are formed by additions only: the tokens that a segment covers, for instance, from the
longest segment to the shortest and not as a difference of starts and ends.

The forward states suffice for the backward pass and all marginals; the separate
backward states of Nguyen et al. (2011) are not needed.
"""

import numpy as np

from libc.math cimport INFINITY, exp

from ..errors import Errors
from .linear cimport backward_row as linear_backward_row
from .linear cimport circuit as linear_circuit
from .linear cimport forward as linear_forward
from .logspace cimport backward_row as log_backward_row
from .logspace cimport circuit as log_circuit
from .logspace cimport final_weight
from .logspace cimport forward as log_forward
from .logspace cimport log_dot
from .potentials import Potentials
from .tables cimport Tables


def log_partition(automaton, potentials, constraints=None):
    """Log of the summed exp(score) of all segmentations.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (float): log Z in nats; -inf if no segmentation is possible.
    RAISES (ValueError): HS010, HS011, HS013 potentials; HS016 to HS018 constraints.
    RAISES (TypeError): HS012 potentials; HS019 automaton.
    """
    cdef Tables tables = Tables(automaton, potentials, constraints)
    _forward(tables)
    return tables.log_z


def marginals(automaton, potentials, constraints=None):
    """Probabilities of segments, tokens and patterns.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (Marginals): log Z, its gradient, token and segment probabilities.
    RAISES: As `log_partition`.
    """
    return Marginals(automaton, potentials, constraints)


cdef class Marginals(Tables):
    """The distribution over the segmentations of one document.

    log_z (float): Log-partition in nats; -inf if no segmentation is possible, and then
        all probabilities are 0.
    gradient (Potentials): Derivatives of log Z: expected counts, in the shapes of the
        potentials. Its cells are the given ones, with probabilities as scores.
    tokens (float64 [n, L]): P(token is covered by a segment of the label).
    """

    cdef readonly object gradient
    cdef double[:, ::1] inside_count    # [n, L]
    cdef double[:, ::1] start_count     # [n, L]
    cdef double[:, ::1] end_count       # [n, L]
    cdef double[:, ::1] length_count    # [L, D]
    cdef double[::1] tail_count         # [L]
    cdef double[::1] cell_count         # [K] merged cells
    cdef double[::1] edge_count         # [E]
    cdef double[::1] pattern_count      # [M]
    cdef double[::1] prob               # the terms of the row in work

    def __init__(self, automaton, potentials, constraints=None):
        Tables.__init__(self, automaton, potentials, constraints)
        _forward(self)
        self._clear_counts()
        cdef bint done = True
        if self.log_z > -INFINITY:
            with nogil:
                done = self._backward()
        if not done:  # out of range in linear arithmetic
            _forward_in_logs(self)
            self._clear_counts()
            with nogil:
                self._backward()
        self.gradient = Potentials(
            inside=np.asarray(self.inside_count),
            start=np.asarray(self.start_count),
            end=np.asarray(self.end_count),
            length=np.asarray(self.length_count),
            tail=np.asarray(self.tail_count),
            cells=self.given_cells(np.asarray(self.cell_count)),
            pattern=np.asarray(self.pattern_count),
        )

    @property
    def tokens(self):
        return self.gradient.inside

    def segment(self, start, end, label):
        """Probability of exactly this segment.

        start, end (int): Token offsets, half-open.
        label (int): Label index.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS024 offsets; HS021 label.
        """
        if not 0 <= start < end <= self.n_tokens:
            raise ValueError(
                Errors.HS024.format(start=start, end=end, n_tokens=self.n_tokens)
            )
        if not 0 <= label < self.n_labels:
            raise ValueError(Errors.HS021.format(found=label, last=self.n_labels - 1))
        cdef double score = self.segment_score(start, end, label)
        return self._segment(start, end, label, score)

    def segments_above(self, p):
        """All segments with at least a given probability.

        p (float): Least probability, above 0.
        RETURNS (List[Tuple[int, int, int, float]]): (start, end, label index,
            probability), sorted. Each start is followed only while the probability
            that its segment has not ended yet is at least p.
        RAISES (ValueError): HS022 if p is not above 0 and at most 1.
        """
        if not 0.0 < p <= 1.0:
            raise ValueError(Errors.HS022.format(found=p))
        found = []
        cdef Py_ssize_t u, j, y
        cdef double alive, prob, more, score
        for u, y in np.argwhere(np.asarray(self.start_count) >= p * (1.0 - 1e-9)):
            alive, more = self.start_count[u, y], 0.0
            for j in range(u + 1, self.n_tokens + 1):
                if j > u + 1:
                    more += self.more[j - 1, y]
                score = self.score_of(u, j, y, more)
                prob = self._segment(u, j, y, score)
                if prob >= p:
                    found.append((u, j, y, prob))
                alive -= prob
                if alive < p * (1.0 - 1e-9) - 1e-12:
                    break
        return sorted(found)

    def _clear_counts(self):
        cdef Py_ssize_t n_labels = self.n_labels
        self.inside_count = np.zeros((self.n_tokens, n_labels))
        self.start_count = np.zeros((self.n_tokens, n_labels))
        self.end_count = np.zeros((self.n_tokens, n_labels))
        self.length_count = np.zeros((n_labels, self.n_lengths))
        self.tail_count = np.zeros(n_labels)
        self.cell_count = np.zeros(len(self.cell_start))
        self.pattern_count = np.zeros(len(self.pattern_weight))
        self.edge_count = np.zeros(len(self.edge_weight))
        self.prob = np.zeros(len(self.term_score))

    cdef bint _backward(self) noexcept nogil:
        """Backward sweep; expected counts at each boundary while its row is at hand."""
        cdef Py_ssize_t u
        cdef bint in_range
        for u in range(self.n_tokens, -1, -1):
            if self.in_logs:
                log_backward_row(self, u, False)
            elif not linear_backward_row(self, u):
                return False
            if u == self.n_tokens:
                in_range = self._count_finals()
            else:
                in_range = self._count_arcs(u)
                in_range = self._count_segments(u) and in_range
                if self.has_tail and u > 0:
                    in_range = self._count_running(u) and in_range
            if u > 0:
                in_range = self._count_ends(u) and in_range
            if not in_range:
                return False
        self._collect_patterns()
        return True

    cdef double _pairing(
        self,
        double scale,
        const double* x,
        const double* y,
        Py_ssize_t label,
    ) noexcept nogil:
        """exp(scale) sum_q x[q] y[q] over the states of a label; -1: out of range."""
        cdef Py_ssize_t a = self.first_state[label], b = self.first_state[label + 1], q
        cdef double total, half
        if self.in_logs:
            return exp(scale + log_dot(x + a, y + a, b - a))
        if scale > 1418.0:  # the factors are e^-708 at least: one of them is 0
            return 0.0
        half = exp(0.5 * scale)
        total = 0.0
        for q in range(a, b):
            total += (x[q] * half) * (y[q] * half)
        return total

    cdef double _segment(
        self, Py_ssize_t u, Py_ssize_t j, Py_ssize_t y, double score
    ) noexcept nogil:
        if self.log_z == -INFINITY or score == -INFINITY:
            return 0.0
        cdef double scale = self.opened_scale[u] + self.beta_scale[j] - self.z_scale
        return self._pairing(
            score + scale - self.z_rest, &self.opened[u, 0], &self.beta[j, 0], y
        )

    cdef bint _count_ends(self, Py_ssize_t j) noexcept nogil:
        # P(a segment of label y ends at j) = sum_q alpha[j, q] beta[j, q] / Z
        cdef Py_ssize_t y
        cdef double scale = self.alpha_scale[j] + self.beta_scale[j] - self.z_scale
        scale -= self.z_rest
        for y in range(self.n_labels):
            self.end_count[j - 1, y] = self._pairing(
                scale, &self.alpha[j, 0], &self.beta[j, 0], y
            )
            if self.end_count[j - 1, y] < 0.0:
                return False
        return True

    cdef bint _count_segments(self, Py_ssize_t u) noexcept nogil:
        """Starts, lengths, cells and covered tokens of the segments from u."""
        cdef Py_ssize_t t, y, j
        cdef double scale = self.opened_scale[u] + self.closing_scale[u] - self.z_scale
        scale -= self.z_rest
        for y in range(self.n_labels):
            self.start_count[u, y] = self._pairing(
                scale, &self.opened[u, 0], &self.closing[u, 0], y
            )
            if self.start_count[u, y] < 0.0:
                return False
        for t in range(self.n_terms):
            j, y = self.term_position[t], self.term_label[t]
            self.prob[t] = self._segment(u, j, y, self.term_score[t])
            if self.prob[t] < 0.0:
                return False
            self._count_length(y, j - u, self.prob[t])
            if self.term_cell[t] >= 0:
                self.cell_count[self.term_cell[t]] += self.prob[t]
        return self._count_tokens(u)

    cdef void _count_length(
        self, Py_ssize_t y, Py_ssize_t d, double prob
    ) noexcept nogil:
        cdef Py_ssize_t longest = self.n_lengths
        self.length_count[y, min(d, longest) - 1] += prob
        if d > longest:
            self.tail_count[y] += prob * (d - longest)

    cdef bint _count_tokens(self, Py_ssize_t u) noexcept nogil:
        # covered[u + i] = P(enters) + sum_{d > i} P(u, u + d): from long to short
        cdef Py_ssize_t t = self.n_terms - 1, e = self.n_enters - 1, y, i, j
        cdef double covered, scale
        for y in range(self.n_labels - 1, -1, -1):
            covered = 0.0
            i = 0
            if e >= 0 and self.enter_label[e] == y:
                j = self.enter_position[e]
                scale = self.opened_scale[u] + self.rest_scale[j] - self.z_scale
                scale += self.enter_score[e] - self.z_rest
                covered = self._pairing(
                    scale, &self.opened[u, 0], &self.rest[j, 0], y
                )
                if covered < 0.0:
                    return False
                self._count_length(y, j - u, covered)
                i = j - u
                e -= 1
            elif t >= 0 and self.term_label[t] == y:
                i = self.term_position[t] - u
            for i in range(i - 1, -1, -1):
                if (
                    t >= 0
                    and self.term_label[t] == y
                    and self.term_position[t] == u + i + 1
                ):
                    covered += self.prob[t]
                    t -= 1
                self.inside_count[u + i, y] += covered
        return True

    cdef bint _count_running(self, Py_ssize_t u) noexcept nogil:
        # P(token u lies beyond the horizon of a segment of label y)
        #     = sum_q R[u, q] exp(more[u] + tail) T[u + 1, q] / Z
        cdef Py_ssize_t y
        cdef double scale, prob
        for y in range(self.n_labels):
            scale = self.more[u, y] + self.tail[y]
            if scale == -INFINITY:
                continue
            scale += self.alpha_scale[u] + self.rest_scale[u + 1] - self.z_scale
            scale -= self.z_rest
            prob = self._pairing(
                scale, &self.running[u, 0], &self.rest[u + 1, 0], y
            )
            if prob < 0.0:
                return False
            self.inside_count[u, y] += prob
            self.tail_count[y] += prob
        return True

    cdef bint _count_arcs(self, Py_ssize_t u) noexcept nogil:
        # P(arc e at u) = mass[e] exp(weight[e]) B[u, q(e)] / Z
        cdef Py_ssize_t q, k
        cdef double scale, factor, closing
        scale = self.opened_scale[u] + self.closing_scale[u] - self.z_scale
        scale -= self.z_rest
        if self.in_logs:
            log_circuit(self, u)
            for q in range(1, self.n_states):
                closing = self.closing[u, q] + scale
                if closing == -INFINITY:
                    continue
                for k in range(self.first_arc[q], self.first_arc[q + 1]):
                    self.edge_count[self.arc_edge[k]] += exp(
                        self.node[self.arc_node[k]] + self.arc_weight[k] + closing
                    )
            return True
        linear_circuit(self, u)
        if scale >= 650.0:
            return False
        factor = exp(scale)
        for q in range(1, self.n_states):
            closing = self.closing[u, q] * factor
            for k in range(self.first_arc[q], self.first_arc[q + 1]):
                self.edge_count[self.arc_edge[k]] += (
                    self.node[self.arc_node[k]] * self.arc_weight[k] * closing
                )
        return True

    cdef bint _count_finals(self) noexcept nogil:
        # P(state p at the end) = alpha[n, p] beta[n, p] / Z
        cdef Py_ssize_t p, n = self.n_tokens
        cdef double scale = self.alpha_scale[n] - self.z_scale - self.z_rest
        for p in range(self.n_states):
            if self.final_edge[p] < 0:
                continue
            if self.in_logs:
                self.edge_count[self.final_edge[p]] += exp(
                    self.alpha[n, p] + final_weight(self, p) + scale
                )
            elif self.alpha[n, p] > 0.0:
                self.edge_count[self.final_edge[p]] += self.alpha[n, p] * exp(
                    final_weight(self, p) + scale
                )
        return True

    cdef void _collect_patterns(self) noexcept nogil:
        # A pattern fires on its own edge and on every edge that it is a suffix of.
        cdef Py_ssize_t e
        for e in range(self.edge_count.shape[0] - 1, -1, -1):
            if self.edge_suffix[e] >= 0:
                self.edge_count[self.edge_suffix[e]] += self.edge_count[e]
            if self.edge_pattern[e] >= 0:
                self.pattern_count[self.edge_pattern[e]] = self.edge_count[e]


cdef void _forward(Tables tables):
    """Fill the forward tables: linear where that is safe, else in log domain."""
    cdef bint trusted
    tables.allocate(in_logs=False)
    with nogil:
        trusted = linear_forward(tables)
    if not trusted:
        _forward_in_logs(tables)


cdef void _forward_in_logs(Tables tables):
    tables.allocate(in_logs=True)
    with nogil:
        log_forward(tables)
