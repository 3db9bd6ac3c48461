"""Histories: prefixes of the label patterns that tell segmentations apart, and what
fires along one segmentation.

Viterbi goes through them in `firing`; the counts of a segmentation are read here.
"""

import numpy as np

from libc.stdint cimport int32_t

from .columns cimport Entry
from .prefixes import Prefixes


cdef class Histories:
    """Prefixes of the long patterns of an automaton, and what completes which."""

    cdef bint reads(
        self, const Entry entry, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether segment k, (start, end, label), reads an entry at one of its tokens.
        """
        cdef Py_ssize_t c = entry.column - self.n_labels
        if entry.role == 1 and entry.position != segment[k, 0]:
            return False
        if entry.role == 2 and entry.position != segment[k, 1] - 1:
            return False
        if c < 0:
            return entry.column == segment[k, 2]
        return self.is_end(self.of_observed[c], segment, k + 1)

    cdef bint is_end(
        self, Py_ssize_t node, const int32_t[:, ::1] segment, Py_ssize_t k
    ) noexcept nogil:
        """Whether the first k segments end with a history."""
        while node >= 0:
            if node == self.n_labels:
                return k == 0
            k -= 1
            if k < 0 or segment[k, 2] != self.label[node]:
                return False
            node = self.parent[node]
        return True


cdef Histories histories_of(automaton):
    """Made when they are first asked for. RETURNS (Histories): None: with a grammar, or
    without observed patterns, there is no use for them."""
    if not automaton.observed or automaton.grammar is not None:
        return None
    if automaton.histories is None:
        automaton.histories = _make_histories(automaton)
    return automaton.histories


cdef Histories _make_histories(automaton):
    cdef Histories made = Histories()
    found = Prefixes(automaton)
    made.bare = type(automaton)(automaton.labels)
    made.n_labels, made.n_nodes = automaton.n_labels, len(found.parent)
    made.parent, made.suffix = found.parent, found.suffix
    made.label = found.label
    made.most_names = found.most_names
    made.of_observed = found.observed(automaton.observed)
    made.of_pattern, made.pattern_last = found.places(automaton.patterns)
    made.has_bounded_gap = automaton.has_bounded_gap
    is_long = automaton.pattern_length > 2
    made.is_long = is_long.astype(np.uint8)
    return made


cdef bint speak_for_labels(
    const Entry[::1] entries, Py_ssize_t n_labels
) noexcept nogil:
    """Whether some are in columns of labels."""
    cdef Py_ssize_t e
    for e in range(entries.shape[0]):
        if entries[e].column < n_labels:
            return True
    return False


cdef double add_fired(
    Histories histories, list segments, const Entry[::1] entries, found, double times
):
    """What fires along one segmentation.

    segments (List[Tuple[int, int, int]]): (start, end, label index), from left to
        right, covering every token.
    entries (ENTRIES): Of all columns.
    found (Optional[ENTRIES]): The same; what fires is added to their scores, so many
        times.
    RETURNS: The summed scores.
    """
    cdef Py_ssize_t k, u, j, y, n = segments[len(segments) - 1][1] if segments else 0
    cdef int32_t[:, ::1] segment = np.empty((len(segments), 3), np.int32)
    cdef int32_t[::1] covers = np.empty(n, np.int32)
    cdef double total = 0.0
    cdef Entry[::1] counts = found
    for k, (u, j, y) in enumerate(segments):
        segment[k, 0], segment[k, 1], segment[k, 2] = <int32_t>u, <int32_t>j, <int32_t>y
        covers[u:j] = <int32_t>k
    for k in range(entries.shape[0]):
        if histories.reads(entries[k], segment, covers[entries[k].position]):
            total += entries[k].score
            if found is not None:
                counts[k].score += times
    return total
