"""How often one segmentation reads each potential: the derivatives of its score."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.columns cimport Entry


cdef double add_path(Chart chart, segments, gradient, double times):
    """Add the counts of a segmentation, times `times`, to a gradient whose cells and
    entries are those of the chart, which has no constraints. Returns its score; where
    that is -inf, nothing is added."""
    cdef double total = chart.path_score(segments)
    if total == -INFINITY:
        return total
    cdef const int32_t[::1] first_column = chart.automaton.first_column
    cdef const int32_t[::1] columns = chart.automaton.group_column
    cdef double[:, ::1] inside = gradient.inside, start = gradient.start
    cdef double[:, ::1] end = gradient.end, length = gradient.length
    cdef double[::1] tail = gradient.tail, pattern = gradient.pattern
    cdef Py_ssize_t u, j, y, c, g, i, k, edge, state = 0, n_lengths = chart.n_lengths
    cdef bint has_entries = gradient.entries is not None and len(gradient.entries) > 0
    # The group of the segment that reads entries at a place, by role, -1: none does;
    # and the end of the segment that starts there.
    cdef int32_t[:, ::1] reader = None
    cdef Entry[::1] entries
    cdef double[::1] active = None
    if has_entries or len(gradient.cells):
        reader = np.full((4, chart.n_tokens), -1, np.int32)
    if chart.observed_arcs is not None:
        active = np.zeros(chart.observed_arcs.score.shape[0])
    for u, j, y in segments:
        edge = chart.edge_of(state, y)
        state = chart.state_behind(edge, state, y)
        add_suffixes(chart, edge, pattern, times)
        if chart.observed_arcs is not None:
            _add_active(chart, u, edge, active, times)
        length[y, min(j - u, n_lengths) - 1] += times
        tail[y] += times * max(j - u - n_lengths, 0)
        g = chart.layout.state_group[state]
        if reader is not None:
            reader[0, u:j] = <int32_t>g
            reader[1, u] = reader[2, j - 1] = <int32_t>g
            reader[3, u] = <int32_t>j
        for i in range(first_column[g], first_column[g + 1]):
            c = columns[i]
            if c < inside.shape[1]:
                for k in range(u, j):
                    inside[k, c] += times
            if c < start.shape[1]:
                start[u, c] += times
            if c < end.shape[1]:
                end[j - 1, c] += times
    add_suffixes(chart, chart.layout.final_edge[state], pattern, times)
    if len(gradient.cells):
        _add_cells(reader, first_column, columns, gradient.cells, times)
    if has_entries:
        entries = gradient.entries
        if chart.observed_arcs is None:
            _add_entries(reader, first_column, columns, entries, times)
        else:
            for k in range(entries.shape[0]):
                entries[k].score += active[chart.observed_arcs.place[k]]
    return total


cdef void add_suffixes(
    Chart chart, Py_ssize_t edge, double[::1] pattern, double times
) noexcept nogil:
    """To each pattern that is complete on the edge; edge -1: none is."""
    cdef Py_ssize_t m
    while edge >= 0:
        m = chart.layout.edge_pattern[edge]
        if 0 <= m < pattern.shape[0]:  # others have a weight at some tokens only
            pattern[m] += times
        edge = chart.layout.edge_suffix[edge]


cdef void _add_active(
    Chart chart, Py_ssize_t u, Py_ssize_t edge, double[::1] active, double times
) noexcept nogil:
    """To each pattern with entries at token u that is complete on the edge."""
    cdef Py_ssize_t k
    for k in range(chart.observed_arcs.first[u], chart.observed_arcs.first[u + 1]):
        if chart.has_suffix(edge, chart.observed_arcs.edge[k]):
            active[k] += times


cdef void _add_cells(
    const int32_t[:, ::1] reader,
    const int32_t[::1] first,       # of PatternAutomaton: first_column ..
    const int32_t[::1] columns,     # .. and group_column
    Cell[::1] cells,
    double times,
) noexcept nogil:
    cdef Py_ssize_t k, u
    for k in range(cells.shape[0]):
        u = cells[k].start
        if reader[3, u] == cells[k].end:
            if _reads(first, columns, reader[1, u], cells[k].column):
                cells[k].score += times


cdef void _add_entries(
    const int32_t[:, ::1] reader,
    const int32_t[::1] first,
    const int32_t[::1] columns,
    Entry[::1] entries,
    double times,
) noexcept nogil:
    cdef Py_ssize_t k, g
    for k in range(entries.shape[0]):
        g = reader[entries[k].role, entries[k].position]
        if g >= 0 and _reads(first, columns, g, entries[k].column):
            entries[k].score += times


cdef bint _reads(
    const int32_t[::1] first, const int32_t[::1] columns, Py_ssize_t g, Py_ssize_t c
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(first[g], first[g + 1]):
        if columns[i] == c:
            return True
    return False
