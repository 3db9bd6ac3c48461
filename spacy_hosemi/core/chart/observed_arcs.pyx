"""Entries of observed patterns that are read at the start of segments alone.

What a segment reads at its start can be added to the arc into it, so these patterns
split no states. They are like other patterns but for a weight that varies from token to
token:

    arc[u, e] = sum of pattern[z] and of the entries at (u, z) over the patterns z that
                are suffixes of the edge e

The expected count of an entry is that of its pattern at its token. A sweep costs as
much as without observed patterns, and a little more for each entry.
"""

import numpy as np

from libc.stdint cimport int32_t

from .columns cimport Entry, are_entries
from ..potentials import CELLS, ENTRIES, without_entries


cdef class ArcsOf:
    """The arcs that complete what edge e of observed patterns does are arc[first[e]:
    first[e + 1]]; schedules arcs_in, arcs_out have them at in_place, out_place."""


cdef ArcsOf arcs_of(automaton):
    """Returns those of an automaton with observed patterns; makes them once."""
    if automaton.arcs_of is None:
        # complete before it is published: other threads may read it
        automaton.arcs_of = _make_arcs(automaton)
    return automaton.arcs_of


cdef ArcsOf _make_arcs(automaton):
    cdef ArcsOf made = ArcsOf()
    unsplit = automaton.unsplit
    made.first, made.arc = unsplit.arcs_above(automaton.edge_of_observed)
    n_arcs = len(unsplit.arc_edge)
    made.in_place = _places(unsplit.arcs_in, n_arcs)[made.arc]
    made.out_place = _places(unsplit.arcs_out, n_arcs)[made.arc]
    return made


def _places(schedule, n_arcs):
    """Each arc stands in a schedule once."""
    places = np.flatnonzero(schedule.arc < n_arcs).astype(np.int32)
    found = np.zeros(n_arcs, np.int32)
    found[schedule.arc[places]] = places
    return found


cdef class ObservedArcs:
    """The observed patterns active at each token u, numbers first[u] to first[u + 1] -
    1: the edge that completes each (as all edges with this suffix do), the sum of its
    entries as a score, and for each entry its pattern's place."""


cdef ObservedArcs observed_arcs_of(automaton, potentials):
    """Returns None without observed patterns, where they have scores but entries at
    starts, or where potentials are not sound."""
    cdef ObservedArcs made
    cdef const Entry[::1] entries
    cdef Py_ssize_t n_labels, n_columns
    if not getattr(automaton, "observed", None):
        return None
    if not _are_plain(automaton, potentials):
        return None
    n_labels, n_columns = automaton.n_labels, automaton.n_columns
    given = potentials.entries
    if given is None:
        given = np.zeros(0, ENTRIES)
    try:
        entries = given
    except (TypeError, ValueError, BufferError):
        return None
    if not are_entries(entries, len(potentials.inside), n_columns):
        return None
    if not _are_at_starts(entries, n_labels):
        return None
    made = ObservedArcs()
    made.automaton, n_all = automaton.unsplit, len(automaton.unsplit.patterns)
    no_weight = np.zeros(n_all - len(automaton.patterns))
    pattern = np.concatenate([potentials.pattern, no_weight])
    made.potentials = without_entries(potentials, pattern)
    made.arcs = arcs_of(automaton)
    _sort(made, entries, automaton.edge_of_observed, n_labels, len(potentials.inside))
    return made


cdef bint _are_plain(automaton, potentials):
    """Whether all but entries are scores of labels, in the types of the kernels."""
    cells, pattern = potentials.cells, potentials.pattern
    for x in (potentials.inside, potentials.start, potentials.end):
        if getattr(x, "ndim", 0) != 2 or x.shape[1] != automaton.n_labels:
            return False
    if type(pattern) is not np.ndarray or pattern.ndim != 1:
        return False
    if getattr(cells, "dtype", None) != CELLS:
        return False
    if len(pattern) != len(automaton.patterns) or pattern.dtype != np.float64:
        return False
    return not len(cells) or cells["column"].max() < automaton.n_labels


cdef bint _are_at_starts(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil:
    cdef Py_ssize_t e
    for e in range(entries.shape[0]):
        if entries[e].role != 1 or entries[e].column < n_labels:
            return False
    return True


cdef _sort(
    ObservedArcs made,
    const Entry[::1] entries,
    const int32_t[::1] edge_of_observed,
    Py_ssize_t n_labels,
    Py_ssize_t n_tokens,
):
    """By token, those of one pattern together."""
    cdef Py_ssize_t e, u, k, n = 0, n_entries = entries.shape[0]
    cdef Py_ssize_t n_edges = made.arcs.first.shape[0] - 1
    numbers = np.zeros(n_tokens + 1 + 3 * n_entries + n_edges, np.int32)
    made.first, numbers = numbers[: n_tokens + 1], numbers[n_tokens + 1 :]
    made.edge, numbers = numbers[:n_entries], numbers[n_entries:]
    made.place, numbers = numbers[:n_entries], numbers[n_entries:]
    made.score = np.zeros(n_entries)
    cdef int32_t[::1] order = numbers[:n_entries], at = numbers[n_entries:]
    cdef int32_t[::1] first = made.first
    with nogil:
        for e in range(n_entries):
            first[entries[e].position + 1] += 1
        for u in range(n_tokens):
            first[u + 1] += first[u]
        for e in range(n_entries - 1, -1, -1):
            u = entries[e].position + 1
            first[u] -= 1
            order[first[u]] = <int32_t>e
        # first[u + 1] is now where token u begins; at[edge] is one more than the place
        # of the last pattern there
        for u in range(n_tokens):
            k = first[u + 1]
            first[u] = <int32_t>n
            while k < n_entries and entries[order[k]].position == u:
                e = order[k]
                n = _enter(made, entries[e], e, edge_of_observed, n_labels, n, at)
                k += 1
        first[n_tokens] = <int32_t>n


cdef inline Py_ssize_t _enter(
    ObservedArcs made,
    const Entry entry,
    Py_ssize_t e,
    const int32_t[::1] edge_of_observed,
    Py_ssize_t n_labels,
    Py_ssize_t n,               # active patterns found so far
    int32_t[::1] at,
) noexcept nogil:
    """Take one entry. RETURNS: the number of active patterns then."""
    cdef Py_ssize_t edge = edge_of_observed[entry.column - n_labels]
    if at[edge] <= made.first[entry.position]:
        made.edge[n] = <int32_t>edge
        n += 1
        at[edge] = <int32_t>n
    made.place[e] = at[edge] - 1
    made.score[at[edge] - 1] += entry.score
    return n
