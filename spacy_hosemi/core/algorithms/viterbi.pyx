"""Best segmentation.

A backward sweep with max for +, then a walk from left to right. Ties are broken by one
rule: among the best segmentations the one whose first segment has the smallest label
index, then the greatest length; then likewise for the next segment.
"""

from libc.math cimport INFINITY

from ...errors import Errors
from .best_path cimport has_sparse_columns
from .best_path import N_TOGETHER, BestOfEach
from ..chart.chart cimport Chart
from ..chart.load cimport make_chart
from ..chart.columns cimport Entry, entries_of
from .path_counts cimport add_path
from ..sweeps.observed.histories cimport ActiveEntries, Histories, histories_of
from ..potentials import without_entries
from ..parallel.coroutines import finish


METHODS = ("auto", "automaton", "bounds", "nonnegative")


def viterbi(automaton, potentials, constraints=None, method="auto"):
    """The segmentation with the highest score.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    method (str): "automaton" goes through all arcs; "bounds" looks first for labels
        that cannot be part of the best segmentation; "nonnegative" needs patterns and
        columns of observed patterns of three or more names to be >= 0 and then goes
        through fewer arcs: where all segments are tokens and there are neither cells
        nor a grammar nor dense scores of observed patterns, only through those that
        are active in the document; "auto" chooses the fastest. All find the same.
    RETURNS (Tuple[List[Tuple[int, int, int]], float]): (start, end, label index) of
        each segment, and the score; ([], -inf) if no segmentation is possible. Ties go
        to the first segment with the smallest label index, then the greatest length,
        then likewise for the next one.
    RAISES (ValueError): HS023 method; HS104 a negative weight; and as `log_partition`.
    """
    if method not in METHODS:
        raise ValueError(
            Errors.HS023.format(name="method", found=method, expected=METHODS)
        )
    return finish(viterbi_steps(automaton, [potentials], [constraints], method))[0]


def viterbi_each(automaton, potentials, constraints):
    """`viterbi` of each document; the GIL is given away for some of them at a time.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    RETURNS (List[Tuple[segments, score]]): In the order of the documents.
    """
    return finish(viterbi_steps(automaton, potentials, constraints))


def viterbi_steps(automaton, potentials, constraints, method="auto"):
    """`viterbi` of each document, but the tasks without the GIL are given away.

    automaton (PatternAutomaton): Of all documents.
    potentials (List[Potentials]), constraints (List[Optional[Constraints]]): Of each.
    method (str): As for `viterbi`.
    YIELDS (Task): One after the other; whoever gets one sees to it that it is done.
    RETURNS (List[Tuple[segments, score]]): In the order of the documents.
    """
    found = []
    for at in range(0, len(potentials), N_TOGETHER):
        some = slice(at, at + N_TOGETHER)
        task = BestOfEach(automaton, potentials[some], constraints[some], method)
        yield task
        found += task.found()
    return found


def score(automaton, potentials, segments):
    """Log score of one segmentation.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    segments (Iterable[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    RETURNS (float): The score; -inf if it contains something forbidden.
    RAISES (ValueError): HS020 segments; and as `log_partition`.
    """
    cdef Chart chart = make_chart(automaton, potentials, None)
    return chart.path_score(check_segments(segments, chart.n_tokens, chart.n_labels))


def add_counts(automaton, potentials, segments, gradient, double times=1.0):
    """Add to a gradient how often one segmentation reads each potential: the
    derivatives of its score.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    segments (Iterable[Tuple[int, int, int]]): As in `score`.
    gradient (Potentials): In the shapes of the potentials; changed in place.
    times (float): Each count is multiplied by it.
    RETURNS (float): The score; where that is -inf, nothing is added.
    RAISES (ValueError): HS010 other entries than those of the potentials; and as
        `score`.
    """
    return add_all_counts(automaton, potentials, [(segments, times)], gradient)[0]


def add_all_counts(automaton, potentials, counted, gradient):
    """`add_counts` of some segmentations of one document, which is taken once.

    automaton (PatternAutomaton), potentials (Potentials): As for `add_counts`.
    counted (List[Tuple[segments, float]]): Each, and by what its counts are multiplied.
    gradient (Potentials): In the shapes of the potentials; changed in place.
    RETURNS (List[float]): The score of each; where that is -inf, nothing is added.
    RAISES (ValueError): As `add_counts`.
    """
    cdef Histories histories = histories_of(automaton)
    cdef Entry[::1] counts = None
    cdef ActiveEntries active
    cdef Chart chart
    cdef double score
    _check_entry_counts(gradient, potentials, automaton)
    if histories is None or not has_sparse_columns(automaton, potentials):
        chart = make_chart(automaton, potentials, None)
        return [
            add_path(chart, _checked(segments, chart), gradient, times)
            for segments, times in counted
        ]
    n_tokens = len(potentials.inside)
    active = ActiveEntries(
        histories, entries_of(potentials, n_tokens, automaton.n_columns), n_tokens
    )
    if gradient.entries is not None:
        counts = gradient.entries
    rest = without_entries(potentials, potentials.pattern)
    chart = make_chart(automaton.without_observed, rest, None)
    rest = without_entries(gradient, gradient.pattern)
    found = []
    for segments, times in counted:
        segments = _checked(segments, chart)
        score = active.find(segments)
        if score > -INFINITY:
            score += add_path(chart, segments, rest, times)
        if score > -INFINITY and counts is not None:
            active.add(times, counts)
        found.append(score)
    return found


cdef list _checked(segments, Chart chart):
    return check_segments(segments, chart.n_tokens, chart.n_labels)


def _check_entry_counts(gradient, potentials, automaton):
    """RAISES (ValueError): HS010 entries of a gradient do not fit those of potentials;
    HS011, HS025 as these. (TypeError): HS012."""
    found, n_entries = gradient.entries, 0
    if found is None:
        return
    if potentials.entries is not None:
        n_entries = len(potentials.entries)
    sound = entries_of(gradient, len(potentials.inside), automaton.n_columns)
    if sound is not found or len(sound) != n_entries:
        raise ValueError(
            Errors.HS010.format(
                name="gradient.entries", found=sound.shape, expected=(n_entries,)
            )
        )


def check_segments(segments, n_tokens, n_labels):
    """RETURNS (list): The segments. RAISES (ValueError): HS020, HS021."""
    segments = [tuple(segment) for segment in segments]
    at = 0
    for segment in segments:
        if len(segment) != 3 or segment[0] != at or segment[1] <= at:
            raise ValueError(Errors.HS020.format(found=segments, n_tokens=n_tokens))
        if not 0 <= segment[2] < n_labels:
            raise ValueError(Errors.HS021.format(found=segment[2], last=n_labels - 1))
        at = segment[1]
    if at != n_tokens:
        raise ValueError(Errors.HS020.format(found=segments, n_tokens=n_tokens))
    return segments
