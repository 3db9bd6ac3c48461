"""The best segmentation of each of many documents.

The sweep of `backward` with max for +, in one of three ways that find the same: through
all arcs; through the arcs of `nonnegative`; or, the fastest for most models, only
through the groups of states that `viterbi_bounds` leaves at each token. `token_sweep`
is a fourth way, for segments of one token and observed patterns that only add.
"""

import numpy as np

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from ..parallel.tasks cimport Task
from ..sweeps.viterbi_bounds cimport Bounds, ArcTable, arc_table_of
from ..chart.chart cimport Chart
from ..chart.layout cimport Layout, layout_of
from ..chart.load cimport finish_loading
from ..chart.columns cimport Entry
from ..sweeps.backward cimport Backward
from ..sweeps.bounded cimport sweep_bounded
from ..sweeps.observed.histories cimport (
    Histories,
    are_of_labels,
    has_sparse_columns,
    histories_of,
)
from ..sweeps.observed.token_sweep cimport TokenSweep
from ..sweeps.nonnegative cimport chain_of
from ..potentials import check_potentials, without_entries

NO_PATTERNS = np.zeros(0)

# Documents in a task: enough to outweigh the cost of handing it over, few enough for
# their tables to stay in the cache of the processor.
N_TOGETHER = 8

# The tables of finished documents are used again for others: at most N_SPARE of them,
# with at most LARGE numbers together.
N_SPARE = 4 * N_TOGETHER
LARGE = 4_000_000

# Look for bounds if there are at least PAYS times as many arcs as pairs of groups.
cdef double PAYS = 1.5

# Stop computing bounds after N_TRIED documents if they held in fewer than half: then
# the weights of long patterns are large, as those of a perceptron can be.
cdef Py_ssize_t N_TRIED = 16

# The sweep of N_FEW tokens takes as long as the table of all arcs that bounds need.
N_FEW = 16


def best_paths(automaton, list potentials, list constraints, method):
    """Returns a task for each document that finds its best segmentation by a method of
    `viterbi`."""
    cdef BestPath best
    cdef list paths = []
    cdef Py_ssize_t k
    for k in range(len(potentials)):
        best = None
        if method in ("auto", "nonnegative"):
            best = _ready_for_tokens(automaton, potentials[k], constraints[k])
        if best is None:
            best = _load(automaton, potentials[k], constraints[k])
            best.set_method(potentials[k], method)
        paths.append(best)
    return paths


def results_of(list paths, list potentials):
    """Returns the segments and the score that each task has found, and lets go of the
    documents. Raises HS011 for a score that is out of range."""
    cdef BestPath best
    cdef list results = []
    for best, document in zip(paths, potentials):
        if best.backward.chart.is_deferred:
            check_potentials(best.backward.chart.automaton, document)
        best.count()
    for best in paths:
        results.append((best._segments(), best.backward.total))
        give_back(best)
    return results


cdef bint has_only_tokens(potentials):
    """Whether no segment has more than one token."""
    length, tail = potentials.length, potentials.tail
    if getattr(length, "ndim", 0) != 2 or length.shape[1] != 1:
        return False
    if type(tail) is not np.ndarray or tail.dtype != np.float64:
        return False
    return bool((tail == -np.inf).all())


cdef BestPath _ready_for_tokens(automaton, potentials, constraints):
    """Ready to be solved by `token_sweep`. RETURNS: None where that is not possible."""
    cdef Histories histories = histories_of(automaton)
    cdef const Entry[::1] entries
    cdef BestPath best
    if histories is None or not has_sparse_columns(automaton, potentials):
        return None
    if type(potentials.pattern) is not np.ndarray or not has_only_tokens(potentials):
        return None
    try:
        entries = potentials.entries
    except (TypeError, ValueError, BufferError):
        return None
    given = without_entries(potentials, NO_PATTERNS)
    if are_of_labels(entries, automaton.n_labels):
        of_labels = potentials.entries["column"] < automaton.n_labels
        given.entries = potentials.entries[of_labels]
    best = _load(histories.bare, given, constraints, defer=False)
    if best.token_sweep is None or best.token_sweep.histories is not histories:
        best.token_sweep = TokenSweep(histories)
    best.by_tokens = best.token_sweep.load(best.backward.chart, entries, potentials)
    if not best.by_tokens:
        give_back(best)
        return None
    best.chain = best.arc_table = best.backward.arcs = None
    return best


cdef BestPath _load(automaton, potentials, constraints, bint defer=True):
    """Loads a document into the tables of an earlier one: allocating takes long."""
    cdef BestPath best = spare_path(layout_of(automaton))
    best.backward.load(automaton, potentials, constraints, defer)
    return best


cdef BestPath spare_path(Layout layout):
    """Tables of a finished document, or new ones."""
    return layout.spare.pop() if layout.spare else BestPath()


cdef give_back(BestPath best):
    """Keep the tables of a finished document for others."""
    cdef Layout layout = best.backward.chart.layout
    cdef Py_ssize_t n_spare = len(layout.spare)
    if n_spare < N_SPARE and best._size() * (n_spare + 1) <= LARGE:
        best._forget()
        layout.spare.append(best)


@cython.final
cdef class BestPath(Task):
    """The best segmentation of a document, and the sweep that finds it."""

    def __init__(self):
        self.backward = Backward(maximum=True)

    cdef set_method(self, potentials, method):
        cdef Backward backward = self.backward
        cdef Chart chart = backward.chart
        self.chain = self.arc_table = None
        self.by_tokens = False
        if method == "bounds" or (method == "auto" and self._may_pay()):
            self.arc_table = arc_table_of(chart)
        backward.arcs = self.arc_table
        if self.arc_table is not None:
            if backward.bounds is None or (
                backward.bounds.first.shape[0] <= chart.n_tokens
            ):
                n_rows = backward.closing.shape[0]
                backward.bounds = Bounds(n_rows, chart.n_groups)
        elif method in ("auto", "nonnegative"):
            self.chain = chain_of(chart, potentials, method)
            if self.chain is not None:
                backward.arcs_out = self.chain.sums
                backward.out_weight = self.chain.weight

    cdef bint _may_pay(self):
        """Whether bounds are likely to save time. Not for a short document with new
        weights, as in training: the tables of the weights would be read once."""
        cdef Chart chart = self.backward.chart
        cdef ArcTable known = chart.layout.arc_table
        if chart.layout.arcs_out.n_terms < PAYS * chart.n_groups * chart.n_groups:
            return False
        if known is not None and known.edge_weights is chart.edge_weights:
            if known.n_tried >= N_TRIED and 2 * known.n_pruned < known.n_tried:
                return False
        return chart.edge_weights.n_documents > 1 or chart.n_tokens >= N_FEW

    cdef void count(self) noexcept nogil:
        """Count documents in which bounds have left few groups; see `_may_pay`."""
        if self.arc_table is not None:
            self.arc_table.n_tried += 1
            self.arc_table.n_pruned += self.backward.is_bounded

    cdef list _segments(self):
        cdef const int32_t[:, ::1] path = self.backward.path
        cdef Py_ssize_t k
        return [(path[k, 0], path[k, 1], path[k, 2]) for k in range(self.n_segments)]

    cdef Py_ssize_t _size(self):
        """RETURNS: About how many numbers the tables have."""
        cdef Py_ssize_t n_rows = self.backward.closing.shape[0]
        cdef Py_ssize_t size = n_rows * self.backward.chart.n_states
        return size if self.token_sweep is None else size + self.token_sweep.size()

    cdef _forget(self):
        """Let go of the document."""
        self.chain = self.arc_table = self.backward.arcs = None
        if self.token_sweep is not None:
            self.token_sweep.forget()
        self.backward.chart.forget()

    cdef void run(self) noexcept nogil:
        """Find the best segmentation: the first `n_segments` of `backward.path`."""
        self.n_segments = 0
        self._sweep(self.backward)
        if self.backward.total > -INFINITY:
            if self.by_tokens:
                self.n_segments = self.token_sweep.walk(
                    self.backward.chart, self.backward.path
                )
            else:
                self.n_segments = self.backward.walk(0, 0)

    cdef void _sweep(self, Backward backward) noexcept nogil:
        backward.is_bounded = False
        if not finish_loading(backward.chart):
            backward.total = -INFINITY
        elif self.by_tokens:
            backward.total = self.token_sweep.sweep(backward.chart)
        elif (
            self.arc_table is not None
            and backward.chart.n_tokens > 0
            and backward.bounds.find(backward.chart, self.arc_table, backward.path)
        ):
            sweep_bounded(backward, self.arc_table)
            # Scores that cancel within a segment have rounded off more than SLACK.
            if not backward.total >= backward.bounds.least:
                backward.is_bounded = False
                backward.sweep()
        else:
            backward.sweep()
