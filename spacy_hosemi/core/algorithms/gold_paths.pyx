"""What is known of the segmentations of training documents, as arrays."""

import numpy as np

from ..chart.cells cimport Cell
from ..chart.chart cimport Chart
from ..chart.load cimport load_document
from ..chart.prohibitions cimport prohibit
from ..chart.prohibitions import forbidden_cells
from ..potentials import CELLS, Constraints, Potentials, check_constraints
from ..simd.lanes cimport N_LANES

# Documents with more numbers in their tables are done alone.
LARGEST = 4_000_000


cdef class GoldPaths:
    """Segmentations of D documents, from left to right, or what they must satisfy; None
    leaves one out. Block b has documents borders[b] to borders[b + 1] - 1: in it those
    with segments come first, and of each kind the longest. `needs` (int64 [D, 3]):
    how many cells a document has, at most how many longer segments these make explicit,
    and how many of these begin there."""

    def __init__(self, automaton, sizes, golds, borders, needs=None):
        n_documents = len(sizes)
        sizes = np.asarray(sizes, np.int64).reshape(n_documents)
        self.automaton = automaton
        self.borders = np.array(borders, np.int64)
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self._set_limits(sizes, golds)
        needs = np.zeros((n_documents, 3), np.int64) if needs is None else needs
        self.first_cell = np.append(0, np.cumsum(needs[:, 0], dtype=np.int64))
        is_fit, needs = self._fits(sizes, needs)
        self._set_paths(sizes, golds, is_fit)
        is_path = np.asarray(self.last_state) >= 0
        is_partial = np.asarray(self.first_limit) >= 0
        is_chosen = is_fit & (is_path | is_partial)
        length = np.where(is_chosen, sizes, 0)
        self.longest = length.max(initial=0)
        self.longest_partial = length[is_partial].max(initial=0)
        self.room.n_tokens, self.room.longest = self.longest, 0
        self.room.n_cells, self.room.n_long, self.room.n_long_cells = (
            needs[is_chosen].max(axis=0, initial=0)
        )
        order = [np.zeros(0, np.intp)]
        for d, j in zip(borders, borders[1:]):
            of_block = d + np.lexsort((-length[d:j], is_partial[d:j]))
            order.append(of_block[is_chosen[of_block]])
        self.order = np.concatenate(order).astype(np.int32)
        self.first_in_order = np.cumsum([len(x) for x in order], dtype=np.int64)

    def _fits(self, sizes, needs):
        """RETURNS (Tuple[bool [D], int64 [D, 3]]): Which documents have no more numbers
        than permitted; and what they need with forbidden segments, too."""
        cells, first = np.asarray(self.forbidden), np.asarray(self.first_forbidden)
        length = (cells["end"] - cells["start"]).astype(np.int64)
        more = np.stack([np.ones_like(length), length - 1, length > 1], axis=-1)
        sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(more, axis=0)])
        needs = needs.astype(np.int64) + np.diff(sums[first], axis=0)
        n_most = np.diff(self.automaton.first_state).max()
        n_numbers = np.maximum(1, self.automaton.n_states) * sizes
        of_cells = needs[:, 1] + (2 + n_most) * needs[:, 2]
        most = LARGEST // N_LANES
        return (sizes > 0) & (n_numbers <= most) & (of_cells <= most), needs

    def _set_limits(self, sizes, golds):
        """What documents with constraints permit: rows for all boundaries of each."""
        n_labels, n_rows, n_forbidden = self.automaton.n_labels, 0, 0
        first_limit, first_forbidden = np.full(len(sizes), -1, np.int64), [0]
        allowed, boundary = [np.zeros((0, n_labels), bool)], [np.zeros(0, np.int8)]
        forbidden = [np.zeros(0, CELLS)]
        for d, (n, gold) in enumerate(zip(sizes, golds)):
            if isinstance(gold, Constraints):
                gold = check_constraints(self.automaton, gold, n)
                labels, borders = np.ones((n + 1, n_labels), bool), gold.boundary
                if gold.allowed is not None:
                    labels[:n] = gold.allowed
                cells = forbidden_cells(gold, n_labels)
                allowed.append(labels)
                boundary.append(np.zeros(n + 1) if borders is None else borders)
                forbidden.append(cells)
                first_limit[d] = n_rows
                n_rows += n + 1
                n_forbidden += len(cells)
            first_forbidden.append(n_forbidden)
        self.first_limit = first_limit
        self.first_forbidden = np.array(first_forbidden, np.int64)
        self.allowed = np.concatenate(allowed).view(np.uint8)
        self.boundary = np.concatenate(boundary).astype(np.int8)
        self.forbidden = np.concatenate(forbidden)

    def _set_paths(self, sizes, golds, is_fit):
        """The edges of the segments."""
        cdef Py_ssize_t d, u, j, y, at, state, edge
        n_tokens = self.first[self.first.shape[0] - 1]
        self.label = np.zeros(n_tokens, np.int32)
        self.edge = np.full(n_tokens, -1, np.int32)
        self.last_state = np.full(len(sizes), -1, np.int32)
        n_labels, n_patterns = self.automaton.n_labels, len(self.automaton.patterns)
        length, tail = np.zeros((n_labels, 1)), np.zeros(n_labels)
        self.set_weights(np.zeros(n_patterns), length, tail)
        for d in range(len(sizes)):
            if not is_fit[d] or not isinstance(golds[d], list):
                continue
            at, state = self.first[d], 0
            for u, j, y in golds[d]:
                edge = self.chart.edge_of(state, y)
                state = self.chart.state_behind(edge, state, y)
                if state < 0:
                    break
                self.edge[at + u] = <int>edge
                self.label[at + u : at + j] = <int>y
            if state >= 0 and self.chart.layout.is_final[state]:
                self.last_state[d] = <int>state

    def set_weights(self, pattern, length, tail):
        """Take other weights: float64 [M], [L, 1] and [L], as those of `Potentials`."""
        none = np.zeros((0, self.automaton.n_labels))
        self.potentials = Potentials(
            none, none, none, length, tail, np.zeros(0, CELLS), pattern, None
        )
        self.chart = self.rows(none, none, none)

    cdef Chart rows(
        self, double[:, ::1] first, double[:, ::1] more, double[:, ::1] end
    ):
        """RETURNS (Chart): What documents share for `move_to`, with the present
        weights; [n, L] by role of `Chart`."""
        cdef Chart shared = Chart()
        load_document(shared, self.automaton, self.potentials, None)
        shared.first, shared.more, shared.end = first, more, end
        return shared

    cdef Cell[::1] cells_of(self, Py_ssize_t d) noexcept nogil:
        """Returns the forbidden segments of a document, as cells."""
        return self.forbidden[self.first_forbidden[d] : self.first_forbidden[d + 1]]

    cdef void limit(
        self, Py_ssize_t d, double* first, double* more, double* end
    ) noexcept nogil:
        """Write -inf into the scores of a document, [n, L] as of `Chart`, wherever its
        constraints are violated."""
        prohibit(
            &self.allowed[self.first_limit[d], 0],
            &self.boundary[self.first_limit[d]],
            self.first[d + 1] - self.first[d],
            self.chart.n_labels,
            self.chart.layout.group_label,
            first,
            more,
            end,
        )
