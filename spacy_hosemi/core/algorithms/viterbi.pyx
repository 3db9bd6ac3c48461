"""Best segmentation.

A backward sweep with max for +, then a walk from left to right. Ties are broken by one
rule: among the best segmentations the one whose first segment has the smallest label
index, then the greatest length; then likewise for the next segment.
"""

import numpy as np

from libc.math cimport INFINITY

from ...errors import Errors
from ..arguments import check_kind, check_list, check_number, check_word, shown
from .best_path import N_TOGETHER, best_paths, results_of
from ..chart.chart cimport Chart
from ..chart.load cimport make_chart
from ..chart.columns cimport Entry, entries_of
from .path_counts cimport add_path
from ..sweeps.observed.histories cimport (
    ActiveEntries,
    Histories,
    has_sparse_columns,
    histories_of,
)
from ..potentials import (
    CELLS,
    ENTRIES,
    HIGHEST,
    Potentials,
    check_cells,
    check_document,
    check_shape,
    without_entries,
)
from ..parallel.coroutines import finish
from ..parallel.tasks import TaskList


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
    check_document(automaton, potentials)
    check_word("method", method, METHODS)
    return finish(viterbi_steps(automaton, [potentials], [constraints], method))[0]


def viterbi_each(automaton, potentials, constraints):
    """Returns `viterbi` of each document, decoded eight at a time without the GIL."""
    return finish(viterbi_steps(automaton, potentials, constraints))


def viterbi_steps(automaton, potentials, constraints, method="auto"):
    """Returns `viterbi` of each document; yields tasks to do before the next step."""
    found = []
    for at in range(0, len(potentials), N_TOGETHER):
        some = slice(at, at + N_TOGETHER)
        documents = potentials[some]
        paths = best_paths(automaton, documents, constraints[some], method)
        yield TaskList(paths)
        found += results_of(paths, documents)
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
    check_document(automaton, potentials)
    cdef Chart chart = make_chart(automaton, potentials, None)
    return chart.path_score(check_segments(segments, chart.n_tokens, chart.n_labels))


def add_counts(automaton, potentials, segments, gradient, times=1.0):
    """Add to a gradient how often one segmentation reads each potential: the
    derivatives of its score.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    segments (Iterable[Tuple[int, int, int]]): As in `score`.
    gradient (Potentials): In the shapes of the potentials; changed in place.
    times (float): Each count is multiplied by it.
    RETURNS (float): The score; where that is -inf, nothing is added.
    RAISES (ValueError): HS010 another shape than that of the potentials; HS026 times;
        and as `score`.
    RAISES (TypeError): HS012 arrays that cannot be written to; and as `score`.
    """
    check_number("times", times, -HIGHEST, HIGHEST)
    return add_all_counts(automaton, potentials, [(segments, times)], gradient)[0]


def add_all_counts(automaton, potentials, counted, gradient):
    """Returns the score of each (segments, times), -inf where nothing is added:
    `add_counts` of several segmentations of one document, loaded once."""
    check_document(automaton, potentials)
    cdef Histories histories = histories_of(automaton)
    cdef Entry[::1] counts = None
    cdef ActiveEntries active
    cdef Chart chart
    cdef double score
    if histories is None or not has_sparse_columns(automaton, potentials):
        chart = make_chart(automaton, potentials, None)
        _check_gradient(gradient, potentials, automaton)
        return [
            add_path(chart, _checked(segments, chart), gradient, times)
            for segments, times in counted
        ]
    n_tokens = len(potentials.inside)
    active = ActiveEntries(
        histories, entries_of(potentials, n_tokens, automaton.n_columns), n_tokens
    )
    rest = without_entries(potentials, potentials.pattern)
    chart = make_chart(automaton.without_observed, rest, None)
    _check_gradient(gradient, potentials, automaton)
    if gradient.entries is not None:
        counts = gradient.entries
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


cdef _check_gradient(gradient, potentials, automaton):
    """RAISES (ValueError): HS010 shapes; HS011, HS025 entries. (TypeError): HS012."""
    check_kind("gradient", gradient, Potentials)
    cdef Py_ssize_t n_labels = automaton.n_labels, n_columns = automaton.n_columns
    cdef Py_ssize_t n_tokens = len(potentials.inside)
    length = np.shape(potentials.length)
    for name in ("inside", "start", "end"):
        array = _array(name, getattr(gradient, name), 2)
        if array.shape != (n_tokens, n_labels):
            check_shape(f"gradient.{name}", array, (n_tokens, n_columns))
    shapes = {"length": length, "tail": (n_labels,)}
    shapes["pattern"] = (len(automaton.patterns),)
    for name, expected in shapes.items():
        array = _array(name, getattr(gradient, name), len(expected))
        check_shape(f"gradient.{name}", array, expected)
    _check_records("cells", gradient.cells, CELLS, len(potentials.cells))
    check_cells(gradient.cells, n_tokens, n_columns)
    if gradient.entries is not None:
        n_entries = 0 if potentials.entries is None else len(potentials.entries)
        _check_records("entries", gradient.entries, ENTRIES, n_entries)
        entries_of(gradient, n_tokens, n_columns)


cdef _array(name, array, Py_ssize_t n_axes):
    """Returns an array that the kernels can add to. RAISES: HS012."""
    cdef double[:, ::1] _table
    cdef double[::1] _row
    try:
        if n_axes == 2:
            _table = array
        else:
            _row = array
    except (TypeError, ValueError, BufferError):
        array = None
    if array is None:
        _refuse_array(name, "float64")
    return np.asarray(array)


cdef _check_records(name, array, dtype, Py_ssize_t n_records):
    if getattr(array, "dtype", None) != dtype:
        _refuse_array(name, dtype)
    check_shape(f"gradient.{name}", array, (n_records,))
    if n_records and not (array.flags.writeable and array.flags.c_contiguous):
        _refuse_array(name, dtype)


cdef _refuse_array(name, dtype):
    found, expected = "that is not so", f"a writeable C-contiguous array of {dtype}"
    raise TypeError(
        Errors.HS012.format(name=f"gradient.{name}", found=found, expected=expected)
    )


def check_segments(segments, n_tokens, n_labels):
    """RETURNS (list): The segments. RAISES (ValueError): HS020, HS021."""
    given = check_list("segments", segments, "a list of (start, end, label index)")
    cdef Py_ssize_t start, end, label, at = 0
    cdef list found = []
    for segment in given:
        try:
            start, end, label = segment
        except (TypeError, ValueError, OverflowError):  # no three whole numbers
            start = end = label = -1
        if start != at or end <= at:
            raise ValueError(Errors.HS020.format(found=shown(given), n_tokens=n_tokens))
        if not 0 <= label < n_labels:
            raise ValueError(Errors.HS021.format(found=label, last=n_labels - 1))
        found.append((start, end, label))
        at = end
    if at != n_tokens:
        raise ValueError(Errors.HS020.format(found=shown(given), n_tokens=n_tokens))
    return found
