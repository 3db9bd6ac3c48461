from libc.stdint cimport int32_t, uint8_t

from ..chart.chart cimport Chart
from ..sweeps.backward cimport Backward


cdef class CompletionGraph:
    cdef Backward backward
    cdef Chart chart                    # of it
    cdef dict node_of                   # node by `_key`
    cdef Py_ssize_t n_nodes, n_entries
    # of each node
    cdef list segments                  # the first one of its best completion, or None
    cdef list options                   # see `option`; None: not listed yet
    cdef int32_t[::1] boundary, state, label
    cdef uint8_t[::1] is_within
    cdef int32_t[::1] next              # node on the best completion; -1: none
    cdef int32_t[::1] after             # that at the end of the segment; -1: none
    cdef int32_t[::1] heap              # its top entry; -1: it is empty
    cdef double[::1] detour             # what its cheapest detour costs, or inf
    cdef double[::1] worth              # score of its segment, patterns included
    # of each entry of a heap; children do not cost less
    cdef double[::1] cost
    cdef int32_t[::1] node
    cdef int32_t[::1] left, right       # children, or -1: to the right, in each heap,
    cdef int32_t[::1] depth             # entries lie at most as deep as to the left
    # options at the begin of a segment
    cdef double[::1] value              # by label, then tokens
    cdef int32_t[::1] first             # [L + 1] those of each label
    # the path that is written down
    cdef list found
    cdef double total
    cdef Py_ssize_t begin, begun_as, begun_in   # boundary, label, state before

    cdef _make_room(self, Py_ssize_t n_nodes, Py_ssize_t n_entries)
    cdef Py_ssize_t _node_at(self, Py_ssize_t u, Py_ssize_t state, bint is_within)
    cdef object _key(self, Py_ssize_t u, Py_ssize_t state, bint is_within)
    cdef Py_ssize_t _add_node(self, Py_ssize_t u, Py_ssize_t state, bint is_within)
    cdef bint _goes_on(self, Py_ssize_t node)
    cdef tuple _choose(self, Py_ssize_t node)
    cdef tuple _leads_to(self, Py_ssize_t u, Py_ssize_t q, Py_ssize_t d)
    cdef void _set_values(self, Py_ssize_t u, Py_ssize_t state) noexcept nogil
    cdef _complete(self, Py_ssize_t node)
    cdef double _worth(
        self,
        Py_ssize_t u,
        Py_ssize_t j,
        Py_ssize_t y,
        Py_ssize_t before,
        Py_ssize_t q,
    ) noexcept nogil
    cdef int32_t _insert(
        self, Py_ssize_t top, double cost, Py_ssize_t node
    ) noexcept nogil
    cdef int32_t _depth(self, Py_ssize_t entry) noexcept nogil
    cdef tuple option(self, Py_ssize_t node, Py_ssize_t rank, Py_ssize_t k)
    cdef double option_cost(self, Py_ssize_t node, Py_ssize_t rank)
    cdef list _options(self, Py_ssize_t node)
    cdef tuple path(self, tuple taken)
    cdef bint _passes(self, Py_ssize_t at, Py_ssize_t node)
    cdef Py_ssize_t _follow(self, Py_ssize_t at, Py_ssize_t boundary)
    cdef void _begin(self, Py_ssize_t at, Py_ssize_t label) noexcept nogil
    cdef Py_ssize_t _end(self, Py_ssize_t at)
