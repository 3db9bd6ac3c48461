"""Partition function and marginals of one document, or of several."""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.string cimport memcpy

from ...errors import Errors
from ..arguments import check_flag, check_number, is_whole, shown
from ..sweeps cimport scaled as linear, logspace
from ..chart.columns import columns_of_groups
from ..potentials import check_document, check_sum
from .path_counts cimport add_path
from ..sweeps.expectations cimport Expectations
from ..parallel.tasks cimport Task
from ..chart.span_lists cimport Listing, Open
from ..chart.arc_entries cimport Starts, starts_of
from ..chart.dp_tables cimport Tables
from ..chart.load cimport load

# Documents in a task: few enough for their rows to stay in the cache of the processor.
PER_TASK = 4


def log_partition(automaton, potentials, constraints=None):
    """Log of the summed exp(score) of all segmentations.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (float): log Z in nats; -inf if no segmentation is possible.
    RAISES (ValueError): HS010, HS011, HS013, HS025 potentials; HS016 to HS018
        constraints.
    RAISES (TypeError): HS012 potentials; HS019 automaton.
    """
    cdef Tables tables = Tables.__new__(Tables)
    cdef bint is_in_range
    load_sums(tables, automaton, potentials, constraints)
    tables.allocate(in_logs=False, backward=False)
    with nogil:
        is_in_range = linear.forward(tables)
    if not is_in_range:
        _forward_in_logs(tables, backward=False)
    check_sum(tables.log_z)
    return tables.log_z


cdef void load_sums(Tables tables, automaton, potentials, constraints):
    """Take a document. Observed patterns split no states if all of their scores are
    entries at the start of segments."""
    check_document(automaton, potentials)
    cdef Starts starts = starts_of(automaton, potentials)
    if starts is not None:
        automaton, potentials = starts.automaton, starts.potentials
    load(tables, automaton, potentials, constraints)
    tables.starts = starts


cdef void _forward_in_logs(Tables tables, bint backward):
    tables.allocate(in_logs=True, backward=backward)
    with nogil:
        logspace.forward(tables)


def marginals(automaton, potentials, constraints=None, counts=True):
    """Probabilities of segments, tokens and patterns.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    counts (bool): False saves time where no gradient will be asked for.
    RETURNS (Marginals): log Z, its gradient, token and segment probabilities.
    RAISES: As `log_partition`.
    """
    return Marginals(automaton, potentials, constraints, counts)


def marginal_steps(automaton, potentials, constraints, asked, answer, double p=0.0):
    """An answer from `marginals` of each of some documents, without counts, in steps.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    asked (List[int]): Which documents.
    answer (Callable): (document, Marginals) -> anything.
    p (float): If above 0, tasks list the spans of at least this probability, for
        `Marginals.spans_above`.
    YIELDS (Task): Work without the GIL, which must be done before the next step.
    RETURNS (List): The answer for each document in `asked`.
    RAISES: As `log_partition`.
    """
    found = []
    for at in range(0, len(asked), PER_TASK):
        some = asked[at : at + PER_TASK]
        given = [potentials[k] for k in some], [constraints[k] for k in some]
        task = MarginalsOfEach(automaton, *given, p)
        yield task
        found += [answer(k, posterior) for k, posterior in zip(some, task.found())]
    return found


def check_segment(start, end, label, n_tokens, n_labels):
    """RAISES (ValueError): HS024 offsets; HS021 label."""
    if not (is_whole(start) and is_whole(end) and 0 <= start < end <= n_tokens):
        start, end = shown(start), shown(end)
        raise ValueError(Errors.HS024.format(start=start, end=end, n_tokens=n_tokens))
    if not (is_whole(label) and 0 <= label < n_labels):
        raise ValueError(Errors.HS021.format(found=shown(label), last=n_labels - 1))


cdef class Marginals(Expectations):
    """The distribution over the segmentations of one document.

    log_z (float): Log-partition in nats; -inf if no segmentation is possible, and then
        all probabilities are 0.
    gradient (Potentials): Derivatives of log Z: expected counts, in the shapes of the
        potentials. Its cells and entries are the given ones, with expected counts as
        scores.
    tokens (float64 [n, L]): P(token is covered by a segment of the label).

    Without counts, gradient and tokens are None.
    """

    cdef bint is_in_range               # of linear arithmetic
    cdef Marginals next                 # of another document of a `MarginalsOfEach`
    # Without counts, what a task lists
    cdef Listing listing
    cdef double[:, ::1] start_prob      # [n, G] P(a segment starts at a token)
    cdef Py_ssize_t first_listed, after_listed

    def __init__(self, automaton, potentials, constraints=None, counts=True):
        check_flag("counts", counts)
        self._set_up(automaton, potentials, constraints, counts)
        with nogil:
            self._sweep()
        self._conclude(potentials)

    cdef _set_up(self, automaton, potentials, constraints, bint counts):
        load_sums(self, automaton, potentials, constraints)
        self.has_counts = counts
        self.allocate(in_logs=False, backward=True, later=True)
        self.clear_counts()

    cdef void _sweep(self) noexcept nogil:
        self.clear()
        self.is_in_range = linear.forward(self)
        if self.is_in_range and self.log_z > -INFINITY:
            self.is_in_range = self.backward()
        if self.is_in_range and self.listing is not None:
            self.count_starts(self.start_prob)
            self.first_listed = self.listing.n
            self._list(self.start_prob, self.listing, False)
            self.after_listed = self.listing.n
        if self.next is not None:
            self.next._sweep()

    cdef _conclude(self, potentials):
        self.next = None
        if not self.is_in_range:
            self.listing = None
            _forward_in_logs(self, backward=True)
            self.clear_counts()
            if self.log_z > -INFINITY:
                with nogil:
                    self.backward()
        check_sum(self.log_z)
        if self.has_counts:
            self.set_gradient(potentials)

    def segment(self, start, end, label):
        """Probability of exactly this segment.

        start, end (int): Token offsets, half-open.
        label (int): Label index.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS024 offsets; HS021 label.
        """
        check_segment(start, end, label, self.n_tokens, self.n_labels)
        if self.log_z == -INFINITY:
            return 0.0
        cdef Py_ssize_t u = start, j = end, g
        cdef double total = 0.0
        self._set_beta(j)
        for g in range(self.n_groups):
            if self.layout.group_label[g] == label:
                total += self._one(u, g, self.segment_score(u, j, g), j)
        return total

    def less(self, segments):
        """Take from the gradient how often one segmentation reads each potential.

        segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
            right, covering every token. Without constraints.
        RETURNS (float): The score of the segmentation; where that is -inf, the gradient
            stays as it is.
        """
        return add_path(self, segments, self.gradient, -1.0)

    def segments_above(self, p, outside=True):
        """All segments with at least a given probability.

        p (float): Least probability, above 0.
        outside (bool): False: not those with label 0, which may be long.
        RETURNS (List[Tuple[int, int, int, float]]): (start, end, label index,
            probability), sorted. Each start is followed only while the probability
            that its segment has not ended yet is at least p.
        RAISES (ValueError): HS022 if p is not above 0 and at most 1.
        """
        return self.best_above(p, 0, outside)[0]

    def best_above(self, p, limit, outside=False):
        """`segments_above`, in memory for `limit` segments: the most probable ones.

        p (float), outside (bool): See there.
        limit (int): At most this many, if it is above 0. Of equally probable ones
            those go first that end first, then those that begin first.
        RETURNS (Tuple[List[Tuple[int, int, int, float]], bool]): Sorted by position;
            and whether any were left out.
        RAISES (ValueError): HS022 if p is not above 0 and at most 1.
        """
        check_flag("outside", outside)
        if check_number("p", p, 0.0, 1.0, Errors.HS022) == 0.0:
            raise ValueError(Errors.HS022.format(found=p))
        cdef bint has_outside = outside
        cdef Listing listing = Listing(p, None, limit)
        cdef const double[:, :] starts = self._starts()
        with nogil:
            self._list(starts, listing, has_outside)
            listing.cut()
        listing.check()
        return sorted(listing.spans(0, listing.n)), bool(listing.is_cut)

    def spans_above(self, p):
        """Spans for `core.mbr`: already listed if a task has done so.

        p (float): Least probability, above 0.
        RETURNS (Tuple[List[Tuple[int, int, int, float]], float]): `segments_above`
            without outside, and `n_spans`.
        """
        if self.listing is None or self.listing.p != p:
            return self.segments_above(p, outside=False), self.n_spans
        self.listing.check()
        n_expected = float(np.asarray(self.start_prob)[:, 1:].sum())
        spans = self.listing.spans(self.first_listed, self.after_listed)
        return sorted(spans), n_expected

    cdef void _list(
        self, const double[:, :] starts, Listing listing, bint outside
    ) noexcept nogil:
        """Add what `segments_above` lists; starts [n, L]: as `_starts` gives them."""
        cdef double p = listing.p, total, score
        cdef double some = p * (1.0 - 1e-9), least = some - 1e-12
        cdef Py_ssize_t j, u, g, y, i, k, n_left
        cdef Open* one
        listing.n_open = 0
        for j in range(1, self.n_tokens + 1):
            for y in range(0 if outside else 1, self.n_labels):
                if starts[j - 1, y] < some:
                    continue
                for g in range(self.n_groups):
                    if self.layout.group_label[g] == y:
                        listing.begin(j - 1, y, g, starts[j - 1, y])
            if not listing.n_open:
                continue
            self._set_beta(j)
            i = n_left = 0
            while i < listing.n_open:
                k, total = i, 0.0
                u, y = listing.open[i].start, listing.open[i].label
                # group by group
                while k < listing.n_open:
                    one = &listing.open[k]
                    if one.start != u or one.label != y:
                        break
                    g = one.group
                    if j > u + 1:
                        one.more += self.more[j - 1, g]
                    score = self.first[u, g] + one.more + self.end[j - 1, g]
                    score += self.length_score(g, j - u) + self.cells_of(u, j, g)
                    total += self._one(u, g, score, j)
                    k += 1
                if total >= p * (1.0 - 1e-12):
                    listing.add(0, u, j, y, total)
                listing.open[i].left -= total
                if listing.open[i].left >= least:
                    for g in range(i, k):
                        listing.open[n_left] = listing.open[g]
                        n_left += 1
                i = k
            listing.n_open = n_left

    @property
    def n_spans(self):
        """RETURNS (float): How many segments with a label but outside are expected."""
        return float(self._starts()[:, 1:].sum())

    def _starts(self):
        """RETURNS (float64 [n, L]): P(a segment of the label starts at a token)."""
        if self.gradient is not None:
            return self.gradient.start[:, : self.n_labels]
        counts = np.zeros((self.n_tokens, self.n_groups))
        self.count_starts(counts)
        return columns_of_groups(self.automaton, counts.T, self.n_labels)

    def scores_of(self, segments):
        """The score of each segment in a segmentation, without patterns.

        segments (int32 [K, 3]): Rows of start, end and label index.
        RETURNS (float64 [K]): In nats; -inf where a constraint forbids one.
        RAISES (ValueError): HS024 offsets; HS021 label; HS118 observed patterns, whose
            scores depend on what stands before.
        """
        cdef const int[:, ::1] rows = segments
        cdef double[::1] found = np.empty(rows.shape[0])
        cdef Py_ssize_t k, u, j, y
        if self.n_groups != self.n_labels or self.starts is not None:
            message = "observed patterns"
            raise ValueError(
                Errors.HS118.format(expected="no observed patterns", found=message)
            )
        for k in range(rows.shape[0]):
            u, j, y = rows[k, 0], rows[k, 1], rows[k, 2]
            if not 0 <= u < j <= self.n_tokens:
                raise ValueError(
                    Errors.HS024.format(start=u, end=j, n_tokens=self.n_tokens)
                )
            if not 0 <= y < self.n_labels:
                raise ValueError(
                    Errors.HS021.format(found=y, last=self.n_labels - 1)
                )
            found[k] = self.segment_score(u, j, y)
        return np.asarray(found)

    def is_possible(self, segments):
        """Whether a segmentation has a probability above 0.

        segments (Iterable[Tuple[int, int, int]]): (start, end, label index), from left
            to right, covering every token.
        RETURNS (bool): False, too, where no segmentation is possible.
        """
        return self.log_z > -INFINITY and self.path_score(segments) > -INFINITY

    cdef void _set_beta(self, Py_ssize_t j) noexcept nogil:
        """Set beta to that of one boundary: stored, or formed from B."""
        if self.betas.shape[0]:
            memcpy(&self.beta[0], &self.betas[j, 0], self.n_states * sizeof(double))
        elif j == self.n_tokens:
            if self.in_logs:
                logspace.end_row(self)
            else:
                linear.end_row(self)
        elif self.in_logs:
            logspace.close_row(self, j, False)
        else:
            linear.close_row(self, j)

    cdef double _one(
        self, Py_ssize_t u, Py_ssize_t g, double score, Py_ssize_t j
    ) noexcept nogil:
        """Probability of a segment from u with this score; beta is that of j."""
        cdef Py_ssize_t a = self.layout.first_state[g]
        cdef Py_ssize_t b = self.layout.first_state[g + 1]
        if self.log_z == -INFINITY or score == -INFINITY:
            return 0.0
        if self.in_logs:
            return exp(
                logspace.log_dot(&self.opened[u, 0] + a, &self.beta[0] + a, b - a)
                + (score - self.log_z)
            )
        score += self.opened_scale[u] - self.alpha_scale[j]
        return linear.probability(
            &self.opened[u, 0] + a, &self.beta[0] + a, b - a, 1, score
        )

    cdef _make_room_for(self, Listing listing):
        """Let a task list spans, if there are no observed patterns."""
        if self.n_groups == self.n_labels:
            self.listing = listing
            self.start_prob = np.zeros((self.n_tokens, self.n_groups))

cdef class MarginalsOfEach(Task):
    """`marginals` of a few documents, without counts, as a task.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    p (float): See `marginal_steps`.
    """

    cdef list potentials, posteriors
    cdef Marginals last

    def __init__(self, automaton, list potentials, list constraints, double p=0.0):
        cdef Marginals one
        cdef Listing listing = Listing(p) if p > 0.0 else None
        self.potentials, self.posteriors = potentials, []
        for given, limits in zip(potentials, constraints):
            one = Marginals.__new__(Marginals)
            one._set_up(automaton, given, limits, counts=False)
            if listing is not None:
                one._make_room_for(listing)
            one.next, self.last = self.last, one
            self.posteriors.append(one)

    cdef void run(self) noexcept nogil:
        if self.last is not None:
            self.last._sweep()

    def found(self):
        """RETURNS (List[Marginals]): In the order of the documents."""
        cdef Marginals one
        self.last = None
        for one, given in zip(self.posteriors, self.potentials):
            one._conclude(given)
        return self.posteriors
