"""What the segmentations of documents must satisfy, as arrays."""

import numpy as np

from libc.stdint cimport int32_t

from ..chart.cells cimport Cell
from ..chart.prohibitions cimport prohibit
from ..chart.prohibitions import forbidden_cells
from ..potentials import CELLS, check_constraints


cdef class GoldConstraints:
    """The constraints of some of D documents; a document with None has none."""

    def __init__(self, automaton, sizes, constraints):
        allowed = [np.zeros((0, automaton.n_labels), bool)]
        boundary, forbidden = [np.zeros(0, np.int8)], [np.zeros(0, CELLS)]
        self.n_labels = automaton.n_labels
        first, number, cells = [0], [], [0]
        n_tokens = n_cells = 0
        for n, given in zip(sizes, constraints):
            number.append(len(allowed) - 1)
            if given is not None:
                given = check_constraints(automaton, given, n)
                labels, borders = given.allowed, given.boundary
                if labels is None:
                    labels = np.ones((n, automaton.n_labels), bool)
                allowed.append(labels)
                boundary.append(np.zeros(n + 1) if borders is None else borders)
                of_document = forbidden_cells(given, automaton.n_labels)
                forbidden.append(of_document)
                n_tokens += n
                n_cells += len(of_document)
            first.append(n_tokens)
            cells.append(n_cells)
        self.first, self.number = np.array(first, np.int64), np.array(number, np.int64)
        self.allowed = np.concatenate(allowed).view(np.uint8)
        self.boundary = np.concatenate(boundary).astype(np.int8)
        self.forbidden = np.concatenate(forbidden)
        self.first_forbidden = np.array(cells, np.int64)

    cdef bint is_given(self, Py_ssize_t d) noexcept nogil:
        """Whether a document has constraints."""
        return self.first[d + 1] > self.first[d]

    cdef Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil:
        """RETURNS: The forbidden segments of a document, as cells."""
        return self.forbidden[self.first_forbidden[d] : self.first_forbidden[d + 1]]

    cdef void write(
        self,
        Py_ssize_t d,
        const int32_t[::1] label,       # [L] of groups, which are labels
        double* first,                  # [n, L] scores as of `Chart`
        double* more,
        double* end,
    ) noexcept nogil:
        """Write -inf wherever a document with constraints violates them."""
        prohibit(
            &self.allowed[self.first[d], 0],
            &self.boundary[self.first[d] + self.number[d]],
            self.first[d + 1] - self.first[d],
            self.n_labels,
            label,
            first,
            more,
            end,
        )
