"""Best segmentation.

A backward sweep with max for +, then a walk from left to right. The walk knows the
exact state it is in, so ties are broken by one rule that speaks of segmentations and
not of states: among the best segmentations the one whose first segment has the smallest
label index, then the greatest length; then likewise for the next segment. It recomputes
the segments of the path instead of storing a pointer for each of the n |P| entries.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..errors import Errors
from .chart cimport Chart
from .logspace cimport backward_row
from .tables cimport Tables

METHODS = ("auto", "automaton")


def viterbi(automaton, potentials, constraints=None, method="auto"):
    """The segmentation with the highest score.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    constraints (Optional[Constraints]): What a segmentation may contain.
    method (str): "auto" or "automaton".
    RETURNS (Tuple[List[Tuple[int, int, int]], float]): (start, end, label index) of
        each segment, and the score; ([], -inf) if no segmentation is possible. Ties go
        to the first segment with the smallest label index, then the greatest length,
        then likewise for the next one.
    RAISES (ValueError): HS023 method, and as `log_partition`.
    """
    if method not in METHODS:
        raise ValueError(Errors.HS023.format(found=method, expected=METHODS))
    cdef Tables tables = Tables(automaton, potentials, constraints)
    tables.allocate(in_logs=True, forward=False)
    cdef Py_ssize_t u, n_segments
    ends = np.empty(tables.n_tokens, np.intp)
    labels = np.empty(tables.n_tokens, np.int32)
    edges = np.empty(tables.n_labels, np.intp)
    cdef Py_ssize_t[::1] ends_ = ends
    cdef int32_t[::1] labels_ = labels
    cdef Py_ssize_t[::1] edges_ = edges
    with nogil:
        for u in range(tables.n_tokens, -1, -1):
            backward_row(tables, u, True)
        n_segments = _walk(tables, edges_, ends_, labels_)
    if tables.beta[0, 0] == -INFINITY:
        return [], -INFINITY
    ends, labels = ends[:n_segments].tolist(), labels[:n_segments].tolist()
    return list(zip([0, *ends], ends, labels)), tables.beta[0, 0]


def score(automaton, potentials, segments):
    """Log score of one segmentation.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens.
    segments (Iterable[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    RETURNS (float): The score; -inf if it contains something forbidden.
    RAISES (ValueError): HS020 segments; and as `log_partition`.
    """
    cdef Chart chart = Chart(automaton, potentials)
    segments = check_segments(segments, chart.n_tokens, chart.n_labels)
    edges = np.empty(chart.n_labels, np.intp)
    cdef Py_ssize_t[::1] edges_ = edges
    cdef Py_ssize_t state = 0, u, j, y, edge
    cdef double total = 0.0
    for u, j, y in segments:
        _edges_of(chart, state, edges_)
        edge = edges_[y]
        total += chart.edge_weight[edge] + chart.segment_score(u, j, y)
        state = chart.edge_target[edge]
    if chart.final_edge[state] >= 0:
        total += chart.edge_weight[chart.final_edge[state]]
    return total


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


cdef Py_ssize_t _walk(
    Tables tables,
    Py_ssize_t[::1] edges,      # WORK [L]
    Py_ssize_t[::1] ends,       # OUT  [n] end of each segment
    int32_t[::1] labels,        # OUT  [n] its label
) noexcept nogil:
    """Follow the best segments from the left. RETURNS: their number."""
    cdef Py_ssize_t u = 0, state = 0, m = 0, y, best, edge
    cdef double top, value
    if tables.beta[0, 0] == -INFINITY:
        return 0
    while u < tables.n_tokens:
        _edges_of(tables, state, edges)
        best, top = -1, -INFINITY
        for y in range(tables.n_labels):
            edge = edges[y]
            value = tables.closing[u, tables.edge_target[edge]]
            value += tables.edge_weight[edge]
            if value > top:
                best, top = y, value
        state = tables.edge_target[edges[best]]
        labels[m] = <int32_t>best
        u = ends[m] = _longest(tables, u, best, state)
        m += 1
    return m


cdef Py_ssize_t _longest(
    Tables tables, Py_ssize_t u, Py_ssize_t y, Py_ssize_t q
) noexcept nogil:
    """The end of the longest best segment of label y from u, leaving in state q."""
    cdef Py_ssize_t t, j, end = -1
    cdef double best = tables.closing[u, q]
    tables.segments_starting_at(u)
    for t in range(tables.n_enters):
        j = tables.enter_position[t]
        if tables.enter_label[t] != y:
            continue
        if tables.enter_score[t] + tables.rest[j, q] == best:
            return _running_end(tables, j, y, q)
    for t in range(tables.n_terms):
        j = tables.term_position[t]
        if tables.term_label[t] != y:
            continue
        if tables.term_score[t] + tables.beta[j, q] == best:
            end = max(end, j)
    return end


cdef Py_ssize_t _running_end(
    Tables tables, Py_ssize_t j, Py_ssize_t y, Py_ssize_t q
) noexcept nogil:
    """Where a running segment ends: as late as the best score allows."""
    while j < tables.n_tokens:
        if (
            tables.more[j, y] + tables.tail[y] + tables.rest[j + 1, q]
            != tables.rest[j, q]
        ):
            break
        j += 1
    return j


cdef void _edges_of(
    Chart chart,
    Py_ssize_t state,
    Py_ssize_t[::1] edges,      # OUT  [L]
) noexcept nogil:
    """The edge that `state` uses for each label: its own, or that of a suffix."""
    cdef Py_ssize_t k, y
    for y in range(chart.n_labels):
        edges[y] = -1
    while True:
        for k in range(chart.first_owned[state], chart.first_owned[state + 1]):
            y = chart.owned_label[k]
            if edges[y] < 0:
                edges[y] = chart.owned_edge[k]
        if state == chart.n_states:  # the root, which has an edge for every label
            return
        state = chart.suffix_state[state]
