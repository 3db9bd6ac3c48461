"""Columns of labels and observed patterns, and the groups of segments that read them.

    scores[i, g] = sum over the columns c that group g reads of
                   dense[i, c] and the entries at (i, c)
    counts[i, c] = sum over the groups g that read column c of counts[g, i]
"""

import numpy as np

from libc.stdint cimport int32_t, uint32_t

from ..simd cimport simd as kernels
from ..potentials import ENTRIES, ROLES, check_entries


_NO_ENTRIES = np.zeros(0, ENTRIES)


cdef entries_of(potentials, Py_ssize_t n_tokens, Py_ssize_t n_columns):
    """Returns the entries as the kernels read them, not a copy if they are so already.
    Raises HS010 to HS012, HS025 as `check_potentials`."""
    entries = potentials.entries
    cdef const Entry[::1] records
    if entries is None:
        return _NO_ENTRIES
    if getattr(entries, "dtype", None) is ENTRIES and entries.flags.c_contiguous:
        if entries.ndim == 1:
            records = entries
            if are_entries(records, n_tokens, n_columns):
                return entries
    return np.ascontiguousarray(check_entries(entries, n_tokens, n_columns), ENTRIES)


cdef double[:, ::1] scores_of_groups(
    automaton, const double[:, ::1] dense, const Entry[::1] entries, Py_ssize_t role
):
    """Returns what each group reads in one role [n, G]: `dense` [n, L] or [n, C], and
    the entries of the role."""
    cdef const Py_ssize_t[::1] first
    cdef const int32_t[::1] group, label = automaton.group_label
    first, group = automaton.readers
    cdef Py_ssize_t n_tokens = dense.shape[0], n_groups = label.shape[0]
    cdef Py_ssize_t n_labels = automaton.n_labels, c, e, g, i, k
    cdef double[:, ::1] scores = np.empty((n_tokens, n_groups))
    with nogil:
        for i in range(n_tokens):
            for g in range(n_groups):
                scores[i, g] = dense[i, label[g]]
            for c in range(n_labels, dense.shape[1]):
                for k in range(first[c], first[c + 1]):
                    scores[i, group[k]] += dense[i, c]
        for e in range(entries.shape[0]):
            if entries[e].role == role:
                c = entries[e].column
                for k in range(first[c], first[c + 1]):
                    scores[entries[e].position, group[k]] += entries[e].score
    return scores


def columns_of_groups(automaton, const double[:, :] counts, Py_ssize_t n_columns):
    """Returns counts of columns [n, n_columns] from those of groups [G, n]: the
    transpose of `scores_of_groups`."""
    if not automaton.observed:
        return np.ascontiguousarray(counts.T)
    cdef const Py_ssize_t[::1] first
    cdef const int32_t[::1] group
    first, group = automaton.readers
    cdef Py_ssize_t c, i, k
    cdef double[:, ::1] found = np.zeros((counts.shape[1], n_columns))
    with nogil:
        for i in range(found.shape[0]):
            for c in range(n_columns):
                for k in range(first[c], first[c + 1]):
                    found[i, c] += counts[group[k], i]
    return np.asarray(found)


def set_entry_counts(automaton, Entry[::1] entries, role, const double[:, :] counts):
    """Write expected counts of a role [G, n] as the scores of its entries [K]."""
    cdef const Py_ssize_t[::1] first
    cdef const int32_t[::1] group
    first, group = automaton.readers
    cdef Py_ssize_t e, k, c, number = ROLES.index(role)
    cdef double total
    for e in range(entries.shape[0]):
        if entries[e].role == number:
            c, total = entries[e].column, 0.0
            for k in range(first[c], first[c + 1]):
                total += counts[group[k], entries[e].position]
            entries[e].score = total


cdef bint are_entries(
    const Entry[::1] entries, Py_ssize_t n_tokens, Py_ssize_t n_columns
) noexcept nogil:
    """Whether all places are there and all scores are in range."""
    cdef Py_ssize_t e, n_bad = 0
    cdef const Entry* entry
    # without a branch; a number below 0 is a large one without a sign
    for e in range(entries.shape[0]):
        entry = &entries[e]
        n_bad += <uint32_t>entry.position >= <uint32_t>n_tokens
        n_bad += <uint32_t>entry.column >= <uint32_t>n_columns
        n_bad += entry.role > 2
        n_bad += not kernels.is_score(entry.score)
    return n_bad == 0
