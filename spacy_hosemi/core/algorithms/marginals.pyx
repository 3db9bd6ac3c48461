"""Partition function and marginals of one document, or of several."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from ...errors import Errors
from ..arguments import (
    check_flag,
    check_kind,
    check_number,
    check_whole,
    is_whole,
    shown,
)
from ..chart.chart cimport Chart
from ..chart.columns import columns_of_groups
from ..chart.span_lists cimport SpanLists
from ..parallel.tasks import TaskList
from ..potentials import Potentials, as_array, check_document, check_shape
from ..sweeps.forward_backward cimport (
    ForwardBackward,
    list_segments,
    segment_probability,
)
from .path_counts cimport add_path
from .viterbi import check_segments

# Documents in a task: few enough for their rows to stay in the processor's cache.
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
    check_document(automaton, potentials)
    cdef ForwardBackward sweeps = ForwardBackward(
        automaton, potentials, constraints, counts=False, goes_back=False
    )
    sweeps.do()
    sweeps.finish()
    return sweeps.log_z


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


def marginals_of(automaton, potentials, constraints=None):
    """`marginals` of objects of the right classes, which are not checked again."""
    cdef ForwardBackward sweeps
    sweeps = ForwardBackward(automaton, potentials, constraints, counts=True)
    sweeps.do()
    return _marginals_by(sweeps, potentials)


def marginal_steps(
    automaton, potentials, constraints, asked, answer, first_end=None
):
    """Returns `answer(document, Marginals)`, without counts, of each document in
    `asked`, and yields tasks. `first_end` has, by document, the boundary at which the
    backward sweep may end."""
    found, first_end = [], first_end or {}
    for at in range(0, len(asked), PER_TASK):
        some = asked[at : at + PER_TASK]
        sweeps = [
            ForwardBackward(
                automaton, potentials[k], constraints[k], False, first_end.get(k, 0)
            )
            for k in some
        ]
        yield TaskList(sweeps)
        found += [answer(k, _marginals_by(x, None)) for k, x in zip(some, sweeps)]
    return found


cdef Marginals _marginals_by(ForwardBackward sweeps, potentials):
    cdef Marginals posterior = Marginals.__new__(Marginals)
    posterior._take(sweeps, potentials)
    return posterior


def check_segment(start, end, label, n_tokens, n_labels):
    """RAISES (ValueError): HS024 offsets; HS021 label."""
    if not (is_whole(start) and is_whole(end) and 0 <= start < end <= n_tokens):
        start, end = shown(start), shown(end)
        raise ValueError(Errors.HS024.format(start=start, end=end, n_tokens=n_tokens))
    if not (is_whole(label) and 0 <= label < n_labels):
        raise ValueError(Errors.HS021.format(found=shown(label), last=n_labels - 1))


cdef class Marginals:
    """The distribution over the segmentations of one document.

    log_z (float): Log-partition in nats; -inf if no segmentation is possible, and then
        all probabilities are 0.
    gradient (Potentials): Derivatives of log Z: expected counts, in the shapes of the
        potentials. Its cells and entries are the given ones, with expected counts as
        scores.
    tokens (float64 [n, L]): P(token is covered by a segment of the label).

    Without counts, gradient and tokens are None.
    """

    cdef readonly double log_z
    cdef readonly object gradient, tokens
    cdef ForwardBackward _sweeps        # without what only they have needed
    cdef Chart _chart

    def __init__(self, automaton, potentials, constraints=None, counts=True):
        check_document(automaton, potentials)
        check_flag("counts", counts)
        cdef ForwardBackward sweeps
        sweeps = ForwardBackward(automaton, potentials, constraints, counts)
        sweeps.do()
        self._take(sweeps, potentials)

    cdef _take(self, ForwardBackward sweeps, potentials):
        """What the sweeps have found."""
        sweeps.finish()
        cdef Chart chart = sweeps.chart
        self._sweeps, self._chart, self.log_z = sweeps, chart, sweeps.log_z
        if sweeps.expected is None:
            return
        self.gradient = sweeps.expected.gradient(chart, sweeps.tables, potentials)
        sweeps.expected = None
        self.tokens = self.gradient.inside
        if self.tokens.shape[1] > chart.n_labels:
            self.tokens = self.tokens[:, : chart.n_labels].copy()

    def segment(self, start, end, label):
        """Probability of exactly this segment.

        start, end (int): Token offsets, half-open.
        label (int): Label index.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS024 offsets; HS021 label.
        """
        cdef Chart chart = self._chart
        check_segment(start, end, label, chart.n_tokens, chart.n_labels)
        return segment_probability(self._sweeps.tables, 0, chart, start, end, label)

    def labels_among(self, start, allowed):
        """Probability that each of some tokens has one of the labels allowed for it,
        where all segments have one token, as tags.

        start (int): The first token.
        allowed (bool [K, L]): For each of K tokens from there on; K > 0.
        RETURNS (float): In [0, 1].
        RAISES (ValueError): HS014 segments may be longer; HS024 offsets; HS010 shape.
        RAISES (TypeError): HS012 allowed is no array of bool.
        """
        cdef Chart chart = self._chart
        if not chart.are_tokens:
            raise ValueError(Errors.HS014.format(found="above 1", expected="1"))
        array = as_array("allowed", allowed, "b", "an array of bool")
        n_rows = len(array) if array.ndim else 0
        check_shape("allowed", array, (n_rows, chart.n_labels))
        end = start + n_rows if is_whole(start) else start
        check_segment(start, end, 0, chart.n_tokens, chart.n_labels)
        rows = np.ascontiguousarray(array).view(np.uint8)
        return self._sweeps.probability_of_labels(start, rows)

    def less(self, segments):
        """Take from the gradient how often one segmentation reads each potential.

        segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
            right, covering every token. Without constraints.
        RETURNS (float): The score of the segmentation; where that is -inf, the gradient
            stays as it is.
        RAISES (ValueError): HS020, HS021 segments. (TypeError): HS019 without counts.
        """
        cdef Chart chart = self._chart
        check_kind("gradient", self.gradient, Potentials)
        segments = check_segments(segments, chart.n_tokens, chart.n_labels)
        return add_path(chart, segments, self.gradient, -1.0)

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
        RAISES (ValueError): HS022 p, above 0 and at most 1; HS026 limit and outside.
        """
        check_flag("outside", outside)
        check_whole("limit", limit, 0, 2**31 - 1)
        if check_number("p", p, 0.0, 1.0, Errors.HS022) == 0.0:
            raise ValueError(Errors.HS022.format(found=p))
        cdef SpanLists found = SpanLists(p, limit)
        self._list(found, outside)
        found.cut()
        found.check()
        return sorted(found.spans(0, found.n)), bool(found.is_cut)

    def list_spans(self, SpanLists found):
        """List spans of at least the probability that an empty list has, for
        `core.mbr`. Returns `n_spans`."""
        self._list(found, False)
        return self.n_spans

    cdef _list(self, SpanLists found, bint outside):
        # With the GIL: this writes to work rows, which threads share.
        cdef Chart chart = self._chart
        starts = self._starts()
        if chart.n_tokens and self.log_z > -INFINITY:
            list_segments(
                self._sweeps.tables, 0, chart, starts, found.p, outside, 0, found
            )

    @property
    def n_spans(self):
        """RETURNS (float): How many segments with a label but outside are expected."""
        return float(self._starts()[:, 1:].sum())

    def _starts(self):
        """RETURNS (float64 [n, L]): P(a segment of the label starts at a token)."""
        cdef Chart chart = self._chart
        if self.gradient is not None:
            return self.gradient.start[:, : chart.n_labels]
        starts = self._sweeps.starts()
        return columns_of_groups(chart.automaton, starts.T, chart.n_labels)

    def scores_of(self, segments):
        """The score of each segment in a segmentation, without patterns.

        segments (int32 [K, 3]): Rows of start, end and label index.
        RETURNS (float64 [K]): In nats; -inf where a constraint forbids one.
        RAISES (ValueError): HS010 shape; HS024 offsets; HS021 label; HS118 observed
            patterns, whose scores depend on what stands before.
        RAISES (TypeError): HS012 no whole numbers.
        """
        cdef Chart chart = self._chart
        if chart.n_groups != chart.n_labels or chart.observed_arcs is not None:
            found, expected = "observed patterns", "no observed patterns"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        array = as_array("segments", segments, "iu", "an array of whole numbers")
        check_shape("segments", array, (len(array) if array.ndim else 0, 3))
        cdef const int64_t[:, ::1] rows = np.ascontiguousarray(array, np.int64)
        cdef double[::1] scores = np.empty(rows.shape[0])
        cdef Py_ssize_t k, u, j, y
        for k in range(rows.shape[0]):
            u, j, y = rows[k, 0], rows[k, 1], rows[k, 2]
            check_segment(u, j, y, chart.n_tokens, chart.n_labels)
            scores[k] = chart.segment_score(u, j, y)
        return np.asarray(scores)

    def is_possible(self, segments):
        """Whether a segmentation has a probability above 0.

        segments (Iterable[Tuple[int, int, int]]): (start, end, label index), from left
            to right, covering every token.
        RETURNS (bool): False, too, where no segmentation is possible.
        RAISES (ValueError): HS020, HS021 segments.
        """
        cdef Chart chart = self._chart
        segments = check_segments(segments, chart.n_tokens, chart.n_labels)
        return self.log_z > -INFINITY and chart.path_score(segments) > -INFINITY
