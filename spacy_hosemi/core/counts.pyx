"""How often one segmentation reads each potential: the derivatives of its score."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from .cells cimport Cell
from .chart cimport Chart
from .potentials import ROLES


cdef double add_path(Chart chart, segments, gradient, double times):
    """Add the counts of a segmentation, so many times, to a gradient.

    chart (Chart): Without constraints.
    segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    gradient (Potentials): Added to; its cells and entries are those of the chart, with
        other scores.
    RETURNS: The score of the segmentation; where that is -inf, nothing is added.
    """
    cdef double total = chart.path_score(segments)
    if total == -INFINITY:
        return total
    cdef const int32_t[::1] first_column = chart.automaton.first_column
    cdef const int32_t[::1] columns = chart.automaton.group_column
    cdef double[:, ::1] inside = gradient.inside, start = gradient.start
    cdef double[:, ::1] end = gradient.end, length = gradient.length
    cdef double[::1] tail = gradient.tail, pattern = gradient.pattern
    cdef Py_ssize_t u, j, y, c, g, i, k, edge, state = 0, n_lengths = chart.n_lengths
    cdef list groups = []
    for u, j, y in segments:
        edge = chart.edge_of(state, y)
        state = chart.state_behind(edge, state, y)
        _add_suffixes(chart, edge, pattern, times)
        length[y, min(j - u, n_lengths) - 1] += times
        tail[y] += times * max(j - u - n_lengths, 0)
        g = chart.state_group[state]
        groups.append(g)
        for i in range(first_column[g], first_column[g + 1]):
            c = columns[i]
            if c < inside.shape[1]:
                for k in range(u, j):
                    inside[k, c] += times
            if c < start.shape[1]:
                start[u, c] += times
            if c < end.shape[1]:
                end[j - 1, c] += times
    _add_suffixes(chart, chart.final_edge[state], pattern, times)
    if len(gradient.cells):
        _add_cells(chart, segments, groups, gradient.cells, times)
    if gradient.entries is not None and len(gradient.entries):
        _add_entries(chart, segments, groups, gradient.entries, times)
    return total


cdef void _add_suffixes(
    Chart chart, Py_ssize_t edge, double[::1] pattern, double times
) noexcept nogil:
    """To each pattern that is complete on the edge, if there is one."""
    while edge >= 0:
        if chart.edge_pattern[edge] >= 0:
            pattern[chart.edge_pattern[edge]] += times
        edge = chart.edge_suffix[edge]


cdef _add_cells(
    Chart chart, segments, list groups, Cell[::1] cells, double times
):
    reads = _reads(chart, groups)
    cdef const unsigned char[:, ::1] reads_ = reads
    cdef int32_t[:, ::1] known = np.zeros((chart.n_tokens, 2), np.int32)
    cdef Py_ssize_t u, j, k
    for k, (u, j, _) in enumerate(segments):
        known[u, 0], known[u, 1] = <int32_t>j, <int32_t>k
    for k in range(cells.shape[0]):
        u = cells[k].start
        if known[u, 0] == cells[k].end and reads_[known[u, 1], cells[k].column]:
            cells[k].score += times


def _add_entries(Chart chart, segments, groups, entries, times):
    reads = _reads(chart, groups)
    starts, ends = np.array([(u, j) for u, j, _ in segments], np.intp).T
    segment = np.repeat(np.arange(len(segments)), ends - starts)
    is_there = np.ones((len(ROLES), chart.n_tokens), bool)
    is_there[1:] = False
    is_there[1, starts] = True
    is_there[2, ends - 1] = True
    position, column = entries["position"], entries["column"]
    entries["score"] += times * (
        is_there[entries["role"], position] & reads[segment[position], column]
    )


def _reads(Chart chart, groups):
    """RETURNS (bool [K, C]): Which columns the segments read, by their groups."""
    automaton = chart.automaton
    first, columns = automaton.first_column, automaton.group_column
    reads = np.zeros((len(groups), automaton.n_columns), bool)
    for read, g in zip(reads, groups):
        read[columns[first[g] : first[g + 1]]] = True
    return reads
