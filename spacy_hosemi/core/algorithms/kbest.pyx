"""The k best segmentations.

The first is the Viterbi path. Any other follows it but for some detours, see
`completion_graph`, and the cheapest sets of them are found one after the other: behind
each come at most four others, which cost no less (Eppstein 1998). So the first path
takes O(n), most others O(log k), and O(n) to be written down.
"""

from functools import cmp_to_key
from heapq import heappop, heappush
from itertools import count, groupby
from operator import itemgetter

from libc.math cimport INFINITY

from ..arguments import MOST_SEGMENTS, check_whole
from ..potentials import check_document
from .completion_graph cimport CompletionGraph


def kbest(automaton, potentials, k, constraints=None):
    """The k segmentations with the highest scores.

    automaton (PatternAutomaton): L labels, M patterns.
    potentials (Potentials): n tokens; log scores, -inf forbids.
    k (int): How many; fewer if no more are possible.
    constraints (Optional[Constraints]): What a segmentation may contain.
    RETURNS (List[Tuple[List[Tuple[int, int, int]], float]]): Segments, as `viterbi`
        gives them, and score; distinct, best first, equal ones by its tie rule. Where
        more than k have the k-th score or a higher one, any of those with the k-th
        score may be missing.
    RAISES (ValueError): HS026 k, which times n is at most 10,000,000; and as
        `log_partition`.
    """
    check_document(automaton, potentials)
    cdef CompletionGraph graph = CompletionGraph(automaton, potentials, constraints)
    cdef PathQueue queue = PathQueue(graph)
    k = check_whole("k", k, 1, MOST_SEGMENTS // max(graph.chart.n_tokens, 1))
    if graph.backward.total == -INFINITY:
        return []
    results = [graph.path(())]
    queue.add_entry(graph.heap[0], 0.0, ())
    while queue.items and len(results) < k:
        results.append(graph.path(queue.take(k)))
    return in_order(results)


cdef class PathQueue:
    """Paths that may be next, the cheapest first. An item is the cost of all detours, a
    number, the cost without the last one; that one: entry of a heap (-1: its node has
    an earlier option), node, rank; and those before it."""

    cdef CompletionGraph graph
    cdef list items
    cdef object numbers                 # of equal costs the earlier one goes first

    def __init__(self, graph):
        self.graph, self.items, self.numbers = graph, [], count()

    cdef add_entry(self, Py_ssize_t entry, double before, tuple path):
        """Add the detour of an entry of a heap, if there is one."""
        if entry >= 0:
            cost, node = before + self.graph.cost[entry], self.graph.node[entry]
            item = cost, next(self.numbers), before, entry, node, 0, path
            heappush(self.items, item)

    cdef add_option(self, Py_ssize_t node, Py_ssize_t rank, double before, tuple path):
        """Add another detour at a node, if there is one."""
        cdef double cost = before + self.graph.option_cost(node, rank)
        if cost < INFINITY:
            heappush(
                self.items, (cost, next(self.numbers), before, -1, node, rank, path)
            )

    cdef tuple take(self, Py_ssize_t k):
        """RETURNS: The next path, for `path`; those behind it are added."""
        cdef Py_ssize_t entry, node, rank, target
        cdef double cost, before
        cost, _, before, entry, node, rank, path = heappop(self.items)
        target, label = self.graph.option(node, rank, k)
        taken = path, node, target, label
        if entry >= 0:
            self.add_entry(self.graph.left[entry], before, path)
            self.add_entry(self.graph.right[entry], before, path)
        self.add_option(node, rank + 1, before, path)
        self.add_entry(self.graph.heap[target], cost, taken)
        return taken


def in_order(results):
    """Sort by score, those of the same score by the tie rule."""
    results.sort(key=itemgetter(1), reverse=True)
    found = []
    for _, equal in groupby(results, key=itemgetter(1)):
        found += sorted(equal, key=cmp_to_key(compare))
    return found


def compare(first, second):
    """The tie rule: where they differ first, the smaller label, then the longer
    segment. Most of their segments are the same objects."""
    cdef list x = first[0], y = second[0]
    cdef Py_ssize_t i
    for i in range(min(len(x), len(y))):
        if x[i] is not y[i] and x[i] != y[i]:
            return -1 if (x[i][2], -x[i][1]) < (y[i][2], -y[i][1]) else 1
    return 0
